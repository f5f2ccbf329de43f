//! mbox files (RFC 4155, read leniently), and what mail programs keep in them beside messages.
//!
//! Memory is bounded, unlike with mail-parser's reader, which collects each line and message whole.
use crate::message::fields::{HeaderFields, MARK, is_empty_line, line_end};
use memchr::memmem;
use std::io::{self, BufRead, Read};

/// Number of bytes of a line that decide what it is; also the most that is added to a message at a time.
const CHUNK: usize = 4096;

/// Number of bytes that are read at a time.
const READ_AHEAD: usize = 64 << 10;

/// The largest `Content-Length` that is checked, in bytes, since that much is read ahead.
const MOST_LENGTH: usize = 16 << 20;

/// An iterator over the messages of an mbox file.
///
/// Holds at most one message, truncated to the given number of bytes, and what was read ahead. A separator is a line
/// that begins with `From ` and is followed by a header field. Directly after a line of text, it must also be an
/// envelope: it has a year, a time of day, or nothing but a sender. So prose that begins with "From" does not split a
/// message. If the `Content-Length` of a message ends at a separator, there is none before (mboxcl2). A file without a
/// first separator is read as if it had one.
///
/// ```
/// use tamis_mail::mbox::Reader;
///
/// let file = b"From a@b.org Fri Aug 23 11:03:04 2002\nSubject: 1\n\n>From here on\n\n\
///              From c@d.org\nSubject: 2\n\n";
/// let entries = Reader::new(&file[..], 1 << 20).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(entries[0].bytes, b"Subject: 1\n\nFrom here on\n");
/// assert_eq!(entries[1].number, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R: BufRead> {
    /// `None` once it has ended or failed.
    reader: Option<R>,
    max_message_bytes: usize,
    number: usize,
    /// Bytes that were read ahead. Those before `at` are done.
    ahead: Vec<u8>,
    at: usize,
    /// The error that ended the reader.
    error: Option<io::Error>,
    is_raw: bool,
}

