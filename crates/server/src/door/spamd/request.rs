//! Parsing a request's first line and headers.

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, Debug)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Is it spam, and with which score?
    #[default]
    Check,
    /// And for which reasons, by name?
    Symbols,
    /// And for which reasons, as a text?
    Report,
    /// The same, for spam only.
    #[serde(rename = "REPORT_IFSPAM")]
    ReportIfSpam,
    /// The message with the verdict in its header.
    Process,
    /// Its header alone.
    Headers,
    /// Learn or forget.
    Tell,
    /// Are you there?
    Ping,
    /// Nothing.
    Skip,
}

impl Method {
    /// Whether the whole message goes back or is learned, so that it must be complete.
    pub fn needs_whole(self) -> bool {
        matches!(self, Method::Process | Method::Headers | Method::Tell)
    }
}

/// A request without its message.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SpamdRequest {
    /// What is asked for.
    pub method: Method,
    /// The minor version: 5 for 1.5.
    pub version: u32,
    /// Whether the client speaks Exim's rspamd variant.
    pub is_rspamc: bool,
    /// `User`.
    pub user: Option<String>,
    /// `Content-length`, in bytes.
    pub length: Option<usize>,
    /// `Message-class`.
    pub class: Option<String>,
    /// Whether `Set` names `local`.
    pub set: bool,
    /// Whether `Remove` names `local`.
    pub remove: bool,
    /// `Queue-Id`.
    pub queue_id: String,
}

/// Why a request is refused: spamd's words after "Bad header line: ".
pub type BadLine = String;

/// Maximum bytes of a request's first line and headers.
pub const MOST_HEAD: usize = 64 << 10;

/// Where the first line and the headers end, if they are whole. A PING or SKIP before 1.5 has no headers. An invalid
/// first line is refused without waiting for headers.
pub fn head_end(bytes: &[u8]) -> Option<usize> {
    let line_end = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    match first_line(&bytes[..line_end]) {
        Ok((Method::Ping | Method::Skip, version, _)) if version < 5 => Some(line_end),
        Err(_) => Some(line_end),
        Ok(_) => {
            let mut line_starts = (line_end..=bytes.len()).filter(|at| bytes[at - 1] == b'\n');
            // an empty line, which ends in either way
            line_starts.find_map(|at| match &bytes[at..] {
                [b'\r', b'\n', ..] => Some(at + 2),
                [b'\n', ..] => Some(at + 1),
                _ => None,
            })
        }
    }
}

/// Parses the first line and the headers, up to and including the empty line.
///
/// # Errors
/// What spamd says about a line that it does not understand.
pub fn parse(head: &[u8]) -> Result<SpamdRequest, BadLine> {
    let line_end = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |at| at + 1);
    let (method, version, is_rspamc) = first_line(&head[..line_end])?;
    let mut request = SpamdRequest { method, version, is_rspamc, ..SpamdRequest::default() };
    for line in head[line_end..].split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err("(header not in 'Name: value' format)".to_owned());
        };
        if !line.is_empty() {
            request.take_header(line)?;
        }
    }
    if request.set && request.remove {
        return Err("Unable to set local and remove local in the same operation.".to_owned());
    }
    Ok(request)
}

/// The method, the minor version and whether it is the rspamd variant.
fn first_line(line: &[u8]) -> Result<(Method, u32, bool), BadLine> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end();
    let bad = || shown(text);
    let (method, protocol) = text.split_once(' ').ok_or_else(bad)?;
    let method = Method::deserialize(StrDeserializer::<Error>::new(method)).map_err(|_| bad())?;
    let (is_rspamc, version) = match protocol.trim().split_once('/').ok_or_else(bad)? {
        ("SPAMC", version) => (false, version),
        ("RSPAMC", version) => (true, version),
        _ => return Err(bad()),
    };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let (major, minor): (u32, u32) = major.parse().ok().zip(minor.parse().ok()).ok_or_else(bad)?;
    // a later version is answered as the last one that is known
    let minor = if major > 1 { 5 } else { minor };
    Ok((method, minor, is_rspamc))
}

impl SpamdRequest {
    fn take_header(&mut self, line: &[u8]) -> Result<(), BadLine> {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else {
            return Err("(header not in 'Name: value' format)".to_owned());
        };
        let value = value.trim();
        let names_local = || value.split(',').any(|place| place.trim().eq_ignore_ascii_case("local"));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err("(Content-Length contains non-numeric bytes)".to_owned());
                }
                // more than can be counted is more than can come
                self.length = Some(value.parse().unwrap_or(usize::MAX));
            }
            "user" if !value.is_empty() => self.user = Some(value.to_owned()),
            "message-class" => self.class = Some(value.to_owned()),
            "set" => self.set = names_local(),
            "remove" => self.remove = names_local(),
            "queue-id" => self.queue_id = value.to_owned(),
            "compress" => return Err(format!("(compression type not supported: {})", shown(value))),
            _ => (),
        }
        Ok(())
    }
}

