//! Labelled text in CSV, TSV and JSON lines.

use std::io::{BufRead, ErrorKind};

use anyhow::{Result, bail};

use super::sources::{Columns, Holds};

/// A row: the line it begins at, and its label and text or what is wrong with it.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) content: Result<(Option<String>, String), String>,
}

/// The rows of a table.
///
/// Columns are named in the first row. Where the first row names neither column and there are just two, they are
/// label and text, and there is no such row.
pub(crate) fn rows<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    columns: &'a Columns<'a>,
) -> Result<Box<dyn Iterator<Item = Row> + 'a>> {
    if holds == Holds::Jsonl {
        return Ok(Box::new(json_rows(reader, columns)));
    }
    let mut records = delimited(reader, holds);
    let Some(first) = records.next().transpose()? else { return Ok(Box::new(std::iter::empty())) };
    let position = Position::find(&first, columns)?;
    let rest = if position.named { None } else { Some(Ok(first)) };
    let mut line = 0;
    Ok(Box::new(rest.into_iter().chain(records).map(move |record| match record {
        Ok(record) => {
            line = record.position().map_or(line + 1, csv::Position::line);
            Row { line, content: position.read(&record) }
        }
        Err(error) => Row { line: line + 1, content: Err(error.to_string()) },
    })))
}

/// The rows of CSV or TSV as they are.
pub(crate) fn delimited<R: BufRead>(reader: R, holds: Holds) -> csv::ByteRecordsIntoIter<R> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true);
    if holds == Holds::Tsv {
        builder.delimiter(b'\t').quoting(false);
    }
    builder.from_reader(reader).into_byte_records()
}

#[derive(Clone, Copy)]
struct Position {
    label: Option<usize>,
    text: usize,
    /// Whether the first row is one of names.
    named: bool,
}

impl Position {
    fn find(first: &csv::ByteRecord, columns: &Columns<'_>) -> Result<Self> {
        let named = |name: &str| first.iter().position(|cell| cell.eq_ignore_ascii_case(name.as_bytes()));
        let numbered =
            |name: &str| name.parse::<usize>().ok().filter(|n| (1..=first.len()).contains(n)).map(|n| n - 1);
        let at = |name: &str| named(name).or_else(|| numbered(name));
        match (at(columns.label), at(columns.text)) {
            (label, Some(text)) => {
                let has_names = named(columns.label).is_some() || named(columns.text).is_some();
                Ok(Position { label, text, named: has_names })
            }
            (None, None) if first.len() == 2 => Ok(Position { label: Some(0), text: 1, named: false }),
            (None, None) if first.len() == 1 => Ok(Position { label: None, text: 0, named: false }),
            _ => {
                let got: Vec<_> = first.iter().map(String::from_utf8_lossy).collect();
                bail!(
                    "expected a column {:?} (see --text-column, and --target for tables of other columns), got {}",
                    columns.text,
                    got.join(", ")
                )
            }
        }
    }

    fn read(&self, record: &csv::ByteRecord) -> Result<(Option<String>, String), String> {
        let cell = |i: usize| {
            let cell = record
                .get(i)
                .ok_or_else(|| format!("expected a column {}, got {} columns", i + 1, record.len()))?;
            Ok::<_, String>(tamis_mail::decode_text(cell, None).into_owned())
        };
        Ok((self.label.map(cell).transpose()?, cell(self.text)?))
    }
}

/// The objects of JSON lines, each with the number of its line, or what is wrong with it.
pub(crate) fn json_objects(
    reader: impl BufRead,
) -> impl Iterator<Item = (u64, Result<serde_json::Map<String, serde_json::Value>, String>)> {
    let lines = (1..).zip(reader.lines());
    lines.filter(|(_, line)| !line.as_ref().is_ok_and(|line| line.trim().is_empty())).map(|(number, line)| {
        let object = line.map_err(|e| match e.kind() {
            ErrorKind::InvalidData => "expected a line of UTF-8, got other bytes".to_owned(),
            _ => e.to_string(),
        });
        // never what stands there: it may be a word of somebody's text
        let unlike = |e: serde_json::Error| {
            format!("expected a JSON object, got something else at column {}", e.column())
        };
        (number, object.and_then(|line| serde_json::from_str(&line).map_err(unlike)))
    })
}

fn json_rows<'a>(reader: impl BufRead + 'a, columns: &'a Columns<'a>) -> impl Iterator<Item = Row> + 'a {
    json_objects(reader).map(|(number, object)| {
        let read = || -> Result<(Option<String>, String), String> {
            let object = object?;
            let text = match object.get(columns.text) {
                Some(serde_json::Value::String(text)) => text.clone(),
                _ => return Err(format!("expected an object with a string {:?}", columns.text)),
            };
            let label = match object.get(columns.label) {
                Some(serde_json::Value::String(label)) => Some(label.clone()),
                Some(other) if !other.is_null() => Some(other.to_string()),
                _ => None,
            };
            Ok((label, text))
        };
        Row { line: number, content: read() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str, holds: Holds, columns: &Columns<'_>) -> Vec<(u64, Option<String>, String)> {
        let rows = rows(table.as_bytes(), holds, columns).unwrap();
        rows.map(|row| row.content.map(|(label, text)| (row.line, label, text)).unwrap()).collect()
    }

    const COLUMNS: Columns<'_> = Columns { label: "label", text: "text" };

    #[test]
    fn what_is_no_object_is_told_without_its_words() {
        for line in
            ["\"a secret\"", "[\"secret\"]", "{\"text\": secret}", "{\"secret\" \"secret\"}", "secret"]
        {
            let error =
                rows(line.as_bytes(), Holds::Jsonl, &COLUMNS).unwrap().next().unwrap().content.unwrap_err();
            assert!(error.contains("expected a JSON object") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn columns_are_named_or_the_two_there_are() {
        let expected = [(2, Some("spam".into()), "buy, now".into())];
        assert_eq!(read("id,Label,Text\n1,spam,\"buy, now\"\n", Holds::Csv, &COLUMNS), expected);
        let rows = read("ham\tsay \"hi\nspam\tbuy\n", Holds::Tsv, &COLUMNS);
        assert_eq!(
            rows,
            [(1, Some("ham".into()), "say \"hi".into()), (2, Some("spam".into()), "buy".into())]
        );
        let numbered = Columns { label: "3", text: "1" };
        assert_eq!(read("buy,x,spam\n", Holds::Csv, &numbered), [(1, Some("spam".into()), "buy".into())]);
        let json = "{\"label\": \"ham\", \"text\": \"hi\"}\n\n{\"text\": \"x\", \"label\": 3}\n";
        assert_eq!(
            read(json, Holds::Jsonl, &COLUMNS),
            [(1, Some("ham".into()), "hi".into()), (3, Some("3".into()), "x".into())]
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = rows("a,b,c\n1,2,3\n".as_bytes(), Holds::Csv, &COLUMNS).err().unwrap().to_string();
        assert!(error.contains("\"text\"") && error.contains("a, b, c"), "{error}");
        let rows: Vec<_> =
            rows("label,text\nham\nspam,buy\n".as_bytes(), Holds::Csv, &COLUMNS).unwrap().collect();
        assert!(rows[0].content.as_ref().unwrap_err().contains("column 2"));
        assert!(rows[1].content.is_ok());
    }
}
