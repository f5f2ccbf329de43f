//! Learned documents with their terms, in canonical order.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;
use tamis_model::{BLOCK, Block, ClassId, Documents, Label};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::disk::spool::{Spool, spill};
use crate::error::Result;
use crate::file::groups::copies_are_apart;
use crate::file::varint::{put_varint, take_varint};
use crate::gather::learned::{LearnedDocument, UNLABELLED};
use crate::gather::packed::{Packed, pack};
use crate::gather::rows::{RowId, TermRows};
use crate::kind::Kind;

/// The distinct documents, ordered by digest, then class.
///
/// Their terms have canonical ids and are stored in blocks of documents, packed into about two bytes per term. A fit
/// reads one block at a time. Whatever exceeds a bound is in a temporary file.
pub(crate) struct Ordered {
    pub(crate) documents: Vec<LearnedDocument>,
    shelves: Shelves,
    n_terms: usize,
    is_of_two: bool,
    copies_are_apart: bool,
    windows: Option<Windows>,
    /// The first error in reading terms.
    failed: OnceLock<io::Error>,
    spare: Mutex<Vec<Encoded>>,
}

/// The windows of documents, as counted.
struct Windows {
    rows: Vec<TermRows>,
    ids: Vec<Vec<TermId>>,
}

impl Ordered {
    /// Puts documents in order. `rows` are the rows of the parts, and `ids` the new ids of the parts' terms. Unlabelled
    /// documents get a class after the others.
    pub(crate) fn new(
        mut documents: Vec<LearnedDocument>,
        rows: Vec<TermRows>,
        ids: &[Vec<TermId>],
        (n_classes, n_terms): (usize, usize),
    ) -> Result<Self> {
        documents.iter_mut().filter(|d| d.class == UNLABELLED).for_each(|d| d.class = n_classes as ClassId);
        documents.par_sort_unstable_by_key(|document| (document.digest, document.class));
        // rows are read in the order in which they were written
        let mut places = vec![Vec::new(); rows.len()];
        for (document, place) in documents.iter().zip(0u32..) {
            places[usize::from(document.part)].extend(document.terms.map(|row| (row, place)));
        }
        let n_blocks = documents.len().div_ceil(BLOCK);
        let parts = rows.par_iter().zip(ids).zip(&mut places);
        let shelves = parts.map(|((rows, ids), places)| {
            places.par_sort_unstable();
            shelve(rows, ids, places, n_blocks)
        });
        let shelves = shelves.collect::<io::Result<Vec<_>>>();
        let shelves = shelves.and_then(|shelves| in_order(&shelves, documents.len())).map_err(spill)?;
        let has_windows = documents.iter().any(|document| !document.windows().is_empty());
        let windows = has_windows.then(|| Windows { rows, ids: ids.to_vec() });
        let is_of_two = n_classes == 2;
        Ok(Ordered {
            documents,
            shelves,
            n_terms,
            is_of_two,
            copies_are_apart: false,
            windows,
            failed: OnceLock::new(),
            spare: Mutex::default(),
        })
    }

    /// Takes documents that are already in order, with their terms.
    pub(crate) fn of(
        documents: impl Iterator<Item = Result<(LearnedDocument, CountVector)>>,
        n_terms: usize,
    ) -> Result<Self> {
        let (mut shelves, mut all) = (Shelves::new(0), Vec::new());
        for document in documents {
            let (document, vector) = document?;
            shelves.blocks.resize(all.len() / BLOCK + 1, Shelf::default());
            shelves.push(all.len(), vector.row()).map_err(spill)?;
            all.push(document);
        }
        Ok(Ordered {
            documents: all,
            shelves,
            n_terms,
            is_of_two: false,
            copies_are_apart: false,
            windows: None,
            failed: OnceLock::new(),
            spare: Mutex::default(),
        })
    }

