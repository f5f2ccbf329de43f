//! The log: a line for each verdict and for each document learned, to a file or to syslog. A failing log never stops
//! mail.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tamis_mail::Message;
use tamis_program::{now, one_word, plain, say, shown_path};
use tamis_train::document_name;

/// Names the system's log in place of a file, and the path of its socket.
const SYSLOG: &str = "syslog";
const SOCKET: &str = if cfg!(target_vendor = "apple") { "/var/run/syslog" } else { "/dev/log" };

/// The facility `mail` and the severity `info` of a syslog message (RFC 3164, section 4.1.1).
const PRIORITY: u32 = 2 * 8 + 6;

/// A log being written.
pub(crate) struct VerdictLog {
    /// A file, or `syslog`.
    target: PathBuf,
    model: String,
    /// When work on the current document began.
    begun: Instant,
    /// Whether a failure has been reported.
    is_told: bool,
}

impl VerdictLog {
    /// Creates a log of what is done with a model.
    pub(crate) fn new(target: PathBuf, model: Option<PathBuf>) -> Self {
        let model = model.map(|model| std::path::absolute(&model).unwrap_or(model)).unwrap_or_default();
        let model = model.to_string_lossy().into_owned();
        VerdictLog { target, model, begun: Instant::now(), is_told: false }
    }

    /// Logs the verdict on a document.
    pub(crate) fn verdict(&mut self, id: &str, label: &str, log_odds: f64, is_truncated: bool) {
        let truncated = if is_truncated { " truncated=yes" } else { "" };
        let what = format!("verdict={} log-odds={log_odds:+.2}{truncated}", one_word(label));
        self.write(&self.line(id, &what));
    }

    /// Logs that a document got no verdict.
    pub(crate) fn error(&mut self, id: &str) {
        self.write(&self.line(id, "verdict=error"));
    }

    /// Logs that documents were learned, each with its label.
    pub(crate) fn learned(&mut self, documents: &[(String, String)]) {
        let line = |(id, label): &(String, String)| self.line(id, &format!("learned={}", one_word(label)));
        let lines: Vec<String> = documents.iter().map(line).collect();
        match self.is_syslog() {
            true => lines.iter().for_each(|line| self.write(line)),
            false => self.write(&lines.join("\n")),
        }
    }

    /// `tamis[7]: time=2026-03-02T10:00:00Z id=1@example.org verdict=ham log-odds=-2.20 model=/home/a/model.tamis ms=3`
    fn line(&self, id: &str, what: &str) -> String {
        let mut line = format!("tamis[{}]: time={} id={} {what}", std::process::id(), now(), one_word(id));
        // writing to a String cannot fail
        let _ = write!(line, " model={} ms={}", one_word(&self.model), self.begun.elapsed().as_millis());
        line
    }

    fn is_syslog(&self) -> bool {
        self.target.as_os_str() == SYSLOG
    }

    fn write(&mut self, lines: &str) {
        self.begun = Instant::now();
        let written = match self.is_syslog() {
            _ if lines.is_empty() => Ok(()),
            true => send(Path::new(SOCKET), lines),
            false => append(&self.target, lines),
        };
        if let Err(error) = written
            && !std::mem::replace(&mut self.is_told, true)
        {
            say!("tamis: not logged: {}: {}", shown_path(&self.target), plain(&error));
        }
    }
}

/// Appends lines to a file that only its owner may read. Never waits, whatever the kind of file.
fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    // all at once, so that lines of several processes do not mix
    options.open(path)?.write_all(format!("{lines}\n").as_bytes())
}

/// Sends a line to a syslog socket. Never waits.
fn send(socket: &Path, line: &str) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    sender.send_to(format!("<{PRIORITY}>{line}").as_bytes(), socket).map(drop)
}

/// The Message-ID of a message, without its angle brackets; empty if there is none.
pub(crate) fn message_id(raw: &[u8]) -> String {
    Message::parse_header(raw).header("message-id").map_or_else(String::new, document_name)
}

/// A parsed line of the log.
#[derive(PartialEq, Debug)]
pub(crate) struct StatsEntry<'a> {
    /// The day (UTC), as `2026-03-02`.
    pub(crate) day: Cow<'a, str>,
    pub(crate) what: LogEvent<'a>,
}

