//! Going through the documents of a place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tamis_filter::{Kind, is_missing};
use tamis_mail::mbox;

use super::{Found, Holds, Place, Source, find};
use crate::output::say;
use crate::records::{Cells, Record, records};
use crate::shown::{plain, shown, shown_path, told};
use crate::table::Shape;

/// A document that was found: its name for people, its label, its bytes or where to read them.
pub(crate) struct Item {
    pub(crate) name: OsString,
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    /// Whether the user named it as a document of its own.
    pub(crate) named: bool,
    pub(crate) content: Content,
}

impl Item {
    /// What stands for the documents of a place that cannot be opened.
    pub(crate) fn unreadable(place: &Place, error: &anyhow::Error) -> Self {
        let (told, path) = (told(error), format!("{}: ", shown_path(&place.path)));
        let why = told.strip_prefix(&path).unwrap_or(&told).to_owned();
        Item {
            name: place.path.clone().into_os_string(),
            path: place.path.clone(),
            label: place.label.clone(),
            named: false,
            content: Content::Unreadable(why),
        }
    }
}

/// The content of a document.
pub(crate) enum Content {
    /// A file that holds nothing else.
    File,
    /// A message of an mbox, or what was read of a stream.
    Bytes(Vec<u8>),
    /// The text of a row of a table.
    Text(String),
    /// A whole row of a table.
    Row(Cells),
    /// Nothing that can be read, and why.
    Unreadable(String),
}

/// The columns of label and text, as the user named them.
pub(crate) struct Columns<'a> {
    pub(crate) label: &'a str,
    pub(crate) text: &'a str,
    pub(crate) shape: Shape,
}

/// What is read of a table.
pub(crate) enum Layout<'a> {
    /// A label and a text.
    Text(Columns<'a>),
    /// Every cell; the label is that of the target, which the rows must have if `labelled`.
    Rows { target: Option<&'a str>, labelled: bool, shape: Shape },
}

impl Layout<'_> {
    /// The label of a row.
    fn label(&self, cells: &Cells) -> Option<Arc<str>> {
        let Layout::Rows { target: Some(target), .. } = self else { return None };
        let (_, label) = cells.iter().find(|(name, _)| **name == **target)?;
        Some(label.trim()).filter(|label| !is_missing(label)).map(Arc::from)
    }
}

/// Lists the tables of a source; what a file that is named holds may be given.
pub(crate) fn find_tables(source: &Source, format: Option<Holds>) -> Result<Found> {
    let found = find(source, false, Some(Kind::Table), (false, format))?;
    match found.places.iter().find(|place| !place.holds.is_table()) {
        Some(place) => {
            bail!("{}: expected a table, .csv, .tsv or .jsonl, or --input-format", shown_path(&place.path))
        }
        None => Ok(found),
    }
}

/// The rows of a table, whole. `needed` is a column that they must have.
pub(crate) fn whole_rows(
    place: &Place,
    needed: Option<&str>,
    shape: Shape,
) -> Result<Box<dyn Iterator<Item = Record>>> {
    records(place.open()?, place.holds, needed, shape).with_context(|| shown_path(&place.path))
}

/// A part of a file, by its number: `path:3`.
pub(crate) fn part(path: &Path, number: impl std::fmt::Display) -> OsString {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(":{number}"));
    name
}

/// Goes through the documents of a place, in order. Of a message at most `most_bytes` are read, of a document that
/// is no file `most_of_one`.
pub(crate) fn items<'a>(
    place: &'a Place,
    layout: &'a Layout<'a>,
    most_bytes: usize,
    most_of_one: u64,
) -> Result<Box<dyn Iterator<Item = Item> + 'a>> {
    let path = &place.path;
    let item = move |name: OsString, label: Option<Arc<str>>, content: Content| Item {
        name,
        path: path.clone(),
        label: place.label.clone().or(label),
        named: place.named && place.holds == Holds::One,
        content,
    };
    Ok(match (place.holds, layout) {
        (Holds::One, _) => {
            let content = match place.take_stream()?.map(|stream| stream.into_document(most_of_one)) {
                None => Content::File,
                Some(Ok(bytes)) => Content::Bytes(bytes),
                Some(Err(error)) => Content::Unreadable(plain(&error)),
            };
            Box::new(std::iter::once(item(path.clone().into_os_string(), None, content)))
        }
        (Holds::Mbox, _) => {
            Box::new(mbox::Reader::new(place.open()?, most_bytes).enumerate().map(move |(i, entry)| {
                match entry {
                    Ok(entry) => item(part(path, entry.number), None, Content::Bytes(entry.bytes)),
                    Err(error) => item(part(path, i + 1), None, Content::Unreadable(plain(&error))),
                }
            }))
        }
        (Holds::Csv | Holds::Tsv | Holds::Jsonl, Layout::Rows { target, labelled, shape }) => {
            let rows = whole_rows(place, target.filter(|_| *labelled), *shape)?;
            Box::new(rows.map(move |Record { line, content }| match content {
                Ok(cells) => item(part(path, line), layout.label(&cells), Content::Row(cells)),
                Err(error) => item(part(path, line), None, Content::Unreadable(error)),
            }))
        }
        (Holds::Csv | Holds::Tsv | Holds::Jsonl, Layout::Text(columns)) => {
            let rows = crate::table::rows(place.open()?, place.holds, columns);
            let (rows, taken_for) = rows.with_context(|| shown_path(&path))?;
            if let Some(taken_for) = taken_for {
                say!("{}: {}", shown_path(&path), shown(&taken_for));
            }
            Box::new(rows.map(move |row| match row.content {
                Ok((label, text)) => item(part(path, row.line), label.map(Arc::from), Content::Text(text)),
                Err(error) => item(part(path, row.line), None, Content::Unreadable(error)),
            }))
        }
    })
}
