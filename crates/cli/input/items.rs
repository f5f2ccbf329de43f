//! A document as it was found.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_program::{note, shown, shown_path, told};
use tamis_train::{Kind, is_missing};

use crate::formats::holds::{Holds, TableShape};
use crate::formats::keep::{KeepColumns, KeptCells};
use crate::formats::record::{TableRecord, TableRow};
use crate::formats::records::{Cells, records};
use crate::formats::table::{TextColumns, TextRows, rows};
use crate::input::file::{InputFile, SourceArg, SourceScope};
use crate::input::find::find;

/// A document that was found: its file, and its bytes or where to read them.
pub(crate) struct Item<'p> {
    pub(crate) file: &'p InputFile,
    /// The number of a part of a larger file.
    pub(crate) number: Option<u64>,
    /// The place of a file in an archive.
    pub(crate) member: Option<MemberName>,
    /// Its place among all documents of a pass, from 0.
    pub(crate) at: u64,
    pub(crate) content: Content,
}

impl<'p> Item<'p> {
    /// Stands for the documents of a file that cannot be opened.
    pub(crate) fn unreadable(file: &'p InputFile, error: &anyhow::Error) -> Self {
        let (told, path) = (told(error), format!("{}: ", shown_path(&file.path)));
        let why = told.strip_prefix(&path).unwrap_or(&told).to_owned();
        Item { file, number: None, member: None, at: 0, content: Content::Unreadable(why) }
    }

    /// The name of the document for display.
    pub(crate) fn name(&self) -> Cow<'p, OsStr> {
        match (self.number, &self.member) {
            (None, None) => Cow::Borrowed(self.file.path.as_os_str()),
            (None, Some(member)) => Cow::Owned(self.file.path.join(&member.path).into()),
            (Some(number), _) => Cow::Owned(part(&self.file.path, number)),
        }
    }

    /// The cells that are kept of a document, which must be a row then.
    pub(crate) fn kept(&self, keep: Option<&KeepColumns>) -> Result<KeptCells> {
        let Some(keep) = keep else { return Ok(KeptCells::new()) };
        let Content::Row(row) = &self.content else {
            bail!("--keep: expected a row of a table, got a document without columns");
        };
        keep.cells_of(row).map_err(anyhow::Error::msg)
    }

    /// Whether the user named it as a single document.
    pub(crate) fn named(&self) -> bool {
        self.file.named && self.file.holds == Holds::One
    }
}

/// The place of a document in an archive.
pub(crate) struct MemberName {
    /// The path in the archive.
    pub(crate) path: String,
    /// The first folder, below one that all are in.
    pub(crate) label: Option<String>,
}

/// The content of a document.
pub(crate) enum Content {
    /// A file that is this one document.
    File,
    /// A message of an mbox, or the bytes read of a stream.
    Bytes(Vec<u8>),
    /// A row of a table.
    Row(TableRecord),
    /// An unreadable document, and why.
    Unreadable(String),
}

impl Content {
    /// Number of its bytes that are in memory.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Row(record) => record.n_bytes(),
            Content::File | Content::Unreadable(_) => 0,
        }
    }
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
) -> Result<Box<dyn Iterator<Item = TableRow>>> {
    records(file.open()?, file.holds, needed, shape).with_context(|| shown_path(&file.path))
}

/// The rows of a table of label and text. Says what was decided about the table and might be wrong.
pub(crate) fn text_rows(file: &InputFile, columns: &TextColumns<'_>) -> Result<TextRows<'static>> {
    let path = shown_path(&file.path);
    let (rows, notes) = rows(file.open()?, file.holds, columns).with_context(|| path.clone())?;
    if !notes.is_empty() {
        note!("{path}: {}", shown(&notes.join("; ")));
    }
    Ok(rows)
}

/// The name of a row, its text and its vector.
pub(crate) type TextOfRow = (OsString, String, Vec<f32>);

/// The texts and vectors of a table's rows, each with the name of its row, or of the one row that `FILE:ROW` names. `vector` is
/// the column of vectors, if they are read. `None` if the path names no table.
pub(crate) fn table_texts(
    path: &Path,
    vector: Option<&str>,
) -> Result<Option<impl Iterator<Item = Result<TextOfRow>>>> {
    let columns = TextColumns { vector, ..TextColumns::USUAL };
    let selected = path.to_str().and_then(|path| path.rsplit_once(':')).filter(|_| !path.exists());
    let selected = selected.and_then(|(file, row)| Some((Path::new(file), row.parse::<u64>().ok()?)));
    let (path, row) = selected.map_or((path, None), |(file, row)| (file, Some(row)));
    if !path.is_file() {
        return Ok(None);
    }
    let source = SourceArg { label: None, path: path.to_owned() };
    let mut found = find(&source, SourceScope::Documents, Some(Kind::Text), false, None)?;
    let Some(file) = found.files.pop().filter(|file| file.holds.is_table()) else { return Ok(None) };
    let mut rows =
        text_rows(&file, &columns)?.filter(move |found| row.is_none_or(|row| row == found.line)).peekable();
    if let Some(row) = row.filter(|_| rows.peek().is_none()) {
        bail!("{}: expected a row that begins at line {row}, got none", shown_path(&path));
    }
    Ok(Some(rows.map(move |TableRow { line, content }| {
        let name = part(&file.path, line);
        let row = content
            .and_then(|record| record.text_row(&columns).map(|row| (row.text.into_owned(), row.vector)));
        let (text, vector) = row.map_err(anyhow::Error::msg).with_context(|| shown_path(&name))?;
        Ok((name, text, vector))
    })))
}

/// The name of a part of a file, by its number: `path:3`.
pub(crate) fn part(path: &Path, number: u64) -> OsString {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(":{number}"));
    name
}
