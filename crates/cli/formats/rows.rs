//! Raw rows of a table: finds their ends.
//!
//! The reading thread only does this, which takes little time. Workers split rows into cells.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use super::cells::{CellSyntax, MissingEnd};

/// How rows and cells are separated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// A JSON object per line.
    Json,
    /// A text per line, with its labels in it.
    FastText,
    /// Rows of cells. Empty lines are not rows.
    Cells(CellSyntax),
}

/// Bytes read at a time, unless a row is longer.
const BLOCK: usize = 64 << 10;

/// Longest row, in bytes: a quote that is never closed would make one of the rest of the file.
const LONGEST: usize = 32 << 20;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a row, without its line end.
pub(crate) struct Raw {
    /// The block that contains the row.
    block: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Raw {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.block[self.range.clone()]
    }
}

/// The rows of a table, each with the number of line ends before it.
pub(crate) struct TableReader<R> {
    reader: R,
    dialect: Dialect,
    /// Whether no more is awaited than what is there.
    is_by_line: bool,
    block: Arc<Vec<u8>>,
    /// Where the next row begins.
    at: usize,
    /// Number of line ends before the next row.
    lines: u64,
    /// Whether this is the last block.
    is_last: bool,
    /// The error that stopped reading, returned after the rows before it.
    failure: Option<io::Error>,
}

impl<R: BufRead> TableReader<R> {
    pub(crate) fn new(reader: R, dialect: Dialect) -> Self {
        TableReader::by_line(reader, dialect, false)
    }

    /// As [`new`](Self::new). If `is_by_line`, a row is returned when its line is there.
    pub(crate) fn by_line(reader: R, dialect: Dialect, is_by_line: bool) -> Self {
        let (block, failure) = (Arc::default(), None);
        TableReader { reader, dialect, is_by_line, block, at: 0, lines: 0, is_last: false, failure }
    }

    /// Takes the row at the current position, if its end has been read.
    fn take(&mut self) -> Option<(u64, io::Result<Raw>)> {
        let line_end = self.dialect.line_end();
        if !self.dialect.is_of_lines() {
            self.pass_blank_lines(line_end);
        }
        let rest = &self.block[self.at..];
        let lines = self.lines;
        let length = match self.dialect.end(rest) {
            Ok(length) => length,
            Err(_) if !self.is_last && rest.len() <= LONGEST || rest.is_empty() => return None,
            Err(MissingEnd::Line) if self.is_last => rest.len(),
            Err(_) => {
                let error = unclosed(rest, self.is_last);
                (self.at, self.is_last) = (self.block.len(), true);
                return Some((lines, Err(error)));
            }
        };
        let has_line_end = length < rest.len();
        self.lines += memchr_iter(line_end, &rest[..length]).count() as u64 + u64::from(has_line_end);
        let is_windows = line_end == b'\n' && has_line_end && rest[..length].ends_with(b"\r");
        let range = self.at..self.at + length - usize::from(is_windows);
        self.at = (self.at + length + 1).min(self.block.len());
        Some((lines, Ok(Raw { block: Arc::clone(&self.block), range })))
    }

    /// Passes over empty lines, which are not rows of cells.
    fn pass_blank_lines(&mut self, line_end: u8) {
        loop {
            let rest = &self.block[self.at..];
            self.at += match rest {
                [first, ..] if *first == line_end => 1,
                [b'\r', b'\n', ..] if line_end == b'\n' => 2,
                [b'\r'] if self.is_last => 1,
                _ => return,
            };
            self.lines += 1;
        }
    }

    /// Reads a block that begins at the next row.
    fn fill(&mut self) {
        let is_first = self.block.is_empty();
        let rest = &self.block[self.at..];
        let room = match self.is_by_line {
            // less than one byte means the end
            true => rest.len() + self.reader.fill_buf().map_or(1, |there| there.len().max(1)),
            false => BLOCK.max(2 * rest.len()),
        };
        let mut block = Vec::with_capacity(room);
        block.extend_from_slice(rest);
        let read = self.reader.by_ref().take((room - rest.len()) as u64).read_to_end(&mut block);
        self.failure = read.err();
        self.is_last = self.failure.is_none() && block.len() < room;
        self.at =
            if is_first && self.dialect != Dialect::Json && block.starts_with(MARK) { MARK.len() } else { 0 };
        self.block = Arc::new(block);
    }
}

impl<R: BufRead> Iterator for TableReader<R> {
    type Item = (u64, io::Result<Raw>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.take() {
                return Some(row);
            }
            if self.is_last {
                return None;
            }
            if let Some(failure) = self.failure.take() {
                (self.block, self.at, self.is_last) = (Arc::default(), 0, true);
                return Some((self.lines, Err(failure)));
            }
            self.fill();
        }
    }
}

/// The error for a row whose end is not found.
fn unclosed(rest: &[u8], is_last: bool) -> io::Error {
    if !is_last {
        let most = LONGEST >> 20;
        return io::Error::other(format!(
            "expected a row of at most {most} MiB, got more; the rest is not read"
        ));
    }
    let lines = memchr_iter(b'\n', rest).count() + usize::from(!rest.ends_with(b"\n"));
    io::Error::other(format!(
        "expected the end of a quoted cell of this row, got the end of the file; lines not read: {lines}"
    ))
}

