//! A row of a table, whatever its format.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;
use serde_json::Value;

use super::columnar;
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
    content: Content,
    pub(crate) head: Arc<H>,
}

enum Content {
    Written(Raw, Dialect),
    Columnar(columnar::Row),
}

impl<H> Record<H> {
    pub(crate) fn new(raw: Raw, dialect: Dialect, head: Arc<H>) -> Self {
        Record { content: Content::Written(raw, dialect), head }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        match &self.content {
            Content::Written(raw, _) => raw.bytes().len(),
            Content::Columnar(row) => row.n_bytes(),
        }
    }

    /// The bytes of a row in this dialect.
    fn written(&self, its: Dialect) -> Option<&[u8]> {
        match &self.content {
            Content::Written(raw, dialect) if *dialect == its => Some(raw.bytes()),
            _ => None,
        }
    }

    /// The cells of a row that is neither JSON nor fastText's.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        let (written, columnar) = match &self.content {
            Content::Written(raw, dialect) => (Some(dialect.cells(raw.bytes())), None),
            Content::Columnar(row) => (None, Some(row.cells())),
        };
        let columnar = columnar.into_iter().flatten().map(|cell| Cow::Borrowed(cell.as_bytes()));
        written.into_iter().flatten().chain(columnar)
    }

    /// The value of a cell that has a type and is no text.
    pub(crate) fn value(&self, column: usize) -> Option<Value> {
        match &self.content {
            Content::Written(..) => None,
            Content::Columnar(row) => row.value(column),
        }
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

/// The rows of these columns of a columnar table, in ascending order.
pub(crate) fn columnar_rows<H>(
    table: columnar::Table,
    columns: Vec<usize>,
    head: H,
) -> Result<impl Iterator<Item = Row<H>>> {
    let head = Arc::new(head);
    let record = move |row| Record { content: Content::Columnar(row), head: Arc::clone(&head) };
    Ok((1..).zip(table.rows(columns)?).map(move |(line, row)| Row { line, content: row.map(&record) }))
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
