//! The columns of rows that are written beside their verdicts.

use std::sync::Arc;

use serde_json::Value;

use super::record::{TableRecord, decoded, listed};

/// Which of a row's own columns are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum KeepColumns {
    All,
    Columns(Vec<Arc<str>>),
}

/// The cells that are kept of a row, in order, each with the name of its column.
pub(crate) type KeptCells = Vec<(Arc<str>, Value)>;

impl KeepColumns {
    /// The columns that were asked for, if any.
    pub(crate) fn of_names(names: &[String]) -> Option<Self> {
        Some(match names {
            [] => return None,
            [all] if all == "all" => KeepColumns::All,
            names => KeepColumns::Columns(names.iter().map(|name| name.as_str().into()).collect()),
        })
    }

    /// The cells that are kept of a row. In JSON, a column that a row does not have is null.
    pub(crate) fn cells_of(&self, row: &TableRecord) -> Result<KeptCells, String> {
        if let Some(object) = row.json() {
            let mut object = object?;
            return Ok(match self {
                KeepColumns::All => object.0.into_iter().map(|(name, value)| (name.into(), value)).collect(),
                KeepColumns::Columns(names) => {
                    let cell = |name: &Arc<str>| (Arc::clone(name), object.take(name).unwrap_or_default());
                    names.iter().map(cell).collect()
                }
            });
        }
        if row.fasttext(|_| ()).is_some() {
            return Err("--keep: expected a row of a table, got a line of fastText".to_owned());
        }
        let (names, cells) = (&row.head.names, row.cells()?);
        let cell = |at: usize| Value::String(decoded(cells[at].clone()).into_owned());
        let positions: Vec<usize> = match self {
            KeepColumns::All => (0..names.len()).collect(),
            KeepColumns::Columns(wanted) => {
                wanted.iter().map(|name| position(names, name)).collect::<Result<_, _>>()?
            }
        };
        Ok(positions.into_iter().map(|at| (Arc::clone(&names[at]), cell(at))).collect())
    }
}

/// The column with this name.
fn position(names: &[Arc<str>], name: &Arc<str>) -> Result<usize, String> {
    let mut found = (0..names.len()).filter(|at| names[*at] == *name);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err(format!("--keep: expected columns of the table, {}, got {name:?}", listed(names))),
        (Some(_), Some(_)) => Err(format!("--keep: expected one column {name:?}, got several")),
    }
}
