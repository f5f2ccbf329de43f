//! The few integers per class that a model needs in addition to the counts of single terms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::complement::Complement;
use crate::bayes::error::ParametersError;
use crate::bayes::features::{Mass, Selection};
use crate::bayes::likelihood::FeatureSum;
use crate::bayes::parameters::Parameters;
use crate::bayes::rule::Rule;
use crate::counts::{Cell, ClassTotals, Counts, read_cells, term_ids};

/// The statistics over all terms that a model needs: a few integers per class, and the rule that selects features.
///
/// All numbers are integers, so a summary depends neither on how the counts came about nor on the order of their terms
/// (except that ids break ties of `max_features` and `select`). Made by [`Parameters::summarize`]. Storing it with the
/// counts saves another pass over them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    n_features: u64,
    totals: Vec<ClassTotals>,
    pub(crate) selection: Selection,
    /// For Bernoulli, per class: document frequency -> number of features with it. Frequency 0 is left out.
    pub(crate) histograms: Vec<BTreeMap<u32, u64>>,
    /// For the normalised complement.
    pub(crate) complement: Option<Complement>,
}

impl Parameters {
    /// Summarizes the counts in one pass over all terms, plus one pass each for `max_features` and `select`.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn summarize<C: Counts>(&self, counts: &C) -> Result<Summary, C::Error> {
        self.summarize_terms(counts, term_ids(counts), 0)
    }

    /// As [`summarize`](Self::summarize), for a group of terms only, each given once: for example, the terms of one
    /// column of a table whose columns share the counts. Counts at least `min_features` features; those without counts
    /// are outcomes that smoothing allows for.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn summarize_terms<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = TermId> + Clone,
        min_features: u64,
    ) -> Result<Summary, C::Error> {
        let selection = Selection::new(&self.features, self.counts_presence(), counts, terms.clone())?;
        let only_documents =
            |t: &ClassTotals| ClassTotals { documents: t.documents, ..ClassTotals::default() };
        let totals: Vec<_> = counts.totals().iter().map(only_documents).collect();
        let n = totals.len();
        let (mut histograms, mut complement) = (Vec::new(), None);
        match self.likelihood.feature_sum() {
            FeatureSum::None => {}
            FeatureSum::LogAbsence => histograms.resize(n, BTreeMap::new()),
            FeatureSum::ComplementWeights => complement = Some(Complement::new(n)),
        }
        let mut summary = Summary { n_features: 0, totals, selection, histograms, complement };
        let (rule, mut cells) = (Rule::new(self), Vec::new());
        for term in terms {
            read_cells(counts, term, &mut cells)?;
            if let Some(mass) = selection.feature(counts.totals(), term, &cells) {
                summary.add(&rule, mass, &cells);
            }
        }
        let uncounted = min_features.saturating_sub(summary.n_features);
        summary.n_features += uncounted;
        if let Some(complement) = &mut summary.complement {
            complement.add_uncounted(uncounted);
        }
        Ok(summary)
    }
}

impl Summary {
    /// The number of features: terms with counts, within the limits.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// Documents and summed feature counts of each class.
    pub fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    /// Replaces the number of documents of each class. For a group of terms, give the documents that have the group's
    /// column: otherwise Bernoulli counts documents without the column as lacking its terms.
    pub fn with_documents(mut self, documents: impl IntoIterator<Item = u64>) -> Summary {
        self.totals.iter_mut().zip(documents).for_each(|(totals, n)| totals.documents = n);
        self
    }

