//! Decodes data that is packed by gzip or zstd, text in UTF-16, and mail whose lines end with carriage returns.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use tamis_mail::{looks_like_mail, mbox};

/// Bytes at the beginning that show whether data must be decoded.
const WINDOW: usize = 512;

/// Bytes needed to recognise mail: those that are examined, and one more.
const LOOKED_AT: u64 = (64 << 10) + 1;

/// Maximum size of a zstd window in bytes: the memory that reading may use, and the limit that zstd itself has by
/// default.
const ZSTD_WINDOW: u64 = 128 << 20;

/// Whether data with this beginning is packed, in UTF-16 or mail of lines that end with carriage returns.
pub fn is_encoded(start: &[u8]) -> bool {
    Packing::detect(start).is_some() || utf16(start).is_some() || has_lone_returns(start)
}

/// Whether data with this beginning is packed.
pub(crate) fn is_packed(start: &[u8]) -> bool {
    Packing::detect(start).is_some()
}

/// Decodes the beginning of data, up to `most` bytes and as far as it can be decoded.
pub(crate) fn decoded_start(start: &[u8], most: u64) -> Vec<u8> {
    let mut held = Vec::new();
    // damage is reported when all of the data is read
    let _ = decoded(Box::new(Cursor::new(start.to_vec())))
        .and_then(|reader| reader.take(most).read_to_end(&mut held));
    held
}

/// Whether encoded data holds mail. Called by a mail program, tamis takes anything else as a message as it is,
/// since a message can begin with any bytes.
pub(crate) fn holds_mail(start: &[u8]) -> bool {
    is_mail(&decoded_start(start, LOOKED_AT))
}

fn is_mail(start: &[u8]) -> bool {
    looks_like_mail(start) || mbox::looks_like_mbox(start)
}

/// Decodes a reader's data: unpacks it, once, and converts it to UTF-8 and the line ends of mail to line feeds.
pub fn decoded(mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = beginning(&mut reader, WINDOW as u64)?;
    if let Some(packing) = Packing::detect(&start) {
        let packed = BufReader::new(Cursor::new(start).chain(reader));
        reader = match packing {
            Packing::Gzip => Box::new(Gzip(MultiGzDecoder::new(packed))),
            Packing::Zstd => Box::new(Zstd::new(packed)),
        };
        start = beginning(&mut reader, WINDOW as u64)?;
    }
    let (encoding, has_lone_returns) = (utf16(&start), has_lone_returns(&start));
    reader = Box::new(Cursor::new(start).chain(reader));
    Ok(match encoding {
        Some(encoding) => Box::new(to_utf8(BufReader::new(reader), encoding)),
        None if has_lone_returns => Box::new(LoneReturns(reader)),
        None => reader,
    })
}

/// Whether it is mail whose lines end with carriage returns alone, as in files of the classic Mac OS. Other texts are
/// read as they are, and tables say themselves what ends their rows.
fn has_lone_returns(start: &[u8]) -> bool {
    let window = &start[..start.len().min(WINDOW)];
    let end = if window.contains(&b'\n') { None } else { window.iter().rposition(|byte| *byte == b'\r') };
    let mut lines = end.map_or_else(Vec::new, |end| window[..=end].to_vec());
    end_with_line_feeds(&mut lines);
    is_mail(&lines)
}

fn end_with_line_feeds(lines: &mut [u8]) {
    lines.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
}

/// Reads carriage returns as line feeds.
struct LoneReturns<R>(R);

impl<R: Read> Read for LoneReturns<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        end_with_line_feeds(&mut buffer[..n]);
        Ok(n)
    }
}

/// The first bytes, up to `most`.
pub(crate) fn beginning(reader: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    // room for most messages, so that reading takes two calls
    let mut start = Vec::with_capacity(most.min(64 << 10) as usize);
    reader.take(most).read_to_end(&mut start)?;
    Ok(start)
}

enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn detect(start: &[u8]) -> Option<Self> {
        match start {
            // the magic number, then the only method there is
            [0x1f, 0x8b, 8, ..] => Some(Packing::Gzip),
            // a frame of data, or a skippable frame, which can come first
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }
}

/// The byte order of UTF-16, from its mark, or else from the zero bytes beside ASCII characters, if they are a quarter
/// of the first bytes.
fn utf16(start: &[u8]) -> Option<&'static Encoding> {
    match start {
        [0xff, 0xfe, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] => return Some(UTF_16BE),
        _ => (),
    }
    let window = &start[..start.len().min(WINDOW)];
    let zeros = |parity: usize| window.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    match (zeros(0), zeros(1)) {
        (0, odd) if 4 * odd > window.len() => Some(UTF_16LE),
        (even, 0) if 4 * even > window.len() => Some(UTF_16BE),
        _ => None,
    }
}

fn damaged(what: &str) -> io::Error {
    let told = format!("expected complete {what} data, got damaged or truncated data");
    io::Error::new(ErrorKind::InvalidData, told)
}

/// Reads gzip data with any number of members.
struct Gzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => damaged("gzip"),
            _ => error,
        })
    }
}

/// Reads zstd data with any number of frames, and verifies their checksums.
struct Zstd<R> {
    packed: R,
    frame: FrameDecoder,
}