/// One message of an mbox file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Entry {
    /// Its number in the file, from 1.
    pub number: usize,
    /// The message without separator and final empty line, `>From ` unquoted (mboxrd).
    pub bytes: Vec<u8>,
    /// Whether the message was truncated to the limit.
    pub truncated: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads messages of at most `max_message_bytes` each from `reader`.
    pub fn new(reader: R, max_message_bytes: usize) -> Self {
        let (reader, ahead) = (Some(reader), Vec::new());
        Reader { reader, max_message_bytes, number: 0, ahead, at: 0, error: None, is_raw: false }
    }

    /// Leaves messages as they stand in the file: each with its separator, its quotes and its final empty line.
    ///
    /// ```
    /// use tamis_mail::mbox::Reader;
    ///
    /// let file = b"From a@b.org Fri Aug 23 11:03:04 2002\nSubject: 1\n\n>From here on\n\n";
    /// let mut entries = Reader::new(&file[..], 1 << 20).raw();
    /// assert_eq!(entries.next().unwrap()?.bytes, file);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn raw(self) -> Self {
        Reader { is_raw: true, ..self }
    }

    /// The bytes that come next: at least `least`, unless the file ends before.
    fn peek(&mut self, least: usize) -> &[u8] {
        if self.ahead.len() - self.at < least
            && let Some(reader) = &mut self.reader
        {
            self.ahead.drain(..self.at);
            self.at = 0;
            // twice as much, so that what is left is seldom moved
            let wanted = READ_AHEAD.max(2 * least) - self.ahead.len();
            let read = reader.take(wanted as u64).read_to_end(&mut self.ahead);
            if !matches!(read, Ok(n) if n == wanted) {
                (self.reader, self.error) = (None, read.err());
            }
        }
        &self.ahead[self.at..]
    }

    /// The length of the next line, or of its next 4 KiB. 0 at the end of the file.
    fn line_length(&mut self) -> usize {
        let next = self.peek(CHUNK);
        line_end(&next[..next.len().min(CHUNK)], 0)
    }

    fn is_at_separator(&mut self, after_empty_line: bool) -> bool {
        self.peek(CHUNK).starts_with(b"From ") && is_separator(self.peek(2 * CHUNK), after_empty_line)
    }

    /// Whether a body that goes on for `length` bytes ends at a separator or at the end of the file.
    fn body_ends_after(&mut self, length: usize) -> bool {
        let rest = if length > MOST_LENGTH { None } else { self.peek(length + 3 * CHUNK).get(length..) };
        let rest = rest.map(|rest| without_empty_lines(&rest[..rest.len().min(3 * CHUNK)]));
        rest.is_some_and(|rest| rest.is_empty() || is_separator(rest, true))
    }

    fn read_entry(&mut self) -> io::Result<Option<Entry>> {
        if self.number == 0 && !self.is_raw && self.peek(CHUNK).starts_with(MARK) {
            self.at += MARK.len();
        }
        let mut length = self.line_length();
        while self.number == 0 && is_empty_line(&self.peek(0)[..length]) {
            self.at += length;
            length = self.line_length();
        }
        if length == 0 {
            return self.error.take().map_or(Ok(None), Err);
        }
        if !self.is_raw && self.is_at_separator(true) {
            self.at += length;
        }
        self.number += 1;
        let (most, is_raw) = (self.max_message_bytes, self.is_raw);
        let mut message = EntryBuilder { most, is_raw, ..EntryBuilder::default() };
        message.entry.number = self.number;
        let mut at_line_start = true;
        loop {
            let length = self.line_length();
            if length == 0 {
                break self.error.take().map_or_else(|| Ok(Some(message.finish())), Err);
            }
            if at_line_start && message.may_end() && self.is_at_separator(message.blank.is_some()) {
                match message.length_left {
                    left @ 1.. if self.body_ends_after(left) => message.has_length = true,
                    _ => break Ok(Some(message.finish())),
                }
            }
            let line = &self.peek(0)[..length];
            message.add(line, at_line_start);
            at_line_start = line.ends_with(b"\n");
            self.at += length;
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<io::Result<Entry>> {
        self.read_entry().transpose()
    }
}

/// A message being read.
#[derive(Default)]
struct EntryBuilder {
    entry: Entry,
    most: usize,
    is_raw: bool,
    /// An empty line that is not added yet, because the last one of a message belongs to the mailbox.
    blank: Option<&'static [u8]>,
    /// Whether it has more than `From ` lines, which can be several.
    has_field: bool,
    in_body: bool,
    /// What is left of the body by the `Content-Length`; 0 if unknown.
    length_left: usize,
    /// Whether the length is right.
    has_length: bool,
}

impl EntryBuilder {
    /// Whether a separator would end it.
    fn may_end(&self) -> bool {
        self.has_field && !(self.has_length && self.length_left > 0)
    }

    fn add(&mut self, line: &[u8], at_line_start: bool) {
        if let Some(blank) = self.blank.take() {
            self.push(blank);
        }
        if self.in_body {
            self.length_left = self.length_left.saturating_sub(line.len());
        } else if at_line_start {
            self.has_field |= !line.starts_with(b"From ");
            self.in_body = is_empty_line(line);
            self.length_left = content_length(line).unwrap_or(self.length_left);
        }
        match line {
            b"\n" if at_line_start => self.blank = Some(b"\n"),
            b"\r\n" if at_line_start => self.blank = Some(b"\r\n"),
            _ if at_line_start && !self.is_raw && is_quoted(line) => self.push(&line[1..]),
            _ => self.push(line),
        }
    }

    fn finish(mut self) -> Entry {
        if let Some(blank) = self.blank.take().filter(|_| self.is_raw) {
            self.push(blank);
        }
        self.entry
    }

    fn push(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.most - self.entry.bytes.len());
        self.entry.bytes.extend_from_slice(&bytes[..kept]);
        self.entry.truncated |= kept < bytes.len();
    }
}

fn without_empty_lines(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|c| !matches!(c, b'\r' | b'\n')).unwrap_or(bytes.len());
    &bytes[start..]
}

/// The value of a `Content-Length` field.
fn content_length(line: &[u8]) -> Option<usize> {
    let (name, value) = line.split_at_checked(b"content-length:".len())?;
    let value = str::from_utf8(value).ok().filter(|_| name.eq_ignore_ascii_case(b"content-length:"))?;
    value.trim().parse().ok()
}

