//! Learned documents with their terms, in canonical order.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;
use tamis_model::{Block, ClassId, Documents, Label, NearDuplicates, Statistics, Stretch, VectorStatistics};
use tamis_store::config::recipe::{Recipe, VectorSpace};
use tamis_store::disk::spool::spill;
use tamis_store::error::Result;
use tamis_store::file::documents::{groups_are_copies, is_named};
use tamis_store::kind::Kind;
use tamis_tokenizer::{CountVector, TermId};

use crate::gather::document::{TrainingDocument, UNLABELLED};
use crate::gather::row_blocks::{Encoded, RowBlock, RowBlocks, in_order, renumbered};
use crate::gather::rows::{RowId, TermRows};
use crate::gather::word_hash::word_hash;

/// The distinct documents, ordered by digest, then class.
///
/// Their terms have canonical ids and are stored in blocks of documents, packed into about two bytes per term. A fit
/// reads one block at a time. Whatever exceeds a bound is in a temporary file.
#[derive(Default)]
pub(crate) struct Collection {
    pub(crate) documents: Vec<TrainingDocument>,
    row_blocks: RowBlocks,
    n_terms: usize,
    groups_are_copies: bool,
    pub(crate) near_duplicates: NearDuplicates,
    /// By term, whether it is left out when documents are read; none is if this is empty.
    pub(crate) left_out: Vec<bool>,
    stretches: Option<StretchRows>,
    /// The first error in reading terms.
    failed: OnceLock<io::Error>,
    spare: Mutex<Vec<Encoded>>,
}

/// The stretches of documents, as counted.
struct StretchRows {
    rows: Vec<TermRows>,
    ids: Vec<Vec<TermId>>,
}

impl Collection {
    /// Puts documents in order. `rows` are the rows of the parts, and `ids` the new ids of the parts' terms. Unlabelled
    /// documents get a class after the others.
    pub(crate) fn new(
        mut documents: Vec<TrainingDocument>,
        rows: Vec<TermRows>,
        ids: &[Vec<TermId>],
        n_classes: usize,
        n_terms: usize,
        block_len: usize,
    ) -> Result<Self> {
        documents.iter_mut().filter(|d| d.class == UNLABELLED).for_each(|d| d.class = n_classes as ClassId);
        documents.par_sort_unstable_by_key(|document| (document.digest, document.class));
        // rows are read in the order in which they were written
        let mut places = vec![Vec::new(); rows.len()];
        for (document, place) in documents.iter().zip(0u32..) {
            places[usize::from(document.part)].extend(document.terms.map(|row| (row, place)));
        }
        let parts = rows.par_iter().zip(ids).zip(&mut places);
        let blocks = parts.map(|((rows, ids), places)| {
            places.par_sort_unstable();
            renumbered(rows, ids, places, documents.len(), block_len)
        });
        let blocks = blocks.collect::<io::Result<Vec<_>>>();
        let row_blocks =
            blocks.and_then(|blocks| in_order(&blocks, documents.len(), block_len)).map_err(spill)?;
        let has_stretches = documents.iter().any(|document| !document.more().stretches.is_empty());
        let stretches = has_stretches.then(|| StretchRows { rows, ids: ids.to_vec() });
        Ok(Collection { documents, row_blocks, n_terms, stretches, ..Collection::default() })
    }

    /// Takes documents that are already in order, with their terms.
    pub(crate) fn from_ordered(
        documents: impl Iterator<Item = Result<(TrainingDocument, CountVector)>>,
        n_terms: usize,
        block_len: usize,
    ) -> Result<Self> {
        let (mut row_blocks, mut all) = (RowBlocks::new(0, block_len), Vec::new());
        for document in documents {
            let (document, vector) = document?;
            row_blocks.blocks.resize(all.len() / block_len + 1, RowBlock::default());
            row_blocks.push(all.len(), vector.row()).map_err(spill)?;
            all.push(document);
        }
        Ok(Collection { documents: all, row_blocks, n_terms, ..Collection::default() })
    }

    /// The same documents with the terms `order` alone, renumbered by their places there, which must be in order.
    pub(crate) fn only(&self, order: &[TermId]) -> Result<Self> {
        let mut ids = vec![None; self.n_terms];
        order.iter().zip(0..).for_each(|(old, new)| ids[*old as usize] = Some(new));
        let rows = self.rows(&(0..self.documents.len()).collect::<Vec<_>>());
        let kept = |(document, row): (&TrainingDocument, CountVector)| {
            let kept = row.row().iter().filter_map(|(id, count)| Some((ids[id as usize]?, count)));
            Ok((document.clone(), CountVector::from_pairs(kept).unwrap_or_default()))
        };
        let kept = self.documents.iter().zip(rows).map(kept);
        let only = Self::from_ordered(kept, order.len(), self.block_len())?;
        let near_duplicates = self.near_duplicates.clone();
        Ok(Collection { groups_are_copies: self.groups_are_copies, near_duplicates, ..only })
    }

