//! Verdicts as rows: CSV, TSV or JSON lines.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use tamis_program::{json_line, note, shown};
use tamis_train::Classes;

use crate::output::verdict::{DocumentVerdict, OneOrMany, labels};

/// The rows written to standard output.
pub(crate) struct RowWriter {
    writer: Writer,
    /// The names of the verdict's columns.
    columns: Vec<String>,
    /// The columns before the verdict, known since the first row.
    kept: Option<KeptColumns>,
}

enum Writer {
    Table { writer: Box<csv::Writer<io::Stdout>>, cell: Vec<u8> },
    Json { writer: BufWriter<io::Stdout>, labels: Vec<String> },
}

impl RowWriter {
    /// `delimiter` is that of a table; without one, rows are JSON. `all` are the labels of the model, if the probabilities
    /// of all are written; `has_kept` tells whether columns of the documents' own rows are.
    pub(crate) fn new(delimiter: Option<u8>, all: Option<&Classes>, has_kept: bool) -> Result<Self> {
        let labels = all.map(labels).unwrap_or_default();
        let mut columns: Vec<String> = ["path", "label", "probability", "log_odds"].map(str::to_owned).into();
        let writer = if let Some(delimiter) = delimiter {
            columns.extend(labels.iter().map(|label| format!("probability_{label}")));
            let writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(io::stdout());
            Writer::Table { writer: Box::new(writer), cell: Vec::new() }
        } else {
            columns.extend(["truncated", "probabilities"].map(str::to_owned));
            Writer::Json { writer: BufWriter::new(io::stdout()), labels }
        };
        let mut rows = RowWriter { writer, columns, kept: None };
        if !has_kept {
            rows.begin(KeptColumns::default())?;
        }
        Ok(rows)
    }

    /// Begins with the columns that are kept.
    fn begin(&mut self, kept: KeptColumns) -> Result<()> {
        if let Writer::Table { writer, .. } = &mut self.writer {
            kept.names.iter().try_for_each(|name| writer.write_field(&**name))?;
            writer.write_record(self.columns.iter().map(|name| kept.beside(name)))?;
        }
        self.kept = Some(kept);
        Ok(())
    }

    /// Writes a verdict, the probabilities of all labels or nothing, and the document's own cells.
    pub(crate) fn write(
        &mut self,
        verdict: &DocumentVerdict<'_>,
        probabilities: &[f64],
        own: Vec<(Arc<str>, Value)>,
    ) -> Result<()> {
        if self.kept.is_none() {
            self.begin(KeptColumns::of_first(&own, &self.columns)?)?;
        }
        let RowWriter { writer, kept: Some(kept), .. } = self else { return Ok(()) };
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
                        write!(cell, "{number:.decimals$}")?;
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
        self.flush()
    }

    /// Writes what is held back.
    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(match &mut self.writer {
            Writer::Table { writer, .. } => writer.flush(),
            Writer::Json { writer, .. } => writer.flush(),
        }?)
    }
}

/// The columns of the first row, which every later row has too.
#[derive(Default)]
pub(crate) struct KeptColumns {
    names: Vec<Arc<str>>,
    /// Columns without a value so far.
    empty: HashSet<Arc<str>>,
}