/// Whether a line is a quoted `>From `, `>>From ` and so on.
fn is_quoted(line: &[u8]) -> bool {
    let quotes = line.iter().take_while(|c| **c == b'>').count();
    quotes > 0 && line[quotes..].starts_with(b"From ")
}

/// Whether the bytes, at the start of a line, begin with a separator. See [`Reader`].
fn is_separator(bytes: &[u8], after_empty_line: bool) -> bool {
    let Some(rest) = bytes.strip_prefix(b"From ") else { return false };
    let (line, next) = rest.split_at(line_end(rest, 0));
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1).peekable();
    let is_envelope = after_empty_line || words.peek().is_none() || words.any(|w| is_year(w) || is_time(w));
    // there can be many lines like this before the field
    let mut fields = HeaderFields::new(&next[..next.len().min(CHUNK / 8)]);
    // an address of the web is not a field
    is_envelope
        && line.len() < CHUNK
        && fields.next().is_some_and(|field| !field.unfolded().starts_with("//"))
}

fn is_year(word: &[u8]) -> bool {
    matches!(word, [b'1', b'9', a, b] | [b'2', b'0', a, b] if a.is_ascii_digit() && b.is_ascii_digit())
}

/// `7:05`, `17:05`, `17:05:59`
fn is_time(word: &[u8]) -> bool {
    let digits = |part: &[u8]| part.len() <= 2 && !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let parts: Vec<_> = word.splitn(4, |c| *c == b':').collect();
    matches!(parts.len(), 2 | 3) && parts.iter().all(|part| digits(part)) && parts[1].len() == 2
}

/// Whether a file begins like an mbox: with a separator.
///
/// A single message saved with its `From ` line is an mbox with one message.
///
/// ```
/// use tamis_mail::mbox::looks_like_mbox;
///
/// assert!(looks_like_mbox(b"From a@b.org Fri Aug 23 11:03:04 2002\nReturn-Path: <a@b.org>\n"));
/// assert!(!looks_like_mbox(b"From: a@b.org\nTo: c@d.org\n"));
/// ```
pub fn looks_like_mbox(first_bytes: &[u8]) -> bool {
    is_separator(without_empty_lines(first_bytes.strip_prefix(MARK).unwrap_or(first_bytes)), true)
}

/// Whether the first bytes of an mbox hold more than one message.
///
/// ```
/// use tamis_mail::mbox::holds_several;
///
/// let one = b"From a@b.org Fri Aug 23 11:03:04 2002\nSubject: 1\n\nHello\n\n";
/// assert!(!holds_several(one));
/// assert!(!holds_several(&[one, b"From March 2002 on\n".as_slice()].concat()));
/// assert!(holds_several(&[one.as_slice(), one].concat()));
/// ```
pub fn holds_several(first_bytes: &[u8]) -> bool {
    // most files are one message, which is seen sooner
    memmem::find(first_bytes, b"\nFrom ").is_some() && Reader::new(first_bytes, CHUNK).nth(1).is_some()
}

