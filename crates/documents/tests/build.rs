//! Writes zip archives and the documents that are made of them, whole or not.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A zip archive as it grows.
#[derive(Default)]
pub(crate) struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    n_entries: u16,
}

/// What the headers of an entry say of it.
#[derive(Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) crc: u32,
    pub(crate) stored: u32,
    pub(crate) size: u32,
    /// Where its local header is.
    pub(crate) at: u32,
}

impl Zip {
    /// Adds a file without compression.
    pub(crate) fn store(self, name: &str, data: &[u8]) -> Self {
        self.add(name, data, data, 0)
    }

    /// Adds a file, deflated.
    pub(crate) fn deflate(self, name: &str, data: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        self.add(name, data, &encoder.finish().unwrap(), 8)
    }

    fn add(mut self, name: &str, data: &[u8], stored: &[u8], method: u16) -> Self {
        let mut crc = Crc::new();
        crc.update(data);
        let (crc, at) = (crc.sum(), self.bytes.len() as u32);
        let (size, n_stored) = (data.len() as u32, stored.len() as u32);
        let entry = Entry { name, method, flags: 0, crc, stored: n_stored, size, at };
        self.local(&entry);
        self.bytes.extend(stored);
        self.entry(&entry)
    }

    /// Adds bytes that no entry has.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Adds a local header.
    pub(crate) fn local(&mut self, entry: &Entry<'_>) {
        self.bytes.extend(b"PK\x03\x04\x14\0");
        self.bytes.extend(fields(entry));
        self.bytes.extend(entry.name.as_bytes());
    }

    /// Adds an entry to the directory.
    pub(crate) fn entry(mut self, entry: &Entry<'_>) -> Self {
        self.directory.extend(b"PK\x01\x02\x14\0\x14\0");
        self.directory.extend(fields(entry));
        self.directory.extend([0; 10]);
        self.directory.extend(entry.at.to_le_bytes());
        self.directory.extend(entry.name.as_bytes());
        self.n_entries = self.n_entries.saturating_add(1);
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let at = self.len();
        self.bytes.extend(&self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend([self.n_entries.to_le_bytes(), self.n_entries.to_le_bytes()].concat());
        self.bytes.extend([(self.directory.len() as u32).to_le_bytes(), at.to_le_bytes()].concat());
        self.bytes.extend([0, 0]);
        self.bytes
    }
}

/// The fields that both headers of an entry have.
fn fields(entry: &Entry<'_>) -> Vec<u8> {
    let mut fields = [entry.flags.to_le_bytes(), entry.method.to_le_bytes(), [0; 2], [0; 2]].concat();
    fields.extend([entry.crc, entry.stored, entry.size].map(u32::to_le_bytes).concat());
    fields.extend((entry.name.len() as u16).to_le_bytes());
    fields.extend([0, 0]);
    fields
}

pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    files.iter().fold(Zip::default(), |zip, (name, text)| zip.deflate(name, text.as_bytes())).finish()
}

/// A Word document with this body.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    zip(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>")),
    ])
}

/// An OpenDocument text with this body.
pub(crate) fn odt(body: &str) -> Vec<u8> {
    let content =
        format!("<office:document-content><office:body>{body}</office:body></office:document-content>");
    let zip = Zip::default().store("mimetype", b"application/vnd.oasis.opendocument.text");
    zip.deflate("content.xml", content.as_bytes()).finish()
}

/// An e-book with these chapters, in the order of this spine.
pub(crate) fn epub(chapters: &[(&str, &str)], spine: &str) -> Vec<u8> {
    let items: String =
        chapters.iter().map(|(name, _)| format!("<item id='{name}' href='{name}'/>")).collect();
    let package = format!(
        "<package><metadata><dc:title>A book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    );
    let container = "<container><rootfiles><rootfile full-path='OPS/package.opf'/></rootfiles></container>";
    let zip = Zip::default().store("mimetype", b"application/epub+zip");
    let zip = zip.deflate("META-INF/container.xml", container.as_bytes());
    let zip = zip.deflate("OPS/package.opf", package.as_bytes());
    let add = |zip: Zip, (name, body): &(&str, &str)| {
        let page = format!("<html><head><title>no</title></head><body>{body}</body></html>");
        zip.deflate(&format!("OPS/{name}"), page.as_bytes())
    };
    chapters.iter().fold(zip, add).finish()
}
