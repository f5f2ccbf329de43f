//! Rows of the terms of documents, in order of arrival.

use std::io;
use std::num::NonZero;

use tamis_store::disk::spool::{Cursor, Spool};
use tamis_store::file::varint::{put_counted, put_varint, take_counted, take_varint};
use tamis_tokenizer::TermId;

/// Rows of terms, about two bytes per term: terms seen early are the most frequent and have small ids.
#[derive(Default)]
pub(crate) struct TermRows {
    spool: Spool,
    row: Vec<u8>,
}

/// The position of a row: its first byte, plus one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RowId(NonZero<u64>);

/// Bytes read at once when reading all rows, and when reading one.
const OF_ALL: usize = 1 << 18;
const OF_ONE: usize = 1 << 12;

/// Maximum bytes of a number, and of a term with its count.
const NUMBER: usize = 10;
const TERM: usize = 2 * NUMBER;

impl TermRows {
    /// Adds terms, each once, in any order.
    pub(crate) fn push(&mut self, terms: impl ExactSizeIterator<Item = (TermId, u32)>) -> io::Result<RowId> {
        self.row.clear();
        put_varint(terms.len() as u64, &mut self.row);
        for (id, count) in terms {
            put_counted(id.into(), count, &mut self.row);
        }
        let id = RowId(NonZero::<u64>::MIN.saturating_add(self.spool.len()));
        self.spool.push(&self.row).map(|()| id)
    }

    /// The terms of a row, in the order in which they were added.
    pub(crate) fn get(&self, row: RowId) -> io::Result<Vec<(TermId, u32)>> {
        let mut terms = Vec::new();
        RowReader(Cursor::new(&self.spool, OF_ONE)).for_each(row, |id, count| terms.push((id, count)))?;
        Ok(terms)
    }

    /// A reader for one row after another.
    pub(crate) fn reader(&self) -> RowReader<'_> {
        RowReader(Cursor::new(&self.spool, OF_ALL))
    }
}

/// Reads rows, fastest in the order in which they were written.
pub(crate) struct RowReader<'a>(Cursor<'a>);

impl RowReader<'_> {
    /// Visits the terms of a row.
    pub(crate) fn for_each(&mut self, row: RowId, mut visit: impl FnMut(TermId, u32)) -> io::Result<()> {
        let at = row.0.get() - 1;
        let mut bytes = self.0.from(at, NUMBER)?;
        let n = take_varint(&mut bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut bytes = self.0.from(at, NUMBER + TERM * n as usize)?;
        take_varint(&mut bytes);
        for _ in 0..n {
            let (id, count) = take_counted(&mut bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
            visit(id as TermId, count as u32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tamis_store::disk::spool::IN_MEMORY;

    use super::*;

    #[test]
    fn rows_come_back_from_memory_and_file() {
        let mut rows = TermRows::default();
        let terms = |i: u32| (0..1000 + i % 7).map(move |t| ((3 * t + i) * 9_000 % 4_000_000_000, t + 1));
        // more than the bound
        let n = IN_MEMORY as u32 / 5_000;
        let mut ids: Vec<_> = (0..n).map(|i| rows.push(terms(i)).unwrap()).collect();
        ids.push(rows.push((0..1 << 20).map(|t| (t, 1))).unwrap());
        ids.push(rows.push([].into_iter()).unwrap());
        let mut reader = rows.reader();
        for (i, row) in (0..n).zip(&ids) {
            let mut read = Vec::new();
            reader.for_each(*row, |id, count| read.push((id, count))).unwrap();
            assert!(read.into_iter().eq(terms(i)));
        }
        assert!(rows.get(ids[3]).unwrap().into_iter().eq(terms(3)));
        assert!(rows.get(ids[n as usize]).unwrap().into_iter().eq((0..1 << 20).map(|t| (t, 1))));
        assert_eq!(rows.get(ids[n as usize + 1]).unwrap(), []);
    }
}
