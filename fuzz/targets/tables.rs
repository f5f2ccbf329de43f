//! Rows of CSV, TSV, JSON and fastText, by the program's own two readers, which must agree.

use super::Choices;

/// The program's files, which belong to no crate, as far as they are needed.
#[allow(dead_code)]
#[path = "../../crates/cli/formats"]
mod formats {
    pub(super) mod cells;
    pub(super) mod holds;
    pub(super) mod json;
    pub(super) mod labels;
    pub(super) mod record;
    pub(super) mod records;
    pub(super) mod rows;
    pub(super) mod sniff;
    pub(super) mod table;
    pub(super) mod vector;
}

use formats::holds::{Holds, TableShape};
use formats::labels::RowLabels;
use formats::records::records;
use formats::table::{TextColumns, TextRow, rows};

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let holds = choices.of(&[Holds::Csv, Holds::Tsv, Holds::Jsonl, Holds::FastText]);
    let shape = TableShape { delimiter: None, no_header: false, encoding: None, is_by_line: false };
    let columns = TextColumns {
        label: "label",
        text: "text",
        weight: None,
        vector: Some("vector"),
        group: Some("label"),
        labels: RowLabels::Many { delimiter: ';' },
        shape,
    };
    let table = choices.0;
    if let Ok((rows, _)) = rows(table, holds, &columns) {
        rows.flat_map(|row| row.content).for_each(|row| drop(row.text_row(&columns)));
    }
    if let Ok(records) = records(table, holds, None, shape) {
        records.flat_map(|row| row.content).for_each(|row| drop(row.named_cells()));
    }
    if holds == Holds::FastText {
        return;
    }
    let first: &[u8] = match holds {
        Holds::Csv => b"label,text\n",
        Holds::Tsv => b"label\ttext\n",
        _ => b"",
    };
    let named = [first, table].concat();
    let texts = rows(&named[..], holds, &columns).expect("the columns are named").0.map(|row| {
        let row = row.content?;
        let TextRow { text, .. } = row.text_row(&columns)?;
        Ok::<_, String>(text.into_owned())
    });
    let cells = records(&named[..], holds, Some("text"), shape).expect("the columns are named").map(|row| {
        let row = row.content?;
        let text = row.named_cells()?.into_iter().find(|(name, _)| name == "text");
        Ok::<_, String>(text.map(|(_, text)| text.into_owned()))
    });
    let (texts, cells) = (texts.collect::<Vec<_>>(), cells.collect::<Vec<_>>());
    assert_eq!(texts.len(), cells.len());
    for (text, cell) in texts.into_iter().zip(cells) {
        // in JSON, a text may be found by another case of its name
        if let (Ok(text), Ok(Some(cell))) = (text, cell) {
            assert_eq!(text, cell);
        }
    }
}
