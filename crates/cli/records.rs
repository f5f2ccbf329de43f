//! Rows of a table with all their cells, by the names of their columns.

use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::Value;

use super::sources::Holds;
use super::table::{Shape, delimited, json_objects, wrong_length};

/// The cells of a row, each with the name of its column.
pub(crate) type Cells = Vec<(Arc<str>, String)>;

/// A row: the line it begins at, and its cells or what is wrong with it.
pub(crate) struct Record {
    pub(crate) line: u64,
    pub(crate) content: Result<Cells, String>,
}

/// The rows of a table, whose columns are named in its first row, or by their numbers if it has no such row, or, in JSON,
/// in each row. `needed` is a column that
/// the first row must name.
pub(crate) fn records<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    needed: Option<&str>,
    shape: Shape,
) -> Result<Box<dyn Iterator<Item = Record> + 'a>> {
    if holds == Holds::Jsonl {
        let rows = json_objects(reader).map(|(line, object)| {
            let cells = |object: serde_json::Map<String, Value>| {
                object.into_iter().map(|(name, value)| (Arc::from(name), cell(value))).collect()
            };
            Record { line, content: object.map(cells) }
        });
        return Ok(Box::new(rows));
    }
    let mut records = delimited(reader, holds, shape)?;
    let Some(first) = records.next().transpose()? else { return Ok(Box::new(std::iter::empty())) };
    let names = if shape.no_header {
        (1..=first.len()).map(|number| number.to_string().into()).collect()
    } else {
        names(&first)?
    };
    if let Some(name) = needed.filter(|needed| !names.iter().any(|name| **name == **needed)) {
        bail!("expected a column {name:?}, got {}", listed(&names));
    }
    let rest = shape.no_header.then_some(Ok(first));
    let mut line = if shape.no_header { 0 } else { 1 };
    Ok(Box::new(rest.into_iter().chain(records).map(move |record| {
        line = record.as_ref().ok().and_then(|r| r.position()).map_or(line + 1, csv::Position::line);
        let content = match record {
            Ok(record) if record.len() == names.len() => {
                let text = |cell| tamis_mail::decode_text(cell, None).into_owned();
                Ok(names.iter().cloned().zip(record.iter().map(text)).collect())
            }
            Ok(record) => Err(wrong_length(names.len(), record.len())),
            Err(error) => Err(error.to_string()),
        };
        Record { line, content }
    })))
}

/// The names of the columns; one without a name is called by its number, as in `column 1`.
fn names(first: &csv::ByteRecord) -> Result<Vec<Arc<str>>> {
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

/// Names as an error shows them.
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
