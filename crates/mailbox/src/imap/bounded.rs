//! Limits on what a server sends, before anything is parsed.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, Join, ReadBuf, ReadHalf, WriteHalf, join, split};

/// Maximum bytes of a literal: a message is fetched in one, and never more than 256 KiB of it.
const MOST_LITERAL: u64 = 1 << 20;

/// Maximum bytes of a line: a search lists all messages of a folder in one, a million in this.
const MOST_LINE: u64 = 8 << 20;

/// Maximum depth of parentheses. The parser recurses into them; the responses used here have three.
const MOST_DEPTH: u32 = 20;

/// A connection, encrypted or not.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + Send + Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Debug> Transport for T {}

/// A connection that ends with an error when the server announces or sends too much.
pub(crate) type ImapStream = Join<BoundedReader, WriteHalf<Box<dyn Transport>>>;

/// What the server sends.
#[derive(Debug)]
pub(crate) struct BoundedReader {
    inner: ReadHalf<Box<dyn Transport>>,
    scan: Scan,
}

/// Follows lines and literals (RFC 3501, section 4.3).
#[derive(Default, Debug)]
struct Scan {
    /// Bytes of a literal that are still to come.
    literal: u64,
    /// Bytes of the line so far.
    line: u64,
    depth: u32,
    /// The second word of a line: `OK` and the like are followed by text, in which nothing is announced.
    words: u8,
    word: Vec<u8>,
    is_text: bool,
    /// The number after a brace that may announce a literal, and whether the brace was closed.
    number: Option<u64>,
    is_closed: bool,
}

impl Scan {
    /// Looks at what was received. In text for people, which is ASCII (RFC 3501, section 7.1), other bytes become `?`:
    /// the parser takes the text apart at places that may be within a character. It does not know NAMESPACE (RFC 2342),
    /// which becomes an untagged `NO` with the namespaces as its text.
    fn look(&mut self, bytes: &mut [u8]) -> Result<(), &'static str> {
        let mut at = 0;
        while at < bytes.len() {
            if self.literal > 0 {
                let n = (bytes.len() - at).min(usize::try_from(self.literal).unwrap_or(usize::MAX));
                self.literal -= n as u64;
                at += n;
            } else {
                self.look_at(bytes[at])?;
                if self.is_text && !bytes[at].is_ascii() {
                    bytes[at] = b'?';
                }
                if self.words == 1 && self.word.get(..2).is_some_and(|word| word.eq_ignore_ascii_case(b"NA"))
                {
                    bytes[at] = if self.word.len() == 2 { b'O' } else { b' ' };
                }
                at += 1;
            }
        }
        Ok(())
    }

    fn look_at(&mut self, byte: u8) -> Result<(), &'static str> {
        self.line += 1;
        if self.line > MOST_LINE {
            return Err("the server sent a line of more than 8 MiB");
        }
        if self.words < 2 {
            self.look_at_word(byte);
        }
        match byte {
            b'\n' => return self.end_line(),
            b'\r' => {}
            _ if self.is_text => {}
            b'{' => (self.number, self.is_closed) = (Some(0), false),
            b'0'..=b'9' if !self.is_closed => {
                self.number =
                    self.number.map(|n| n.saturating_mul(10).saturating_add(u64::from(byte - b'0')));
            }
            b'}' if self.number.is_some() && !self.is_closed => self.is_closed = true,
            _ => {
                self.number = None;
                self.depth = match byte {
                    b'(' => self.depth + 1,
                    b')' => self.depth.saturating_sub(1),
                    _ => self.depth,
                };
                if self.depth > MOST_DEPTH {
                    return Err("the server sent more than 20 nested lists");
                }
            }
        }
        Ok(())
    }

    fn look_at_word(&mut self, byte: u8) {
        if byte != b' ' && byte != b'\r' && byte != b'\n' {
            // no longer word matters
            if self.word.len() < 16 {
                self.word.push(byte);
            }
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.is_text = match self.words {
            0 => word == b"+",
            _ => ["OK", "NO", "BAD", "BYE", "PREAUTH", "NAMESPACE"]
                .iter()
                .any(|text| word.eq_ignore_ascii_case(text.as_bytes())),
        };
        self.words = if self.is_text { 2 } else { self.words + 1 };
    }

    fn end_line(&mut self) -> Result<(), &'static str> {
        if let Some(length) = self.number.filter(|_| self.is_closed) {
            if length > MOST_LITERAL {
                return Err("the server announced a literal of more than 1 MiB");
            }
            self.literal = length;
            (self.number, self.is_closed) = (None, false);
            return Ok(());
        }
        *self = Scan { word: std::mem::take(&mut self.word), ..Scan::default() };
        self.word.clear();
        Ok(())
    }
}

