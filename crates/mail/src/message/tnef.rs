//! Outlook's TNEF (`winmail.dat`; MS-OXTNEF): bodies and attachments of a message, which other programs do not show.
use crate::message::charset;
use std::borrow::Cow;
use std::mem;

/// The bytes that a stream begins with.
pub(crate) const MARK: &[u8] = b"\x78\x9f\x3e\x22";
/// The type of what its bytes alone describe.
const FILE: &str = "application/octet-stream";
/// The most bodies and attachments that are found.
const MOST_FOUND: usize = 1_000;
/// The longest name that is read, in bytes.
const LONGEST_NAME: usize = 1_000;
/// The bits of a property's type that say whether it has several values, and that it is text in UTF-16.
const MANY: u16 = 0x1000;
const WIDE: u16 = 0x1f;

/// A body or an attachment.
#[derive(PartialEq, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) content_type: &'static str,
    pub(crate) charset: Option<String>,
    pub(crate) file_name: Option<String>,
    pub(crate) bytes: Cow<'a, [u8]>,
}

/// What a stream holds, in order. What is longer than the stream ends with it.
pub(crate) fn contents(bytes: &[u8]) -> Vec<Found<'_>> {
    let mut rest = Reader(bytes.get(6..).unwrap_or_default());
    let mut stream = Stream { found: Vec::new(), charset: None };
    while stream.found.len() < MOST_FOUND
        && let Some((id, data)) = rest.attribute()
    {
        match id {
            0x0006_9007 => stream.charset = Reader(data).number().map(|page| format!("cp{page}")),
            0x0002_800c => stream.add("text/plain", 0, Cow::Borrowed(data)),
            // an attachment begins; its name, its content
            0x0006_9002 => stream.begin_attachment(),
            0x0001_8010 => stream.attachment(0, Some(data), None),
            0x0006_800f => stream.attachment(0, None, Some(data)),
            // properties of the message, of an attachment
            0x0006_9003 | 0x0006_9005 => _ = stream.properties(Reader(data)),
            _ => (),
        }
    }
    stream.found.retain(|found| !found.bytes.is_empty());
    stream.found
}

/// What was found so far.
struct Stream<'a> {
    found: Vec<Found<'a>>,
    /// The charset of text that is not UTF-16.
    charset: Option<String>,
}

impl<'a> Stream<'a> {
    fn add(&mut self, content_type: &'static str, kind: u16, bytes: Cow<'a, [u8]>) {
        let charset = self.charset_of(kind);
        self.found.push(Found { content_type, charset, file_name: None, bytes });
    }

    fn charset_of(&self, kind: u16) -> Option<String> {
        if kind == WIDE { Some("utf-16le".to_owned()) } else { self.charset.clone() }
    }

    fn begin_attachment(&mut self) {
        self.found.pop_if(|last| last.bytes.is_empty());
        self.add(FILE, 0, Cow::Borrowed(&[]));
    }

    /// Adds name and content to the attachment that began last.
    fn attachment(&mut self, kind: u16, name: Option<&[u8]>, content: Option<&'a [u8]>) {
        let of_name = self.charset_of(kind);
        let decode = |name: &[u8]| {
            charset::decode_text(&name[..name.len().min(LONGEST_NAME)], of_name.as_deref()).into_owned()
        };
        if !self.found.last().is_some_and(|last| last.content_type == FILE) {
            self.begin_attachment();
        }
        if let Some(last) = self.found.last_mut() {
            last.file_name = name.map(decode).or(last.file_name.take());
            last.bytes = content.map_or(mem::take(&mut last.bytes), Cow::Borrowed);
        }
    }

    /// Reads the bodies among the properties of a message, and name and content among those of an attachment.
    fn properties(&mut self, mut rest: Reader<'a>) -> Option<()> {
        for _ in 0..rest.number()? {
            let (kind, id) = (rest.short()?, rest.short()?);
            // named properties
            if id >= 0x8000 {
                rest.take(16);
                match rest.number()? {
                    0 => _ = rest.number()?,
                    _ => _ = rest.padded()?,
                }
            }
            let size = match kind & !MANY {
                2 | 3 | 4 | 10 | 11 => Some(4),
                5 | 6 | 7 | 0x14 | 0x40 => Some(8),
                0x48 => Some(16),
                0x0d | 0x1e | WIDE | 0x102 => None,
                _ => return None,
            };
            let n = if size.is_none() || kind & MANY > 0 { rest.number()? } else { 1 };
            for _ in 0..n {
                let Some(size) = size else {
                    let value = rest.padded()?;
                    self.property(kind, id, value);
                    continue;
                };
                rest.take(size).last()?;
            }
        }
        Some(())
    }

