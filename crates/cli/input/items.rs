//! Visits the documents of a file.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_mail::mbox;
use tamis_program::{note, plain, shown, shown_path, told};
use tamis_train::{Kind, is_missing};

use crate::formats::holds::{Holds, TableShape};
use crate::formats::keep::{KeepColumns, KeptCells};
use crate::formats::record::ColumnNames;
use crate::formats::record::{TableRecord, TableRow};
use crate::formats::records::{Cells, records};
use crate::formats::table::{TableHead, TextColumns, rows};
use crate::input::file::InputFile;

/// A document that was found: its file, and its bytes or where to read them.
pub(crate) struct Item<'p> {
    pub(crate) file: &'p InputFile,
    /// The number of a part of a larger file.
    pub(crate) number: Option<u64>,
    pub(crate) content: Content,
}

impl<'p> Item<'p> {
    /// Stands for the documents of a file that cannot be opened.
    pub(crate) fn unreadable(file: &'p InputFile, error: &anyhow::Error) -> Self {
        let (told, path) = (told(error), format!("{}: ", shown_path(&file.path)));
        let why = told.strip_prefix(&path).unwrap_or(&told).to_owned();
        Item { file, number: None, content: Content::Unreadable(why) }
    }

    /// The name of the document for display.
    pub(crate) fn name(&self) -> Cow<'p, OsStr> {
        match self.number {
            None => Cow::Borrowed(self.file.path.as_os_str()),
            Some(number) => Cow::Owned(part(&self.file.path, number)),
        }
    }

    /// The cells that are kept of a document, which must be a row then.
    pub(crate) fn kept(&self, keep: Option<&KeepColumns>) -> Result<KeptCells> {
        let Some(keep) = keep else { return Ok(KeptCells::new()) };
        let kept = match &self.content {
            Content::Text(row) => keep.of_row(row),
            Content::Row(row) => keep.of_row(row),
            _ => bail!("--keep: expected a row of a table, got a document without columns"),
        };
        kept.map_err(anyhow::Error::msg)
    }

    /// Whether the user named it as a single document.
    pub(crate) fn named(&self) -> bool {
        self.file.named && self.file.holds == Holds::One
    }
}

/// The content of a document.
pub(crate) enum Content {
    /// A file that is this one document.
    File,
    /// A message of an mbox, or the bytes read of a stream.
    Bytes(Vec<u8>),
    /// A row with label and text.
    Text(TableRecord<TableHead>),
    /// A row in which every cell counts.
    Row(TableRecord<ColumnNames>),
    /// An unreadable document, and why.
    Unreadable(String),
}

impl Content {
    /// Number of its bytes that are in memory.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Text(record) => record.n_bytes(),
            Content::Row(record) => record.n_bytes(),
            Content::File | Content::Unreadable(_) => 0,
        }
    }
}

/// The parts of a table that are read.
pub(crate) enum Layout<'a> {
    /// A label and a text.
    Text(TextColumns<'a>),
    /// Every cell. The label is the target's cell, which rows must have if `labelled`.
    Rows { target: Option<&'a str>, labelled: bool, shape: TableShape },
}

/// The cell in the column with this name, such as the label, unless it is missing.
pub(crate) fn cell_of<'c>(cells: &'c Cells<'_>, column: Option<&str>) -> Option<&'c str> {
    let (_, cell) = cells.iter().find(|(name, _)| Some(&**name) == column)?;
    Some(cell.trim()).filter(|cell| !is_missing(cell))
}

/// The rows of a table with all cells. `needed` is a column that they must have.
pub(crate) fn whole_rows(
    file: &InputFile,
    needed: Option<&str>,
    shape: TableShape,
) -> Result<Box<dyn Iterator<Item = TableRow<ColumnNames>>>> {
    records(file.open()?, file.holds, needed, shape).with_context(|| shown_path(&file.path))
}

/// The name of a part of a file, by its number: `path:3`.
pub(crate) fn part(path: &Path, number: u64) -> OsString {
    let number = number.to_string();
    let mut name = OsString::with_capacity(path.as_os_str().len() + 1 + number.len());
    name.push(path);
    name.push(":");
    name.push(number);
    name
}

/// Visits the documents of a file of this `kind`, in order. Reads at most `most_bytes` of a message in an mbox, and at
/// most `most_of_one` bytes of a single document from a stream.
pub(crate) fn items<'p>(
    file: &'p InputFile,
    layout: &Layout<'_>,
    kind: Kind,
    most_bytes: usize,
    most_of_one: u64,
) -> Result<Box<dyn Iterator<Item = Item<'p>> + 'p>> {
    let path = &file.path;
    let item = move |number, content| Item { file, number, content };
    Ok(match (file.holds, layout) {
        (Holds::One, _) => {
            let content = match file.take_stream()?.map(|stream| stream.into_document(kind, most_of_one)) {
                None => Content::File,
                Some(Ok(bytes)) => Content::Bytes(bytes),
                Some(Err(error)) => Content::Unreadable(plain(&error)),
            };
            Box::new(std::iter::once(item(None, content)))
        }
        (Holds::Mbox, _) => {
            let messages = (1..).zip(mbox::Reader::new(file.open()?, most_bytes));
            Box::new(messages.map(move |(i, entry)| match entry {
                Ok(entry) => item(Some(entry.number as u64), Content::Bytes(entry.bytes)),
                Err(error) => item(Some(i), Content::Unreadable(plain(&error))),
            }))
        }
        (_, Layout::Rows { target, labelled, shape }) => {
            let rows = whole_rows(file, target.filter(|_| *labelled), *shape)?;
            Box::new(rows.map(move |TableRow { line, content }| {
                item(Some(line), content.map_or_else(Content::Unreadable, Content::Row))
            }))
        }
        (_, Layout::Text(columns)) => {
            let rows = rows(file.open()?, file.holds, columns);
            let (rows, taken_for) = rows.with_context(|| shown_path(&path))?;
            if let Some(taken_for) = taken_for {
                note!("{}: {}", shown_path(&path), shown(&taken_for));
            }
            Box::new(rows.map(move |TableRow { line, content }| {
                item(Some(line), content.map_or_else(Content::Unreadable, Content::Text))
            }))
        }
    })
}
