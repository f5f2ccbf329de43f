//! The user's encoder: a command that makes a vector of each text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tamis_program::{counted, plain, shown};

use crate::formats::vector::{VectorFile, read_vector};

/// A running encoder. It may answer each text at once, in batches of its own, or all of them at the end: texts are written
/// by one thread and vectors are read into a temporary file by another, so that neither waits for the other.
pub(crate) struct Encoder {
    command: String,
    lines: SyncSender<String>,
    sent: u64,
    watch: JoinHandle<Result<VectorFile, String>>,
}

/// What happens to an encoder.
enum EncoderEvent {
    /// It gave a vector.
    Given,
    /// It took a text, and there may be another.
    Taken,
    /// There is no text for it to take yet.
    Idle,
    /// It gave its last vector, or something else.
    Ended(Result<VectorFile, String>),
}

/// Texts that wait for the encoder.
const WAITING: usize = 64;

/// How often it is asked whether what did not happen has happened by now.
const PAUSE: Duration = Duration::from_millis(2);

/// The longest line of an encoder, in bytes.
const LONGEST: u64 = 1 << 20;

impl Encoder {
    /// Starts a command. It may neither read nor write for as long as `timeout`.
    pub(crate) fn start(command: &str, timeout: Duration) -> Result<Self> {
        let start = || -> io::Result<Self> {
            let vectors = tempfile::tempfile()?;
            // a shell that becomes the command is what has to be killed
            let is_simple = !command.contains(['|', '&', ';', '(', '{', '!', '=', '`', '\n']);
            let line = if is_simple { format!("exec {command}") } else { command.to_owned() };
            let mut shell = Command::new("sh");
            let mut child = shell.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
            let (lines, waiting) = mpsc::sync_channel::<String>(WAITING);
            let (events, happened) = mpsc::channel();
            let taken = events.clone();
            thread::spawn(move || stdin.map(|stdin| write_lines(stdin, &waiting, &taken)));
            thread::spawn(move || {
                let read =
                    stdout.ok_or_else(String::new).and_then(|stdout| read_lines(stdout, vectors, &events));
                events.send(EncoderEvent::Ended(read))
            });
            let watch = thread::spawn(move || watch(child, &happened, timeout));
            Ok(Encoder { command: shown(command).into_owned(), lines, sent: 0, watch })
        };
        start().with_context(|| format!("--encoder {}", shown(command)))
    }

    /// Sends the text of the next document. Fails if the encoder has ended; [`finish`](Self::finish) says why.
    pub(crate) fn send(&mut self, text: &str) -> Result<()> {
        let mut line = serde_json::to_string(text)? + "\n";
        self.sent += 1;
        // what the encoder started may hold its pipe when it is gone
        while !self.watch.is_finished() {
            line = match self.lines.try_send(line) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(line) | TrySendError::Disconnected(line)) => line,
            };
            thread::sleep(PAUSE);
        }
        bail!("--encoder {}: expected it to take {} texts, got its end", self.command, self.sent)
    }

    /// Ends the encoder's input, and waits for the vectors of all texts.
    pub(crate) fn finish(self) -> Result<VectorFile> {
        let Encoder { command, lines, sent, watch } = self;
        drop(lines);
        let vectors =
            watch.join().unwrap_or_else(|_| Err("a bug in tamis stopped it; please report it".to_owned()));
        match vectors.map_err(|why| anyhow!("--encoder {command}: {why}"))? {
            vectors if vectors.rows == sent => Ok(vectors),
            VectorFile { rows, .. } => {
                bail!("--encoder {command}: expected {sent} arrays, one for each text, got {rows}")
            }
        }
    }
}

/// Writes the texts as long as the encoder takes them.
fn write_lines(mut stdin: impl Write, lines: &Receiver<String>, events: &Sender<EncoderEvent>) {
    let next = || {
        lines.try_recv().or_else(|_| {
            // sending fails if nobody waits any more
            let _ = events.send(EncoderEvent::Idle);
            let line = lines.recv();
            let _ = events.send(EncoderEvent::Taken);
            line
        })
    };
    while let Ok(line) = next()
        && stdin.write_all(line.as_bytes()).is_ok()
        && events.send(EncoderEvent::Taken).is_ok()
    {}
}

/// Reads vectors of one length into a file.
fn read_lines(stdout: impl Read, vectors: File, events: &Sender<EncoderEvent>) -> Result<VectorFile, String> {
    let (mut reader, mut writer, mut line) = (BufReader::new(stdout), BufWriter::new(vectors), Vec::new());
    let (mut rows, mut dimensions) = (0, 0);
    let told = |error: io::Error| plain(&error);
    while reader.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(told)? > 0 {
        let text = str::from_utf8(&line).map_err(|_| "expected lines of UTF-8, got other bytes")?;
        let vector =
            read_vector(text).map_err(|why| format!("line {}: {why}: {}", rows + 1, beginning(text)))?;
        dimensions = if rows == 0 { vector.len() } else { dimensions };
        if vector.is_empty() || vector.len() != dimensions {
            let expected = if rows == 0 { "at least 1".to_owned() } else { dimensions.to_string() };
            return Err(format!("line {}: expected {expected} numbers, got {}", rows + 1, vector.len()));
        }
        if let Some(number) = vector.iter().find(|number| !number.is_finite()) {
            return Err(format!("line {}: expected finite numbers, got {number}", rows + 1));
        }
        vector.iter().try_for_each(|number| writer.write_all(&number.to_le_bytes())).map_err(told)?;
        rows += 1;
        line.clear();
        let _ = events.send(EncoderEvent::Given);
    }
    let file = writer.into_inner().map_err(|error| plain(error.error()))?;
    Ok(VectorFile::of_floats(file, rows, dimensions))
}

/// The beginning of a line that is no vector.
fn beginning(line: &str) -> String {
    let start: String = line.trim().chars().take(60).collect();
    if start.is_empty() { "an empty line".to_owned() } else { shown(&start).into_owned() }
}

/// Waits until the encoder has ended, and kills it if it is silent or writes something else.
fn watch(mut child: Child, events: &Receiver<EncoderEvent>, timeout: Duration) -> Result<VectorFile, String> {
    let silent = || {
        let seconds = counted(timeout.as_secs(), "second");
        format!(
            "expected it to read or write something, got nothing for {seconds}; --encoder-timeout waits longer"
        )
    };
    let mut is_idle = false;
    let read = loop {
        match events.recv_timeout(timeout) {
            Ok(EncoderEvent::Given) => (),
            Ok(EncoderEvent::Taken) => is_idle = false,
            Ok(EncoderEvent::Idle) => is_idle = true,
            Ok(EncoderEvent::Ended(read)) => break read,
            Err(RecvTimeoutError::Timeout) if is_idle => (),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break Err(silent()),
        }
    };
    let ended = match &read {
        Ok(_) => status(&mut child, timeout).map_err(|error| plain(&error))?,
        Err(_) => None,
    };
    if ended.is_none() {
        // it may just have ended by itself
        let _ = child.kill().and_then(|()| child.wait());
    }
    match ended {
        Some(status) if !status.success() => {
            let n = read?.rows;
            Err(format!("expected it to end with status 0, got {status} after {n} arrays"))
        }
        Some(_) => read,
        None => Err(read.err().unwrap_or_else(silent)),
    }
}

/// How a process ended; `None` if it has not within this time.
fn status(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        match child.try_wait()? {
            None if began.elapsed() < timeout => thread::sleep(PAUSE),
            ended => return Ok(ended),
        }
    }
}
