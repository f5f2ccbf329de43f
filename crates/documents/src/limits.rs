//! What a document yields, what is read of it at most, and why one is not read.

use crate::format::Format;

/// What is read of a document at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of text. The rest is cut off ([`Text::is_cut`]). By default, 2 MiB.
    pub text: usize,
    /// Bytes that are inflated, of all entries of an archive together. The rest is cut off. By default, 64 MiB.
    pub inflated: u64,
    /// Entries of an archive. The rest is ignored. By default, 10,000.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { text: 2 << 20, inflated: 64 << 20, entries: 10_000 }
    }
}

/// What [`text_of`](crate::text_of) reads of a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Text {
    /// The text, in reading order: paragraphs are lines, cells are divided by tabs.
    pub text: String,
    /// The title in the document's properties, if it is not empty.
    pub title: Option<String>,
    /// The targets of hyperlinks, in order, each once.
    pub links: Vec<String>,
    /// Whether limits cut something off.
    pub is_cut: bool,
}

/// Why a document was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected a document with text, got {}", self.what())]
#[non_exhaustive]
pub enum Unread {
    /// It is encrypted.
    Password(Format),
    /// Its bytes are cut short or changed.
    Damaged(Format),
    /// It can be read, but has no text, such as a document of scanned pages.
    NoText(Format),
    /// It is neither text nor of a format that [`Format::of`] knows.
    Binary,
    /// A format that [`text_of`](crate::text_of) cannot read, or none that [`Format::of`] knows.
    NoDocument(Option<Format>),
}

impl Unread {
    /// What was found in place of a document, such as "a PDF with a password".
    pub fn what(&self) -> String {
        match self {
            Unread::Password(format) => format!("{} with a password", format.name()),
            Unread::Damaged(format) => format!("{} that is damaged", format.name()),
            Unread::NoText(format) => format!("{} without text", format.name()),
            Unread::NoDocument(Some(format)) => format.name().to_owned(),
            Unread::NoDocument(None) => "text or data of no known format".to_owned(),
            Unread::Binary => "binary data".to_owned(),
        }
    }
}
