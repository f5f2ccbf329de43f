//! Reads a document from a file or a stream, decoded and within bounds; a stream only once.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, IsTerminal, Read, Seek, SeekFrom, Take};
use std::mem;
use std::path::Path;

use tamis_mail::{mbox, whole_characters};
use tamis_train::Kind;

use crate::decoded::{beginning, decoded, decoded_start, holds_mail, is_encoded, is_packed};
use crate::output::say;

/// Maximum bytes of a document that is packed, in UTF-16 or a stream, since its length is not known in advance.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes of a stream's beginning that are held: more than is read of a message, unless limits were raised.
const START: u64 = 1 << 20;

/// A stream: its beginning, which can be inspected, and the rest. It is decoded once its use is known.
pub struct Stream {
    start: Vec<u8>,
    /// The beginning decoded, if it is encoded.
    decoded_start: Option<Vec<u8>>,
    rest: Box<dyn Read + Send>,
    /// Maximum bytes of the stream that are held as one document.
    bound: u64,
    /// Whether it is standard input, whose writer must not fail because no more is needed.
    is_input: bool,
}

/// The contents of a stream.
pub enum Contents {
    /// One document, or one message.
    One(Stream),
    /// The messages of an mbox.
    Several(mbox::Reader<Box<dyn BufRead + Send>>),
}

impl Stream {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() != "-" {
            let file = open(path)?;
            let metadata = file.get_ref().metadata()?;
            if metadata.is_dir() {
                return Err(ErrorKind::IsADirectory.into());
            }
            return Stream::new(file, if metadata.is_file() { u64::MAX } else { MOST_BYTES });
        }
        let input = io::stdin();
        if input.is_terminal() {
            say!("tamis: reading from the terminal; end with Ctrl-D");
        }
        Ok(Stream { is_input: true, ..Stream::new(input, MOST_BYTES)? })
    }

    fn new(reader: impl Read + Send + 'static, bound: u64) -> io::Result<Self> {
        let mut rest: Box<dyn Read + Send> = Box::new(reader);
        let start = beginning(&mut rest, START)?;
        let decoded_start = is_encoded(&start).then(|| decoded_start(&start, START));
        Ok(Stream { start, decoded_start, rest, bound, is_input: false })
    }

    /// The stream, decoded.
    fn decoded(self) -> io::Result<Self> {
        if self.decoded_start.is_none() {
            return Ok(self);
        }
        let mut rest = decoded(Box::new(Cursor::new(self.start).chain(self.rest)))?;
        let start = beginning(&mut rest, START)?;
        Ok(Stream { start, decoded_start: None, rest, bound: MOST_BYTES, ..self })
    }

    /// The first bytes, decoded; a mebibyte if there are that many.
    pub fn start(&self) -> &[u8] {
        self.decoded_start.as_deref().unwrap_or(&self.start)
    }

    /// Whether it is an mbox of several messages. A single message may have been saved as it was delivered.
    pub fn is_mbox(&self) -> bool {
        let start = self.start();
        mbox::looks_like_mbox(start) && (start.len() as u64 >= START || mbox::holds_several(start))
    }

    /// The messages of an mbox, at most `most` bytes each, if it is `forced` to be one or is a file that looks like one;
    /// otherwise the document. A mail server gives one message, whatever stands in its text, on standard input.
    pub fn contents(self, forced: bool, most: usize) -> io::Result<Contents> {
        Ok(if forced || !self.is_input && self.is_mbox() {
            Contents::Several(mbox::Reader::new(self.into_reader()?, most))
        } else {
            Contents::One(self)
        })
    }

    /// The whole stream from the beginning, decoded.
    pub fn into_reader(self) -> io::Result<Box<dyn BufRead + Send>> {
        let Stream { start, rest, .. } = self.decoded()?;
        Ok(Box::new(BufReader::new(Cursor::new(start).chain(rest))))
    }

    /// The stream as one document of this kind, up to `most` bytes and, of a text, in whole characters. Mail is decoded
    /// only if the result is mail.
    pub fn into_document(self, kind: Kind, most: u64) -> io::Result<Vec<u8>> {
        let is_as_it_is = kind == Kind::Mail && self.decoded_start.is_some() && !holds_mail(&self.start);
        let mut document =
            if is_as_it_is { self.into_bytes(most) } else { self.decoded()?.into_bytes(most) }?;
        leave_half_character_out(kind, most, &mut document);
        Ok(document)
    }

    fn into_bytes(mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut document = mem::take(&mut self.start);
        let length = document.len() as u64;
        // a shorter beginning means that the stream has ended
        let has_ended = length < START;
        if !has_ended && length < most {
            let held = most.min(self.bound.saturating_add(1));
            (&mut self.rest).take(held - length).read_to_end(&mut document)?;
            check_bound(document.len() as u64, self.bound)?;
        }
        document.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        if self.is_input && !has_ended {
            // errors no longer matter
            let _ = io::copy(&mut self.rest.take(MOST_BYTES), &mut io::sink());
        }
        Ok(document)
    }

    /// The whole stream as one document of this kind.
    pub fn into_all(self, kind: Kind) -> io::Result<Vec<u8>> {
        self.into_document(kind, u64::MAX)
    }
}

