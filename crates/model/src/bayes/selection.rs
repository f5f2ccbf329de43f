//! Decides which terms are features.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::parameters::Parameters;
use crate::bayes::select::{BestTerms, Cut, Mass, Scorer, keeps};
use crate::counts::{Cell, ClassTotals, Counts, read_cells};

/// Decides from a term's own counts whether it is a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Selection {
    min_df: u64,
    max_df: u64,
    /// Number of occurrences and id of the last term that `max_features` keeps.
    cut: Option<Cut>,
    /// The terms most associated with the classes, of those within the other limits.
    #[serde(default)]
    best: Option<BestTerms>,
}

impl Selection {
    pub(crate) fn new<C: Counts>(
        parameters: &Parameters,
        counts: &C,
        terms: impl Iterator<Item = TermId> + Clone,
    ) -> Result<Selection, C::Error> {
        let limits = &parameters.features;
        let documents = counts.totals().iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        // the cast saturates and maps NaN to 0; NaiveBayes::new refuses limits out of range
        let max_df = limits.max_df.map_or(u64::MAX, |share| (share * documents as f64) as u64);
        let mut selection = Selection { min_df: limits.min_df.max(1), max_df, cut: None, best: None };
        if let Some(max) = limits.max_features {
            selection.cut = selection.find_cut(counts, terms.clone(), max, |mass, _| mass.tf)?;
        }
        if let Some(select) = limits.select {
            let scorer = Scorer::new(select.by, parameters.counts_presence(), documents);
            let rank = |mass, cells: &[Cell]| scorer.rank(counts.totals(), mass, cells);
            let cut = selection.find_cut(counts, terms, select.n, rank)?;
            selection.best = cut.map(|cut| BestTerms::new(scorer, cut));
        }
        Ok(selection)
    }

    /// Returns the last of the `max` features of highest rank; `None` if there are at most `max`.
    fn find_cut<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = TermId>,
        max: usize,
        rank: impl Fn(Mass, &[Cell]) -> u64,
    ) -> Result<Option<Cut>, C::Error> {
        // the worst of the best features is on top
        let mut best = BinaryHeap::new();
        let (mut more, mut cells) = (false, Vec::new());
        for term in terms {
            read_cells(counts, term, &mut cells)?;
            if let Some(mass) = self.feature(counts.totals(), term, &cells) {
                best.push(Reverse((rank(mass, &cells), Reverse(term))));
                if best.len() > max {
                    best.pop();
                    more = true;
                }
            }
        }
        Ok(best.peek().filter(|_| more).map(|&Reverse((rank, Reverse(term)))| (rank, term)))
    }

    /// The counts of a term over all classes, if it is a feature.
    pub(crate) fn feature(&self, totals: &[ClassTotals], term: TermId, cells: &[Cell]) -> Option<Mass> {
        let mass = Mass::of(cells);
        let within = self.min_df <= mass.df && mass.df <= self.max_df;
        let kept = within && self.cut.is_none_or(|cut| keeps(cut, mass.tf, term));
        let kept = kept && self.best.is_none_or(|best| best.contains(totals, term, mass, cells));
        kept.then_some(mass)
    }
}
