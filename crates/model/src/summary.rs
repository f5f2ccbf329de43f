use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::counts::term_ids;
use crate::{Cell, ClassTotals, Counts, FeatureLimits, Likelihood, Parameters, ParametersError};

/// What a model needs to know of all terms at once: a few integers a class, and the rule that says which
/// terms are features.
///
/// All integers, so it is bit for bit the same however the counts came about and whatever the order of
/// their terms (the tie rule of `max_features` apart, which looks at ids). Made by
/// [`Parameters::summarize`]; kept beside the counts it spares passing over them again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    n_features: u64,
    totals: Vec<ClassTotals>,
    selection: Selection,
    /// For Bernoulli, per class: document frequency -> features that have it. Without those of frequency 0.
    histograms: Vec<BTreeMap<u32, u64>>,
}

impl Parameters {
    /// Passes once over the counts of all terms (twice with `max_features`).
    ///
    /// # Errors
    /// Whatever reading the counts fails with.
    pub fn summarize<C: Counts>(&self, counts: &C) -> Result<Summary, C::Error> {
        self.summarize_terms(counts, term_ids(counts), 0)
    }

    /// The same for a group of terms, each named once: what is counted of one column of a table, say, where
    /// the terms of all columns have ids in the same counts. Features number at least `min_features`: those
    /// without counts are outcomes that smoothing allows for.
    ///
    /// # Errors
    /// Whatever reading the counts fails with.
    pub fn summarize_terms<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = TermId> + Clone,
        min_features: u64,
    ) -> Result<Summary, C::Error> {
        let selection = Selection::new(&self.features, counts, terms.clone())?;
        let only_documents =
            |t: &ClassTotals| ClassTotals { documents: t.documents, ..ClassTotals::default() };
        let totals: Vec<_> = counts.totals().iter().map(only_documents).collect();
        let histograms = match self.likelihood {
            Likelihood::Bernoulli => vec![BTreeMap::new(); totals.len()],
            Likelihood::Multinomial => Vec::new(),
        };
        let mut summary = Summary { n_features: 0, totals, selection, histograms };
        let mut cells = Vec::new();
        for term in terms {
            cells.clear();
            counts.for_each_cell(term, |cell| cells.push(cell))?;
            let mut mass = Mass::default();
            cells.iter().for_each(|&cell| mass.add(cell));
            if selection.contains(term, mass) {
                summary.add(&cells);
            }
        }
        summary.n_features = summary.n_features.max(min_features);
        Ok(summary)
    }
}

impl Summary {
    /// The number of features: terms with counts, within the limits.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// Per class its documents, and the counts of its features summed.
    pub fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    /// The same with this many documents in each class: for a group of terms, those that have the group's
    /// column. Bernoulli takes documents without a term for documents that lack it.
    pub fn with_documents(mut self, documents: impl IntoIterator<Item = u64>) -> Summary {
        self.totals.iter_mut().zip(documents).for_each(|(totals, n)| totals.documents = n);
        self
    }

    /// Whether a term is a feature, from its own counts over all classes.
    pub fn is_feature(&self, term: TermId, df: u64, tf: u64) -> bool {
        self.selection.contains(term, Mass { df, tf })
    }

    pub(crate) fn selection(&self) -> Selection {
        self.selection
    }

    pub(crate) fn histograms(&self) -> &[BTreeMap<u32, u64>] {
        &self.histograms
    }

    fn add(&mut self, cells: &[Cell]) {
        self.n_features += 1;
        for cell in cells {
            if let Some(totals) = self.totals.get_mut(usize::from(cell.class)) {
                totals.df += u64::from(cell.df);
                totals.tf += u64::from(cell.tf);
            }
            if let Some(histogram) = self.histograms.get_mut(usize::from(cell.class)) {
                *histogram.entry(cell.df).or_default() += 1;
            }
        }
    }

    /// Checks what the model relies on; a summary may come from a file.
    pub(crate) fn check(&self, likelihood: Likelihood) -> Result<(), ParametersError> {
        let fail = |expected, got| Err(ParametersError::Summary { expected, got });
        if self.totals.is_empty() {
            return Err(ParametersError::NoClasses);
        }
        if let Some(t) = self.totals.iter().find(|t| t.tf < t.df) {
            return fail("at least as many occurrences as document frequencies add up to", t.tf);
        }
        let histograms = if likelihood == Likelihood::Bernoulli { self.totals.len() } else { 0 };
        if self.histograms.len() != histograms {
            return fail(
                "a histogram a class for Bernoulli, none for multinomial",
                self.histograms.len() as u64,
            );
        }
        for (histogram, totals) in self.histograms.iter().zip(&self.totals) {
            if let Some((&df, _)) =
                histogram.last_key_value().filter(|(df, _)| u64::from(**df) > totals.documents)
            {
                return fail("no document frequency above the documents of the class", df.into());
            }
            let features: u128 = histogram.values().map(|&n| u128::from(n)).sum();
            let df: u128 = histogram.iter().map(|(&df, &n)| u128::from(df) * u128::from(n)).sum();
            if features > u128::from(self.n_features) || df != u128::from(totals.df) {
                return fail("histograms that add up to the features and the totals", totals.df);
            }
        }
        Ok(())
    }
}

/// The counts of one term over all classes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mass {
    df: u64,
    tf: u64,
}

impl Mass {
    pub(crate) fn add(&mut self, cell: Cell) {
        self.df += u64::from(cell.df);
        self.tf += u64::from(cell.tf);
    }
}