    /// Sets how copies are held out in a model of this kind, see [`copies_are_apart`].
    pub(crate) fn of_kind(self, kind: Kind) -> Self {
        let copies_are_apart = copies_are_apart(kind, self.documents.iter().map(|document| document.group));
        Ordered { copies_are_apart, ..self }
    }

    /// Checks that everything requested could be read.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), |error| Err(spill(error)))
    }

    /// The packed terms of a block; empty if they cannot be read, which [`check`](Self::check) reports.
    pub(crate) fn encoded(&self, block: usize) -> Encoded {
        let n = in_block(block, self.documents.len());
        let mut encoded = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        encoded.begin(n);
        if let Err(error) = self.shelves.read(block, &mut encoded) {
            // the first error is enough
            let _ = self.failed.set(error);
            encoded.begin(n);
        }
        encoded
    }

    /// Takes back a block's memory for reuse.
    pub(crate) fn give_back(&self, encoded: Encoded) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(encoded);
        }
    }
}

/// Stores the rows of a part under new ids. Each row has its position in the order.
fn shelve(rows: &TermRows, ids: &[TermId], places: &[(RowId, u32)], n_blocks: usize) -> io::Result<Shelves> {
    let (mut shelves, mut reader, mut sorted) = (Shelves::new(n_blocks), rows.reader(), Vec::new());
    let (mut own_ids, mut counts) = (Vec::new(), Vec::new());
    for (row, place) in places {
        sorted.clear();
        // one number sorts faster than a pair
        reader
            .for_each(*row, |id, count| sorted.push(u64::from(ids[id as usize]) << 32 | u64::from(count)))?;
        sorted.sort_unstable();
        own_ids.clear();
        own_ids.extend(sorted.iter().map(|both| (both >> 32) as TermId));
        counts.clear();
        counts.extend(sorted.iter().map(|both| *both as u32));
        let row = CountRow::new(&own_ids, &counts).map_err(io::Error::other)?;
        shelves.push(*place as usize, row)?;
    }
    Ok(shelves)
}

/// Number of documents in a block, if there are `documents` in all.
fn in_block(block: usize, documents: usize) -> usize {
    BLOCK.min(documents - block * BLOCK)
}

/// Puts the rows of all parts in the order of documents. Otherwise every pass over the documents would miss the cache
/// at each row.
fn in_order(parts: &[Shelves], documents: usize) -> io::Result<Shelves> {
    let n_blocks = documents.div_ceil(BLOCK);
    let (mut all, mut encoded) = (Shelves::new(n_blocks), Encoded::default());
    for block in 0..n_blocks {
        encoded.begin(in_block(block, documents));
        parts.iter().try_for_each(|part| part.read(block, &mut encoded))?;
        let n_pairs = parts.iter().map(|part| part.blocks[block].n_pairs).sum();
        for at in 0..encoded.rows.len() {
            all.held += all.blocks[block].put(at, encoded.terms(at));
            all.write_if_much()?;
        }
        all.blocks[block].n_pairs = n_pairs;
    }
    Ok(all)
}

/// Rows by block.
struct Shelves {
    blocks: Vec<Shelf>,
    spool: Spool,
    /// Bytes of the rows not yet in the spool.
    held: usize,
    ids: Vec<u8>,
    counts: Vec<u8>,
}

/// The rows of a block in any order. Each has the lower half of the document's number, the lengths of ids and counts in
/// bytes, then both.
#[derive(Clone, Default)]
struct Shelf {
    /// The pieces already in the spool.
    written: Vec<Range<u64>>,
    /// The rows not yet in the spool.
    held: Vec<u8>,
    n_pairs: usize,
}