    fn property(&mut self, kind: u16, id: u16, value: &'a [u8]) {
        match id {
            0x1000 => self.add("text/plain", kind, Cow::Borrowed(value)),
            0x1013 => self.add("text/html", kind, Cow::Borrowed(value)),
            0x1009 => self.add("application/rtf", 0, decompressed(value)),
            0x3707 => self.attachment(kind, Some(value), None),
            // an embedded message, after what kind of object it is
            0x3701 if value.get(16..).is_some_and(|rest| rest.starts_with(MARK)) => {
                self.attachment(0, None, value.get(16..))
            }
            _ => (),
        }
    }
}

/// Bytes that are read from the front. What is longer than they are ends with them.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        #[cfg(test)]
        tamis_testing::step(1);
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2).first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4).first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A value after its length, which ends at a multiple of four bytes.
    fn padded(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let value = self.take(length);
        self.take(length.wrapping_neg() % 4);
        Some(value)
    }

    /// The number and data of the next attribute, after its level, before its checksum.
    fn attribute(&mut self) -> Option<(u32, &'a [u8])> {
        self.take(1);
        let (id, length) = (self.number()?, self.number()?);
        let data = self.take(length as usize);
        self.take(2);
        Some((id, data))
    }
}

/// What compressed RTF refers back to before it has begun (MS-OXRTFCP, section 2.1.2.1).
const START: &[u8] = b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \
    \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

/// Decompresses RTF (MS-OXRTFCP), up to where it is damaged.
fn decompressed(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (head, mut rest) = bytes.split_at(bytes.len().min(16));
    if head.get(8..12) == Some(b"MELA") {
        return Cow::Borrowed(rest);
    }
    let mut out = START.to_vec();
    'all: while let [flags, more @ ..] = rest {
        rest = more;
        for bit in 0..8 {
            match rest {
                [byte, more @ ..] if flags >> bit & 1 == 0 => {
                    out.push(*byte);
                    rest = more;
                }
                [high, low, more @ ..] => {
                    let pair = u16::from_be_bytes([*high, *low]);
                    let back = out.len().wrapping_sub(usize::from(pair >> 4)) % 4096;
                    if back == 0 || back > out.len() {
                        break 'all;
                    }
                    for at in out.len() - back..out.len() - back + usize::from(pair % 16) + 2 {
                        out.push(out[at]);
                    }
                    rest = more;
                }
                _ => break 'all,
            }
        }
    }
    Cow::Owned(out.split_off(START.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testing::steps;

    #[test]
    fn compressed_rtf() {
        assert_eq!(START.len(), 207);
        // the two examples of MS-OXRTFCP
        let first = b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125B2\x0a\xf3 hel\x09\0 bw\x05\xb0ld}\x0a\x80\x0f\xa0";
        assert_eq!(decompressed(first), b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n".as_slice());
        let second = b"\x1a\0\0\0\x1c\0\0\0LZFu\xe2\xd4\x4b\x51\x41\0\x04 WXYZ\x0dn}\x01\x0e\xb0";
        assert_eq!(decompressed(second), b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}".as_slice());
        assert_eq!(decompressed(b"12345678MELA1234{\\rtf1}"), b"{\\rtf1}".as_slice());
        // into what is not yet written, and cut off
        assert_eq!(decompressed(b"12345678LZFu1234\x02a\xff\xf0b"), b"a".as_slice());
        assert_eq!(decompressed(b"12345678LZFu1234\x02a\x00"), b"a".as_slice());
        assert_eq!(decompressed(b"12345"), b"".as_slice());
    }

    #[test]
    fn hostile_streams_are_linear() {
        for unit in [
            &b"\x01\x0c\x80\x02\0\x01\0\0\0x\0\0"[..],
            b"\x02\x02\x90\x06\0\0\0\0\0\0\0",
            b"\x01\x0f\x80\x06\0\x01\0\0\0x\0\0",
            b"\x01\x03\x90\x06\0\x0c\0\0\0\xff\xff\xff\xff\x03\x10\0\x10\xff\xff\xff\xff\0\0",
        ] {
            let work = |n: usize| {
                let raw = [MARK, &[0; 2], &unit.repeat(n)[..]].concat();
                steps(|| drop(contents(&raw)))
            };
            assert!(work(20_000) <= 2 * work(10_000) + 20, "{unit:?}");
        }
    }
}