    /// Sets what the groups are in a model of this kind, see [`groups_are_copies`].
    pub(crate) fn of_kind(self, kind: Kind) -> Self {
        let groups_are_copies = groups_are_copies(kind, self.documents.iter().map(|document| document.group));
        Collection { groups_are_copies, ..self }
    }

    /// The statistics of the documents' dense vectors; `None` if the recipe has none.
    pub(crate) fn vector_statistics(
        &self,
        recipe: &Recipe,
        n_classes: usize,
    ) -> Result<Option<VectorStatistics>> {
        let Some(VectorSpace { dimensions, .. }) = recipe.vectors else { return Ok(None) };
        let none = VectorStatistics::new(n_classes, dimensions as usize)?;
        let of_some = |documents: &[TrainingDocument]| -> Result<VectorStatistics> {
            let mut sums = none.clone();
            let is_counted =
                |d: &&TrainingDocument| usize::from(d.class) < n_classes && !d.more().dense.is_empty();
            for document in documents.iter().filter(is_counted) {
                sums.observe_times(document.class, &document.more().dense, document.multiplicity)?;
            }
            Ok(sums)
        };
        let add = |mut here: VectorStatistics, there: VectorStatistics| -> Result<VectorStatistics> {
            here.merge(&there)?;
            Ok(here)
        };
        let at_once = self.documents.len().div_ceil(rayon::current_num_threads()).max(1);
        let sums = self.documents.par_chunks(at_once).map(of_some).try_reduce(|| none.clone(), add);
        sums.map(Some)
    }

    /// Whether any group was named.
    pub(crate) fn has_named_groups(&self) -> bool {
        self.documents.iter().any(|document| is_named(document.group))
    }

    /// From now on, near-duplicates among the documents, which have these counts, are held out together. `text` returns the
    /// text of a term.
    pub(crate) fn hold_near_duplicates_together<'t>(
        &mut self,
        kind: Kind,
        counts: &Statistics,
        text: impl Fn(TermId) -> Result<&'t str> + Sync,
    ) -> Result<()> {
        let hash = |id: TermId| Ok(word_hash(kind, text(id)?));
        let words = (0..self.n_terms as TermId).into_par_iter().map(hash).collect::<Result<Vec<_>>>()?;
        // mails of a sender are alike by their headers
        let similar = if kind == Kind::Mail { 0.8 } else { 0.4 };
        self.near_duplicates = NearDuplicates::find(counts, self, &words, similar);
        Ok(())
    }

    /// The number of groups that are held out together, as a share of the documents.
    pub(crate) fn independent(&self) -> f64 {
        let groups: HashSet<u64> = (0..self.len()).map(|document| self.held_out_with(document)).collect();
        let all: u64 = self.documents.iter().map(|document| u64::from(document.multiplicity)).sum();
        groups.len() as f64 / all.max(1) as f64
    }

    /// Checks that everything requested could be read.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), |error| Err(spill(error)))
    }

    /// The packed terms of a block; empty if they cannot be read, which [`check`](Self::check) reports.
    pub(crate) fn encoded(&self, block: usize) -> Encoded {
        let n = self.row_blocks.in_block(block, self.documents.len());
        let mut encoded = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        encoded.begin(n);
        if let Err(error) = self.row_blocks.read(block, &mut encoded) {
            // the first error is enough
            let _ = self.failed.set(error);
            encoded.begin(n);
        }
        encoded
    }

    /// A document without the terms that are left out.
    fn kept(&self, row: CountVector) -> CountVector {
        if self.left_out.is_empty() {
            return row;
        }
        let pairs = row.row().iter().filter(|(id, _)| !self.left_out[*id as usize]);
        CountVector::from_pairs(pairs).unwrap_or_default()
    }

    /// Takes back a block's memory for reuse.
    pub(crate) fn recycle(&self, encoded: Encoded) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(encoded);
        }
    }
}

impl Documents for Collection {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn label(&self, document: usize) -> Label {
        self.documents[document].label()
    }

    fn n_terms(&self) -> usize {
        self.n_terms
    }

    fn block_len(&self) -> usize {
        self.row_blocks.block_len.max(1)
    }

    fn n_pairs(&self) -> usize {
        self.row_blocks.blocks.iter().map(|block| block.n_pairs).sum()
    }

