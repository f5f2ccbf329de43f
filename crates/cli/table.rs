//! Labelled text in CSV, TSV and JSON lines.

use std::io::{self, BufRead, ErrorKind};

use anyhow::{Result, bail};
use serde_json::error::Category;

use super::sources::{Columns, Holds};

/// How rows are written, where it is no matter of the file's name.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Shape {
    /// What separates cells; recognised by default.
    pub(crate) delimiter: Option<u8>,
    /// Whether the first row is a row like all others.
    pub(crate) no_header: bool,
}

/// A row: the line it begins at, and its label and text or what is wrong with it.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) content: Result<(Option<String>, String), String>,
}

/// The rows of a table, and what its first row was taken for where its words do not tell.
///
/// The first row holds the names of the columns. Where the user names none, and the first row has neither the name of
/// the label nor that of the text, a table of two columns has label and text, one of one column text, and there is no
/// such row.
pub(crate) fn rows<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    columns: &'a Columns<'a>,
) -> Result<(Box<dyn Iterator<Item = Row> + 'a>, Option<String>)> {
    if holds == Holds::Jsonl {
        return Ok((Box::new(json_rows(reader, columns)), None));
    }
    let mut records = delimited(reader, holds, columns.shape)?;
    let Some(first) = records.next().transpose()? else { return Ok((Box::new(std::iter::empty()), None)) };
    let position = Position::find(&first, columns)?;
    let taken_for = position.describe(&first, columns);
    let rest = if position.has_names { None } else { Some(Ok(first)) };
    let mut line = 0;
    let rows = rest.into_iter().chain(records).map(move |record| match record {
        Ok(record) => {
            line = record.position().map_or(line + 1, csv::Position::line);
            Row { line, content: position.read(&record) }
        }
        Err(error) => Row { line: line + 1, content: Err(error.to_string()) },
    });
    Ok((Box::new(rows), taken_for))
}

/// The rows of CSV or TSV as they are.
///
/// # Errors
/// If nothing can be read of it.
pub(crate) fn delimited<'a>(
    mut reader: impl BufRead + 'a,
    holds: Holds,
    shape: Shape,
) -> Result<impl Iterator<Item = io::Result<csv::ByteRecord>> + 'a> {
    let delimiter = match shape.delimiter {
        Some(delimiter) => delimiter,
        None if holds == Holds::Tsv => b'\t',
        None => recognised(reader.fill_buf()?),
    };
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter);
    builder.quoting(holds != Holds::Tsv || delimiter != b'\t');
    // of bytes in rows of any length nothing else can be wrong
    let plain = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        _ => io::Error::new(ErrorKind::InvalidData, "expected rows of cells"),
    };
    Ok(builder.from_reader(reader).into_byte_records().map(move |record| record.map_err(plain)))
}

/// What separates the cells of CSV: of comma, semicolon, tab and bar the one that its first line has most of outside of
/// quotes; the first of equals.
fn recognised(start: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut quoted = false;
    for byte in start.iter().take_while(|byte| **byte != b'\n') {
        quoted ^= *byte == b'"';
        counts.iter_mut().filter(|(delimiter, _)| !quoted && delimiter == byte).for_each(|(_, n)| *n += 1);
    }
    counts.iter().rev().max_by_key(|(_, n)| *n).map_or(b',', |(delimiter, _)| *delimiter)
}

/// How many cells a row should have, and has.
pub(crate) fn wrong_length(expected: usize, got: usize) -> String {
    format!("expected {expected} cell{}, got {got}", if expected == 1 { "" } else { "s" })
}

#[derive(Clone, Copy)]
struct Position {
    label: Option<usize>,
    text: usize,
    /// Whether the first row is one of names.
    has_names: bool,
    /// Whether that was settled by no name in it.
    is_guess: bool,
    n_columns: usize,
}

impl Position {
    fn find(first: &csv::ByteRecord, columns: &Columns<'_>) -> Result<Self> {
        let Columns { label, text, shape } = *columns;
        let n_columns = first.len();
        let named = |name: &str| {
            let is_it = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            first.iter().position(is_it).filter(|_| !shape.no_header)
        };
        let numbered =
            |name: &str| name.parse::<usize>().ok().filter(|n| (1..=n_columns).contains(n)).map(|n| n - 1);
        let at = |name: &str| named(name).or_else(|| numbered(name));
        let is_guess = named(label).is_none() && named(text).is_none();
        let position = |label, text, has_names| Position { label, text, has_names, is_guess, n_columns };
        match (at(label), at(text)) {
            (label_at, Some(text)) if label_at.is_some() || label == "label" => {
                Ok(position(label_at, text, !shape.no_header))
            }
            (None, None) if (label, text, n_columns) == ("label", "text", 2) => {
                Ok(position(Some(0), 1, false))
            }
            (None, None) if (label, text, n_columns) == ("label", "text", 1) => Ok(position(None, 0, false)),
            (_, text_at) => {
                let got: Vec<_> = first.iter().map(String::from_utf8_lossy).collect();
                let (missing, option) =
                    if text_at.is_none() { (text, "--text-column") } else { (label, "--label-column") };
                if shape.no_header {
                    bail!(
                        "{option}: expected the number of a column, from 1 to {n_columns}, since --no-header leaves them \
                         without names, got {missing:?}"
                    )
                }
                bail!(
                    "expected a column {missing:?} (see {option}, and --target for tables of other columns), got {}",
                    got.join(", ")
                )
            }
        }
    }

