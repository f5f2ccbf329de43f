//! mbox files (RFC 4155, read leniently).
//!
//! Memory is bounded, unlike with mail-parser's reader, which collects each line and message whole.
use crate::message::fields::{HeaderFields, line_end};
use std::io::{self, BufRead};

/// Number of bytes of a line that decide what it is; also the most that is read at a time.
const CHUNK: usize = 4096;

/// An iterator over the messages of an mbox file.
///
/// Holds at most one message, truncated to the given number of bytes. A separator is a line that begins with `From `,
/// is the first line or follows an empty one, and contains a year or a time of day; so prose that begins with "From"
/// does not split a message. A file without a first separator is read as if it had one.
///
/// ```
/// use tamis_mail::mbox::Reader;
///
/// let file = b"From a@b.org Fri Aug 23 11:03:04 2002\nSubject: 1\n\n>From here on\n\n\
///              From c@d.org Fri Aug 23 11:03:05 2002\nSubject: 2\n\n";
/// let entries = Reader::new(&file[..], 1 << 20).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(entries[0].bytes, b"Subject: 1\n\nFrom here on\n");
/// assert_eq!(entries[1].number, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R: BufRead> {
    reader: R,
    max_message_bytes: usize,
    number: usize,
    /// The start of the next line, already read; empty at the end of the file.
    line: Vec<u8>,
    started: bool,
    is_raw: bool,
}

