//! Labelled text in CSV, TSV, JSON and fastText's format.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cells::CellSyntax;
use super::holds::{Holds, TableShape};
use super::json::{Object, text_of};
use super::labels::{Label, RowLabels};
use super::record::{FastTextLine, TableHead, TableRecord, TableRow, column_names, decoded};
use super::rows::{Dialect, Raw, TableReader};
use super::sniff::{Sniffed, sniff};
use super::vector::{of_value, read_vector};

/// The columns of label, text, group, weight and vector, as the user named them.
pub(crate) struct TextColumns<'a> {
    pub(crate) label: &'a str,
    pub(crate) text: &'a str,
    pub(crate) group: Option<&'a str>,
    pub(crate) weight: Option<&'a str>,
    /// If it is `vector`, tables may lack it.
    pub(crate) vector: Option<&'a str>,
    pub(crate) labels: RowLabels,
    pub(crate) shape: TableShape,
}

impl TextColumns<'_> {
    /// `label` and `text`, with one label a row.
    pub(crate) const USUAL: TextColumns<'static> = TextColumns {
        label: "label",
        text: "text",
        group: None,
        weight: None,
        vector: None,
        labels: RowLabels::One,
        shape: TableShape { delimiter: None, no_header: false, encoding: None, is_by_line: false },
    };
}

/// The text of a row, its label, and its group, weight and vector if they are asked for. The vector is empty if the row has
/// none.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct TextRow<'a> {
    pub(crate) label: Label<'a>,
    pub(crate) text: Cow<'a, str>,
    pub(crate) group: Option<Cow<'a, str>>,
    pub(crate) weight: Option<Cow<'a, str>>,
    pub(crate) vector: Vec<f32>,
}

/// The rows of a table of label and text.
pub(crate) type TextRows<'a> = Box<dyn Iterator<Item = TableRow> + 'a>;

/// Reads the rows of a table. Also returns what was decided about it and might be wrong.
///
/// The header names the columns, with two exceptions. If the user names no columns and the first row contains neither
/// the name of the label column nor that of the text column, a table of two columns holds label and text, a table of
/// one column holds text, and there is no header. There is no header either if the first row's label is also a label of
/// later rows.
pub(crate) fn rows<'a>(
    reader: impl BufRead + 'a,
    holds: Holds,
    columns: &TextColumns<'_>,
) -> Result<(TextRows<'a>, Vec<String>)> {
    if let Some(dialect) = of_lines(holds) {
        let rows = TableReader::by_line(reader, dialect, columns.shape.is_by_line);
        return Ok((Box::new(read(rows, dialect, TableHead::default())), Vec::new()));
    }
    let Sniffed { mut rows, syntax, first, has_row_names, mut notes } =
        sniff(reader, holds, columns.shape, &[columns.label, columns.text])?;
    let Some((lines, first)) = first else {
        return Ok((Box::new(std::iter::empty()), notes));
    };
    let cells = header(syntax, &first, lines, has_row_names)?;
    let named = TableHead::find(&cells, columns);
    let (mut ahead, mut unnamed) = (Vec::new(), None);
    if !named.as_ref().is_ok_and(|position| position.is_certain) {
        ahead = if columns.shape.is_by_line { Vec::new() } else { look_ahead(&mut rows) };
        if !named.as_ref().is_ok_and(|position| !position.has_names) {
            unnamed = TableHead::without_names(&cells, columns)
                .filter(|position| position.label_recurs(&cells, &ahead, syntax));
        }
    }
    let mut position = unnamed.map_or(named, Ok)?;
    if position.is_guess && !position.has_names && cells.len() == 2 && !columns.shape.no_header {
        position = position.by_contents(&cells, &ahead, syntax)?;
    }
    position.names = column_names(&cells, position.has_names);
    notes.extend(position.describe(&cells, columns));
    drop(cells);
    let first = (!position.has_names).then_some((lines, Ok(first)));
    let rows = first.into_iter().chain(ahead).chain(rows);
    Ok((Box::new(read(rows, Dialect::Cells(syntax), position)), notes))
}

/// The dialect of a table whose lines are rows.
pub(super) fn of_lines(holds: Holds) -> Option<Dialect> {
    match holds {
        Holds::Jsonl | Holds::Json => Some(Dialect::Json),
        Holds::FastText => Some(Dialect::FastText),
        _ => None,
    }
}