    fn add(&mut self, rule: &Rule, mass: Mass, cells: &[Cell]) {
        self.n_features += 1;
        if let Some(complement) = &mut self.complement {
            complement.add(rule, mass, cells);
        }
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

    /// Checks the invariants that the model relies on, since a summary may come from a file.
    pub(crate) fn check(&self, rule: &Rule) -> Result<(), ParametersError> {
        let fail = |expected, got| Err(ParametersError::Summary { expected, got });
        if self.totals.is_empty() {
            return Err(ParametersError::NoClasses);
        }
        if let Some(t) = self.totals.iter().find(|t| t.tf < t.df) {
            return fail("at least as many occurrences as document frequencies add up to", t.tf);
        }
        let needs = |sum| rule.likelihood.feature_sum() == sum;
        let histograms = if needs(FeatureSum::LogAbsence) { self.totals.len() } else { 0 };
        if self.histograms.len() != histograms {
            return fail(
                "a histogram a class for Bernoulli, none for the others",
                self.histograms.len() as u64,
            );
        }
        let complement = self.complement.as_ref();
        if needs(FeatureSum::ComplementWeights) != complement.is_some()
            || complement.is_some_and(|c| !c.fits(rule, &self.totals, self.n_features))
        {
            return fail(
                "histograms of the counting for the normalised complement, else none",
                self.n_features,
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

#[cfg(test)]
mod tests {
    use crate::bayes::naive_bayes::NaiveBayes;
    use crate::counts::Statistics;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::bayes::features::{Criterion, FeatureLimits, Select};
    use crate::bayes::likelihood::{Counting, Likelihood};

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
        let is_feature = |&t: &TermId| {
            let cells: Vec<_> = statistics.cells(t).collect();
            summary.selection.feature(statistics.totals(), t, &cells).is_some()
        };
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
        let select = |by, n| FeatureLimits { select: Some(Select { by, n }), ..all };
        // terms 1 and 3 say equally much about the class, term 2 nothing
        assert_eq!(features(select(Criterion::ChiSquare, 1)), [0]);
        assert_eq!(features(select(Criterion::MutualInformation, 1)), [0]);
        assert_eq!(features(select(Criterion::MutualInformation, 2)), [0, 1]);
        assert_eq!(features(select(Criterion::MutualInformation, 3)), [0, 1, 3]);
        assert_eq!(features(select(Criterion::MutualInformation, 9)), [0, 1, 2, 3]);
        assert_eq!(
            features(FeatureLimits { max_features: Some(2), ..select(Criterion::ChiSquare, 3) }),
            [0, 1]
        );
        assert_eq!(features(FeatureLimits { min_df: 2, ..select(Criterion::MutualInformation, 1) }), [1]);
    }

    #[test]
    fn totals_are_of_the_features() {
        let features = FeatureLimits { min_df: 2, ..FeatureLimits::default() };
        let parameters = Parameters { likelihood: Likelihood::Bernoulli, features, ..Parameters::default() };
        let Ok(summary) = parameters.summarize(&statistics());
        assert_eq!(summary.totals()[1], ClassTotals { documents: 2, df: 3, tf: 4 });
        assert_eq!(summary.histograms[1], BTreeMap::from([(1, 1), (2, 1)]));
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

    #[test]
    fn bad_complements_are_refused() {
        let likelihood = Likelihood::ComplementNormalized;
        let parameters = Parameters { likelihood, ..Parameters::default() };
        let Ok(good) = parameters.summarize(&statistics());
        assert!(NaiveBayes::new(&parameters, &good).is_ok());
        let json = serde_json::to_string(&good).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), good);
        let refused = |parameters: &Parameters, summary: &Summary| {
            matches!(NaiveBayes::new(parameters, summary), Err(ParametersError::Summary { .. }))
        };
        let presence = Parameters { counting: Counting::Presence, ..parameters.clone() };
        assert!(refused(&presence, &good), "made for occurrences");
        assert!(refused(&Parameters::default(), &good), "made for the complement");
        let Ok(multinomial) = Parameters::default().summarize(&statistics());
        assert!(refused(&parameters, &multinomial), "made for multinomial");
        let changes = [
            (r#""features":{"3":3"#, r#""features":{"3":4"#),
            (r#""5":{"5":1}"#, r#""5":{"6":1}"#),
            (r#""5":{"5":1}"#, r#""5":{"5":2}"#),
            (r#"[{"3":{"1":2},"5":{"5":1}},"#, "["),
        ];
        for (what, by) in changes {
            let bad = json.replacen(what, by, 1);
            assert_ne!(bad, json, "{what}");
            assert!(refused(&parameters, &serde_json::from_str(&bad).unwrap()), "{what}");
        }
    }
}
