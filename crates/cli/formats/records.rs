//! Rows of a table with all their cells, by column name.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::BufRead;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::holds::{Holds, TableShape};
use super::json::text_of;
use super::labels::{Label, RowLabels};
use super::record::{TableHead, TableRecord, TableRow, column_names, decoded, listed};
use super::rows::{Dialect, TableReader};
use super::sniff::{Sniffed, sniff};
use super::table::{header, of_lines, read};

/// The cells of a row, each with the name of its column.
pub(crate) type Cells<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Reads the rows of a table. Columns are named in the first row, or numbered if there is no such row; in JSON, each
/// row names its own. `needed` is a column that the first row must name.
pub(crate) fn records<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    needed: Option<&str>,
    shape: TableShape,
) -> Result<Box<dyn Iterator<Item = TableRow> + 'a>> {
    match of_lines(holds) {
        None => (),
        Some(Dialect::FastText) => bail!("expected a table with columns, got lines with labels of fastText"),
        Some(dialect) => {
            let rows = TableReader::by_line(reader, dialect, shape.is_by_line);
            return Ok(Box::new(read(rows, dialect, TableHead::default())));
        }
    }
    let Sniffed { rows, syntax, first, has_row_names, .. } = sniff(reader, holds, shape, needed.as_slice())?;
    let Some((lines, first)) = first else {
        return Ok(Box::new(std::iter::empty()));
    };
    let cells = header(syntax, &first, lines, has_row_names)?;
    let names = column_names(&cells, !shape.no_header);
    check(&names, needed)?;
    drop(cells);
    let first = shape.no_header.then_some((lines, Ok(first)));
    let rows = first.into_iter().chain(rows);
    Ok(Box::new(read(rows, Dialect::Cells(syntax), TableHead { names, ..TableHead::default() })))
}

/// Checks that names differ, and that the needed one is among them.
fn check(names: &[Arc<str>], needed: Option<&str>) -> Result<()> {
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        bail!("expected a first row of names that differ, got {name:?} twice");
    }
    match needed.filter(|needed| !names.iter().any(|name| **name == **needed)) {
        Some(name) => bail!("expected a column {name:?}, got {}", listed(names)),
        None => Ok(()),
    }
}

impl TableRecord {
    /// The cells, or the reason that the row cannot be read.
    pub(crate) fn named_cells(&self) -> Result<Cells<'_>, String> {
        if let Some(object) = self.json() {
            let members = object?.0.into_iter();
            return Ok(members.map(|(name, value)| (name.into(), text_of(value).into())).collect());
        }
        let names = self.head.names.iter().map(|name| Cow::Borrowed(&**name));
        let has_decimal_commas = self.delimiter() == Some(b';');
        let cell = |cell| if has_decimal_commas { with_point(decoded(cell)) } else { decoded(cell) };
        Ok(names.zip(self.cells()?.into_iter().map(cell)).collect())
    }

    /// The label in a column, among the cells of this row.
    pub(crate) fn label<'c>(
        &self,
        cells: &'c Cells<'_>,
        column: Option<&str>,
        labels: RowLabels,
    ) -> Label<'c> {
        let Some((name, cell)) = cells.iter().find(|(name, _)| Some(&**name) == column) else {
            return Ok(None);
        };
        // only the JSON tells an array from a text that looks like one
        let may_be_array = labels != RowLabels::One || cell.starts_with(['[', '{']);
        if let Some(object) = may_be_array.then(|| self.json()).flatten() {
            return object?.get(name).map_or(Ok(None), |label| labels.of_value(label));
        }
        Ok(Some(labels.of_text(cell.trim().into())))
    }
}

/// A number with a decimal comma as one with a point. Programs that write commas separate cells by semicolons.
fn with_point(cell: Cow<'_, str>) -> Cow<'_, str> {
    let number = cell.trim().trim_start_matches(['-', '+']);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match number.split_once(',') {
        Some((whole, rest)) if is_digits(whole) && is_digits(rest) => cell.replace(',', ".").into(),
        _ => cell,
    }
}