/// Opens a file, or the message in an `.emlx` file of Apple Mail: after a line with its length in bytes, and before a
/// property list. It goes by the name, since a sender could write such a line.
fn open(path: &Path) -> io::Result<Take<File>> {
    let (mut file, mut length) = (File::open(path)?, u64::MAX);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("emlx")) {
        let mut start = [0; LONGEST_NUMBER];
        let n = file.read(&mut start)?;
        let line = start[..n].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let number = str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok());
        file.seek(SeekFrom::Start(if number.is_some() { line.len() as u64 + 1 } else { 0 }))?;
        length = number.unwrap_or(length);
    }
    Ok(file.take(length))
}

/// The longest first line of an `.emlx` file, in bytes; it is padded with spaces.
const LONGEST_NUMBER: usize = 32;

/// Reads a file that is one document into the buffer, decoded, at most `most` bytes and, of a text, in whole characters.
/// Mail that the user named (`named`) is decoded only if the result is mail. Packed files found in a folder are always decoded, so that damage is reported.
pub fn read_document(
    path: &Path,
    kind: Kind,
    named: bool,
    most: u64,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    let mut file = open(path)?;
    file.by_ref().take(most).read_to_end(buffer)?;
    let is_other = |start: &[u8]| kind != Kind::Mail || !named && is_packed(start);
    if is_encoded(buffer) && (is_other(buffer) || holds_mail(buffer)) {
        let whole = decoded(Box::new(Cursor::new(mem::take(buffer)).chain(file)))?;
        whole.take(most.min(MOST_BYTES + 1)).read_to_end(buffer)?;
        check_bound(buffer.len() as u64, MOST_BYTES)?;
    }
    leave_half_character_out(kind, most, buffer);
    Ok(())
}

/// Removes the character that the bound `most` has cut in two, since text that is not UTF-8 is read in another encoding.
fn leave_half_character_out(kind: Kind, most: u64, document: &mut Vec<u8>) {
    if kind != Kind::Mail && document.len() as u64 >= most {
        document.truncate(whole_characters(document).len());
    }
}

/// The first bytes of a file, decoded as far as possible.
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let start = beginning(&mut open(path)?, most)?;
    Ok(if is_encoded(&start) { decoded_start(&start, most) } else { start })
}

fn check_bound(length: u64, bound: u64) -> io::Result<()> {
    if length <= bound {
        return Ok(());
    }
    let bound = bound >> 20;
    Err(io::Error::other(format!(
        "expected at most {bound} MiB in a document that is compressed, in UTF-16 or a stream, got more"
    )))
}
