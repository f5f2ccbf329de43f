//! The terms of many documents, in memory up to a bound and beyond it in temporary files.

use std::io;

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, TermId};

use crate::map::Scratchpad;

/// Rows of terms, eight bytes a term.
///
/// The first [`IN_MEMORY`] bytes are in memory. What is more is in unnamed files in the folder for temporary files,
/// mapped: the system keeps of it what there is room for.
#[derive(Default)]
pub(crate) struct Rows {
    chunks: Vec<Chunk>,
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowId {
    chunk: u32,
    start: u32,
    len: u32,
}

/// Bytes of rows that stay in memory.
pub(crate) const IN_MEMORY: usize = 64 << 20;

/// Numbers in a chunk, unless a row has more: 4 MB of them.
const CHUNK: usize = 1 << 20;

struct Chunk {
    /// Of each row first the ids of its terms, then as many counts.
    numbers: Scratchpad,
    used: usize,
    rows: Vec<RowId>,
}

impl Rows {
    /// Keeps terms, each once, in any order.
    pub(crate) fn push(&mut self, terms: impl ExactSizeIterator<Item = (TermId, u32)>) -> io::Result<RowId> {
        let len = terms.len();
        let room = |chunk: &Chunk| chunk.numbers.len() - chunk.used;
        if self.chunks.last().is_none_or(|chunk| room(chunk) < 2 * len) {
            let size = CHUNK.max(2 * len);
            let numbers = match 4 * CHUNK * self.chunks.len() < IN_MEMORY {
                true => Scratchpad::in_memory(size),
                false => Scratchpad::in_file(size)?,
            };
            self.chunks.push(Chunk { numbers, used: 0, rows: Vec::new() });
        }
        // there is one now, and no chunk has 2^32 numbers
        let chunk = self.chunks.len() - 1;
        let row = RowId { chunk: chunk as u32, start: self.chunks[chunk].used as u32, len: len as u32 };
        let chunk = &mut self.chunks[chunk];
        let (ids, counts) = chunk.numbers[chunk.used..chunk.used + 2 * len].split_at_mut(len);
        for ((id, count), term) in ids.iter_mut().zip(counts).zip(terms) {
            (*id, *count) = term;
        }
        chunk.used += 2 * len;
        chunk.rows.push(row);
        Ok(row)
    }

    /// A row; one of which the ids were not [`renumbered`](Self::renumbered) is empty.
    pub(crate) fn get(&self, row: RowId) -> CountRow<'_> {
        let (ids, counts) = self.numbers(row);
        CountRow::new(ids, counts).unwrap_or_default()
    }

    /// The terms of a row as they are kept.
    pub(crate) fn terms(&self, row: RowId) -> impl ExactSizeIterator<Item = (TermId, u32)> + Clone {
        let (ids, counts) = self.numbers(row);
        std::iter::zip(ids.iter().copied(), counts.iter().copied())
    }

    fn numbers(&self, RowId { chunk, start, len }: RowId) -> (&[u32], &[u32]) {
        let [start, len] = [start, len].map(|n| n as usize);
        self.chunks[chunk as usize].numbers[start..start + 2 * len].split_at(len)
    }

    /// The same with `map[id]` in the place of every id, and rows in the order of their new ids.
    pub(crate) fn renumbered(mut self, map: &[TermId]) -> Self {
        self.chunks.par_iter_mut().for_each(|chunk| {
            let mut sorted = Vec::new();
            for RowId { start, len, .. } in &chunk.rows {
                let [start, len] = [*start, *len].map(|n| n as usize);
                let (ids, counts) = chunk.numbers[start..start + 2 * len].split_at_mut(len);
                sorted.clear();
                // both in one number, which sorts faster than a pair
                let both =
                    |(id, count): (&TermId, &u32)| u64::from(map[*id as usize]) << 32 | u64::from(*count);
                sorted.extend(ids.iter().zip(&*counts).map(both));
                sorted.sort_unstable();
                for ((id, count), both) in ids.iter_mut().zip(counts).zip(&sorted) {
                    (*id, *count) = ((both >> 32) as TermId, *both as u32);
                }
            }
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_memory_and_files() {
        let mut rows = Rows::default();
        let terms = |i: u32| (0..1000 + i % 7).map(move |t| (3 * t + i, t + 1));
        // twice the bound
        let n = 2 * IN_MEMORY as u32 / 8000;
        let mut ids: Vec<_> = (0..n).map(|i| rows.push(terms(i)).unwrap()).collect();
        ids.push(rows.push(terms(n)).unwrap());
        ids.push(rows.push((0..CHUNK as u32).map(|t| (t, 1))).unwrap());
        for (i, row) in (0..=n).zip(&ids) {
            assert!(rows.terms(*row).eq(terms(i)));
        }
        let largest = n + 3 * 1010;
        let rows =
            rows.renumbered(&(0..=largest.max(CHUNK as u32)).map(|id| u32::MAX - id).collect::<Vec<_>>());
        for (i, row) in (0..=n).zip(&ids) {
            let expected: Vec<_> = terms(i).collect();
            assert!(rows.get(*row).iter().eq(expected.into_iter().rev().map(|(id, n)| (u32::MAX - id, n))));
        }
        assert_eq!(rows.get(ids[n as usize + 1]).len(), CHUNK);
    }
}
