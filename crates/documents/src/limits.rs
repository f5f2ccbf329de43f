//! What a document yields, what is read of it at most, and why one is not read.

use crate::format::Format;

/// What is read of a document at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of text. The rest is cut off ([`Text::is_cut`]). By default, 2 MiB.
    pub text: usize,
    /// Bytes that are inflated, of all entries of an archive together. The rest is cut off. By default, 64 MiB.
    pub inflated: u64,
    /// Entries of an archive. The rest is cut off. By default, 10,000.
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
    /// The text, in reading order. Paragraphs are lines, and tabs divide cells.
    pub text: String,
    /// The title in the document's properties, if it is not empty.
    pub title: Option<String>,
    /// The targets of hyperlinks to other places, in order; at most 1,000.
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
    /// It was read and has no text, such as a document of scanned pages.
    NoText(Format),
    /// A format that [`text_of`](crate::text_of) cannot read, or none that [`Format::of`] knows.
    NoDocument(Option<Format>),
    /// It is neither text nor of a format that [`Format::of`] knows.
    Binary,
}

impl Unread {
    /// What was found in place of a document, such as "a PDF with a password".
    pub fn what(&self) -> String {
        match self {
            Unread::Password(format) => format!("{} with a password", format.name()),
            Unread::Damaged(format) => format!("{} that is damaged", format.name()),
            Unread::NoText(format) => format!("{} without text", format.name()),
            Unread::NoDocument(Some(format)) => format.name().to_owned(),
            Unread::NoDocument(None) => "text or unknown data".to_owned(),
            Unread::Binary => "binary data".to_owned(),
        }
    }
}

/// A document while it is read: its text so far, and what is left of the limits.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) output: Text,
    pub(crate) left: Limits,
    /// Tags and references of XML; a million cells, or text of the size of the limit, have as many.
    pub(crate) left_tags: usize,
}

impl Reading {
    pub(crate) fn new(limits: &Limits) -> Self {
        Reading { output: Text::default(), left: *limits, left_tags: 4_000_000 }
    }

    /// Whether no more text fits, and so the rest is cut off.
    pub(crate) fn is_full(&mut self) -> bool {
        self.output.is_cut |= self.left.text == 0;
        self.left.text == 0
    }

    /// Appends text, up to the limit.
    pub(crate) fn push(&mut self, text: &str) {
        let fits = text.floor_char_boundary(self.left.text);
        self.output.text.push_str(&text[..fits]);
        self.output.is_cut |= fits < text.len();
        self.left.text = if fits < text.len() { 0 } else { self.left.text - fits };
    }

    /// Appends white space, unless there is some already; the end of a line replaces that within the line.
    pub(crate) fn push_break(&mut self, space: char) {
        match self.output.text.as_bytes().last() {
            None | Some(b'\n') => (),
            Some(b' ' | b'\t') if space != '\n' => (),
            Some(b' ' | b'\t') => {
                self.output.text.pop();
                self.output.text.push('\n');
            }
            Some(_) => self.push(space.encode_utf8(&mut [0; 4])),
        }
    }

    /// Adds the target of a hyperlink, unless it is within the document.
    pub(crate) fn push_link(&mut self, link: &str) {
        let link = link.trim();
        if link.contains(':') && link.len() < 2048 && self.output.links.len() < 1000 {
            self.output.links.push(link.to_owned());
        }
    }

    /// Adds the target of a hyperlink that the code of a field has.
    pub(crate) fn push_field(&mut self, code: &str) {
        let target = code.trim_start().strip_prefix("HYPERLINK").and_then(|rest| rest.split('"').nth(1));
        target.into_iter().for_each(|target| self.push_link(target));
    }
}