impl Dialect {
    /// Whether each line is a row.
    pub(crate) fn is_of_lines(self) -> bool {
        !matches!(self, Dialect::Cells(_))
    }

    /// What ends rows.
    fn line_end(self) -> u8 {
        if let Dialect::Cells(syntax) = self { syntax.line_end } else { b'\n' }
    }

    /// The end of the line in which the row ends.
    fn end(self, bytes: &[u8]) -> Result<usize, MissingEnd> {
        match self {
            Dialect::Json | Dialect::FastText => memchr(b'\n', bytes).ok_or(MissingEnd::Line),
            Dialect::Cells(syntax) => syntax.end(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::io::BufRead;

    use proptest::prelude::*;

    use super::super::cells::Quoting;
    use super::*;

    type Table = Vec<(u64, Vec<Vec<u8>>)>;

    /// Rows with their cells. One with text after a closing quote is left out.
    fn ours(table: &[u8], syntax: CellSyntax, at_once: usize) -> Table {
        let reader = io::BufReader::with_capacity(at_once, table);
        let cells = |raw: io::Result<Raw>| match raw {
            Ok(raw) => Some(syntax.cells(raw.bytes()).ok()?.into_iter().map(Cow::into_owned).collect()),
            Err(_) => Some(vec![UNCLOSED.to_vec()]),
        };
        let rows = TableReader::new(reader, Dialect::Cells(syntax));
        rows.filter_map(|(lines, raw)| Some((lines + 1, cells(raw)?))).collect()
    }

    /// Stands for the cells of a row that is not closed.
    const UNCLOSED: &[u8] = b"unclosed";

    fn of_csv(table: &[u8], delimiter: u8, quoting: bool) -> Table {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(delimiter).quoting(quoting);
        let records = builder.from_reader(table).into_byte_records().map(Result::unwrap);
        // as an editor counts; the crate counts neither the blank lines before a row nor the second byte of CRLF
        let line = |record: &csv::ByteRecord| {
            let end = record.position().unwrap().byte() as usize;
            let end = if table.starts_with(MARK) { end.max(MARK.len()) } else { end };
            let blank = table[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            1 + table[..end + blank].iter().filter(|byte| **byte == b'\n').count() as u64
        };
        records.map(|record| (line(&record), record.iter().map(<[u8]>::to_vec).collect())).collect()
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "a", "bc", "\"", "\"", "\"\"", ",", ",", "\t", "\n", "\n", "\r\n", "\n\n", "\u{feff}", "é", ";",
            " ",
        ]);
        let piece = prop_oneof![40 => piece.prop_map(str::to_owned), 1 => Just("x".repeat(70_000))];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    #[test]
    fn rows_before_a_failure_are_read_and_then_it_ends() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("worn out"))
            }
        }
        for dialect in [Dialect::Json, Dialect::Cells(CellSyntax::CSV)] {
            let reader = io::BufReader::new(b"a,b\nc,d\ne".chain(Failing));
            let rows: Vec<_> = TableReader::new(reader, dialect).take(9).collect();
            let texts: Vec<_> = rows.iter().flat_map(|(_, raw)| raw).map(Raw::bytes).collect();
            assert_eq!((texts, rows.len()), (vec![&b"a,b"[..], b"c,d"], 3));
            assert!(rows[2].0 == 2 && rows[2].1.is_err());
        }
    }

    proptest! {
        #[test]
        fn rows_and_cells_are_those_of_the_csv_crate(
            table in pieces(),
            delimiter in prop::sample::select(b",\t".to_vec()),
            quoting: bool,
            at_once in 1usize..50,
        ) {
            let form = if quoting { Quoting::Doubled } else { Quoting::Bare };
            let syntax = CellSyntax { delimiter, quoting: form, ..CellSyntax::CSV };
            let ours = ours(&table, syntax, at_once);
            let mut theirs = of_csv(&table, delimiter, quoting);
            if let Some((line, cells)) = ours.last().filter(|(_, cells)| cells == &[UNCLOSED]) {
                // the crate takes the rest of the file for the cell
                let (their_line, theirs) = theirs.last_mut().unwrap();
                prop_assert_eq!(line, their_line);
                theirs.clone_from(cells);
            }
            // the crate takes text after a closing quote as part of the cell
            theirs.retain(|(line, _)| ours.binary_search_by_key(line, |(line, _)| *line).is_ok());
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn lines_are_those_of_the_standard_library(table in pieces(), at_once in 1usize..50) {
            let rows = TableReader::new(io::BufReader::with_capacity(at_once, &*table), Dialect::Json);
            let ours: Vec<_> = rows.map(|(_, raw)| String::from_utf8(raw.unwrap().bytes().to_vec()).unwrap()).collect();
            let lines: Vec<_> = table.lines().map(Result::unwrap).collect();
            prop_assert_eq!(ours, lines);
        }
    }
}
