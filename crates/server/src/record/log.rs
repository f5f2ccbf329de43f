//! The log of verdicts: a line of JSON for each message, written by a thread of its own. A failing log never stops mail.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use serde::Serialize;

/// Lines that may wait to be written. Further ones are dropped.
const MOST_WAITING: usize = 10_000;

/// A line of the log. `tamis stats` counts them.
#[derive(Default, Serialize)]
pub(crate) struct LogLine<'a> {
    /// When it was written (RFC 3339); set by [`Log::write`].
    pub(crate) time: String,
    /// The door: `spamd`, `milter` or `http`.
    pub(crate) door: &'a str,
    /// Where a wrong password came from.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) address: &'a str,
    /// The queue id, if the client says it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) queue_id: &'a str,
    /// The Message-ID, without its angle brackets.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) id: &'a str,
    /// The user, if the client says one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) user: &'a str,
    /// The model's name; empty for the shared one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) model: &'a str,
    /// The label, `unsure`, `skipped` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<&'a str>,
    /// The label under which the message was learned, or `none` if it was forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) learned: Option<&'a str>,
    /// In nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_odds: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
    /// The rule that applies.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) rule: &'a str,
    /// The strongest reasons, if they are asked for.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reasons: &'a str,
    /// What went wrong.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) error: &'a str,
    /// Milliseconds.
    pub(crate) ms: f64,
}

/// A log being written: where lines go, and the thread that writes them. `None` if nothing is logged.
pub(crate) struct Log(Option<(SyncSender<String>, JoinHandle<()>)>);

impl Log {
    /// Starts a log: to a file, `stderr` or `none`.
    ///
    /// # Errors
    /// If the thread that writes it cannot be started.
    pub(crate) fn start(to: &Path) -> io::Result<Self> {
        if to.as_os_str() == "none" {
            return Ok(Log(None));
        }
        let (lines, waiting) = sync_channel(MOST_WAITING);
        let to = to.to_owned();
        let writer = std::thread::Builder::new().name("log".into()).spawn(move || write(&to, &waiting))?;
        Ok(Log(Some((lines, writer))))
    }

    /// Whether lines are written at all.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a line, unless too many are waiting.
    pub(crate) fn write(&self, mut line: LogLine<'_>) {
        let Some((lines, _)) = &self.0 else { return };
        line.time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        if let Ok(text) = serde_json::to_string(&line) {
            let _ = lines.try_send(text + "\n");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some((lines, writer)) = self.0.take() {
            drop(lines);
            let _ = writer.join();
        }
    }
}

/// Writes lines as they arrive, those that wait together in one write.
fn write(to: &Path, waiting: &Receiver<String>) {
    let mut is_told = false;
    while let Ok(first) = waiting.recv() {
        let lines: String = [first].into_iter().chain(waiting.try_iter().take(1_000)).collect();
        let written = if to.as_os_str() == "stderr" {
            io::stderr().write_all(lines.as_bytes())
        } else {
            append(to, &lines)
        };
        match written {
            Ok(()) => is_told = false,
            Err(error) if !std::mem::replace(&mut is_told, true) => {
                let _ = writeln!(io::stderr(), "tamisd: not logged: {}: {error}", to.display());
            }
            Err(_) => (),
        }
    }
}

/// Appends lines to a file that only its owner may read, after the end of a line that was torn. It is opened each time, so that it can be rotated.
pub(crate) fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut last = [b'\n'];
    // what has no end to read, such as a pipe, has no torn line
    if file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).is_ok() && last != [b'\n'] {
        // of a full disk or a killed process
        file.write_all(b"\n")?;
    }
    file.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_finished_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        append(&path, "{}\n").unwrap();
        std::fs::write(&path, "{}\n{\"ti").unwrap();
        append(&path, "{}\n").unwrap();
        append(&path, "{}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{\"ti\n{}\n{}\n");
    }
}
