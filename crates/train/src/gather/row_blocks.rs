//! The terms of documents, stored in blocks of documents and spilled to disk beyond a limit.

use std::io;
use std::ops::Range;

use tamis_store::disk::spool::Spool;
use tamis_store::file::varint::{put_varint, take_varint};
use tamis_tokenizer::{CountRow, TermId};

use crate::gather::packed::{Packed, pack};
use crate::gather::rows::{RowId, TermRows};

/// Stores the rows of a part under new ids. Each row has its position in the order.
pub(super) fn renumbered(
    rows: &TermRows,
    ids: &[TermId],
    places: &[(RowId, u32)],
    documents: usize,
    block_len: usize,
) -> io::Result<RowBlocks> {
    let (mut blocks, mut reader, mut sorted) =
        (RowBlocks::new(documents, block_len), rows.reader(), Vec::new());
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
        blocks.push(*place as usize, row)?;
    }
    Ok(blocks)
}

/// Puts the rows of all parts in the order of documents. Otherwise every pass over the documents would miss the cache
/// at each row.
pub(super) fn in_order(parts: &[RowBlocks], documents: usize, block_len: usize) -> io::Result<RowBlocks> {
    let (mut all, mut encoded) = (RowBlocks::new(documents, block_len), Encoded::default());
    for block in 0..all.blocks.len() {
        encoded.begin(all.in_block(block, documents));
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
#[derive(Default)]
pub(super) struct RowBlocks {
    pub(super) blocks: Vec<RowBlock>,
    /// The number of documents per block.
    pub(super) block_len: usize,
    spool: Spool,
    /// Bytes of the rows not yet in the spool.
    held: usize,
    ids: Vec<u8>,
    counts: Vec<u8>,
}

/// The rows of a block in any order. Each has the lower half of the document's number, the lengths of ids and counts in
/// bytes, then both.
#[derive(Clone, Default)]
pub(super) struct RowBlock {
    /// The pieces already in the spool.
    pub(super) written: Vec<Range<u64>>,
    /// The rows not yet in the spool.
    held: Vec<u8>,
    pub(super) n_pairs: usize,
}

impl RowBlock {
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

/// Bytes held in memory before they are spooled, so that a block is written in large pieces. The spool has as many before it
/// needs a file.
const HELD: usize = if cfg!(test) { 1 << 16 } else { 16 << 20 };

impl RowBlocks {
    pub(super) fn new(documents: usize, block_len: usize) -> Self {
        let blocks = vec![RowBlock::default(); documents.div_ceil(block_len)];
        RowBlocks { blocks, block_len, spool: Spool::with_bound(HELD), ..RowBlocks::default() }
    }

    /// The number of documents in a block, if there are `documents` in all.
    pub(super) fn in_block(&self, block: usize, documents: usize) -> usize {
        self.block_len.min(documents - block * self.block_len)
    }

    pub(super) fn push(&mut self, document: usize, row: CountRow<'_>) -> io::Result<()> {
        self.ids.clear();
        self.counts.clear();
        pack(row, &mut self.ids, &mut self.counts);
        let terms = Packed { ids: &self.ids, counts: &self.counts };
        let block = &mut self.blocks[document / self.block_len];
        self.held += block.put(document % self.block_len, terms);
        block.n_pairs += row.len();
        self.write_if_much()
    }

    fn write_if_much(&mut self) -> io::Result<()> {
        if self.held > HELD { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        for block in self.blocks.iter_mut().filter(|block| !block.held.is_empty()) {
            let start = self.spool.len();
            self.spool.push(&block.held)?;
            block.written.push(start..self.spool.len());
            block.held.clear();
        }
        self.held = 0;
        Ok(())
    }

    /// Appends the rows of a block to `to`.
    pub(super) fn read(&self, block: usize, to: &mut Encoded) -> io::Result<()> {
        let (block, mut at) = (&self.blocks[block], to.bytes.len());
        let written: u64 = block.written.iter().map(|range| range.end - range.start).sum();
        to.bytes.reserve_exact(written as usize + block.held.len());
        for Range { start, end } in &block.written {
            self.spool.read(*start, (end - start) as usize, &mut to.bytes)?;
        }
        to.bytes.extend_from_slice(&block.held);
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
    pub(super) rows: Vec<[usize; 3]>,
}

impl Encoded {
    pub(super) fn begin(&mut self, documents: usize) {
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