impl Shelf {
    /// Adds a document's terms, if it has any. Returns their size in bytes.
    fn put(&mut self, place: usize, terms: Packed<'_>) -> usize {
        if terms.ids.is_empty() {
            return 0;
        }
        let before = self.held.len();
        self.held.extend_from_slice(&(place as u16).to_le_bytes());
        put_varint(terms.ids.len() as u64, &mut self.held);
        put_varint(terms.counts.len() as u64, &mut self.held);
        self.held.extend_from_slice(terms.ids);
        self.held.extend_from_slice(terms.counts);
        self.held.len() - before
    }
}

/// Bytes held in memory before they are written, so that a block is written in large pieces.
const HELD: usize = if cfg!(test) { 1 << 16 } else { 16 << 20 };

impl Shelves {
    fn new(n_blocks: usize) -> Self {
        Shelves {
            blocks: vec![Shelf::default(); n_blocks],
            spool: Spool::default(),
            held: 0,
            ids: Vec::new(),
            counts: Vec::new(),
        }
    }

    fn push(&mut self, document: usize, row: CountRow<'_>) -> io::Result<()> {
        self.ids.clear();
        self.counts.clear();
        pack(row, &mut self.ids, &mut self.counts);
        let terms = Packed { ids: &self.ids, counts: &self.counts };
        self.held += self.blocks[document / BLOCK].put(document % BLOCK, terms);
        self.blocks[document / BLOCK].n_pairs += row.len();
        self.write_if_much()
    }

    fn write_if_much(&mut self) -> io::Result<()> {
        if self.held > HELD { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        for shelf in self.blocks.iter_mut().filter(|shelf| !shelf.held.is_empty()) {
            let start = self.spool.len();
            self.spool.push(&shelf.held)?;
            shelf.written.push(start..self.spool.len());
            shelf.held.clear();
        }
        self.held = 0;
        Ok(())
    }

    /// Appends the rows of a block to `to`.
    fn read(&self, block: usize, to: &mut Encoded) -> io::Result<()> {
        let (shelf, mut at) = (&self.blocks[block], to.bytes.len());
        let written: u64 = shelf.written.iter().map(|range| range.end - range.start).sum();
        to.bytes.reserve_exact(written as usize + shelf.held.len());
        for Range { start, end } in &shelf.written {
            self.spool.read(*start, (end - start) as usize, &mut to.bytes)?;
        }
        to.bytes.extend_from_slice(&shelf.held);
        while let Some((place, mut rest)) = to.bytes[at..].split_first_chunk() {
            let mut length = || take_varint(&mut rest).ok_or(io::ErrorKind::UnexpectedEof);
            let (of_ids, of_counts) = (length()? as usize, length()? as usize);
            let ids = to.bytes.len() - rest.len();
            let counts = ids + of_ids;
            at = counts + of_counts;
            to.rows[usize::from(u16::from_le_bytes(*place))] = [ids, counts, at];
        }
        Ok(())
    }
}

/// The terms of a block.
#[derive(Default)]
pub(crate) struct Encoded {
    bytes: Vec<u8>,
    /// For each document, where its ids begin, where its counts begin, and where they end.
    rows: Vec<[usize; 3]>,
}

impl Encoded {
    fn begin(&mut self, documents: usize) {
        self.bytes.clear();
        self.rows.clear();
        self.rows.resize(documents, [0; 3]);
    }

    /// The terms of a document of the block.
    pub(crate) fn terms(&self, document: usize) -> Packed<'_> {
        let [ids, counts, end] = self.rows[document];
        Packed { ids: &self.bytes[ids..counts], counts: &self.bytes[counts..end] }
    }
}

impl Documents for Ordered {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn label(&self, document: usize) -> Label {
        let LearnedDocument { class, multiplicity, group, .. } = self.documents[document];
        Label { class, multiplicity, group }
    }

    fn n_terms(&self) -> usize {
        self.n_terms
    }

    fn n_pairs(&self) -> usize {
        self.shelves.blocks.iter().map(|shelf| shelf.n_pairs).sum()
    }