/// The rule that says from a term's own counts whether it is a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Selection {
    min_df: u64,
    max_df: u64,
    /// Occurrences and id of the last term that is still a feature.
    cut: Option<(u64, TermId)>,
}

impl Selection {
    fn new<C: Counts>(
        limits: &FeatureLimits,
        counts: &C,
        terms: impl Iterator<Item = TermId>,
    ) -> Result<Selection, C::Error> {
        let documents = counts.totals().iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        // the cast saturates, and takes NaN to 0: limits out of range are refused by NaiveBayes::new
        let max_df = limits.max_df.map_or(u64::MAX, |share| (share * documents as f64) as u64);
        let mut selection = Selection { min_df: limits.min_df.max(1), max_df, cut: None };
        if let Some(max) = limits.max_features {
            selection.cut = selection.find_cut(counts, terms, max)?;
        }
        Ok(selection)
    }

    /// The last of the `max` terms with the most occurrences; none if there are no more than that.
    fn find_cut<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = TermId>,
        max: usize,
    ) -> Result<Option<(u64, TermId)>, C::Error> {
        // the least of the best is on top
        let mut best = BinaryHeap::new();
        let mut more = false;
        for term in terms {
            let mut mass = Mass::default();
            counts.for_each_cell(term, |cell| mass.add(cell))?;
            if self.contains(term, mass) {
                best.push(Reverse((mass.tf, Reverse(term))));
                if best.len() > max {
                    best.pop();
                    more = true;
                }
            }
        }
        Ok(best.peek().filter(|_| more).map(|&Reverse((tf, Reverse(term)))| (tf, term)))
    }

    pub(crate) fn contains(&self, term: TermId, mass: Mass) -> bool {
        let kept = |(tf, id)| mass.tf > tf || (mass.tf == tf && term <= id);
        self.min_df <= mass.df && mass.df <= self.max_df && self.cut.is_none_or(kept)
    }
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::{NaiveBayes, Statistics};

    fn statistics() -> Statistics {
        let documents =
            [(0, vec![(0, 5), (1, 1), (2, 1)]), (1, vec![(1, 2), (2, 1)]), (1, vec![(2, 1), (3, 3)])];
        let mut statistics = Statistics::new(2);
        for (class, row) in documents {
            statistics.observe(class, CountVector::from_pairs(row).unwrap().row()).unwrap();
        }
        statistics
    }

    fn features(limits: FeatureLimits) -> Vec<TermId> {
        let statistics = statistics();
        let Ok(summary) = Parameters { features: limits, ..Parameters::default() }.summarize(&statistics);
        let tf = |term| statistics.cells(term).map(|c| u64::from(c.tf)).sum();
        let is_feature = |&t: &TermId| summary.is_feature(t, statistics.document_frequency(t), tf(t));
        let features: Vec<_> = (0..9).filter(is_feature).collect();
        assert_eq!(summary.n_features(), features.len() as u64);
        features
    }

    #[test]
    fn limits_select() {
        let all = FeatureLimits::default();
        assert_eq!(features(all), [0, 1, 2, 3]);
        assert_eq!(features(FeatureLimits { min_df: 0, ..all }), [0, 1, 2, 3]);
        assert_eq!(features(FeatureLimits { min_df: 2, ..all }), [1, 2]);
        assert_eq!(features(FeatureLimits { max_df: Some(0.7), ..all }), [0, 1, 3]);
        assert_eq!(features(FeatureLimits { max_features: Some(1), ..all }), [0]);
        // terms 1, 2 and 3 all occur three times: lower ids first
        assert_eq!(features(FeatureLimits { max_features: Some(2), ..all }), [0, 1]);
        assert_eq!(features(FeatureLimits { max_features: Some(3), min_df: 2, ..all }), [1, 2]);
        assert_eq!(features(FeatureLimits { max_features: Some(4), ..all }), [0, 1, 2, 3]);
    }

    #[test]
    fn totals_are_of_the_features() {
        let features = FeatureLimits { min_df: 2, ..FeatureLimits::default() };
        let parameters = Parameters { likelihood: Likelihood::Bernoulli, features, ..Parameters::default() };
        let Ok(summary) = parameters.summarize(&statistics());
        assert_eq!(summary.totals()[1], ClassTotals { documents: 2, df: 3, tf: 4 });
        assert_eq!(summary.histograms()[1], BTreeMap::from([(1, 1), (2, 1)]));
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }

    #[test]
    fn bad_summaries_are_refused() {
        let parameters = Parameters { likelihood: Likelihood::Bernoulli, ..Parameters::default() };
        let Ok(good) = parameters.summarize(&statistics());
        assert!(NaiveBayes::new(&parameters, &good).is_ok());
        let spoil = |change: fn(&mut Summary)| {
            let mut summary = good.clone();
            change(&mut summary);
            NaiveBayes::new(&parameters, &summary).map(drop)
        };
        assert_eq!(spoil(|s| s.totals.clear()), Err(ParametersError::NoClasses));
        let changes: [fn(&mut Summary); 6] = [
            |s| s.totals[0].tf = 0,
            |s| s.totals[1].documents = 1,
            |s| s.totals[0].df = 2,
            |s| s.n_features = 2,
            |s| drop(s.histograms.pop()),
            |s| s.histograms[1] = BTreeMap::from([(u32::MAX, u64::MAX)]),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            assert!(matches!(spoil(change), Err(ParametersError::Summary { .. })), "{i}");
        }
        assert!(NaiveBayes::new(&Parameters::default(), &good).is_err(), "made for Bernoulli");
    }
}