    fn block(&self, block: usize, to: &mut Block) {
        let encoded = self.encoded(block);
        to.begin(encoded.rows.len(), self.row_blocks.blocks[block].n_pairs);
        for at in 0..encoded.rows.len() {
            let terms = encoded.terms(at);
            match terms.near_ids() {
                Some(ids) if self.left_out.is_empty() => to.set_row(at, ids, terms.counts()),
                _ if self.left_out.is_empty() => to.set_row(at, terms.ids(), terms.counts()),
                _ => {
                    let kept = self.kept(terms.vector());
                    to.set_row(
                        at,
                        kept.row().ids().iter().copied(),
                        kept.row().counts().iter().copied().enumerate(),
                    );
                }
            }
        }
        self.recycle(encoded);
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        let mut rows = Vec::with_capacity(documents.len());
        let n = self.block_len();
        for together in documents.chunk_by(|a, b| a / n == b / n) {
            let block = together[0] / n;
            let encoded = self.encoded(block);
            let row = |document: &usize| self.kept(encoded.terms(document - block * n).vector());
            rows.extend(together.iter().map(row));
            self.recycle(encoded);
        }
        rows
    }

    fn vector(&self, document: usize) -> &[f32] {
        &self.documents[document].more().dense
    }

    fn groups_are_copies(&self) -> bool {
        self.groups_are_copies
    }

    fn held_out_with(&self, document: usize) -> u64 {
        self.near_duplicates.group_of(self.documents[document].group)
    }

    fn is_long(&self, document: usize) -> bool {
        self.near_duplicates.is_long(document)
    }

    fn stretches(&self, document: usize) -> Vec<Stretch<CountVector>> {
        let (document, Some(StretchRows { rows, ids })) = (&self.documents[document], &self.stretches) else {
            return Vec::new();
        };
        let part = usize::from(document.part);
        let stretch = |of: &Stretch<RowId>| {
            let terms = rows[part].get(of.terms).unwrap_or_else(|error| {
                let _ = self.failed.set(error);
                Vec::new()
            });
            let terms = terms.into_iter().map(|(id, count)| (ids[part][id as usize], count));
            let terms = self.kept(CountVector::from_pairs(terms).unwrap_or_default());
            Stretch { terms, ends_part: of.ends_part, is_seen: of.is_seen }
        };
        document.more().stretches.iter().map(stretch).collect()
    }
}

#[cfg(test)]
mod tests {
    use tamis_model::BLOCK;

    use super::*;
    use crate::gather::document::More;

    /// Two parts with more documents than a block of the usual size, some without terms; in smaller blocks.
    #[test]
    fn documents_come_in_order_with_their_terms() {
        let (n, n_terms, block_len) = (BLOCK as u32 + 2_000, 1_000, 1 << 14);
        // the ids of each part, reversed
        let ids = [n_terms, n_terms + 10].map(|n| (0..n).rev().map(|id| id * 3).collect::<Vec<TermId>>());
        let (mut rows, mut documents) = ([TermRows::default(), TermRows::default()], Vec::new());
        let terms = |i: u32| {
            let ids = (0..i % 5).map(move |t| (i * 7 + t * 211) % n_terms);
            ids.map(move |id| (id, 1 + u32::from(id == 5) * 300))
        };
        for i in 0..n {
            let own: Vec<_> = terms(i).collect();
            let mut document = TrainingDocument::new(
                [i.wrapping_mul(0x9E37_79B1).to_le_bytes(); 4].concat().try_into().unwrap(),
                i.into(),
                More::default(),
            );
            (document.part, document.class) = ((i % 3 == 1).into(), (i % 2) as ClassId);
            document.terms = Some(rows[usize::from(document.part)].push(own.into_iter()).unwrap());
            documents.push(document);
        }
        let ordered = Collection::new(documents, rows.into(), &ids, 2, 4_000, block_len).unwrap();
        assert!(ordered.documents.is_sorted_by_key(|document| (document.digest, document.class)));
        assert!(!ordered.row_blocks.blocks[0].written.is_empty());
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
        assert_eq!(ordered.n_pairs(), expected.iter().map(|vector| vector.row().len()).sum::<usize>());
        for block in 0..=n as usize / block_len {
            let encoded = ordered.encoded(block);
            for (at, row) in expected[block * block_len..].iter().take(block_len).enumerate() {
                assert!(encoded.terms(at).vector() == *row);
            }
        }
        let again = std::iter::zip(ordered.documents.clone(), expected.clone());
        let again = Collection::from_ordered(again.map(Ok), 4_000, block_len).unwrap();
        assert!(again.rows(&all[5..]) == expected[5..]);
    }
}