impl<R: BufRead> Zstd<R> {
    fn new(packed: R) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(ZSTD_WINDOW);
        Zstd { packed, frame }
    }

    /// Ends a frame and begins the next one with data. Returns `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        let sum = self.frame.get_checksum_from_data();
        if sum.is_some() && sum != self.frame.get_calculated_checksum() {
            return Err(damaged("zstd"));
        }
        while !self.packed.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut self.packed.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(damaged("zstd"));
                    }
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => {
                    let most = ZSTD_WINDOW >> 20;
                    return Err(io::Error::other(format!(
                        "expected zstd data with a window of at most {most} MiB, got a larger one"
                    )));
                }
                Err(_) => return Err(damaged("zstd")),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && self.frame.can_collect() == 0 {
            if !self.frame.is_finished() {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.frame.decode_blocks(&mut self.packed, block).map_err(|_| damaged("zstd"))?;
            } else if !self.next_frame()? {
                return Ok(0);
            }
        }
        self.frame.read(buffer)
    }
}

/// Reads text in another encoding as UTF-8, without a byte order mark. Invalid characters become U+FFFD.
pub fn to_utf8(source: impl BufRead, encoding: &'static Encoding) -> impl Read {
    let decoder = encoding.new_decoder_with_bom_removal();
    ToUtf8 { source, decoder, text: [0; 4096], read: 0, decoded: 0, is_done: false }
}

struct ToUtf8<R> {
    source: R,
    decoder: Decoder,
    /// The decoded text, and how much of it has been read.
    text: [u8; 4096],
    read: usize,
    decoded: usize,
    is_done: bool,
}

impl<R: BufRead> Read for ToUtf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.decoded && !self.is_done {
            let units = self.source.fill_buf()?;
            let is_last = units.is_empty();
            let (result, consumed, decoded, _) = self.decoder.decode_to_utf8(units, &mut self.text, is_last);
            self.source.consume(consumed);
            (self.read, self.decoded) = (0, decoded);
            self.is_done = is_last && result == CoderResult::InputEmpty;
        }
        let n = buffer.len().min(self.decoded - self.read);
        buffer[..n].copy_from_slice(&self.text[self.read..self.read + n]);
        self.read += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        decoded(Box::new(Cursor::new(bytes)))?.read_to_end(&mut out).map(|_| out)
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    fn be(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    }

    #[test]
    fn utf_16_is_read_with_a_mark_and_without() {
        let long = "naïve 𝄞 Straße, ".repeat(1_000);
        for bytes in [le(&format!("\u{feff}{long}")), be(&format!("\u{feff}{long}")), le(&long), be(&long)] {
            assert!(is_encoded(&bytes));
            assert_eq!(read(zstd(&bytes)).unwrap(), long.as_bytes());
            assert_eq!(read(bytes).unwrap(), long.as_bytes());
        }
        // half a character, and none at all
        assert_eq!(read(b"\xff\xfea\0\xd8".to_vec()).unwrap(), "a\u{fffd}".as_bytes());
        assert_eq!(read(b"\xff\xfe".to_vec()).unwrap(), b"");
        for text in ["", "a", "vi\0agra\0", "\0\0\0\0", "plain text"] {
            assert!(!is_encoded(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn carriage_returns_end_lines_of_mail_where_nothing_else_does() {
        for (text, expected) in [
            ("To: 1\rDate: 2\r\rtext\r", Some("To: 1\nDate: 2\n\ntext\n")),
            ("From a\rA: 1\r\rte", Some("From a\nA: 1\n\nte")),
            ("one line\r", None),
            ("To: 1\rDate: 2\nC: 3\r", None),
            ("To: 1\r\nDate: 2\r\n", None),
            // a text, and a table
            ("To: a friend\rA text\r", None),
            ("label,text\rspam,buy\r", None),
        ] {
            assert_eq!(is_encoded(text.as_bytes()), expected.is_some(), "{text:?}");
            assert_eq!(read(zstd(text.as_bytes())).unwrap(), expected.unwrap_or(text).as_bytes());
        }
    }

    #[test]
    fn zstd_has_frames_some_of_them_to_skip() {
        let skipped = [&b"\x50\x2a\x4d\x18\x03\0\0\0"[..], b"any"].concat();
        let long = "a word and another ".repeat(20_000).into_bytes();
        let all = [&skipped[..], &zstd(b"one "), &skipped, &zstd(b""), &zstd(&long)].concat();
        assert_eq!(read(all.clone()).unwrap(), [&b"one "[..], &long].concat());
        assert!(read(all[..all.len() - 3].to_vec()).is_err());
        assert!(read(skipped[..9].to_vec()).is_err());
        // packed once only
        assert_eq!(read(zstd(&zstd(b"twice"))).unwrap(), zstd(b"twice"));
    }

    #[test]
    fn a_window_larger_than_the_memory_it_may_take_is_refused() {
        // not a single segment, with an exponent of 2^(10 + 31)
        let error = read(b"\x28\xb5\x2f\xfd\x00\xf8\x01\0\0".to_vec()).unwrap_err();
        assert!(error.to_string().contains("at most 128 MiB"), "{error}");
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_reads_as_before(text in "[a-e ]{0,400}", at: prop::sample::Index, bit in 0..8u8) {
            let whole = zstd(text.as_bytes());
            let mut damaged = whole.clone();
            damaged[at.index(whole.len())] ^= 1 << bit;
            if Packing::detect(&damaged).is_some() && let Ok(got) = read(damaged) {
                // some bits of a header have no meaning
                prop_assert!(got == text.as_bytes() || !whole.is_empty());
            }
        }
    }
}
