//! Turns documents into text by other programs, in child processes with limits: `pdftotext` for PDF, and the commands
//! that a user names for endings.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tamis_mail::{decode_text, whole_characters};

use crate::output::shown;

/// The command for PDF, if the program is installed. With `-q` it would not mention a password.
const PDFTOTEXT: &str = "pdftotext -enc UTF-8 - -";

/// Maximum seconds of [`PDFTOTEXT`].
const SECONDS: u64 = 20;

/// Maximum seconds of a command that the user names, such as one that recognises characters in scanned pages.
const SECONDS_OF_GIVEN: u64 = 120;

/// KiB of address space of each process.
const ADDRESS_SPACE: u64 = 1 << 20;

/// Maximum bytes of text; the rest is left out.
const MOST_TEXT: usize = 2 << 20;

/// Maximum bytes of standard error that are kept.
const MOST_COMPLAINT: usize = 4 << 10;

/// How often a process that has closed its output is asked whether it has ended.
const PAUSE: Duration = Duration::from_micros(500);

/// Programs that turn documents into text: those that the user names for endings, and `pdftotext` for PDF if it is
/// installed.
///
/// ```
/// use std::path::Path;
///
/// let commands = tamis_program::TextCommands::new(&[".rot=tr a-z n-za-m".to_owned()])?;
/// let command = commands.for_file(Some(Path::new("mail.rot")), false).expect("a command for this ending");
/// assert_eq!(command.run(b"fcnz")?, "spam");
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextCommands {
    /// Endings are in lower case.
    by_ending: BTreeMap<String, TextCommand>,
    pdf: OnceLock<Option<TextCommand>>,
}

/// A command that reads a document from standard input and writes its text, in UTF-8, to standard output.
#[derive(Clone, Debug)]
pub struct TextCommand {
    /// The command as the shell reads it.
    line: String,
    /// Maximum seconds from start to end. Half as many of processor time.
    seconds: u64,
}

impl TextCommands {
    /// Reads values such as `.djvu=djvutxt - -`: an ending and a command line for `sh`. Of several for one ending the
    /// last counts. Looks for `pdftotext` unless there is one for `.pdf`.
    ///
    /// # Errors
    /// If a value is not of this form.
    pub fn new(given: &[String]) -> Result<Self> {
        let mut by_ending = BTreeMap::new();
        for value in given {
            let (ending, line) = value.split_once('=').unwrap_or_default();
            let is_ending = ending.len() > 1 && ending.starts_with('.') && !ending.contains(['/', ' ']);
            if !is_ending || line.trim().is_empty() {
                let got = shown(value);
                bail!("expected an ending and a command, such as '.pdf=pdftotext - -', got '{got}'");
            }
            let command = TextCommand { line: line.trim().to_owned(), seconds: SECONDS_OF_GIVEN };
            by_ending.insert(ending.to_lowercase(), command);
        }
        Ok(TextCommands { by_ending, pdf: OnceLock::new() })
    }

    /// The command for a file: by the ending of its name, whatever it holds, or else the one for PDF if its bytes are
    /// one.
    pub fn for_file(&self, path: Option<&Path>, is_pdf: bool) -> Option<&TextCommand> {
        let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().to_lowercase();
        let of_name = self.by_ending.iter().filter(|(ending, _)| name.ends_with(ending.as_str()));
        let longest = of_name.max_by_key(|(ending, _)| ending.len()).map(|(_, command)| command);
        longest.or_else(|| if is_pdf { self.for_pdf() } else { None })
    }

    /// The command for PDF. The programs that are installed are looked through when the first one is read.
    fn for_pdf(&self) -> Option<&TextCommand> {
        let installed = || {
            is_installed("pdftotext").then(|| TextCommand { line: PDFTOTEXT.to_owned(), seconds: SECONDS })
        };
        self.pdf.get_or_init(|| self.by_ending.get(".pdf").cloned().or_else(installed)).as_ref()
    }
}

/// Whether a program is in one of the folders of `PATH`.
fn is_installed(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|at| at.join(program).is_file()))
}