/// The event that a line of the log reports.
#[derive(PartialEq, Debug)]
pub(crate) enum LogEvent<'a> {
    /// The label, `unsure` or `error`, and the log-odds if there are any.
    Verdict(Cow<'a, str>, Option<f64>),
    Learned(Cow<'a, str>),
}

/// Parses a line of the log, as written to a file or by syslog, by this program or by tamisd. Returns `None` for any
/// other line.
pub(crate) fn parse_line(line: &str) -> Option<StatsEntry<'_>> {
    if line.starts_with('{') {
        return parse_json(line);
    }
    let (before, rest) = line.split_once("tamis")?;
    // lines of other programs may quote anything
    if before.contains(": ") {
        return None;
    }
    let (process, rest) = rest.split_once("]: ")?;
    if process.starts_with("d[") {
        return parse_json(rest);
    }
    if !process.starts_with('[') {
        return None;
    }
    let mut fields = rest.split(' ').map(|field| field.split_once('=').unwrap_or((field, "")));
    let ("time", time) = fields.next()? else { return None };
    let day = time.split_once('T')?.0.into();
    let ("id", _) = fields.next()? else { return None };
    let what = match fields.next()? {
        ("verdict", label) => {
            let log_odds = fields.next().filter(|(name, _)| *name == "log-odds");
            LogEvent::Verdict(label.into(), log_odds.and_then(|(_, number)| number.parse().ok()))
        }
        ("learned", label) => LogEvent::Learned(label.into()),
        _ => return None,
    };
    Some(StatsEntry { day, what })
}

/// A line of tamisd's log: a JSON object.
fn parse_json(line: &str) -> Option<StatsEntry<'_>> {
    #[derive(serde::Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        time: Cow<'a, str>,
        #[serde(borrow)]
        verdict: Option<Cow<'a, str>>,
        #[serde(borrow)]
        learned: Option<Cow<'a, str>>,
        log_odds: Option<f64>,
    }
    let Line { time, verdict, learned, log_odds } = serde_json::from_str(line).ok()?;
    let day = time.split_once('T')?.0.to_owned().into();
    let what = match (verdict, learned) {
        (Some(label), _) => LogEvent::Verdict(label, log_odds),
        (None, label) => LogEvent::Learned(label?),
    };
    Some(StatsEntry { day, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let log = VerdictLog::new("x".into(), Some("/a b/model.tamis".into()));
        let line = log.line("1 verdict=ham@example.org\u{1b}", "verdict=spam log-odds=+7.00");
        assert!(line.contains(" id=1\\040verdict=ham@example.org\\033 verdict=spam "), "{line}");
        assert!(line.contains(" model=/a\\040b/model.tamis ms="), "{line}");
        let today = now();
        let day = today.split_once('T').unwrap().0;
        let expected =
            Some(StatsEntry { day: day.into(), what: LogEvent::Verdict("spam".into(), Some(7.0)) });
        assert_eq!(parse_line(&line), expected);
        assert_eq!(parse_line(&format!("Nov 23 04:41:44 host {line}")), expected);
        assert_eq!(parse_line(&format!("Nov 23 04:41:44 host postfix[1]: subject {line}")), None);
        assert_eq!(parse_line(&log.line("", "learned=ham")).unwrap().what, LogEvent::Learned("ham".into()));
        let json =
            r#"{"time":"2026-03-02T10:00:00Z","door":"spamd","verdict":"a \"b\"","log_odds":-0.5,"ms":0.2}"#;
        let expected = Some(StatsEntry {
            day: "2026-03-02".into(),
            what: LogEvent::Verdict("a \"b\"".into(), Some(-0.5)),
        });
        assert_eq!(parse_line(json), expected);
        assert_eq!(parse_line(&format!("Nov 23 04:41:44 host tamisd[7]: {json}")), expected);
        assert_eq!(parse_line(&format!("Nov 23 04:41:44 host postfix[1]: tamisd[7]: {json}")), None);
        assert_eq!(parse_line(r#"{"time":"2026-03-02T10:00:00Z"}"#), None);
        for other in ["", "tamis[", "tamis[1]: ", "tamis[1]: time=x id=1 verdict=ham", &line[..40]] {
            assert_eq!(parse_line(other), None, "{other}");
        }
    }

    #[test]
    fn message_ids_are_found_in_the_header_alone() {
        assert_eq!(message_id(b"A: 1\r\nMessage-ID: <1@example.org>\r\n\r\nx"), "1@example.org");
        assert_eq!(message_id(b"A: 1\n\nMessage-ID: <1@example.org>\n"), "");
        assert_eq!(message_id(b"\xff\xff"), "");
    }

    #[test]
    fn syslog_gets_its_priority_and_is_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(send(&path, "line").is_err());
        let socket = UnixDatagram::bind(&path).unwrap();
        send(&path, "tamis[1]: line").unwrap();
        let mut got = [0; 100];
        let n = socket.recv(&mut got).unwrap();
        assert_eq!(&got[..n], b"<22>tamis[1]: line");
        // nobody reads the lines
        let refused = (0..100_000).find_map(|_| send(&path, "line").err()).unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    }
}