/// Bounds what a connection reads.
pub(super) fn bounded(connection: impl Transport + 'static) -> ImapStream {
    let (inner, writer) = split(Box::new(connection) as Box<dyn Transport>);
    join(BoundedReader { inner, scan: Scan::default() }, writer)
}

/// The connection that was bounded.
pub(super) fn unbounded(stream: ImapStream) -> Box<dyn Transport> {
    let (reader, writer) = stream.into_inner();
    reader.inner.unsplit(writer)
}

impl AsyncRead for BoundedReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let BoundedReader { inner, scan } = &mut *self;
        match Pin::new(inner).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => Poll::Ready(
                scan.look(&mut buf.filled_mut()[before..])
                    .map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what)),
            ),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(bytes: &[u8]) -> Result<(), &'static str> {
        let (mut whole, mut parts) = (bytes.to_vec(), bytes.to_vec());
        let looked = Scan::default().look(&mut whole);
        let mut by_bytes = Scan::default();
        assert_eq!(parts.chunks_mut(1).try_for_each(|byte| by_bytes.look(byte)), looked);
        assert_eq!(parts, whole);
        looked
    }

    #[test]
    fn what_is_announced_is_bounded() {
        look(b"* 1 FETCH (BODY[] {12}\r\n{2000000000} UID 5)\r\n").unwrap();
        look(b"* 1 FETCH (BODY[] {1048577}\r\n").unwrap_err();
        look(b"* 1 FETCH (BODY[] {2000000000}\r\n").unwrap_err();
        look(b"* 1 FETCH (BODY[] {99999999999999999999999999}\r\n").unwrap_err();
        // in a message, nothing is announced
        look(b"* 1 FETCH (BODY[] {14}\r\n{2000000000}\r\n UID 5)\r\n").unwrap();
    }

    #[test]
    fn text_announces_nothing_so_that_nothing_hides_behind_it() {
        for text in ["* OK hello {900000}", "A1 NO no {900000}", "+ {900000}", "* bye {900000}"] {
            look(format!("{text}\r\n* 1 FETCH (BODY[] {{2000000000}}\r\n").as_bytes()).unwrap_err();
        }
        look(b"* LIST () \"/\" {5}\r\nInbox\r\n* OK done\r\n").unwrap();
        look(b"* LIST () \"/\" \"{2000000000}\"\r\n").unwrap();
    }

    #[test]
    fn text_becomes_ascii_and_nothing_else_does() {
        let mut said =
            "* OK [ALERT]é {5}\r\n* LIST () \"/\" é\r\n* 1 FETCH (BODY[] {2}\r\né)\r\n".as_bytes().to_vec();
        look(&said).unwrap();
        Scan::default().look(&mut said).unwrap();
        let expected = "* OK [ALERT]?? {5}\r\n* LIST () \"/\" é\r\n* 1 FETCH (BODY[] {2}\r\né)\r\n";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
        let mut namespaces = b"* NAMESPACE ((\"\" \"/\")) NIL NIL\r\n".to_vec();
        look(&namespaces).unwrap();
        Scan::default().look(&mut namespaces).unwrap();
        assert_eq!(namespaces, b"* NO        ((\"\" \"/\")) NIL NIL\r\n");
    }

    #[test]
    fn nesting_and_lines_are_bounded() {
        look("(".repeat(100_000).as_bytes()).unwrap_err();
        look(format!("* 1 FETCH {}{}\r\n", "(".repeat(20), ")".repeat(20)).as_bytes()).unwrap();
        look(&vec![b'a'; (8 << 20) + 1]).unwrap_err();
    }
}