    fn block(&self, block: usize, to: &mut Block) {
        let encoded = self.encoded(block);
        to.begin(encoded.rows.len(), self.shelves.blocks[block].n_pairs);
        for at in 0..encoded.rows.len() {
            let terms = encoded.terms(at);
            to.set_row(at, terms.ids(), terms.counts());
        }
        self.give_back(encoded);
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        let mut rows = Vec::with_capacity(documents.len());
        for together in documents.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
            let block = together[0] / BLOCK;
            let encoded = self.encoded(block);
            let row = |document: &usize| encoded.terms(document - block * BLOCK).vector();
            rows.extend(together.iter().map(row));
            self.give_back(encoded);
        }
        rows
    }

    fn copies_are_apart(&self) -> bool {
        self.copies_are_apart
    }

    fn has_windows(&self) -> bool {
        // with more than two labels, nothing is fitted to windows
        self.is_of_two && self.windows.is_some()
    }

    fn windows(&self, document: usize) -> Vec<CountVector> {
        let (document, Some(Windows { rows, ids })) = (&self.documents[document], &self.windows) else {
            return Vec::new();
        };
        let part = usize::from(document.part);
        let window = |row: &RowId| {
            let terms = rows[part].get(*row).unwrap_or_else(|error| {
                let _ = self.failed.set(error);
                Vec::new()
            });
            let terms = terms.into_iter().map(|(id, count)| (ids[part][id as usize], count));
            CountVector::from_pairs(terms).unwrap_or_default()
        };
        document.windows().iter().map(window).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gather::learned::More;

    /// Two parts with more than a block of documents, some without terms.
    #[test]
    fn documents_come_in_order_with_their_terms() {
        let (n, n_terms) = (BLOCK as u32 + 2_000, 1_000);
        // the ids of each part, reversed
        let ids = [n_terms, n_terms + 10].map(|n| (0..n).rev().map(|id| id * 3).collect::<Vec<TermId>>());
        let (mut rows, mut documents) = ([TermRows::default(), TermRows::default()], Vec::new());
        let terms = |i: u32| {
            let ids = (0..i % 5).map(move |t| (i * 7 + t * 211) % n_terms);
            ids.map(move |id| (id, 1 + u32::from(id == 5) * 300))
        };
        for i in 0..n {
            let own: Vec<_> = terms(i).collect();
            let mut document = LearnedDocument::new(
                [i.wrapping_mul(0x9E37_79B1).to_le_bytes(); 4].concat().try_into().unwrap(),
                i.into(),
                More::default(),
            );
            (document.part, document.class) = ((i % 3 == 1).into(), (i % 2) as ClassId);
            document.terms = Some(rows[usize::from(document.part)].push(own.into_iter()).unwrap());
            documents.push(document);
        }
        let ordered = Ordered::new(documents, rows.into(), &ids, (2, 4_000)).unwrap();
        assert!(ordered.documents.is_sorted_by_key(|document| (document.digest, document.class)));
        assert!(!ordered.shelves.blocks[0].written.is_empty());
        let all: Vec<usize> = (0..n as usize).collect();
        let expected: Vec<_> = ordered
            .documents
            .iter()
            .map(|document| {
                let own = terms(document.group as u32)
                    .map(|(id, count)| (ids[usize::from(document.part)][id as usize], count));
                CountVector::from_pairs(own).unwrap()
            })
            .collect();
        assert!(ordered.rows(&all) == expected);
        assert_eq!(ordered.n_pairs(), expected.iter().map(CountVector::len).sum::<usize>());
        for block in 0..2 {
            let encoded = ordered.encoded(block);
            for (at, row) in expected[block * BLOCK..].iter().take(BLOCK).enumerate() {
                assert!(encoded.terms(at).vector() == *row);
            }
        }
        let again = std::iter::zip(ordered.documents.clone(), expected.clone());
        let again = Ordered::of(again.map(Ok), 4_000).unwrap();
        assert!(again.rows(&all[5..]) == expected[5..]);
    }
}