/// One message of an mbox file.
#[derive(Clone, PartialEq, Eq, Debug)]
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
        Reader { reader, max_message_bytes, number: 0, line: Vec::new(), started: false, is_raw: false }
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

    /// Reads the next line, or the next 4 KiB of a longer one, into `self.line`.
    fn advance(&mut self) -> io::Result<()> {
        self.line.clear();
        while self.line.len() < CHUNK {
            let available = match self.reader.fill_buf() {
                Ok([]) => break,
                Ok(available) => &available[..available.len().min(CHUNK - self.line.len())],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let length = memchr::memchr(b'\n', available).map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..length]);
            self.reader.consume(length);
            if self.line.ends_with(b"\n") {
                break;
            }
        }
        Ok(())
    }

    /// Skips to the next line.
    fn skip_line(&mut self) -> io::Result<()> {
        while !self.line.is_empty() && !self.line.ends_with(b"\n") {
            self.advance()?;
        }
        self.advance()
    }

    fn read_entry(&mut self) -> io::Result<Option<Entry>> {
        if !self.started {
            self.started = true;
            self.advance()?;
            while is_empty_line(&self.line) {
                self.advance()?;
            }
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        if is_separator(&self.line) && !self.is_raw {
            self.skip_line()?;
        }
        self.number += 1;
        let mut message = EntryBuilder {
            entry: Entry { number: self.number, bytes: Vec::new(), truncated: false },
            most: self.max_message_bytes,
            blank: None,
        };
        let mut at_line_start = true;
        while !self.line.is_empty() {
            if at_line_start && message.blank.is_some() && is_separator(&self.line) {
                break;
            }
            message.add(&self.line, at_line_start, self.is_raw);
            at_line_start = self.line.ends_with(b"\n");
            self.advance()?;
        }
        Ok(Some(message.finish(self.is_raw)))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<io::Result<Entry>> {
        let entry = self.read_entry();
        if entry.is_err() {
            self.line.clear(); // nothing follows an error, or a reader that keeps failing would loop
        }
        entry.transpose()
    }
}

/// A message being read.
struct EntryBuilder {
    entry: Entry,
    most: usize,
    /// An empty line that is not added yet, because the last one of a message belongs to the mailbox.
    blank: Option<&'static [u8]>,
}

impl EntryBuilder {
    fn add(&mut self, line: &[u8], at_line_start: bool, is_raw: bool) {
        if let Some(blank) = self.blank.take() {
            self.push(blank);
        }
        match line {
            b"\n" if at_line_start => self.blank = Some(b"\n"),
            b"\r\n" if at_line_start => self.blank = Some(b"\r\n"),
            _ if at_line_start && !is_raw && is_quoted(line) => self.push(&line[1..]),
            _ => self.push(line),
        }
    }

    fn finish(mut self, is_raw: bool) -> Entry {
        if let Some(blank) = self.blank.take().filter(|_| is_raw) {
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

fn is_empty_line(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

/// Whether a line is a quoted `>From `, `>>From ` and so on.
fn is_quoted(line: &[u8]) -> bool {
    let quotes = line.iter().take_while(|c| **c == b'>').count();
    quotes > 0 && line[quotes..].starts_with(b"From ")
}

fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    // the first word is the sender, if there is one
    rest.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .skip(1)
        .any(|w| is_year(w) || is_time(w))
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

/// Whether a file begins like an mbox: a separator, then a header field.
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
    let start = first_bytes.iter().position(|c| !matches!(c, b'\r' | b'\n')).unwrap_or(0);
    let bytes = &first_bytes[start..];
    let end = line_end(bytes, 0);
    is_separator(&bytes[..end.min(CHUNK)]) && HeaderFields::new(&bytes[end..]).next().is_some()
}

/// Whether the first bytes of an mbox hold more than one message: after the first one, a separator and then a header
/// field.
///
/// The field is required so that prose that looks like a separator does not count.
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
    let mut others = Reader::new(first_bytes, CHUNK).skip(1).flatten();
    others.any(|entry| HeaderFields::new(&entry.bytes).next().is_some())
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
        assert!(entries.iter().enumerate().all(|(i, e)| e.number == i + 1 && !e.truncated));
    }

    #[test]
    fn mailboxes() {
        let s = SEPARATOR;
        check("", &[]);
        check("\n\n", &[]);
        check(s, &[""]);
        check(&format!("{s}A: 1\n\nb\n"), &["A: 1\n\nb\n"]);
        check(&format!("{s}A: 1\n\nb\n\n{s}A: 2\n\nc"), &["A: 1\n\nb\n", "A: 2\n\nc"]);
        check(&format!("\n{s}A: 1\r\n\r\nb\r\n\r\n{s}A: 2\r\n"), &["A: 1\r\n\r\nb\r\n", "A: 2\r\n"]);
        check("A: 1\n\nno separator\n", &["A: 1\n\nno separator\n"]);
        // not after an empty line, not a separator, quoted
        check(&format!("{s}A: 1\n\nb\n{s}"), &[&format!("A: 1\n\nb\n{s}")]);
        check(&format!("{s}\nFrom here on\n\nFrom\n"), &["\nFrom here on\n\nFrom\n"]);
        check(&format!("{s}\n>From a\n>>From b\n>Frome\n"), &["\nFrom a\n>From b\n>Frome\n"]);
    }

    #[test]
    fn separators() {
        for line in [
            "From a@b.org Fri Aug 23 11:03:04 2002",
            "From MAILER-DAEMON Fri Aug 23 2002",
            "From  - Fri Aug 23 11:03",
            "From a b Fri Aug 23 7:03:04 +0200",
        ] {
            assert!(is_separator(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "From ",
            "From: a 2002",
            "from a 2002",
            "From here on we say",
            "From 1999",
            "From a 12345 1:2 1:23:4:5 :30 2100",
        ] {
            assert!(!is_separator(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn long_lines_and_messages_are_not_held() {
        let line = io::repeat(b'x').take(20 << 20);
        let tail = b"\n\nFrom a@b 2002\nsmall\n".as_slice();
        let file = SEPARATOR.as_bytes().chain(line).chain(tail);
        let entries: Vec<_> = Reader::new(io::BufReader::new(file), 1_000).map(Result::unwrap).collect();
        assert_eq!((entries[0].bytes.len(), entries[0].truncated), (1_000, true));
        assert_eq!((entries[1].bytes.as_slice(), entries[1].truncated), (b"small\n".as_slice(), false));
        assert_eq!(read(b"From a 2002\nabc\n", 0)[0].bytes, b"");
    }

    #[test]
    fn an_error_ends_the_mailbox() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let file = io::BufReader::new(b"From a 2002\nabc".chain(Broken));
        let results: Vec<_> = Reader::new(file, 100).map(|entry| entry.is_ok()).collect();
        assert_eq!(results, [false]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(messages in prop::collection::vec("([a-z>]{0,5}|From a|From a 12:30)(\n[a-z >]{0,5}|\n>*From 2000 2001|\n){0,6}\n", 0..6)) {
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
