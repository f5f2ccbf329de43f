//! A row of a table, whatever its format.

use std::borrow::Cow;
use std::sync::Arc;

use super::fasttext::{self, Line};
use super::object::{self, Object};
use super::rows::{Dialect, Raw};

/// A row: the line where it begins, and its record or the reason that it cannot be read.
pub(crate) struct Row<H> {
    pub(crate) line: u64,
    pub(crate) content: Result<Record<H>, String>,
}

/// A row as it was read, with the table's information about its cells.
pub(crate) struct Record<H> {
    raw: Raw,
    dialect: Dialect,
    pub(crate) head: Arc<H>,
}

impl<H> Record<H> {
    pub(crate) fn new(raw: Raw, dialect: Dialect, head: Arc<H>) -> Self {
        Record { raw, dialect, head }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.raw.bytes().len()
    }

    /// The bytes of a row in this dialect.
    fn written(&self, its: Dialect) -> Option<&[u8]> {
        (self.dialect == its).then(|| self.raw.bytes())
    }

    /// The cells of a row that is neither JSON nor fastText's.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        self.dialect.cells(self.raw.bytes())
    }

    /// The object, if the row is JSON.
    pub(crate) fn json(&self) -> Option<Result<Object, String>> {
        self.written(Dialect::Json).map(object::read)
    }

    /// Labels and text, if the row is a line of fastText.
    pub(crate) fn fasttext<R>(&self, read: impl FnOnce(Line<'_>) -> R) -> Option<R> {
        let line = self.written(Dialect::FastText)?;
        Some(read(fasttext::read(&decoded(line.into()))))
    }
}

/// The error for a row with a wrong number of cells.
pub(crate) fn wrong_length(expected: usize, got: usize) -> String {
    format!("expected {expected} cell{}, got {got}", if expected == 1 { "" } else { "s" })
}

/// Decodes text as UTF-8, or else as windows-1252.
pub(crate) fn decoded(cell: Cow<'_, [u8]>) -> Cow<'_, str> {
    match cell {
        Cow::Borrowed(cell) => tamis_mail::decode_text(cell, None),
        Cow::Owned(cell) => Cow::Owned(tamis_mail::decode_text(&cell, None).into_owned()),
    }
}
