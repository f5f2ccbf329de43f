//! The rows of a table as written: finding their ends, and splitting them into cells.
//!
//! The reading thread only finds the ends of rows; workers split them into cells. So reading takes little time.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memchr2, memchr3};

/// How rows and cells are separated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// One row per line, without cells.
    Lines,
    /// Lines of cells with this byte between them. Empty lines are no rows.
    Cells {
        delimiter: u8,
        /// Whether cells that begin with a quote may hold anything, quotes twice.
        quoting: bool,
    },
}

/// Bytes read at a time, unless a row is longer.
const BLOCK: usize = 64 << 10;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a row, without the end of its line.
pub(crate) struct Raw {
    /// The block that it was read with.
    block: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Raw {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.block[self.range.clone()]
    }
}

/// The rows of a table, each with the number of line ends before it, or before the empty lines before it.
pub(crate) struct Rows<R> {
    reader: R,
    dialect: Dialect,
    block: Arc<Vec<u8>>,
    /// Where the next row begins.
    at: usize,
    /// Line ends before it.
    lines: u64,
    /// Line ends before the row that is looked for and before the empty lines before it.
    before: Option<u64>,
    /// Whether this is the last block.
    is_last: bool,
    /// The error that stopped reading, returned after the rows before it.
    failure: Option<io::Error>,
}

impl<R: BufRead> Rows<R> {
    pub(crate) fn new(reader: R, dialect: Dialect) -> Self {
        Rows {
            reader,
            dialect,
            block: Arc::default(),
            at: 0,
            lines: 0,
            before: None,
            is_last: false,
            failure: None,
        }
    }

    /// Takes the row that begins here, if its end was read.
    fn take(&mut self) -> Option<(u64, Raw)> {
        let lines = *self.before.get_or_insert(self.lines);
        if self.dialect != Dialect::Lines {
            while let Some(end @ (b'\n' | b'\r')) = self.block.get(self.at) {
                self.lines += u64::from(*end == b'\n');
                self.at += 1;
            }
        }
        let rest = &self.block[self.at..];
        let length = match self.dialect.end(rest) {
            Some(length) => length,
            None if self.is_last && !rest.is_empty() => rest.len(),
            None => return None,
        };
        self.before = None;
        let within = match self.dialect {
            Dialect::Cells { quoting: true, .. } => memchr_iter(b'\n', &rest[..length]).count(),
            _ => 0,
        };
        let has_line_end = rest.get(length) == Some(&b'\n');
        self.lines += within as u64 + u64::from(has_line_end);
        let is_windows = self.dialect == Dialect::Lines && has_line_end && rest[..length].ends_with(b"\r");
        let range = self.at..self.at + length - usize::from(is_windows);
        self.at = (self.at + length + 1).min(self.block.len());
        Some((lines, Raw { block: Arc::clone(&self.block), range }))
    }

    /// Reads a block that begins where the next row does.
    fn fill(&mut self) {
        let is_first = self.block.is_empty();
        let rest = &self.block[self.at..];
        let room = BLOCK.max(2 * rest.len());
        let mut block = Vec::with_capacity(room);
        block.extend_from_slice(rest);
        let read = self.reader.by_ref().take((room - rest.len()) as u64).read_to_end(&mut block);
        self.failure = read.err();
        self.is_last = self.failure.is_none() && block.len() < room;
        self.at = if is_first && self.dialect != Dialect::Lines && block.starts_with(MARK) {
            MARK.len()
        } else {
            0
        };
        self.block = Arc::new(block);
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = io::Result<(u64, Raw)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.take() {
                return Some(Ok(row));
            }
            if self.is_last {
                return None;
            }
            if let Some(failure) = self.failure.take() {
                (self.block, self.at, self.is_last) = (Arc::default(), 0, true);
                return Some(Err(failure));
            }
            self.fill();
        }
    }
}

impl Dialect {
    /// Where the line ends in which a row does, if that is known.
    fn end(self, bytes: &[u8]) -> Option<usize> {
        let delimiter = match self {
            Dialect::Lines => return memchr(b'\n', bytes),
            Dialect::Cells { quoting: false, .. } => return memchr2(b'\n', b'\r', bytes),
            Dialect::Cells { delimiter, quoting: true } => delimiter,
        };
        let mut at = 0;
        loop {
            let found = at + memchr3(b'"', b'\n', b'\r', &bytes[at..])?;
            if bytes[found] != b'"' {
                return Some(found);
            }
            at = found + 1;
            // elsewhere a quote is an ordinary character
            if found == 0 || bytes[found - 1] == delimiter {
                at += closing(&bytes[at..])? + 1;
            }
        }
    }