impl TextCommand {
    /// The command as it was given, to name it to people.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The text of a document, at most 2 MiB. Text that is not UTF-8 is read as other texts are.
    ///
    /// The command runs in a process group of its own, which is ended with it, and with limits: 1 GiB of memory, and 20
    /// seconds for `pdftotext` or 120 for a command that the user named, half of them of processor time.
    ///
    /// # Errors
    /// If the command cannot be started, takes too long, ends with another status than 0 or writes no text. A document
    /// without text and one with a password give the same error whatever the command, so that they can be counted.
    pub fn run(&self, document: &[u8]) -> io::Result<String> {
        let deadline = Instant::now() + Duration::from_secs(self.seconds);
        let (stdin, mut input) = io::pipe()?;
        let (output, stdout) = io::pipe()?;
        let (complaint, stderr) = io::pipe()?;
        // each end by a thread, so that neither side waits for the other
        let document = document.to_vec();
        thread::Builder::new().spawn(move || input.write_all(&document))?;
        let (output, complaint) = (collect(output, MOST_TEXT + 1)?, collect(complaint, MOST_COMPLAINT)?);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(self.script()).process_group(0).stdin(stdin).stdout(stdout).stderr(stderr);
        let mut child = shell.spawn().map_err(|error| self.error(error))?;
        // closes the child's ends here
        drop(shell);
        let text = output.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let is_cut = text.as_ref().is_ok_and(|text| text.len() > MOST_TEXT);
        let has_ended = text.is_ok() && !is_cut && ends_before(&child, deadline);
        // with all that it has started; its number is its own until its status is collected
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let status = child.wait()?;
        if !has_ended && !is_cut {
            return Err(self.error(format_args!("expected its end within {} s, got none", self.seconds)));
        }
        if !is_cut && !status.success() {
            let complaint = complaint.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
            return Err(self.failure(status, &complaint));
        }
        let mut text = text.unwrap_or_default();
        if is_cut {
            text.truncate(MOST_TEXT);
            text.truncate(whole_characters(&text).len());
        }
        match decode_text(&text, None) {
            text if text.trim().is_empty() => {
                Err(io::Error::other("a document without text, such as scanned pages"))
            }
            text => Ok(text.into_owned()),
        }
    }

    /// The command line after limits. They are soft, so that a command can raise them by `ulimit` itself; a lower hard
    /// limit stays in force. What tamis opens is closed in its children; what it was given is closed here.
    fn script(&self) -> String {
        let (line, seconds) = (&self.line, self.processor_seconds());
        format!(
            "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
            for limit in '-c 0' '-v {ADDRESS_SPACE}' '-t {seconds}'; do ulimit -S $limit 2>/dev/null; done
            {line}"
        )
    }

    /// Less than the time from start to end: it also ends a process whose parent was killed.
    fn processor_seconds(&self) -> u64 {
        self.seconds.div_ceil(2)
    }

    fn error(&self, what: impl Display) -> io::Error {
        io::Error::other(format!("{}: {what}", shown(&self.line)))
    }

    /// The error of a status that is not 0.
    fn failure(&self, status: ExitStatus, complaint: &[u8]) -> io::Error {
        let complaint = String::from_utf8_lossy(complaint);
        if complaint.to_lowercase().contains("password") {
            return io::Error::other("a document with a password");
        }
        // a shell adds 128 to the signal that ended its command
        let signal = status.code().filter(|code| (129..=192).contains(code));
        let status = signal.map_or(status, |code| ExitStatus::from_raw(code - 128));
        if status.signal() == Some(Signal::XCPU.as_raw()) {
            let seconds = self.processor_seconds();
            return self.error(format_args!("expected at most {seconds} s of processor time, got more"));
        }
        let line =
            complaint.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
        let line: String = line.chars().take(200).collect();
        self.error(format_args!("expected exit status: 0, got {status}: {}", shown(&line)))
    }
}

/// Reads a pipe in a thread. The first `most` bytes are received when they are there or the pipe ends; more is dropped,
/// since its writer would wait otherwise.
fn collect(mut pipe: impl Read + Send + 'static, most: usize) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(most as u64).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
        io::copy(&mut pipe, &mut io::sink())
    })?;
    Ok(receiver)
}

