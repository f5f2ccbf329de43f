//! Rows of a table with all their cells, by column name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::Value;

use super::holds::{Holds, Shape};
use super::rows::Dialect;
use super::table::{Record, Row, decoded, first_row, read, written, wrong_length};

/// The cells of a row, each with the name of its column.
pub(crate) type Cells<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// The names of a table's columns; empty for JSON, where each row has its own.
pub(crate) struct Names(Vec<Arc<str>>);

/// Reads the rows of a table. Columns are named in the first row, or numbered if there is no such row; in JSON, each
/// row names its own. `needed` is a column that the first row must name.
pub(crate) fn records<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    needed: Option<&str>,
    shape: Shape,
) -> Result<Box<dyn Iterator<Item = Row<Names>> + 'a>> {
    let (mut rows, dialect) = written(reader, holds, shape)?;
    if dialect == Dialect::Lines {
        return Ok(Box::new(read(rows, dialect, Names(Vec::new()))));
    }
    let Some((lines, first)) = first_row(&mut rows)? else { return Ok(Box::new(std::iter::empty())) };
    let cells: Vec<_> = dialect.cells(first.bytes()).collect();
    let names = if shape.no_header {
        (1..=cells.len()).map(|number| number.to_string().into()).collect()
    } else {
        names(&cells)?
    };
    if let Some(name) = needed.filter(|needed| !names.iter().any(|name| **name == **needed)) {
        bail!("expected a column {name:?}, got {}", listed(&names));
    }
    drop(cells);
    let first = shape.no_header.then_some((lines, Ok(first)));
    Ok(Box::new(read(first.into_iter().chain(rows), dialect, Names(names))))
}

impl Record<Names> {
    /// The cells, or the reason that the row cannot be read.
    pub(crate) fn named_cells(&self) -> Result<Cells<'_>, String> {
        if let Some(object) = self.json() {
            return Ok(object?.into_iter().map(|(name, value)| (name.into(), cell(value).into())).collect());
        }
        let Names(names) = &*self.head;
        let cells: Vec<_> = self.cells().collect();
        if cells.len() != names.len() {
            return Err(wrong_length(names.len(), cells.len()));
        }
        let names = names.iter().map(|name| Cow::Borrowed(&**name));
        Ok(names.zip(cells.into_iter().map(decoded)).collect())
    }
}

/// The names of the columns. A column without a name is called by its number, as in `column 1`.
fn names(first: &[Cow<'_, [u8]>]) -> Result<Vec<Arc<str>>> {
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(first.len());
    for (i, cell) in first.iter().enumerate() {
        let text = tamis_mail::decode_text(cell, None);
        let name: Arc<str> = match text.trim() {
            "" => format!("column {}", i + 1).into(),
            name => name.into(),
        };
        if !seen.insert(name.clone()) {
            bail!("expected a first row of names that differ, got {name:?} twice");
        }
        names.push(name);
    }
    Ok(names)
}

/// Lists names for an error message.
pub(crate) fn listed(names: &[Arc<str>]) -> String {
    const MOST: usize = 20;
    let mut shown = names.iter().take(MOST).map(|name| &**name).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        shown.push_str(&format!(" and {} more", names.len() - MOST));
    }
    shown
}

fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
