//! Opens files that hold many documents, recognises files that hold neither text nor mail, and makes documents of bytes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use tamis_program::{decoded, is_encoded};
use tamis_train::{Document, Kind};

use crate::formats::records::Cells;
use crate::output::ByteCounter;

/// Opens a file that holds many documents, decoded. Progress follows the bytes read from it.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let mut whole = BufReader::new(ByteCounter(File::open(path)?));
    // reading a regular file fills the buffer at once
    let is_encoded = is_encoded(whole.fill_buf()?);
    Ok(if is_encoded { Box::new(BufReader::new(decoded(Box::new(whole))?)) } else { Box::new(whole) })
}

/// The kind of file, other than text or mail, that begins with these bytes.
pub(crate) fn foreign(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 21] = [
        (b"%PDF-", "a PDF"),
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF87a", "a GIF image"),
        (b"GIF89a", "a GIF image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "a zip archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a rar archive"),
        (b"\x7fELF", "a program (ELF)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document (OLE)"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"BZh", "a bzip2 file; only gzip and zstd are read through"),
        (b"\xfd7zXZ\0", "an xz file; only gzip and zstd are read through"),
        (b"\x04\x22\x4d\x18", "a lz4 file; only gzip and zstd are read through"),
        (b"Dovecot-LZ4\x0d\x2a\x9b\xc5", "a lz4 file; only gzip and zstd are read through"),
        (b"TAMIS\r\n\x1a", "a tamis model"),
        (b"PAR1", "a Parquet file; duckdb and polars write its rows as JSON lines, which are read"),
        (b"ARROW1\0\0", "an Arrow file; duckdb and polars write its rows as JSON lines, which are read"),
    ];
    let (magic, what) = KNOWN.iter().find(|(magic, _)| start.starts_with(magic))?;
    // a text may begin with these three letters
    let is_text = *magic == b"BZh" && start.get(4..10) != Some(b"1AY&SY");
    (!is_text).then_some(what)
}

/// As [`foreign`], but also recognises binary data by zeros at the beginning.
pub(crate) fn foreign_or_binary(start: &[u8]) -> Option<&'static str> {
    let window = &start[..start.len().min(512)];
    foreign(start)
        .or_else(|| (window.contains(&0) && !tamis_mail::looks_like_mail(start)).then_some("binary data"))
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