    /// The cells of a row.
    pub(crate) fn cells(self, row: &[u8]) -> CellsOf<'_> {
        CellsOf { rest: Some(row), dialect: self }
    }
}

/// The position of the quote that closes a cell; a doubled quote does not.
fn closing(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'"', &bytes[at..])?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The cells of a row, one after the other.
pub(crate) struct CellsOf<'a> {
    rest: Option<&'a [u8]>,
    dialect: Dialect,
}

impl<'a> Iterator for CellsOf<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rest.take()?;
        let Dialect::Cells { delimiter, quoting } = self.dialect else { return Some(Cow::Borrowed(row)) };
        let quoted = row.strip_prefix(b"\"").filter(|_| quoting);
        let (within, beyond) = match quoted {
            None => (None, row),
            // an unclosed cell goes to the end
            Some(cell) => match closing(cell) {
                None => (Some(cell), &[][..]),
                Some(end) => (Some(&cell[..end]), &cell[end + 1..]),
            },
        };
        let plain = match memchr(delimiter, beyond) {
            Some(end) => {
                self.rest = Some(&beyond[end + 1..]);
                &beyond[..end]
            }
            None => beyond,
        };
        Some(match within {
            None => Cow::Borrowed(plain),
            // what follows the closing quote belongs to the cell
            Some(within) if plain.is_empty() && memchr(b'"', within).is_none() => Cow::Borrowed(within),
            Some(within) => {
                let mut cell = Vec::with_capacity(within.len() + plain.len());
                let mut rest = within;
                while let Some(quote) = memchr(b'"', rest) {
                    cell.extend_from_slice(&rest[..=quote]);
                    rest = rest.get(quote + 2..).unwrap_or_default();
                }
                cell.extend_from_slice(rest);
                cell.extend_from_slice(plain);
                Cow::Owned(cell)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Table = Vec<(u64, Vec<Vec<u8>>)>;

    fn ours(table: &[u8], dialect: Dialect, at_once: usize) -> Table {
        let reader = io::BufReader::with_capacity(at_once, table);
        let cells = |raw: Raw| dialect.cells(raw.bytes()).map(Cow::into_owned).collect();
        Rows::new(reader, dialect)
            .map(|row| row.map(|(lines, raw)| (lines + 1, cells(raw))).unwrap())
            .collect()
    }

    fn of_csv(table: &[u8], delimiter: u8, quoting: bool) -> Table {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(delimiter).quoting(quoting);
        let records = builder.from_reader(table).into_byte_records().map(Result::unwrap);
        let line = |record: &csv::ByteRecord| record.position().unwrap().line();
        records.map(|record| (line(&record), record.iter().map(<[u8]>::to_vec).collect())).collect()
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "a", "bc", "\"", "\"", "\"\"", ",", ",", "\t", "\n", "\n", "\r", "\r\n", "\n\n", "\u{feff}", "é",
            ";", " ",
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
        for dialect in [Dialect::Lines, Dialect::Cells { delimiter: b',', quoting: true }] {
            let reader = io::BufReader::new(b"a,b\nc,d\ne".chain(Failing));
            let rows: Vec<_> = Rows::new(reader, dialect).take(9).collect();
            let texts: Vec<_> = rows.iter().flatten().map(|(_, raw)| raw.bytes()).collect();
            assert_eq!((texts, rows.len()), (vec![&b"a,b"[..], b"c,d"], 3));
            assert!(rows[2].is_err());
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
            let dialect = Dialect::Cells { delimiter, quoting };
            prop_assert_eq!(ours(&table, dialect, at_once), of_csv(&table, delimiter, quoting));
        }

        #[test]
        fn lines_are_those_of_the_standard_library(table in pieces(), at_once in 1usize..50) {
            let rows = Rows::new(io::BufReader::with_capacity(at_once, &*table), Dialect::Lines);
            let ours: Vec<_> = rows.map(|row| String::from_utf8(row.unwrap().1.bytes().to_vec()).unwrap()).collect();
            let lines: Vec<_> = table.lines().map(Result::unwrap).collect();
            prop_assert_eq!(ours, lines);
        }
    }
}
