//! Categorical outcomes of several features, counted as terms.

use std::collections::BTreeMap;

use tamis_model::{Cell, ClassId, Counts, ObservationError, Statistics, StatisticsError};
use tamis_tokenizer::{CountVector, TermId};

/// A feature and one of its outcomes (a category or a term). `None` counts the documents that have the feature.
pub(crate) type Outcome = (usize, Option<u32>);

/// The outcomes of several features, counted in one [`Statistics`]. Outcomes get term ids in the order they are first
/// seen.
#[derive(Clone, Debug)]
pub(crate) struct Outcomes {
    ids: BTreeMap<Outcome, TermId>,
    counts: Statistics,
}

impl Outcomes {
    pub(crate) fn new(n_classes: usize) -> Self {
        Outcomes { ids: BTreeMap::new(), counts: Statistics::new(n_classes) }
    }

    pub(crate) fn counts(&self) -> &Statistics {
        &self.counts
    }

    /// The term of an outcome, if it was ever counted.
    pub(crate) fn term(&self, outcome: Outcome) -> Option<TermId> {
        self.ids.get(&outcome).copied()
    }

    /// A document with one outcome; empty if the outcome was never counted.
    pub(crate) fn row(&self, outcome: Outcome) -> CountVector {
        vector(self.term(outcome).map(|term| (term, 1)).into_iter().collect())
    }

    /// The outcomes of a feature that have counts, in increasing order, with their terms.
    pub(crate) fn of(&self, feature: usize) -> impl DoubleEndedIterator<Item = (u32, TermId)> + Clone {
        let range = self.ids.range((feature, Some(0))..=(feature, Some(u32::MAX)));
        let outcomes = range.filter_map(|(&(_, outcome), &term)| Some((outcome?, term)));
        outcomes.filter(|&(_, term)| self.counts.document_frequency(term) > 0)
    }

    /// The number of categories of a feature: one more than the highest one counted, and at least `min`.
    pub(crate) fn n_categories(&self, feature: usize, min: u32) -> u64 {
        self.of(feature).next_back().map_or(0, |(highest, _)| u64::from(highest) + 1).max(min.into())
    }

    /// Learns a document: its distinct outcomes and their counts.
    pub(crate) fn observe(
        &mut self,
        class: ClassId,
        outcomes: &[(Outcome, u32)],
    ) -> Result<(), ObservationError> {
        let mut pairs = Vec::with_capacity(outcomes.len());
        for &(outcome, count) in outcomes {
            pairs.push((self.intern(outcome)?, count));
        }
        Ok(self.counts.observe(class, vector(pairs).row())?)
    }

    /// Forgets a document that was learned.
    pub(crate) fn forget(
        &mut self,
        class: ClassId,
        outcomes: &[(Outcome, u32)],
    ) -> Result<(), ObservationError> {
        let mut pairs = Vec::with_capacity(outcomes.len());
        for &((feature, outcome), count) in outcomes {
            let unseen = ObservationError::Unseen { feature, got: outcome.unwrap_or(0) };
            let term = self.term((feature, outcome)).filter(|&term| self.counts.document_frequency(term) > 0);
            pairs.push((term.ok_or(unseen)?, count));
        }
        Ok(self.counts.forget(class, vector(pairs).row())?)
    }

    pub(crate) fn merge(&mut self, other: &Outcomes) -> Result<(), ObservationError> {
        let mut map = vec![0; other.ids.len()];
        for (&outcome, &term) in &other.ids {
            map[term as usize] = self.intern(outcome)?;
        }
        Ok(self.counts.merge_mapped(&other.counts, &map)?)
    }

    /// The term of an outcome; a new outcome gets the next id.
    fn intern(&mut self, outcome: Outcome) -> Result<TermId, StatisticsError> {
        let got = self.ids.len() as u64;
        let next = TermId::try_from(got);
        let next = next.map_err(|_| StatisticsError::Full { expected: TermId::MAX.into(), got })?;
        Ok(*self.ids.entry(outcome).or_insert(next))
    }

    fn cells(&self) -> impl Iterator<Item = (Outcome, Vec<Cell>)> {
        let cells = self.ids.iter().map(|(&outcome, &term)| (outcome, self.counts.cells(term).collect()));
        cells.filter(|(_, cells): &(_, Vec<_>)| !cells.is_empty())
    }
}

/// A count vector of distinct terms.
fn vector(pairs: Vec<(TermId, u32)>) -> CountVector {
    // terms are distinct, so nothing overflows
    CountVector::from_pairs(pairs).unwrap_or_default()
}

impl PartialEq for Outcomes {
    /// Compares what was learned, not the ids.
    fn eq(&self, other: &Self) -> bool {
        self.counts.totals() == other.counts.totals() && self.cells().eq(other.cells())
    }
}
