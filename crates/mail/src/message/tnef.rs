//! Outlook's TNEF (`winmail.dat`; MS-OXTNEF): bodies and attachments of a message, which other programs do not show.
use crate::message::charset::decode_text;
use crate::message::part::Part;
use std::borrow::Cow;

/// The bytes that a stream begins with.
pub(crate) const MARK: &[u8] = b"\x78\x9f\x3e\x22";
/// The type of an attachment.
const FILE: &str = "application/octet-stream";
/// The most bodies and attachments that are found.
const MOST_FOUND: usize = 1_000;

/// A body or an attachment, and its bytes.
type Found<'a> = (Part, Cow<'a, [u8]>);

/// What a stream holds, in order, as parts at a depth. What is longer than the stream ends with it.
pub(crate) fn contents(bytes: &[u8], depth: usize) -> Vec<Found<'_>> {
    let rest = &mut bytes.get(6..).unwrap_or_default();
    let mut stream = Stream { found: Vec::new(), charset: None, depth };
    while stream.found.len() < MOST_FOUND {
        take(rest, 1); // the level of the attribute
        let Some((id, length)) = number(rest).zip(number(rest)) else { break };
        let data = take(rest, length as usize);
        take(rest, 2); // its checksum
        match id {
            0x6_9007 => stream.charset = number(&mut &*data).map(|page| format!("cp{page}")),
            0x2_800c => stream.add("text/plain", 0, data.into()),
            // an attachment begins; its name, its content
            0x6_9002 => stream.add(FILE, 0, Cow::default()),
            0x1_8010 => stream.name(data),
            0x6_800f => stream.fill(data),
            // properties of the message, of an attachment
            0x6_9003 | 0x6_9005 => _ = stream.properties(&mut &*data),
            _ => (),
        }
    }
    stream.found.retain(|(_, bytes)| !bytes.is_empty());
    stream.found
}

struct Stream<'a> {
    found: Vec<Found<'a>>,
    /// The charset of text that is not UTF-16.
    charset: Option<String>,
    depth: usize,
}

impl<'a> Stream<'a> {
    /// Adds a body, of a property of some type, or an attachment. One without content before it is left out.
    fn add(&mut self, content_type: &str, kind: u32, bytes: Cow<'a, [u8]>) {
        let charset = if kind == 0x1f { Some("utf-16le".to_owned()) } else { self.charset.clone() };
        let (depth, content_type) = (self.depth, content_type.to_owned());
        self.found.pop_if(|(_, bytes)| bytes.is_empty());
        self.found.push((Part { depth, content_type, charset, is_attached: true, ..Part::default() }, bytes));
    }

    /// Names the attachment that began last.
    fn name(&mut self, data: &[u8]) {
        let name = decode_text(data, self.charset.as_deref()).into_owned();
        if let Some((part, _)) = self.found.last_mut().filter(|(part, _)| part.content_type == FILE) {
            part.file_name = Some(name);
        }
    }

    /// Adds the content of an attachment: of the one that began last, unless that has one.
    fn fill(&mut self, data: &'a [u8]) {
        match self.found.last_mut() {
            Some((_, bytes)) if bytes.is_empty() => *bytes = data.into(),
            _ => self.add(FILE, 0, data.into()),
        }
    }

    /// Finds the bodies among the properties of a message, and a message that is attached among those of an attachment.
    fn properties(&mut self, rest: &mut &'a [u8]) -> Option<()> {
        for _ in 0..number(rest)? {
            let tag = number(rest)?;
            if tag >> 31 == 1 {
                // a named property
                take(rest, 16);
                match number(rest)? {
                    0 => _ = number(rest)?,
                    _ => _ = padded(rest)?,
                }
            }
            let size = match tag & 0xfff {
                2 | 3 | 4 | 10 | 11 => 4,
                5 | 6 | 7 | 0x14 | 0x40 => 8,
                0x48 => 16,
                _ => 0,
            };
            let n = if size == 0 || tag & 0x1000 != 0 { number(rest)? } else { 1 };
            for _ in 0..n {
                let value = if size == 0 { padded(rest)? } else { take(rest, size) };
                if value.is_empty() && rest.is_empty() || self.found.len() >= MOST_FOUND {
                    return None;
                }
                match tag >> 16 {
                    0x1000 => self.add("text/plain", tag & 0xffff, value.into()),
                    0x1013 => self.add("text/html", tag & 0xffff, value.into()),
                    0x1009 => self.add("application/rtf", 0, decompressed(value)),
                    0x3701 if value[value.len().min(16)..].starts_with(MARK) => self.fill(&value[16..]),
                    _ => (),
                }
            }
        }
        Some(())
    }
}

/// Takes as many bytes from the front, or all that there are.
fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    #[cfg(test)]
    tamis_testing::step(1);
    let (taken, more) = rest.split_at(length.min(rest.len()));
    *rest = more;
    taken
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4).first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A value after its length. Values end at multiples of four bytes.
fn padded<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(rest)? as usize;
    let value = take(rest, length);
    take(rest, length.wrapping_neg() % 4);
    Some(value)
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
                steps(|| drop(contents(&raw, 1)))
            };
            assert!(work(20_000) <= 2 * work(10_000) + 20, "{unit:?}");
        }
    }
}