    /// What the first row was taken for, where its words do not tell.
    fn describe(&self, first: &csv::ByteRecord, columns: &Columns<'_>) -> Option<String> {
        if !self.is_guess || columns.shape.no_header {
            return None;
        }
        let names: Vec<_> = first.iter().map(String::from_utf8_lossy).collect();
        Some(match (self.has_names, self.label) {
            (true, _) => format!(
                "the first row holds the names of columns, {}; --no-header if it does not",
                names.join(", ").chars().take(60).collect::<String>()
            ),
            (false, Some(_)) => {
                "column 1 is the label, column 2 the text, from the first row on; --label-column and \
                                 --text-column say otherwise"
                    .to_owned()
            }
            (false, None) => "the only column is the text, from the first row on".to_owned(),
        })
    }

    fn read(&self, record: &csv::ByteRecord) -> Result<(Option<String>, String), String> {
        if record.len() != self.n_columns {
            return Err(wrong_length(self.n_columns, record.len()));
        }
        let cell = |i: usize| tamis_mail::decode_text(&record[i], None).into_owned();
        Ok((self.label.map(cell), cell(self.text)))
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
        (number, object.and_then(|line| json_object(line.strip_prefix('\u{feff}').unwrap_or(&line))))
    })
}

fn json_object(line: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    // never what stands there: it may be a word of somebody's text
    serde_json::from_str(line).map_err(|error| match error.classify() {
        Category::Eof => "expected a JSON object, got the beginning of one".to_owned(),
        Category::Data => "expected a JSON object, got a JSON value of another kind".to_owned(),
        _ => format!("expected a JSON object, got something else at column {}", error.column()),
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
        let (rows, _) = rows(table.as_bytes(), holds, columns).unwrap();
        rows.map(|row| row.content.map(|(label, text)| (row.line, label, text)).unwrap()).collect()
    }

    const SHAPE: Shape = Shape { delimiter: None, no_header: false };
    static COLUMNS: Columns<'_> = Columns { label: "label", text: "text", shape: SHAPE };

    #[test]
    fn what_is_no_object_is_told_without_its_words() {
        for line in
            ["\"a secret\"", "[\"secret\"]", "{\"text\": secret}", "{\"secret\" \"secret\"}", "secret"]
        {
            let (mut rows, _) = rows(line.as_bytes(), Holds::Jsonl, &COLUMNS).unwrap();
            let error = rows.next().unwrap().content.unwrap_err();
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
        let numbered = Columns { label: "3", text: "1", shape: Shape { no_header: true, ..SHAPE } };
        assert_eq!(read("buy,x,spam\n", Holds::Csv, &numbered), [(1, Some("spam".into()), "buy".into())]);
        let numbered = Columns { shape: SHAPE, ..numbered };
        let rows = read("\u{feff}v3;v2;v1\nbuy;x;spam\n", Holds::Csv, &numbered);
        assert_eq!(rows, [(2, Some("spam".into()), "buy".into())]);
        let rows = read("\u{feff}text|label\nbuy|spam\n", Holds::Csv, &COLUMNS);
        assert_eq!(rows, [(2, Some("spam".into()), "buy".into())]);
        let json = "{\"label\": \"ham\", \"text\": \"hi\"}\n\n{\"text\": \"x\", \"label\": 3}\n";
        assert_eq!(
            read(json, Holds::Jsonl, &COLUMNS),
            [(1, Some("ham".into()), "hi".into()), (3, Some("3".into()), "x".into())]
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = Columns { label: "class", ..COLUMNS };
        let error = rows("kind,text\nham,x\n".as_bytes(), Holds::Csv, &missing).err().unwrap().to_string();
        assert!(error.contains("\"class\"") && error.contains("--label-column"), "{error}");
        let error = rows("a,b,c\n1,2,3\n".as_bytes(), Holds::Csv, &COLUMNS).err().unwrap().to_string();
        assert!(error.contains("\"text\"") && error.contains("a, b, c"), "{error}");
        let rows: Vec<_> = rows("label,text\nham\nspam,buy\nspam,a,b\n".as_bytes(), Holds::Csv, &COLUMNS)
            .unwrap()
            .0
            .collect();
        let errors: Vec<_> = rows.iter().map(|row| row.content.as_ref().err().map(String::as_str)).collect();
        let of_length = |n| format!("expected 2 cells, got {n}");
        assert_eq!(errors, [Some(&*of_length(1)), None, Some(&*of_length(3))]);
        for line in ["{\"text\": ", "[1]", "{text}", "x"] {
            let error = json_object(line).unwrap_err();
            assert!(error.starts_with("expected a JSON object, got "), "{error}");
        }
    }
}
