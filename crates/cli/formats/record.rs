//! A row of a table, whatever its format, and the names of its columns.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

use super::json::{Object, read_object};
use super::rows::{Dialect, Raw};

/// A row: the line where it begins, and its record or the reason that it cannot be read.
pub(crate) struct TableRow {
    pub(crate) line: u64,
    pub(crate) content: Result<TableRecord, String>,
}

/// A row as it was read, with the table's information about its cells.
pub(crate) struct TableRecord {
    raw: Raw,
    dialect: Dialect,
    pub(crate) head: Arc<TableHead>,
}

impl TableRecord {
    pub(crate) fn new(raw: Raw, dialect: Dialect, head: Arc<TableHead>) -> Self {
        TableRecord { raw, dialect, head }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.raw.bytes().len()
    }

    /// What separates its cells, if anything does.
    pub(super) fn delimiter(&self) -> Option<u8> {
        if let Dialect::Cells(syntax) = self.dialect { Some(syntax.delimiter) } else { None }
    }

    /// The bytes of a row in this dialect.
    fn written(&self, its: Dialect) -> Option<&[u8]> {
        (self.dialect == its).then(|| self.raw.bytes())
    }

    /// Whether the row may have a cell in the column of vectors, which has this name.
    pub(crate) fn may_have_vector(&self, column: &str) -> bool {
        match self.dialect {
            Dialect::Json => memmem::find(self.raw.bytes(), column.as_bytes()).is_some(),
            Dialect::Cells(_) => self.head.vector.is_some(),
            Dialect::FastText => false,
        }
    }

    /// The cells of a row that is neither JSON nor fastText's, one for each column.
    pub(crate) fn cells(&self) -> Result<Vec<Cow<'_, [u8]>>, String> {
        let mut cells = match self.dialect {
            Dialect::Cells(syntax) => syntax.cells(self.raw.bytes())?,
            Dialect::Json | Dialect::FastText => vec![self.raw.bytes().into()],
        };
        let n_blank = cells.iter().rev().take_while(|cell| cell.is_empty()).count();
        if cells.len() - n_blank <= self.head.names.len() && self.head.names.len() < cells.len() {
            cells.truncate(self.head.names.len());
        }
        match (self.head.names.len(), cells.len()) {
            (expected, got) if expected == got => Ok(cells),
            (1, got) => Err(format!("expected 1 cell, got {got}")),
            (expected, got) => Err(format!("expected {expected} cells, got {got}")),
        }
    }

    /// The object, if the row is JSON.
    pub(crate) fn json(&self) -> Option<Result<Object, String>> {
        self.written(Dialect::Json).map(read_object)
    }

    /// Labels and text, if the row is a line of fastText.
    pub(crate) fn fasttext<R>(&self, read: impl FnOnce(FastTextLine<'_>) -> R) -> Option<R> {
        let line = self.written(Dialect::FastText)?;
        Some(read(read_line(&decoded(line.into()))))
    }
}

/// The names of a table's columns, and the positions of label, text, group, weight and vector. In JSON, each row has names.
#[derive(Clone, Default)]
pub(crate) struct TableHead {
    pub(super) names: Vec<Arc<str>>,
    pub(super) label: Option<usize>,
    pub(super) text: usize,
    pub(super) group: Option<usize>,
    pub(super) weight: Option<usize>,
    pub(super) vector: Option<usize>,
    /// Whether the first row is a header.
    pub(super) has_names: bool,
    /// Whether the header is a guess, since the row has none of the expected names.
    pub(super) is_guess: bool,
    /// Whether the row has the names of both label and text.
    pub(super) is_certain: bool,
}

/// Decodes text as UTF-8, or else as windows-1252.
pub(crate) fn decoded(cell: Cow<'_, [u8]>) -> Cow<'_, str> {
    match cell {
        Cow::Borrowed(cell) => tamis_mail::decode_text(cell, None),
        Cow::Owned(cell) => Cow::Owned(tamis_mail::decode_text(&cell, None).into_owned()),
    }
}

/// The names of a table's columns: those of its first row, or their numbers if that row is no header. A column without a name is
/// called by its number, as in `column 1`.
pub(crate) fn column_names(first: &[Cow<'_, [u8]>], is_header: bool) -> Vec<Arc<str>> {
    let name = |(i, cell): (usize, &Cow<'_, [u8]>)| match tamis_mail::decode_text(cell, None).trim() {
        _ if !is_header => (i + 1).to_string().into(),
        "" => format!("column {}", i + 1).into(),
        name => name.into(),
    };
    first.iter().enumerate().map(name).collect()
}

/// Lists names for an error message.
pub(crate) fn listed(names: &[Arc<str>]) -> String {
    const MOST: usize = 20;
    let mut shown = names.iter().take(MOST).map(|name| &**name).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        shown.push_str(&format!(" and {} more", names.len() - MOST));
    }
    shown
}

/// What a label begins with.
const LABEL: &str = "__label__";

/// Number of lines that must begin with a label, so that a text is taken for this format.
const LINES: usize = 10;

/// A line, without the prefix of its labels. Words are separated by single spaces.
pub(crate) struct FastTextLine<'a> {
    pub(crate) labels: Vec<&'a str>,
    pub(crate) text: String,
}

pub(crate) fn read_line(line: &str) -> FastTextLine<'_> {
    let (mut labels, mut text) = (Vec::new(), String::with_capacity(line.len()));
    for word in line.split(is_blank).filter(|word| !word.is_empty()) {
        match word.strip_prefix(LABEL) {
            Some(label) => labels.push(label),
            None if text.is_empty() => text.push_str(word),
            None => text.extend([" ", word]),
        }
    }
    FastTextLine { labels, text }
}

/// What separates words for fastText.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c' | '\0')
}

/// Whether a text with this beginning has a label at the beginning of each line.
pub(crate) fn looks_like_fasttext(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let has_label = |line: &[u8]| line.starts_with(LABEL.as_bytes());
    // the last line may be cut off
    let begins_one = |line: &[u8]| LABEL.as_bytes().starts_with(line.trim_ascii());
    let mut lines = start.split(|byte| *byte == b'\n').take(LINES);
    has_label(start) && lines.all(|line| has_label(line) || begins_one(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_be_anywhere_in_a_line() {
        for (line, labels, text) in [
            ("__label__a  some\twords \r", &["a"][..], "some words"),
            ("__label__a __label__b-c some words", &["a", "b-c"], "some words"),
            ("some __label__a words __label__b", &["a", "b"], "some words"),
            ("no__label__a __labe__b", &[], "no__label__a __labe__b"),
            ("__label__ __label____label__", &["", "__label__"], ""),
            ("", &[], ""),
        ] {
            let read = read_line(line);
            assert_eq!((&read.labels[..], &*read.text), (labels, text));
        }
    }

    #[test]
    fn it_is_recognised_by_its_first_lines() {
        for start in ["__label__a x", "__label__a x\n", "\u{feff}__label__a x\r\n\r\n__label__b y\n__la"] {
            assert!(looks_like_fasttext(start.as_bytes()), "{start}");
        }
        for start in ["", "\n__label__a", "x __label__a", "__label__a x\nand more\n", "__label"] {
            assert!(!looks_like_fasttext(start.as_bytes()), "{start}");
        }
    }
}