/// The cells of a header. If the rows have names, the column of these comes first, without a name of its own.
pub(super) fn header(
    syntax: CellSyntax,
    row: &Raw,
    lines: u64,
    has_row_names: bool,
) -> Result<Vec<Cow<'_, [u8]>>> {
    let cells = syntax.cells(row.bytes()).map_err(anyhow::Error::msg);
    let mut cells = cells.with_context(|| format!("row {}", lines + 1))?;
    if has_row_names {
        cells.insert(0, Cow::Borrowed(b""));
    }
    Ok(cells)
}

/// A raw row, and the number of line ends before it.
type Written = (u64, io::Result<Raw>);

/// Reads ahead by a mebibyte of rows.
fn look_ahead(rows: &mut impl Iterator<Item = Written>) -> Vec<Written> {
    let (mut ahead, mut bytes) = (Vec::new(), 0);
    while bytes < 1 << 20
        && let Some(row) = rows.next()
    {
        bytes += row.1.as_ref().map_or(0, |raw| raw.bytes().len() + 1);
        ahead.push(row);
    }
    ahead
}

/// Adds the table's information to rows. An empty line is not a row.
pub(crate) fn read(
    rows: impl Iterator<Item = Written>,
    dialect: Dialect,
    head: TableHead,
) -> impl Iterator<Item = TableRow> {
    let head = Arc::new(head);
    let is_row = move |raw: &Raw| !dialect.is_of_lines() || !is_empty_line(raw.bytes());
    rows.filter(move |(_, raw)| raw.as_ref().map_or(true, is_row)).map(move |(lines, raw)| {
        let record = |raw| TableRecord::new(raw, dialect, Arc::clone(&head));
        TableRow { line: lines + 1, content: raw.map(record).map_err(|error| error.to_string()) }
    })
}

fn is_empty_line(line: &[u8]) -> bool {
    // nearly all lines begin with a brace
    line.first() != Some(&b'{') && str::from_utf8(line).is_ok_and(|line| line.trim().is_empty())
}