/// Waits for the end of a process without collecting its status. Returns whether it ended in time.
fn ends_before(child: &Child, deadline: Instant) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None)) {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Runs a command with a limit of so many seconds. Errors as text.
    fn run(line: &str, seconds: u64, document: &[u8]) -> Result<String, String> {
        TextCommand { line: line.to_owned(), seconds }.run(document).map_err(|error| error.to_string())
    }

    fn check(line: &str, document: &[u8], text: &str) {
        assert_eq!(run(line, 60, document).as_deref(), Ok(text), "{line}");
    }

    fn check_error(line: &str, seconds: u64, expected: &str) {
        let error = run(line, seconds, b"a document").unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }

    #[test]
    fn text_is_what_the_command_writes() {
        check("cat", b"one\ntwo", "one\ntwo");
        check("tr a-z A-Z | sed 's/ONE/a \"quoted\" $word/'", b"one", "a \"quoted\" $word");
        check("cat >/dev/null; echo 'é à'", b"", "é à\n");
        check("cat", "größer".as_bytes(), "größer");
        // as text files that are not UTF-8
        check("cat", b"gr\xf6\xdfer als Gr\xf6\xdfe", "größer als Größe");
        // what is not read, or not all of it
        let long = b"0123456789".repeat(1_000_000);
        check("head -c 5", &long, "01234");
        check("echo text", &long, "text\n");
        check("exec <&-; sleep .1; echo text", &long, "text\n");
        check("exec 2>&-; cat; exec >&-; sleep .1", b"text", "text");
    }

    #[test]
    fn much_goes_both_ways() {
        let long = b"0123456789".repeat(1_000_000);
        check("wc -c | tr -d ' '", &long, "10000000\n");
        check("tee /dev/stderr | tail -c 3", &long, "789");
        let text = run("cat", 60, &long).unwrap();
        assert!(long.starts_with(text.as_bytes()) && text.len() == MOST_TEXT);
        // cut between characters, also if there is no end
        for line in ["cat", "cat; yes", "while :; do echo ééééééééé; done"] {
            let text = run(line, 60, "x€".repeat(2_000_000).as_bytes()).unwrap();
            assert!(
                (MOST_TEXT - 3..=MOST_TEXT).contains(&text.len()) && !text.contains('\u{fffd}'),
                "{line}"
            );
        }
        let line = "awk 'BEGIN { for (i = 0; i < 400000; i++) print i }'";
        thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| run(line, 60, &long).unwrap())).collect();
            all.into_iter().for_each(|text| assert!(text.join().unwrap().starts_with("0\n1\n2\n")));
        });
    }

    #[test]
    fn errors_name_the_command_and_what_happened() {
        check_error("exit 3", 60, "exit 3: expected exit status: 0, got exit status: 3: no reason given");
        check_error("exit 255", 60, "got exit status: 255");
        check_error("echo text; echo a reason >&2; exit 1", 60, "got exit status: 1: a reason");
        check_error(
            "no-such-program -q",
            60,
            "no-such-program -q: expected exit status: 0, got exit status: 127: ",
        );
        check_error("kill -9 $$", 60, "got signal: 9 (SIGKILL)");
        check_error("sh -c 'kill -9 $$'; exit $?", 60, "got signal: 9 (SIGKILL)");
        check_error("cat 'x", 60, "got exit status: 2");
        check_error("echo 'Incorrect password' >&2; exit 1", 60, "a document with a password");
        for line in ["cat >/dev/null", "printf ' \\n\\f\\n'", "true"] {
            check_error(line, 60, "a document without text, such as scanned pages");
        }
        let error = run("printf '\\033[2J' >&2; exit 1", 60, b"").unwrap_err();
        assert!(!error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        thread::scope(|scope| {
            for line in ["cat; sleep 100", "exec >&-; sleep 100", "yes >&2", "sleep 100 & echo text"] {
                scope.spawn(move || check_error(line, 1, "expected its end within 1 s, got none"));
            }
            // by the limit of processor time, here lowered
            let line = "ulimit -S -t 1; while :; do :; done";
            scope.spawn(move || check_error(line, 60, "expected at most 30 s of processor time, got more"));
            // leaves the group, with the pipes
            scope.spawn(|| run("setsid sleep 5 & echo text", 1, b""));
        });
    }

    #[test]
    fn nothing_is_left_behind() {
        let text = run("sleep 1000 >/dev/null 2>&1 & echo $!", 60, b"").unwrap();
        let state = format!("/proc/{}/stat", text.trim());
        // whoever adopts it may be slow to collect its status
        let is_gone = || fs::read_to_string(&state).map_or(true, |state| state.contains(") Z "));
        tamis_testing::wait_for(is_gone, || format!("the end of process {text}"));
    }

    #[test]
    fn memory_and_descriptors_are_bounded() {
        check_error("awk 'BEGIN { s = \"x\"; while (1) s = s s }'", 60, "expected exit status: 0, got ");
        let limits = run("ulimit -S -c; ulimit -S -v; ulimit -S -t", 60, b"").unwrap();
        let limits: Vec<u64> = limits.lines().map(|limit| limit.parse().unwrap()).collect();
        assert!(limits[0] == 0 && limits[1] <= ADDRESS_SPACE && limits[2] <= 30, "{limits:?}");
        let open = "for fd in 3 4 5 6 7 8 9; do (: <&$fd) 2>/dev/null && echo open $fd; done; echo looked";
        check(open, b"", "looked\n");
    }

    #[test]
    fn commands_are_found_by_ending_or_content() {
        let given = [".PDF=cat", ".gz=zcat", ".Tar.gz= tar -xzO ", ".gz=gzip -d = -"].map(str::to_owned);
        let commands = TextCommands::new(&given).unwrap();
        let line =
            |name: &str, is_pdf| commands.for_file(Some(Path::new(name)), is_pdf).map(TextCommand::line);
        assert_eq!(line("a/b.pdf", false), Some("cat"));
        assert_eq!(line("B.PDF", true), Some("cat"));
        assert_eq!(line("b", true), Some("cat"));
        assert_eq!(line("b.gz/c", false), None);
        assert_eq!(line("b.GZ", true), Some("gzip -d = -"));
        assert_eq!(line("b.tar.gz", false), Some("tar -xzO"));
        assert_eq!(commands.for_file(None, false).map(TextCommand::line), None);
        assert_eq!(commands.for_file(None, true).map(TextCommand::line), Some("cat"));
        for wrong in ["", "pdf=cat", ".pdf", ".pdf=", ".pdf= ", ".=cat", "=cat", ".a/b=cat", "cat a.pdf=x"] {
            let error = TextCommands::new(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(
                error.starts_with("expected an ending and a command") && error.contains(wrong),
                "{error}"
            );
        }
    }

    /// A PDF of one page with this content, and these entries in its trailer; without a table of references, as damaged
    /// ones are.
    fn pdf(content: &str, trailer: &str) -> Vec<u8> {
        let length = content.len();
        format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
             3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R\
             /Resources<</Font<</F 5 0 R>>>>>> endobj\n4 0 obj <</Length {length}>>\nstream\n{content}\nendstream endobj\n\
             5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>> endobj\n\
             trailer <</Root 1 0 R/Size 6{trailer}>>\n"
        )
        .into_bytes()
    }

    #[test]
    fn pdf_is_read_by_pdftotext() {
        let commands = TextCommands::new(&[]).unwrap();
        let Some(command) = commands.for_file(None, true) else {
            return tamis_testing::skip("pdftotext is not installed");
        };
        assert!(commands.for_file(Some(Path::new("text.pdf")), false).is_none());
        let text = command.run(&pdf("BT /F 20 Tf 50 700 Td (caf\\351 words) Tj ET", "")).unwrap();
        assert_eq!(text.trim(), "café words");
        let scanned = command.run(&pdf("0 0 100 100 re f", "")).unwrap_err();
        assert_eq!(scanned.to_string(), "a document without text, such as scanned pages");
        let keys = "0".repeat(64);
        let encrypted = format!("/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{keys}>/U<{keys}>>>");
        let encrypted = command.run(&pdf("BT (words) Tj ET", &encrypted)).unwrap_err();
        assert_eq!(encrypted.to_string(), "a document with a password");
        let damaged = command.run(b"%PDF-1.4\nnothing else").unwrap_err().to_string();
        assert!(
            damaged.contains("pdftotext") && damaged.contains("got exit status: 1: Syntax Error"),
            "{damaged}"
        );
    }
}
