//! Jupyter notebooks.

use serde::Deserialize;

use crate::format::Format;
use crate::limits::{Reading, Unread};

#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    /// Of notebooks before version 4.
    #[serde(default)]
    worksheets: Vec<Notebook>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(alias = "input")]
    source: Option<Source>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Whole(String),
    Lines(Vec<String>),
}

/// Reads the sources of a notebook's cells, text and code. Their outputs are left out.
pub(crate) fn read_notebook(bytes: &[u8], reading: &mut Reading) -> Result<(), Unread> {
    let notebook: Notebook = serde_json::from_slice(bytes).map_err(|_| Unread::Damaged(Format::Notebook))?;
    let sheets = notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells);
    for source in notebook.cells.into_iter().chain(sheets).filter_map(|cell| cell.source) {
        match source {
            Source::Whole(text) => reading.push(&text),
            Source::Lines(lines) => lines.iter().for_each(|line| reading.push(line)),
        }
        reading.push_break('\n');
    }
    Ok(())
}