impl KeptColumns {
    /// The columns of a row, beside which there will be those of the verdict.
    fn of_first(row: &[(Arc<str>, Value)], verdict: &[String]) -> Result<Self> {
        let names: Vec<_> = row.iter().map(|(name, _)| Arc::clone(name)).collect();
        let empty: HashSet<_> = names.iter().cloned().collect();
        if empty.len() < names.len() {
            bail!("--keep: expected columns of names that differ, got {}", shown(&names.join(", ")));
        }
        let columns = KeptColumns { names, empty };
        for name in verdict.iter().filter(|name| columns.has(name)) {
            let (name, other) = (shown(name), columns.beside(name));
            note!("--keep: the rows have a column {name}, so that of the verdict is {}", shown(&other));
        }
        Ok(columns)
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| **known == *name)
    }

    /// The name of a column of the verdict: its own, unless the rows have a column of that name.
    fn beside(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.has(&name) {
            name.insert_str(0, "tamis_");
        }
        name
    }

    /// The cells of a row as text, in the order of the columns. One that the row does not have is empty.
    fn texts<'r>(&mut self, row: &'r [(Arc<str>, Value)]) -> Result<Vec<Cow<'r, str>>> {
        self.see(row);
        if let Some((other, _)) = row.iter().find(|(name, _)| !self.has(name)) {
            let (known, other) = (self.names.join(","), shown(other));
            bail!(
                "--keep all: expected the columns of the first row, {}, got also {other}; name the columns, or write \
                 --format jsonl",
                shown(&known)
            );
        }
        let cell = |name: &Arc<str>| row.iter().find(|(known, _)| known == name).map(|(_, cell)| text(cell));
        Ok(self.names.iter().map(|name| cell(name).unwrap_or_default()).collect())
    }

    /// Adds the cells of a row to the verdict's object.
    fn add_to(
        &mut self,
        verdict: Map<String, Value>,
        row: Vec<(Arc<str>, Value)>,
    ) -> Result<Map<String, Value>> {
        if self.names.is_empty() && row.is_empty() {
            return Ok(verdict);
        }
        self.see(&row);
        let mut object: Map<_, _> =
            verdict.into_iter().map(|(name, value)| (self.beside(&name), value)).collect();
        for (name, value) in row {
            if object.insert((*name).to_owned(), value).is_some() {
                let name = shown(&name);
                bail!(
                    "--keep all: expected no column {name} of the verdict in a row after the first; name the columns"
                );
            }
        }
        Ok(object)
    }

    fn see(&mut self, row: &[(Arc<str>, Value)]) {
        if !self.empty.is_empty() {
            row.iter()
                .filter(|(_, value)| !value.is_null())
                .for_each(|(name, _)| _ = self.empty.remove(name));
        }
    }

    /// Notes which columns no row had a value in.
    fn note_empty(&self) {
        for name in self.names.iter().filter(|name| self.empty.contains(*name)) {
            note!("--keep: no row has a value in {}", shown(name));
        }
    }
}

/// A cell as text.
fn text(cell: &Value) -> Cow<'_, str> {
    match cell {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(cells: &[(&str, Value)]) -> Vec<(Arc<str>, Value)> {
        cells.iter().map(|(name, cell)| ((*name).into(), cell.clone())).collect()
    }

    fn columns(names: &[&str]) -> KeptColumns {
        let cells: Vec<_> = names.iter().map(|name| (*name, json!(1))).collect();
        KeptColumns::of_first(&row(&cells), &["path".to_owned(), "label".to_owned()]).unwrap()
    }

    #[test]
    fn a_column_of_the_verdict_gives_way() {
        let columns = columns(&["label", "tamis_label", "id"]);
        assert_eq!(columns.beside("path"), "path");
        assert_eq!(columns.beside("label"), "tamis_tamis_label");
    }

    #[test]
    fn cells_are_in_the_order_of_the_first_row() {
        let mut columns = columns(&["b", "a", "c"]);
        let texts = columns.texts(&row(&[("a", json!("x,\n")), ("b", json!(1.5))])).unwrap().join("|");
        assert_eq!(texts, "1.5|x,\n|");
        let error = columns.texts(&row(&[("d", json!(1))])).unwrap_err().to_string();
        assert!(error.contains("b,a,c, got also d"), "{error}");
    }

    #[test]
    fn objects_keep_types_and_refuse_a_late_clash() {
        let mut columns = columns(&["a"]);
        let verdict = || json!({"label": "ham"}).as_object().unwrap().clone();
        let object = columns.add_to(verdict(), row(&[("a", json!([1, null])), ("z", json!(true))])).unwrap();
        assert_eq!(Value::Object(object), json!({"a": [1, null], "z": true, "label": "ham"}));
        assert!(columns.add_to(verdict(), row(&[("label", json!(1))])).is_err());
    }
}
