//! A document's bytes as mail or text.

use std::borrow::Cow;

use tamis_train::{Document, Kind};

use crate::formats::records::Cells;

/// A document's bytes as a document of some kind. Text that is not UTF-8 is read as windows-1252.
pub(crate) enum Loaded<'a> {
    Mail(&'a [u8]),
    Text(Cow<'a, str>),
    Row(Vec<(&'a str, &'a str)>),
}

impl<'a> Loaded<'a> {
    pub(crate) fn new(kind: Kind, bytes: &'a [u8]) -> Self {
        match kind {
            Kind::Mail => Loaded::Mail(bytes),
            Kind::Text | Kind::Table => Loaded::Text(tamis_mail::decode_text(bytes, None)),
        }
    }

    pub(crate) fn row(cells: &'a Cells<'_>) -> Self {
        Loaded::Row(cells.iter().map(|(name, cell)| (&**name, &**cell)).collect())
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            Loaded::Mail(bytes) => Document::Mail(bytes),
            Loaded::Text(text) => Document::Text(text),
            Loaded::Row(cells) => Document::Fields(cells),
        }
    }
}
