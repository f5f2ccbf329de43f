use std::cmp::Reverse;

use tamis_tokenizer::TermId;

use crate::{Labelled, Statistics};

/// Numbers for terms by which the frequent ones come first: what is read often then lies together in memory. Sums
/// are still made in the order of the ids, so ranks leave no trace in what is learned.
pub(crate) struct Ranks {
    order: Vec<TermId>,
    ranks: Vec<u32>,
}

impl Ranks {
    /// Ranks for all terms of the documents.
    pub(crate) fn new(counts: &Statistics, documents: &[Labelled<'_>]) -> Ranks {
        // ids increase: the last is the highest
        let last = documents.iter().filter_map(|d| d.row.ids().last()).max();
        let n_terms = last.map_or(0, |&id| id as usize + 1);
        let mut order: Vec<TermId> = (0..=TermId::MAX).take(n_terms).collect();
        order.sort_by_cached_key(|&term| Reverse(counts.document_frequency(term)));
        let mut ranks = vec![0; n_terms];
        (0..).zip(&order).for_each(|(rank, &term)| ranks[term as usize] = rank);
        Ranks { order, ranks }
    }

    /// The ranks of some of these terms, in their order.
    pub(crate) fn of(&self, terms: &[TermId]) -> impl Iterator<Item = u32> {
        terms.iter().map(|&term| self.ranks[term as usize])
    }

    /// All terms by rank.
    pub(crate) fn terms(&self) -> &[TermId] {
        &self.order
    }
}
