//! Reading documents block by block, in memory or again in each pass.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::counts::{ClassTotals, Counts, Statistics};
use crate::validation::copies::{Copies, Repeats};
use crate::validation::documents::{BLOCK, Block, BlockRow, Documents, TermScales};

/// Reads blocks of documents, and keeps them in memory between passes if they have few terms.
pub(crate) struct BlockReader<'a> {
    pub(crate) documents: &'a dyn Documents,
    pub(crate) repeats: Repeats,
    kept: Vec<Block>,
    pub(crate) terms: TermScales,
    /// Blocks whose memory can be reused.
    spare: Mutex<Vec<Block>>,
}

/// Documents are kept in memory up to this number of (document, term) pairs: eight bytes each, twelve as vectors.
const KEPT: usize = 1 << 24;

/// Of more, a block of documents of average length has at most about this many.
const KEPT_OF_BLOCK: u64 = 1 << 22;

/// The number of documents per [block](Documents::block_len) for documents with these counts: [`BLOCK`], or fewer if not all
/// are kept in memory between passes and they are long. A power of two.
pub fn block_len(counts: &Statistics) -> usize {
    let sum = |of: fn(&ClassTotals) -> u64| counts.totals().iter().map(of).fold(0, u64::saturating_add);
    let (pairs, documents) = (sum(|totals| totals.df), sum(|totals| totals.documents));
    let most = match pairs <= KEPT as u64 {
        true => BLOCK as u64,
        false => KEPT_OF_BLOCK / (pairs / documents.max(1)).max(1),
    };
    1 << most.clamp(1, BLOCK as u64).ilog2()
}

impl<'a> BlockReader<'a> {
    pub(crate) fn new(documents: &'a dyn Documents) -> Self {
        let mut source = BlockReader::unread(documents);
        if documents.n_pairs() <= KEPT {
            source.kept =
                (0..source.n_blocks()).into_par_iter().map(|block| source.read(block, false)).collect();
        }
        source
    }

    /// A reader that keeps nothing in memory.
    pub(crate) fn unread(documents: &'a dyn Documents) -> Self {
        BlockReader {
            documents,
            repeats: Repeats::new(documents),
            kept: Vec::new(),
            terms: TermScales::default(),
            spare: Mutex::default(),
        }
    }

    /// Adds the documents as vectors, scaled by `terms`.
    pub(crate) fn with_vectors(mut self, terms: TermScales) -> Self {
        self.kept.par_iter_mut().for_each(|block| block.vectorize(&terms));
        BlockReader { terms, ..self }
    }

    fn read(&self, block: usize, as_vectors: bool) -> Block {
        let mut read = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        self.documents.block(block, &mut read);
        if as_vectors {
            read.vectorize_in_place(&self.terms);
        }
        read
    }

    /// The weight of a document in a fit.
    pub(crate) fn weight(&self, document: usize) -> f64 {
        let label = self.documents.label(document);
        self.repeats.weigh(&label, label.multiplicity)
    }

    /// What is left out with a document.
    pub(crate) fn copies(&self, document: usize) -> Copies {
        self.repeats.copies(self.documents, document)
    }

    /// The number of documents per block.
    pub(crate) fn block_len(&self) -> usize {
        self.documents.block_len()
    }

    fn n_blocks(&self) -> usize {
        self.documents.len().div_ceil(self.block_len())
    }

    /// Whether all documents are in memory.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.len() == self.n_blocks()
    }

    /// The terms of a document, if they are in memory.
    pub(crate) fn kept(&self, document: usize) -> Option<BlockRow<'_>> {
        let n = self.block_len();
        Some(self.kept.get(document / n)?.terms(document % n))
    }

    /// Visits blocks as vectors, in the given `order`, each with the number of its first document. Reads the next block
    /// in the background.
    pub(crate) fn for_each_vector(&self, order: &[usize], visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(order, true, visit);
    }

    fn for_each(&self, order: &[usize], as_vectors: bool, mut visit: impl FnMut(usize, &Block) + Send) {
        let n = self.block_len();
        if self.is_kept() {
            return order.iter().for_each(|block| visit(block * n, &self.kept[*block]));
        }
        let mut here = order.first().map(|first| self.read(*first, as_vectors));
        for (at, block) in order.iter().enumerate() {
            let next = || order.get(at + 1).map(|next| self.read(*next, as_vectors));
            let Some(terms) = here.take() else { return };
            here = rayon::join(|| visit(block * n, &terms), next).1;
            if let Ok(mut spare) = self.spare.lock() {
                spare.push(terms);
            }
        }
    }

    /// Visits all blocks in order.
    pub(crate) fn for_all(&self, visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(&(0..self.n_blocks()).collect::<Vec<_>>(), false, visit);
    }

    /// Visits all blocks in order as vectors.
    pub(crate) fn for_all_vectors(&self, visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(&(0..self.n_blocks()).collect::<Vec<_>>(), true, visit);
    }
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;

    #[test]
    fn blocks_of_long_documents_are_smaller_if_they_are_many() {
        let of = |terms: u32, documents: u32| {
            let row = CountVector::from_pairs((0..terms).map(|id| (id, 1))).unwrap();
            let mut counts = Statistics::new(2);
            counts.observe_times(1, row.row(), documents).unwrap();
            block_len(&counts)
        };
        assert_eq!([of(0, 1), of(1_000, 10_000), of(50, 1_000_000)], [BLOCK; 3]);
        assert_eq!([of(1_000, 20_000), of(60_000, 1_000)], [1 << 12, 1 << 6]);
    }
}
