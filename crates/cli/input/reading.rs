//! Opens files that hold many documents, recognises files that hold neither text nor mail, and makes documents of bytes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::Path;

use tamis_mail::{Limits, Message};
use tamis_program::{decoded, is_encoded};
use tamis_train::{Document, Kind};

use crate::formats::records::Cells;
use crate::output::ByteCounter;

/// Opens a file that holds many documents, or standard input for `-`, decoded. Progress follows the bytes read from it.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let file = match path.as_os_str() == "-" {
        true => io::stdin().as_fd().try_clone_to_owned()?.into(),
        false => File::open(path)?,
    };
    let mut whole = BufReader::new(ByteCounter(file));
    // reading a regular file fills the buffer at once
    let is_encoded = is_encoded(whole.fill_buf()?);
    Ok(if is_encoded { Box::new(BufReader::new(decoded(Box::new(whole))?)) } else { Box::new(whole) })
}

/// Maximum bytes to read of a document: as many as are used, and a character more to tell that there is more.
pub(crate) fn most_of_document(limits: &Limits) -> usize {
    limits.bytes.saturating_add(4)
}

/// Files that are neither mail nor text: where their mark is, the mark, and what they are.
const FOREIGN: [(usize, &[u8], &str); 32] = [
    (0, b"%PDF-", "a PDF"),
    (0, b"\x89PNG\r\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF87a", "a GIF image"),
    (0, b"GIF89a", "a GIF image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "a zip archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (257, b"ustar", "a tar archive; its files are read once they are unpacked"),
    (0, b"\x7fELF", "a program (ELF)"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document or Outlook message (OLE)"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"BZh", "a bzip2 file; only gzip and zstd are read through"),
    (0, b"\xfd7zXZ\0", "an xz file; only gzip and zstd are read through"),
    (0, b"\x04\x22\x4d\x18", "a lz4 file; only gzip and zstd are read through"),
    (0, b"Dovecot-LZ4\x0d\x2a\x9b\xc5", "a lz4 file; only gzip and zstd are read through"),
    // what could be read was unpacked before
    (0, b"\x1f\x8b\x08", "a gzip file without mail or text in it"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file without mail or text in it"),
    (0, b"TAMIS\r\n\x1a", "a tamis model"),
    (0, b"PAR1", "a Parquet file; duckdb and polars write its rows as JSON lines, which are read"),
    (0, b"ARROW1\0\0", "an Arrow file; duckdb and polars write its rows as JSON lines, which are read"),
    (0, b"\x01\x01\x01\x01\n", "an MMDF mailbox; write it as mbox"),
    (0, b"BABYL OPTIONS:", "a Babyl mailbox (Rmail); write it as mbox"),
    (0, b"*mbx*\r\n", "an mbx mailbox (UW imapd); mailutil writes it as mbox"),
    (0, b"2 M1e C", "a dbox mailbox (Dovecot); doveadm backup writes it as Maildir"),
    (0, b"!BDN", "an Outlook data file (PST); readpst writes it as mbox"),
    (0, b"\xcf\xad\x12\xfe", "a mailbox of Outlook Express (DBX); readdbx writes it as mbox"),
    (0, b"\x78\x9f\x3e\x22", "an attachment of Outlook (TNEF, winmail.dat)"),
    (0, b"// <!-- <mdb:mork", "an index of Thunderbird (Mork)"),
];

/// Texts that are not mail.
const NOT_MAIL: [(usize, &[u8], &str); 6] = [
    (0, b"{\"", "JSON"),
    (0, b"[{", "JSON"),
    (0, b"BEGIN:V", "a calendar or address card"),
    (0, b"#! rnews ", "a batch of news (rnews)"),
    (0, b"HELO ", "a batch of SMTP commands"),
    (0, b"EHLO ", "a batch of SMTP commands"),
];

/// What a file of another kind is, by its first bytes: neither mail nor text, or not mail if `kind` is mail.
pub(crate) fn foreign(kind: Kind, start: &[u8]) -> Option<&'static str> {
    let not_mail = if kind == Kind::Mail { &NOT_MAIL[..] } else { &[] };
    let has = |at: usize, mark: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(mark));
    let (_, mark, what) = FOREIGN.iter().chain(not_mail).find(|(at, mark, _)| has(*at, mark))?;
    // a text may begin with these three letters
    let is_text = *mark == b"BZh" && start.get(4..10) != Some(b"1AY&SY");
    (!is_text).then_some(what)
}

/// As [`foreign`], but also recognises binary data by zeros at the beginning.
pub(crate) fn foreign_or_binary(kind: Kind, start: &[u8]) -> Option<&'static str> {
    let window = &start[..start.len().min(512)];
    foreign(kind, start)
        .or_else(|| (window.contains(&0) && !tamis_mail::looks_like_mail(start)).then_some("binary data"))
}

/// Whether bytes have none of the header fields that most mail has, however damaged the header is.
pub(crate) fn lacks_header(bytes: &[u8]) -> bool {
    const FIELDS: [&str; 7] = ["from", "to", "subject", "date", "received", "message-id", "content-type"];
    if tamis_mail::looks_like_mail(bytes) {
        return false;
    }
    let message = Message::parse(&bytes[..bytes.len().min(64 << 10)], &Limits::default());
    FIELDS.iter().all(|field| message.header(field).is_none())
}

/// A document's bytes as a document of some kind. Text that is not UTF-8 is read as windows-1252.
pub(crate) enum DocumentView<'a> {
    Mail(&'a [u8]),
    Text(Cow<'a, str>),
    Row(Vec<(&'a str, &'a str)>),
}

impl<'a> DocumentView<'a> {
    pub(crate) fn new(kind: Kind, bytes: &'a [u8]) -> Self {
        match kind {
            Kind::Mail => DocumentView::Mail(bytes),
            Kind::Text | Kind::Table => DocumentView::Text(tamis_mail::decode_text(bytes, None)),
        }
    }

    pub(crate) fn row(cells: &'a Cells<'_>) -> Self {
        DocumentView::Row(cells.iter().map(|(name, cell)| (&**name, &**cell)).collect())
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            DocumentView::Mail(bytes) => Document::Mail(bytes),
            DocumentView::Text(text) => Document::Text(text),
            DocumentView::Row(cells) => Document::Fields(cells),
        }
    }
}

/// A document that is held in memory until its turn comes, and its vector.
pub(crate) struct HeldDocument {
    content: HeldContent,
    /// Empty if there is none.
    pub(crate) vector: Vec<f32>,
}

enum HeldContent {
    Mail(Vec<u8>),
    Text(String),
    Row(Cells<'static>),
}

impl HeldDocument {
    pub(crate) fn new(document: Document<'_>) -> Self {
        let (document, vector) = document.apart();
        let content = match document {
            Document::Mail(bytes) => HeldContent::Mail(bytes.to_vec()),
            Document::Text(text) => HeldContent::Text(text.to_owned()),
            Document::Fields(cells) => HeldContent::Row(
                cells.iter().map(|(name, cell)| (name.to_string().into(), cell.to_string().into())).collect(),
            ),
            // the vector is apart, and no file holds a counted document
            Document::Embedded { .. } | Document::Counted(_) => HeldContent::Text(String::new()),
        };
        HeldDocument { content, vector: vector.to_vec() }
    }

    /// The document without its vector.
    pub(crate) fn view(&self) -> DocumentView<'_> {
        match &self.content {
            HeldContent::Mail(bytes) => DocumentView::Mail(bytes),
            HeldContent::Text(text) => DocumentView::Text(text.into()),
            HeldContent::Row(cells) => DocumentView::row(cells),
        }
    }
}