impl TableHead {
    /// The positions if the first row is an ordinary row that has a label.
    fn without_names(first: &[Cow<'_, [u8]>], columns: &TextColumns<'_>) -> Option<Self> {
        let shape = TableShape { no_header: true, ..columns.shape };
        TableHead::find(first, &TextColumns { shape, ..*columns })
            .ok()
            .filter(|position| position.label.is_some())
    }

    /// Whether the label of the first row recurs in `rows`.
    fn label_recurs(&self, first: &[Cow<'_, [u8]>], rows: &[Written], syntax: CellSyntax) -> bool {
        let Some(at) = self.label else { return false };
        let is_it = |cell: &Cow<'_, [u8]>| cell.trim_ascii() == first[at].trim_ascii();
        !first[at].trim_ascii().is_empty()
            && cells_of(rows, syntax).any(|cells| cells.get(at).is_some_and(is_it))
    }

    /// The positions of label and text in a table of two columns without their names: the label is the column of fewer
    /// and shorter values. The first row is a header if its label is the only one that does not recur.
    ///
    /// # Errors
    /// If either column may be the label.
    fn by_contents(self, first: &[Cow<'_, [u8]>], ahead: &[Written], syntax: CellSyntax) -> Result<Self> {
        let rows = cells_of(ahead, syntax).filter(|cells| cells.len() == 2);
        let mut values = [HashMap::new(), HashMap::new()];
        let (mut n_rows, mut sizes) = (0, [0, 0]);
        for cells in std::iter::once(first.to_vec()).chain(rows) {
            n_rows += 1;
            for (i, cell) in cells.iter().enumerate() {
                sizes[i] += cell.len();
                *values[i].entry(cell.trim_ascii().to_vec()).or_insert(0) += 1;
            }
        }
        let label = usize::from(values[1].len() < values[0].len());
        let may_be_header = values[label].get(first[label].trim_ascii()) == Some(&1)
            && values[label].values().filter(|n| **n == 1).count() == 1;
        let n_labels = values[label].len();
        let is_clear = n_rows > 2
            && n_labels < values[1 - label].len()
            && if n_rows > 6 { 2 * n_labels <= n_rows } else { !may_be_header }
            && sizes[label] <= sizes[1 - label]
            && !values[label].contains_key(&b""[..]);
        if !is_clear {
            bail!(
                "expected to see which column is the label, got a first row without names, {}; one of these says it: \
                 --no-header --label-column 1 --text-column 2, or --no-header --label-column 2 --text-column 1",
                row_shown(first)
            );
        }
        Ok(TableHead { label: Some(label), text: 1 - label, has_names: may_be_header, ..self })
    }

    fn find(first: &[Cow<'_, [u8]>], columns: &TextColumns<'_>) -> Result<Self> {
        let TextColumns { label, text, group, weight, vector, .. } = *columns;
        for name in [Some(label), Some(text), group, weight, vector].into_iter().flatten() {
            let n = named(first, name, columns.shape).count();
            ensure!(n <= 1, "expected one column {name:?}, got {n}: {}", row_shown(first));
        }
        let position = TableHead::of_label_and_text(first, columns)?;
        let at = |(option, name): (&str, Option<&str>)| match name {
            None => Ok(None),
            Some(name) => column_at(first, name, columns.shape).map(Some).with_context(|| {
                let row = row_shown(first);
                format!(
                    "{option}: expected a column by its name or number, got {name:?}; the first row is {row}"
                )
            }),
        };
        let vector = match at(("--vector-column", vector)) {
            Err(_) if vector == Some("vector") => None,
            vector => vector?,
        };
        let (group, weight) = (at(("--group", group))?, at(("--weight", weight))?);
        Ok(TableHead { group, weight, vector, ..position })
    }

    fn of_label_and_text(first: &[Cow<'_, [u8]>], columns: &TextColumns<'_>) -> Result<Self> {
        let TextColumns { label, text, shape, .. } = *columns;
        let n_columns = first.len();
        let at = |name: &str| column_at(first, name, shape);
        let is_named = |name| named(first, name, shape).next().is_some();
        let [has_label, has_text] = [label, text].map(is_named);
        let (is_guess, is_certain) = (!has_label && !has_text, has_label && has_text);
        let found = TableHead { is_guess, is_certain, ..TableHead::default() };
        let position = |label, text, has_names| TableHead { label, text, has_names, ..found.clone() };
        match (at(label), at(text)) {
            (label_at, Some(text)) if label_at.is_some() || label == "label" => {
                Ok(position(label_at, text, !shape.no_header))
            }
            (None, None) if (label, text, n_columns) == ("label", "text", 2) => {
                Ok(position(Some(0), 1, false))
            }
            (None, None) if (label, text, n_columns) == ("label", "text", 1) => Ok(position(None, 0, false)),
            (_, text_at) => {
                let (missing, option) =
                    if text_at.is_none() { (text, "--text-column") } else { (label, "--label-column") };
                if shape.no_header {
                    bail!(
                        "{option}: expected the number of a column, from 1 to {n_columns}, since --no-header leaves \
                         them without names, got {missing:?}"
                    )
                }
                bail!(
                    "expected a column {missing:?} (see {option}, and --target for tables of other columns), got {}",
                    row_shown(first)
                )
            }
        }
    }

    /// Describes what the first row was taken for, if that is a guess.
    fn describe(&self, first: &[Cow<'_, [u8]>], columns: &TextColumns<'_>) -> Option<String> {
        if !self.is_guess || columns.shape.no_header {
            return None;
        }
        let (row, text) = (row_shown(first), self.text + 1);
        Some(match (self.has_names, self.label.map(|label| label + 1)) {
            (true, Some(label)) if columns.label == "label" => format!(
                "the first row is a header, {row}; column {label} is the label and column {text} the text; --no-header, \
                 --label-column and --text-column change this"
            ),
            (true, _) => {
                let row: String = row.chars().take(60).collect();
                format!("the first row is a header, {row}; use --no-header if it is not")
            }
            (false, Some(label)) => format!(
                "column {label} is the label and column {text} the text, without a header row; --label-column and \
                 --text-column change this"
            ),
            (false, None) => "the only column is the text, without a header row".to_owned(),
        })
    }
}

/// The column with this name, or else with this number, from 1.
fn column_at(first: &[Cow<'_, [u8]>], name: &str, shape: TableShape) -> Option<usize> {
    let number = || name.parse().ok().filter(|n| (1..=first.len()).contains(n)).map(|n: usize| n - 1);
    named(first, name, shape).next().or_else(number)
}

/// The columns with this name.
fn named(first: &[Cow<'_, [u8]>], name: &str, shape: TableShape) -> impl Iterator<Item = usize> {
    let is_it = move |cell: &Cow<'_, [u8]>| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    first.iter().enumerate().filter(move |(_, cell)| !shape.no_header && is_it(cell)).map(|(at, _)| at)
}

fn row_shown(cells: &[Cow<'_, [u8]>]) -> String {
    cells.iter().map(|cell| String::from_utf8_lossy(cell)).collect::<Vec<_>>().join(", ")
}

/// The cells of the rows that can be read.
fn cells_of(rows: &[Written], syntax: CellSyntax) -> impl Iterator<Item = Vec<Cow<'_, [u8]>>> {
    rows.iter().filter_map(move |(_, raw)| syntax.cells(raw.as_ref().ok()?.bytes()).ok())
}

impl TableRecord {
    /// The cells that are used, or what is wrong with the row.
    pub(crate) fn text_row(&self, columns: &TextColumns<'_>) -> Result<TextRow<'_>, String> {
        if let Some(object) = self.json() {
            return of_object(object?, columns);
        }
        let line = |FastTextLine { labels, text }: FastTextLine<'_>| {
            let label = columns.labels.of_labels(&labels);
            TextRow { label, text: text.into(), group: None, weight: None, vector: Vec::new() }
        };
        if let Some(row) = self.fasttext(line) {
            return Ok(row);
        }
        let cells = self.cells()?;
        let cell = |at: usize| decoded(cells[at].clone());
        let label = Ok(self.head.label.map(|at| columns.labels.of_text(cell(at))));
        let [group, weight] = [self.head.group, self.head.weight].map(|at| at.map(cell));
        let vector = self.head.vector.map(cell).filter(|cell| !cell.trim().is_empty());
        let vector = vector.map_or(Ok(Vec::new()), |cell| read_vector(&cell));
        let vector = vector.map_err(|why| of_column(columns.vector, why))?;
        Ok(TextRow { label, text: cell(self.head.text), group, weight, vector })
    }
}

/// An error of a cell with the name of its column.
fn of_column(column: Option<&str>, why: String) -> String {
    format!("column {:?}: {why}", column.unwrap_or_default())
}

fn of_object(mut object: Object, columns: &TextColumns<'_>) -> Result<TextRow<'static>, String> {
    // one column may be both label and text
    let cell = |name: &str| Some(text_of(object.get(name)?.clone()).into());
    let label = object.get(columns.label).map_or(Ok(None), |label| columns.labels.of_value(label));
    let [group, weight] = [columns.group, columns.weight].map(|name| name.and_then(cell));
    let vector = columns.vector.and_then(|name| object.get(name)).map_or(Ok(Vec::new()), of_value);
    let vector = vector.map_err(|why| of_column(columns.vector, why))?;
    match object.take(columns.text) {
        Some(text @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            Ok(TextRow { label, text: text_of(text).into(), group, weight, vector })
        }
        _ if object.is_of_columns() => Err(format!(
            "expected an object with a string {:?}, got a table by columns; pandas writes rows with orient=\"records\"",
            columns.text
        )),
        _ => Err(format!("expected an object with a string {:?}", columns.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str, holds: Holds, columns: &TextColumns<'_>) -> Vec<(u64, Option<String>, String)> {
        let (rows, _) = rows(table.as_bytes(), holds, columns).unwrap();
        let owned = |row: TableRow| {
            let record = row.content.unwrap();
            let TextRow { label, text, .. } = record.text_row(columns).unwrap();
            (row.line, label.unwrap().map(Cow::into_owned), text.into_owned())
        };
        rows.map(owned).collect()
    }

    const COLUMNS: TextColumns<'_> = TextColumns::USUAL;
    const SHAPE: TableShape = COLUMNS.shape;

    #[test]
    fn what_is_no_object_is_told_without_its_words() {
        for line in
            ["\"a secret\"", "[\"secret\"]", "{\"text\": secret}", "{\"secret\" \"secret\"}", "secret"]
        {
            let (mut rows, _) = rows(line.as_bytes(), Holds::Jsonl, &COLUMNS).unwrap();
            let error = rows.next().unwrap().content.unwrap().text_row(&COLUMNS).unwrap_err();
            assert!(error.contains("expected a JSON object") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn columns_are_named_or_the_two_there_are() {
        let expected = [(2, Some("spam".into()), "buy, now".into())];
        assert_eq!(read("id,Label,Text\n1,spam,\"buy, now\"\n", Holds::Csv, &COLUMNS), expected);
        let rows = read("ham\tsay \"hi\nspam\tbuy\nham\tbye\n", Holds::Tsv, &COLUMNS);
        let texts: Vec<_> =
            rows.into_iter().map(|(line, label, text)| (line, label.unwrap(), text)).collect();
        let row = |line, label: &str, text: &str| (line, label.to_owned(), text.to_owned());
        assert_eq!(texts, [row(1, "ham", "say \"hi"), row(2, "spam", "buy"), row(3, "ham", "bye")]);
        let numbered =
            TextColumns { label: "3", text: "1", shape: TableShape { no_header: true, ..SHAPE }, ..COLUMNS };
        assert_eq!(read("buy,x,spam\n", Holds::Csv, &numbered), [(1, Some("spam".into()), "buy".into())]);
        let numbered = TextColumns { shape: SHAPE, ..numbered };
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
    fn a_first_row_with_a_label_of_later_rows_is_no_header() {
        let row = |line, label: &str, text: &str| (line, Some(label.to_owned()), text.to_owned());
        // a text can be the name of a column
        let rows = read("spam,text\nham,hi there\nspam,buy now\n", Holds::Csv, &COLUMNS);
        assert_eq!(rows, [row(1, "spam", "text"), row(2, "ham", "hi there"), row(3, "spam", "buy now")]);
        let numbered = TextColumns { label: "2", text: "1", ..COLUMNS };
        let rows = read("hello,ham\nbuy,spam\nhi,ham\n", Holds::Csv, &numbered);
        assert_eq!(rows, [row(1, "ham", "hello"), row(2, "spam", "buy"), row(3, "ham", "hi")]);
        let rows = read("text,label\nbuy,spam\nhi,label\n", Holds::Csv, &COLUMNS);
        assert_eq!(rows, [row(2, "spam", "buy"), row(3, "label", "hi")]);
        // without labels there is nothing to tell them apart by
        assert_eq!(read("id,text\n1,hi\n", Holds::Csv, &COLUMNS), [(2, None, "hi".to_owned())]);
    }

    #[test]
    fn a_column_named_twice_is_refused() {
        for table in ["label,text,text\na,b,c\n", "Label,label,text\na,b,c\n"] {
            let error = rows(table.as_bytes(), Holds::Csv, &COLUMNS).err().unwrap().to_string();
            assert!(error.starts_with("expected one column"), "{error}");
        }
        assert_eq!(read("label,x,x,text\na,b,c,d\n", Holds::Csv, &COLUMNS).len(), 1);
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = TextColumns { label: "class", ..COLUMNS };
        let error = rows("kind,text\nham,x\n".as_bytes(), Holds::Csv, &missing).err().unwrap().to_string();
        assert!(error.contains("\"class\"") && error.contains("--label-column"), "{error}");
        let error = rows("a,b,c\n1,2,3\n".as_bytes(), Holds::Csv, &COLUMNS).err().unwrap().to_string();
        assert!(error.contains("\"text\"") && error.contains("a, b, c"), "{error}");
        let rows: Vec<_> = rows("label,text\nham\nspam,buy\nspam,a,b\n".as_bytes(), Holds::Csv, &COLUMNS)
            .unwrap()
            .0
            .collect();
        let error = |row: &TableRow| row.content.as_ref().unwrap().text_row(&COLUMNS).err();
        let errors: Vec<_> = rows.iter().map(error).collect();
        let of_length = |n| format!("expected 2 cells, got {n}");
        assert_eq!(errors, [Some(of_length(1)), None, Some(of_length(3))]);
    }
}
