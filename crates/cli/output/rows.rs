//! Verdicts as rows: CSV, TSV or JSON lines.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Map, Value, json};
use tamis_program::json_line;
use tamis_train::Classes;

use crate::output::fixed::write_fixed;
use crate::output::kept::KeptColumns;
use crate::output::verdict::{OneOrMany, Verdict, labels};

/// The rows written to standard output.
pub(crate) struct Rows {
    writer: Writer,
    /// The names of the verdict's columns.
    columns: Vec<String>,
    /// The columns before the verdict, known since the first row.
    kept: Option<KeptColumns>,
}

enum Writer {
    Table { writer: Box<csv::Writer<std::io::Stdout>>, cell: Vec<u8> },
    Json { writer: BufWriter<std::io::Stdout>, labels: Vec<String> },
}

impl Rows {
    /// `delimiter` is that of a table; without one, rows are JSON. `all` are the labels of the model, if the probabilities
    /// of all are written; `has_kept` tells whether columns of the documents' own rows are.
    pub(crate) fn new(delimiter: Option<u8>, all: Option<&Classes>, has_kept: bool) -> Result<Self> {
        let labels = all.map(labels).unwrap_or_default();
        let mut columns: Vec<String> = ["path", "label", "probability", "log_odds"].map(str::to_owned).into();
        let writer = if let Some(delimiter) = delimiter {
            columns.extend(labels.iter().map(|label| format!("probability_{label}")));
            let writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(std::io::stdout());
            Writer::Table { writer: Box::new(writer), cell: Vec::new() }
        } else {
            columns.extend(["truncated", "probabilities"].map(str::to_owned));
            Writer::Json { writer: BufWriter::new(std::io::stdout()), labels }
        };
        let mut rows = Rows { writer, columns, kept: None };
        if !has_kept {
            rows.begin(KeptColumns::default())?;
        }
        Ok(rows)
    }

    /// Begins with the columns that are kept.
    fn begin(&mut self, kept: KeptColumns) -> Result<()> {
        if let Writer::Table { writer, .. } = &mut self.writer {
            kept.names().try_for_each(|name| writer.write_field(name))?;
            writer.write_record(self.columns.iter().map(|name| kept.beside(name)))?;
        }
        self.kept = Some(kept);
        Ok(())
    }

    /// Writes a verdict, the probabilities of all labels or nothing, and the document's own cells.
    pub(crate) fn write(
        &mut self,
        verdict: &Verdict<'_>,
        probabilities: &[f64],
        own: Vec<(Arc<str>, Value)>,
    ) -> Result<()> {
        if self.kept.is_none() {
            self.begin(KeptColumns::of_first(&own, &self.columns)?)?;
        }
        let Rows { writer, kept: Some(kept), .. } = self else { return Ok(()) };
        match writer {
            Writer::Table { writer, cell } => {
                kept.texts(&own)?.iter().try_for_each(|cell| writer.write_field(&**cell))?;
                writer.write_field(verdict.path.as_encoded_bytes())?;
                match &verdict.label {
                    OneOrMany::One(label) => writer.write_field(label)?,
                    OneOrMany::Many(labels) => writer.write_field(labels.join(","))?,
                }
                let mut write_numbers = |numbers: &[f64], decimals| -> Result<()> {
                    cell.clear();
                    for (at, number) in numbers.iter().enumerate() {
                        cell.extend((at > 0).then_some(b','));
                        write_fixed(cell, *number, decimals)?;
                    }
                    Ok(writer.write_field(&cell)?)
                };
                write_numbers(verdict.probability.each(), 6)?;
                write_numbers(verdict.log_odds.each(), 4)?;
                // empty unless all are asked for
                probabilities.iter().try_for_each(|probability| write_numbers(&[*probability], 6))?;
                writer.write_record(None::<&[u8]>)?;
            }
            Writer::Json { writer, labels } => {
                let Value::Object(mut row) = json!(verdict) else { return Ok(()) };
                if !labels.is_empty() {
                    let posterior: Map<_, _> =
                        labels.iter().cloned().zip(probabilities.iter().map(|p| json!(p))).collect();
                    row.insert("probabilities".to_owned(), Value::Object(posterior));
                }
                let row = Value::Object(kept.add_to(row, own)?);
                writeln!(writer, "{}", json_line(row.to_string()))?;
            }
        }
        Ok(())
    }

    /// Ends the output. Without rows, it still has its head.
    pub(crate) fn finish(mut self) -> Result<()> {
        match &self.kept {
            None => self.begin(KeptColumns::default())?,
            Some(kept) => kept.note_empty(),
        }
        match self.writer {
            Writer::Table { mut writer, .. } => writer.flush()?,
            Writer::Json { mut writer, .. } => writer.flush()?,
        }
        Ok(())
    }
}
