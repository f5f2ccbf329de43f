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
#[non_exhaustive]
pub enum Unread {
    /// It is encrypted.
    #[error("expected a document without a password, got {} with one", .0.name())]
    Password(Format),
    /// Its bytes are cut short or changed.
    #[error("expected a whole file, got {} that is damaged", .0.name())]
    Damaged(Format),
    /// It can be read, but has no text, such as a document of scanned pages.
    #[error("expected text, got {} without any", .0.name())]
    NoText(Format),
    /// A format that [`text_of`](crate::text_of) cannot read, or none that [`Format::of`] knows.
    #[error("expected a document, got {}", .0.map_or("text or data of no known format", |format| format.name()))]
    NoDocument(Option<Format>),
}