/// Says why a message of an mbox is not one to learn: programs keep deleted messages until they rewrite the file, and
/// notes of their own as messages, and a file may end within a header.
///
/// Thunderbird's `X-Mozilla-Status` has the bit 8 for "expunged"; `X-Status` of c-client (UW imapd, Alpine), Dovecot
/// and mutt has a D. c-client and Dovecot keep the next UID in a first message with `X-IMAP`.
///
/// ```
/// use tamis_mail::mbox::not_to_learn;
///
/// assert_eq!(not_to_learn(b"From: a\nX-Mozilla-Status: 0009\n\n"), Some("a deleted message"));
/// assert_eq!(not_to_learn(b"From: a\nX-Mozilla-Status: 0001\n\n"), None);
/// ```
pub fn not_to_learn(message: &[u8]) -> Option<&'static str> {
    let (mut has_x_imap, mut is_internal) = (false, false);
    let mut fields = HeaderFields::new(message);
    for field in fields.by_ref() {
        let bits = || u32::from_str_radix(&field.unfolded(), 16).unwrap_or(0);
        if field.is("x-mozilla-status") && bits() & 8 > 0
            || field.is("x-status") && field.unfolded().contains('D')
        {
            return Some("a deleted message");
        }
        has_x_imap |= field.is("x-imap");
        is_internal |= field.is("subject") && field.unfolded().ends_with("FOLDER INTERNAL DATA");
    }
    // no line end behind the fields
    let is_cut = !message.ends_with(b"\n") && !message[fields.position..].contains(&b'\n');
    is_cut
        .then_some("cut off in its header")
        .or((has_x_imap && is_internal).then_some("data of the mail folder"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    const SEPARATOR: &str = "From a@b.org Fri Aug 23 11:03:04 2002\n";

    fn read(file: &[u8], most: usize) -> Vec<Entry> {
        Reader::new(file, most).map(Result::unwrap).collect()
    }

    fn check(file: &str, expected: &[&str]) {
        let entries = read(file.as_bytes(), 1_000_000);
        let texts: Vec<_> = entries.iter().map(|e| String::from_utf8_lossy(&e.bytes)).collect();
        assert_eq!(texts, expected, "{file:?}");
        assert!(entries.iter().enumerate().all(|(i, e)| e.number == i + 1 && !e.truncated), "{file:?}");
    }

    #[test]
    fn mailboxes() {
        let s = SEPARATOR;
        check("", &[]);
        check("\n\n", &[]);
        check(s, &[s]);
        check(&format!("{s}A: 1\n\nb\n"), &["A: 1\n\nb\n"]);
        check(&format!("\u{feff}{s}A: 1\n"), &["A: 1\n"]);
        check(&format!("{s}A: 1\n\nb\n\n{s}A: 2\n\nc"), &["A: 1\n\nb\n", "A: 2\n\nc"]);
        check(&format!("\n{s}A: 1\r\n\r\nb\r\n\r\n{s}A: 2\r\n"), &["A: 1\r\n\r\nb\r\n", "A: 2\r\n"]);
        check("A: 1\n\nno separator\n", &["A: 1\n\nno separator\n"]);
        // without an empty line before
        check(&format!("{s}A: 1\n\nb\n{s}A: 2\n\nc\n"), &["A: 1\n\nb\n", "A: 2\n\nc\n"]);
        // several lines of one message
        check(&format!("{s}From c@d\n>From e\nA: 1\n\nb\n"), &["From c@d\nFrom e\nA: 1\n\nb\n"]);
        // no field follows, quoted
        check(&format!("{s}A: 1\n\nb\n\n{s}c\n"), &[&format!("A: 1\n\nb\n\n{s}c\n")]);
        check(&format!("{s}A: 1\n\nFrom here on\n\nFrom\n"), &["A: 1\n\nFrom here on\n\nFrom\n"]);
        check(&format!("{s}A: 1\n\n>From a\n>>From b\n>Frome\n"), &["A: 1\n\nFrom a\n>From b\n>Frome\n"]);
    }

    #[test]
    fn separators() {
        for (line, next, after_empty, after_text) in [
            ("From a@b.org Fri Aug 23 11:03:04 2002", "A: 1", true, true),
            ("From MAILER-DAEMON Fri Aug 23 2002", "A:1", true, true),
            ("From 17@xxx Fri Aug 23 7:03:04 +0200 24", "X-GM-THRID: 17", true, true),
            ("From - ", "X-Mozilla-Status: 0001", true, true),
            ("From a@b.org 2024-01-01T10:00:00Z", "A: 1", true, false),
            ("From \"a b\"@c.org", "A: 1", true, false),
            ("From ", "A: 1", true, true),
            ("From here on we say", "Note: this", true, false),
            ("From 10:30 on in 2024", "we are here", false, false),
            ("From our pages", "http://example.org", false, false),
            ("From a@b.org Fri Aug 23 11:03:04 2002", "", false, false),
            ("From: a 2002", "A: 1", false, false),
            (">From a 2002", "A: 1", false, false),
        ] {
            let bytes = format!("{line}\r\n{next}\r\n");
            let is = |after_empty| is_separator(bytes.as_bytes(), after_empty);
            assert_eq!((is(true), is(false)), (after_empty, after_text), "{line}");
        }
    }

    #[test]
    fn lengths_are_believed_if_a_message_ends_there() {
        let inner = format!("a\n\n{SEPARATOR}A: 2\n\nb\n");
        for (length, expected) in
            [(inner.len(), 2), (inner.len() - 2, 3), (4 * inner.len(), 3), (usize::MAX, 3)]
        {
            let first = format!("{SEPARATOR}A: 1\nContent-Length: {length}\n\n{inner}");
            let file = format!("{first}\n{SEPARATOR}A: 3\n\nc\n");
            assert_eq!(read(file.as_bytes(), 1_000).len(), expected, "{length}");
            // the last one
            assert_eq!(read(first.as_bytes(), 1_000).len(), expected - 1, "{length}");
        }
    }

    #[test]
    fn scans_are_linear() {
        let length = format!("{SEPARATOR}A: 1\nContent-Length: 20000\n\n");
        for once in ["", &*length] {
            tamis_testing::check_linear(
                &["From \n", "From a 2002\n>From b\n", "From \nA: 1\n", &length],
                |text| {
                    read(format!("{once}{text}").as_bytes(), 1_000);
                },
            );
        }
    }

    #[test]
    fn what_is_not_to_learn() {
        for (message, expected) in [
            ("A: 1\nx-mozilla-status: 0019\n\n", Some("a deleted message")),
            ("A: 1\nX-Mozilla-Status: 0001\nX-Mozilla-Status2: 00800000\n\nX-Mozilla-Status: 0008\n", None),
            ("A: 1\nX-Status: AD\n\n", Some("a deleted message")),
            ("A: 1\nDa", Some("cut off in its header")),
            ("A: 1\nDate: Mo", Some("cut off in its header")),
            ("A: 1\n", None),
            ("A: 1\n\ntext", None),
            (
                "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAP: 1 2\n\n",
                Some("data of the mail folder"),
            ),
            ("Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAPbase: 1 2\n\n", None),
        ] {
            assert_eq!(not_to_learn(message.as_bytes()), expected, "{message}");
        }
    }

    #[test]
    fn long_lines_and_messages_are_not_held() {
        let line = io::repeat(b'x').take(20 << 20);
        let tail = b"\n\nFrom a@b 2002\nA: small\n".as_slice();
        let file = SEPARATOR.as_bytes().chain(&b"A: "[..]).chain(line).chain(tail);
        let entries: Vec<_> = Reader::new(io::BufReader::new(file), 1_000).map(Result::unwrap).collect();
        assert_eq!((entries[0].bytes.len(), entries[0].truncated), (1_000, true));
        assert_eq!((entries[1].bytes.as_slice(), entries[1].truncated), (b"A: small\n".as_slice(), false));
        assert_eq!(read(b"From a 2002\nA: 1\n", 0)[0].bytes, b"");
    }

    #[test]
    fn an_error_ends_the_mailbox() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let file = format!("{SEPARATOR}A: 1\n\n{SEPARATOR}A: 2");
        let file = io::BufReader::new(file.as_bytes().chain(Broken));
        let results: Vec<_> = Reader::new(file, 100).map(|entry| entry.is_ok()).collect();
        assert_eq!(results, [true, false]);
    }

    proptest! {
        #[test]
        fn several_are_what_the_reader_finds(
            parts in prop::collection::vec("From a@b.org Fri Aug 23 11:03:04 2002\n|From a|A: 1|\n|\r|\n\n|x{4090,4100}|Content-Length: 9\n", 0..12)
        ) {
            let file = parts.concat();
            prop_assert_eq!(holds_several(file.as_bytes()), read(file.as_bytes(), CHUNK).len() > 1, "{:?}", file);
        }

        #[test]
        fn what_is_written_is_read(messages in prop::collection::vec("A: 1\n([a-z>]{0,5}|From a|From a 12:30)(\n[a-z >]{0,5}|\n>*From 2000 2001|\n){0,6}\n", 0..6)) {
            let mut file = String::new();
            for message in &messages {
                file += SEPARATOR;
                for line in message.split_inclusive('\n') {
                    if line.trim_start_matches('>').starts_with("From ") {
                        file += ">";
                    }
                    file += line;
                }
                file += "\n";
            }
            let read: Vec<_> = read(file.as_bytes(), 10_000).into_iter().map(|e| e.bytes).collect();
            let written: Vec<_> = messages.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn never_panics(bytes: Vec<u8>, most in 0usize..100) {
            prop_assert!(read(&bytes, most).iter().all(|entry| entry.bytes.len() <= most));
        }
    }
}