/// A client's words, for an answer of one line.
fn shown(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The message itself: without the lines that clients put in front of it, which are not evidence.
pub fn message(mut bytes: &[u8]) -> &[u8] {
    const FRONT: [&str; 3] = ["x-envelope-from:", "x-envelope-to:", "x-haraka-uuid:"];
    let line_end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    if bytes.starts_with(b"From ") {
        bytes = &bytes[line_end(bytes).unwrap_or(bytes.len())..];
    }
    let is_front = |bytes: &[u8]| {
        FRONT.iter().any(|name| {
            bytes.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        })
    };
    while is_front(bytes) {
        let mut end = line_end(bytes).unwrap_or(bytes.len());
        // folded lines
        while matches!(bytes.get(end), Some(b' ' | b'\t')) {
            end += line_end(&bytes[end..]).unwrap_or(bytes.len() - end);
        }
        bytes = &bytes[end..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<SpamdRequest, BadLine> {
        assert_eq!(head_end(text.as_bytes()), Some(text.len()), "{text:?}");
        parse(text.as_bytes())
    }

    #[test]
    fn what_real_clients_send_is_understood() {
        let spamc = parsed("PROCESS SPAMC/1.5\r\nUser: root\r\nContent-length: 105\r\n\r\n").unwrap();
        assert_eq!((spamc.method, spamc.version, spamc.length), (Method::Process, 5, Some(105)));
        assert_eq!(spamc.user.as_deref(), Some("root"));
        let tell = "TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local,remote\r\nUser: joe\r\nContent-length: 1\r\n\r\n";
        let tell = parsed(tell).unwrap();
        assert_eq!((tell.class.as_deref(), tell.set, tell.remove), (Some("spam"), true, false));
        let revoke =
            parsed("TELL SPAMC/1.5\r\nMessage-class: ham\r\nSet: local\r\nRemove: remote\r\n\r\n").unwrap();
        assert!(revoke.set && !revoke.remove);
        let exim = parsed("CHECK RSPAMC/1.3\r\nContent-length: 501\r\nQueue-Id: 1q\r\nIP: 192.0.2.1\r\n\r\n")
            .unwrap();
        assert!(exim.is_rspamc && exim.queue_id == "1q");
        let haraka = parsed("HEADERS SPAMC/1.4\r\nUser: default\r\n\r\n").unwrap();
        assert_eq!((haraka.method, haraka.length), (Method::Headers, None));
        assert_eq!(parsed("PING SPAMC/1.2\r\n").unwrap().method, Method::Ping);
        assert_eq!(parsed("PING SPAMC/1.5\r\n\r\n").unwrap().method, Method::Ping);
    }

    #[test]
    fn other_lines_are_refused_in_the_words_of_spamd() {
        for (text, words) in [
            ("FOO SPAMC/1.5\r\n", "FOO SPAMC/1.5"),
            ("check SPAMC/1.5\r\n", "check SPAMC/1.5"),
            ("GET / HTTP/1.1\r\n", "GET / HTTP/1.1"),
            ("CHECK SPAMC/1.5\r\nContent-length: x5\r\n\r\n", "(Content-Length contains non-numeric bytes)"),
            ("CHECK SPAMC/1.5\nContent-length: 5\n\n", "(header not in 'Name: value' format)"),
            ("CHECK SPAMC/1.5\r\nnonsense\r\n\r\n", "(header not in 'Name: value' format)"),
            ("CHECK SPAMC/1.5\r\nCompress: zlib\r\n\r\n", "(compression type not supported: zlib)"),
        ] {
            assert_eq!(parsed(text).unwrap_err(), words);
        }
        assert_eq!(head_end(b"CHECK SPAMC/1.5\r\nUser: a\r\n"), None);
        assert_eq!(head_end(b"CHECK SPAMC/1.5"), None);
    }

    #[test]
    fn lines_in_front_of_the_message_are_no_evidence() {
        let mail = b"Subject: x\r\n\r\nbody X-Envelope-To: a\r\n";
        for front in [
            "",
            "From MAILER-DAEMON Sat Nov 21\n",
            "From a\nX-Envelope-From: <a@example.net>\nX-Envelope-To: b@example.org\n",
            "x-envelope-to: a,\r\n b\r\nX-Haraka-UUID: 7\r\n",
        ] {
            assert_eq!(message(&[front.as_bytes(), mail].concat()), mail);
        }
        assert_eq!(message(b"From "), b"");
    }

    const METHODS: [&str; 9] =
        ["CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS", "TELL", "PING", "SKIP"];

    #[test]
    fn methods_have_the_names_of_the_protocol() {
        for name in METHODS {
            let request = parse(format!("{name} SPAMC/1.3\r\n").as_bytes()).unwrap();
            assert_eq!(format!("{:?}", request.method).to_uppercase(), name.replace('_', ""));
        }
        for other in ["check", "REPORTIFSPAM", "0", ""] {
            assert!(parse(format!("{other} SPAMC/1.3\r\n").as_bytes()).is_err(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>, method in 0..METHODS.len(), prefix: bool) {
            let line = format!("{} SPAMC/1.3\r\n", METHODS[method]);
            let bytes = if prefix { [line.as_bytes(), &bytes].concat() } else { bytes };
            if let Some(end) = head_end(&bytes) {
                let _ = parse(&bytes[..end]);
            }
            prop_assert!(bytes.ends_with(message(&bytes)));
        }
    }
}
