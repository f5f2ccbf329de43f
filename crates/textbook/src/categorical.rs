//! Categorical naive Bayes.

use std::collections::BTreeMap;

use tamis_model::{
    Cell, ClassId, ClassPrior, Counts, Likelihood, NaiveBayes, ObservationError, Parameters, ParametersError,
    Smoothing, Statistics, StatisticsError, argmax, log_normalize, softmax,
};
use tamis_tokenizer::{CountVector, TermId};

/// Sufficient statistics of categorical features: how many documents of each class have each category.
///
/// All numbers are integers, kept in [`Statistics`](tamis_model::Statistics): exact in any order and after forgetting. Memory
/// grows with the pairs of class and category seen. A missing value (`None`) is not learned. `==` compares what was
/// declared and counted.
///
/// ```
/// use tamis_model::{ClassPrior, Smoothing};
/// use tamis_textbook::{CategoricalNaiveBayes, CategoricalStatistics};
///
/// // two features; of the second at least four categories are known to exist
/// let mut statistics = CategoricalStatistics::new(2, [0, 4]);
/// statistics.observe(0, &[Some(0), Some(1)])?;
/// statistics.observe(1, &[Some(2), None])?;
/// assert_eq!((statistics.n_categories(0), statistics.n_categories(1)), (3, 4));
///
/// let model = CategoricalNaiveBayes::new(&ClassPrior::Learned, Smoothing::LAPLACE, &statistics)?;
/// let mut probabilities = Vec::new();
/// let known = model.predict_proba(&statistics, &[Some(2), Some(9)], &mut probabilities);
/// assert_eq!(known, 1); // there is no category 9
/// assert!((probabilities[1] - 2.0 / 3.0).abs() < 1e-12); // (1+1)/(1+3) to (0+1)/(1+3)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CategoricalStatistics {
    min_categories: Vec<u32>,
    outcomes: OutcomeCounts,
}

impl CategoricalStatistics {
    /// Empty statistics of `n_classes` classes and one feature per entry of `min_categories`: the feature's minimum
    /// number of categories, 0 if unknown.
    pub fn new(n_classes: usize, min_categories: impl IntoIterator<Item = u32>) -> Self {
        let min_categories = min_categories.into_iter().collect();
        CategoricalStatistics { min_categories, outcomes: OutcomeCounts::new(n_classes) }
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.min_categories.len()
    }

    /// The number of categories of a feature: at least those declared, and all up to the highest one learned. 0 for an
    /// unknown feature.
    pub fn n_categories(&self, feature: usize) -> u64 {
        self.min_categories.get(feature).map_or(0, |&min| self.outcomes.n_categories(feature, min))
    }

    /// The number of documents of a class that have a category.
    pub fn category_count(&self, feature: usize, category: u32, class: ClassId) -> u32 {
        let term = self.outcomes.term((feature, Some(category)));
        let cell = term.and_then(|term| self.outcomes.counts().cells(term).find(|c| c.class == class));
        cell.map_or(0, |cell| cell.df)
    }

    /// Learns a document, given a category or `None` for each feature.
    ///
    /// # Errors
    /// An unknown class; a wrong number of values; overflow of `u32`. Nothing changes then.
    pub fn observe(&mut self, class: ClassId, values: &[Option<u32>]) -> Result<(), ObservationError> {
        self.outcomes.observe(class, &self.pairs(values)?)
    }

    /// Forgets a document that was learned: the exact inverse of [`observe`](Self::observe).
    ///
    /// # Errors
    /// As [`observe`](Self::observe); a document that cannot have been learned. Nothing changes then.
    pub fn forget(&mut self, class: ClassId, values: &[Option<u32>]) -> Result<(), ObservationError> {
        self.outcomes.forget(class, &self.pairs(values)?)
    }

    /// Adds other statistics over the same classes and features.
    ///
    /// # Errors
    /// A different number of classes or features; features declared differently; overflow of `u32`. Nothing changes
    /// then.
    pub fn merge(&mut self, other: &CategoricalStatistics) -> Result<(), ObservationError> {
        if self.min_categories != other.min_categories {
            return Err(ObservationError::Schema);
        }
        self.outcomes.merge(&other.outcomes)
    }

    fn pairs(&self, values: &[Option<u32>]) -> Result<Vec<(FeatureOutcome, u32)>, ObservationError> {
        ObservationError::check_features(self.n_features(), values.len())?;
        let present = values.iter().enumerate().filter(|(_, value)| value.is_some());
        Ok(present.map(|(feature, &value)| ((feature, value), 1)).collect())
    }
}

/// Derives naive Bayes for one categorical feature: a multinomial with one token per document.
pub(crate) fn fit_category(
    alpha: Smoothing,
    outcomes: &OutcomeCounts,
    feature: usize,
    min_categories: u32,
) -> Result<NaiveBayes, ParametersError> {
    let (likelihood, prior) = (Likelihood::Multinomial, ClassPrior::Uniform);
    let parameters = Parameters { likelihood, alpha, prior, ..Parameters::default() };
    let terms = outcomes.of_feature(feature).map(|(_, term)| term);
    let n_categories = outcomes.n_categories(feature, min_categories);
    let Ok(summary) = parameters.summarize_terms(outcomes.counts(), terms, n_categories);
    NaiveBayes::new(&parameters, &summary)
}

/// Categorical naive Bayes: each feature has one of several categories.
///
/// The joint log-likelihood of a document and a class is `log p(c) + sum over features of log p(category|c)` with
/// `p(category|c) = (n_c,category + alpha) / (n_c + alpha K)`, where `n_c` documents of the class have a category and
/// `K` is the number of categories. Logarithms are natural (nats). The sum leaves out missing values (`None`) and
/// categories of `K` or above, which were neither seen nor declared.
///
/// As with [`NaiveBayes`], the statistics passed to a method must be those that the model was made from.
///
/// **Weighted documents** cannot be counted in integers. Model them by a prior plus, for each feature, a multinomial
/// [`ExpectedNaiveBayes`](tamis_model::ExpectedNaiveBayes) whose terms are the categories. To make categories known that no
/// document has, learn a document of weight 0 with all of them:
///
/// ```
/// use tamis_model::{ClassPrior, Counting, ExpectedNaiveBayes, ExpectedStatistics, Likelihood, Smoothing, WeightedVector};
///
/// let row = |categories: &[u32]| WeightedVector::from_pairs(categories.iter().map(|&category| (category, 1.0)));
/// // one feature of three categories, of which 2 is in no document
/// let mut feature = ExpectedStatistics::new(2, Counting::Occurrences);
/// feature.observe(0, row(&[0, 1, 2])?.row(), 0.0)?;
/// feature.observe(0, row(&[0])?.row(), 1.5)?;
/// feature.observe(1, row(&[1])?.row(), 0.5)?;
///
/// let (alpha, prior) = (Smoothing::LAPLACE, ClassPrior::Learned);
/// let model = ExpectedNaiveBayes::fit(&feature, Likelihood::Multinomial, alpha, &prior)?;
/// // of further features only `feature_log_prob` is added
/// let Ok(Some(log_prob)) = model.feature_log_prob(&feature, 2, 0) else { unreachable!("category 2 is known") };
/// let joint = model.class_log_prior()[0] + log_prob;
/// assert!((joint - (0.75f64 / 4.5).ln()).abs() < 1e-12); // 1.5/2 (0+1)/(1.5+3)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CategoricalNaiveBayes {
    class_log_prior: Vec<f64>,
    features: Vec<NaiveBayes>,
}

impl CategoricalNaiveBayes {
    /// Derives the model from statistics.
    ///
    /// # Errors
    /// A prior that does not fit the classes; no classes.
    pub fn new(
        prior: &ClassPrior,
        alpha: Smoothing,
        statistics: &CategoricalStatistics,
    ) -> Result<CategoricalNaiveBayes, ParametersError> {
        let CategoricalStatistics { min_categories, outcomes } = statistics;
        let fit = |(feature, &min)| fit_category(alpha, outcomes, feature, min);
        let features: Result<Vec<_>, _> = min_categories.iter().enumerate().map(fit).collect();
        let class_log_prior = prior.log_prior(outcomes.counts().totals())?;
        Ok(CategoricalNaiveBayes { class_log_prior, features: features? })
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The logarithm of `p(category | class)` for each class; `None` if the feature is unknown or the category out of
    /// its range.
    pub fn feature_log_prob(
        &self,
        statistics: &CategoricalStatistics,
        feature: usize,
        category: u32,
    ) -> Option<Vec<f64>> {
        let mut out = vec![0.0; self.class_log_prior.len()];
        self.add(statistics, feature, Some(category), &mut out).then_some(out)
    }

    /// Writes the joint log-likelihood (nats) of the values, one per feature, and each class to `out`. Returns the
    /// number of values used: those that are neither missing nor out of range. Extra values are ignored; absent ones
    /// are missing.
    pub fn joint_log_likelihood(
        &self,
        statistics: &CategoricalStatistics,
        values: &[Option<u32>],
        out: &mut Vec<f64>,
    ) -> usize {
        out.clear();
        out.extend_from_slice(&self.class_log_prior);
        values.iter().enumerate().filter(|(i, value)| self.add(statistics, *i, **value, out)).count()
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to the logarithms of the posterior
    /// probabilities.
    pub fn predict_log_proba(
        &self,
        statistics: &CategoricalStatistics,
        values: &[Option<u32>],
        out: &mut Vec<f64>,
    ) -> usize {
        let known = self.joint_log_likelihood(statistics, values, out);
        log_normalize(out);
        known
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities that
    /// add up to 1.
    pub fn predict_proba(
        &self,
        statistics: &CategoricalStatistics,
        values: &[Option<u32>],
        out: &mut Vec<f64>,
    ) -> usize {
        let known = self.joint_log_likelihood(statistics, values, out);
        softmax(out);
        known
    }

    /// The most probable class; ties go to the lowest id.
    pub fn predict(&self, statistics: &CategoricalStatistics, values: &[Option<u32>]) -> ClassId {
        let mut joint = Vec::new();
        self.joint_log_likelihood(statistics, values, &mut joint);
        argmax(&joint)
    }

    /// Adds the log-probability of a value. Returns `false` and adds nothing if it is missing or out of range.
    fn add(
        &self,
        statistics: &CategoricalStatistics,
        feature: usize,
        value: Option<u32>,
        out: &mut [f64],
    ) -> bool {
        let known = self.features.get(feature).zip(value);
        let Some((model, _)) = known.filter(|(model, category)| u64::from(*category) < model.n_features())
        else {
            return false;
        };
        let outcomes = &statistics.outcomes;
        // an empty row stands for an outcome never seen
        let row = outcomes.row((feature, value));
        let Ok(()) = model.add_outcome(outcomes.counts(), row.row(), out);
        true
    }
}

/// A feature and one of its outcomes (a category or a term). `None` counts the documents that have the feature.
pub(crate) type FeatureOutcome = (usize, Option<u32>);

/// The outcomes of several features, counted in one [`Statistics`]. OutcomeCounts get term ids in the order they are first
/// seen.
#[derive(Clone, Debug)]
pub(crate) struct OutcomeCounts {
    ids: BTreeMap<FeatureOutcome, TermId>,
    counts: Statistics,
}

impl OutcomeCounts {
    pub(crate) fn new(n_classes: usize) -> Self {
        OutcomeCounts { ids: BTreeMap::new(), counts: Statistics::new(n_classes) }
    }

    pub(crate) fn counts(&self) -> &Statistics {
        &self.counts
    }

    /// The term of an outcome, if it was ever counted.
    pub(crate) fn term(&self, outcome: FeatureOutcome) -> Option<TermId> {
        self.ids.get(&outcome).copied()
    }

    /// A document with one outcome; empty if the outcome was never counted.
    pub(crate) fn row(&self, outcome: FeatureOutcome) -> CountVector {
        vector(self.term(outcome).map(|term| (term, 1)).into_iter().collect())
    }

    /// The outcomes of a feature that have counts, in increasing order, with their terms.
    pub(crate) fn of_feature(
        &self,
        feature: usize,
    ) -> impl DoubleEndedIterator<Item = (u32, TermId)> + Clone {
        let range = self.ids.range((feature, Some(0))..=(feature, Some(u32::MAX)));
        let outcomes = range.filter_map(|(&(_, outcome), &term)| Some((outcome?, term)));
        outcomes.filter(|&(_, term)| self.counts.document_frequency(term) > 0)
    }

    /// The number of categories of a feature: one more than the highest one counted, and at least `min`.
    pub(crate) fn n_categories(&self, feature: usize, min: u32) -> u64 {
        self.of_feature(feature).next_back().map_or(0, |(highest, _)| u64::from(highest) + 1).max(min.into())
    }

    /// Learns a document: its distinct outcomes and their counts.
    pub(crate) fn observe(
        &mut self,
        class: ClassId,
        outcomes: &[(FeatureOutcome, u32)],
    ) -> Result<(), ObservationError> {
        let pairs = outcomes.iter().map(|&(outcome, count)| Ok((self.intern(outcome)?, count)));
        let pairs = pairs.collect::<Result<_, StatisticsError>>()?;
        Ok(self.counts.observe(class, vector(pairs).row())?)
    }

    /// Forgets a document that was learned.
    pub(crate) fn forget(
        &mut self,
        class: ClassId,
        outcomes: &[(FeatureOutcome, u32)],
    ) -> Result<(), ObservationError> {
        let pair = |&((feature, outcome), count): &(FeatureOutcome, u32)| {
            let term = self.term((feature, outcome)).filter(|&term| self.counts.document_frequency(term) > 0);
            let unseen = ObservationError::Unseen { feature, got: outcome.unwrap_or(0) };
            term.map(|term| (term, count)).ok_or(unseen)
        };
        let pairs = outcomes.iter().map(pair).collect::<Result<_, _>>()?;
        Ok(self.counts.forget(class, vector(pairs).row())?)
    }

    pub(crate) fn merge(&mut self, other: &OutcomeCounts) -> Result<(), ObservationError> {
        let mut map = vec![0; other.ids.len()];
        for (&outcome, &term) in &other.ids {
            map[term as usize] = self.intern(outcome)?;
        }
        Ok(self.counts.merge_mapped(&other.counts, &map)?)
    }

    /// The term of an outcome; a new outcome gets the next id.
    fn intern(&mut self, outcome: FeatureOutcome) -> Result<TermId, StatisticsError> {
        let got = self.ids.len() as u64;
        let next = TermId::try_from(got);
        let next = next.map_err(|_| StatisticsError::Full { expected: TermId::MAX.into(), got })?;
        Ok(*self.ids.entry(outcome).or_insert(next))
    }

    fn cells(&self) -> impl Iterator<Item = (FeatureOutcome, Vec<Cell>)> {
        let cells = self.ids.iter().map(|(&outcome, &term)| (outcome, self.counts.cells(term).collect()));
        cells.filter(|(_, cells): &(_, Vec<_>)| !cells.is_empty())
    }
}

/// A count vector of distinct terms.
fn vector(pairs: Vec<(TermId, u32)>) -> CountVector {
    // terms are distinct, so nothing overflows
    CountVector::from_pairs(pairs).unwrap_or_default()
}

impl PartialEq for OutcomeCounts {
    /// Compares what was learned, not the ids.
    fn eq(&self, other: &Self) -> bool {
        self.counts.totals() == other.counts.totals() && self.cells().eq(other.cells())
    }
}

#[cfg(test)]
mod tests {
    use tamis_model::StatisticsError;

    use super::*;

    const ROWS: [(ClassId, [Option<u32>; 2]); 4] =
        [(0, [Some(0), Some(5)]), (1, [Some(1), None]), (1, [None, Some(5)]), (0, [Some(0), Some(2)])];

    fn learned(rows: &[(ClassId, [Option<u32>; 2])]) -> CategoricalStatistics {
        let mut statistics = CategoricalStatistics::new(2, [3, 0]);
        rows.iter().for_each(|(class, values)| statistics.observe(*class, values).unwrap());
        statistics
    }

    #[test]
    fn order_shards_and_what_was_forgotten_leave_no_trace() {
        let expected = learned(&ROWS);
        let mut reversed = ROWS;
        reversed.reverse();
        assert_eq!(learned(&reversed), expected);
        let mut merged = learned(&reversed[..2]);
        merged.merge(&learned(&ROWS[..2])).unwrap();
        assert_eq!(merged, expected);
        assert_ne!(learned(&ROWS[..3]), expected);
        ROWS.iter().for_each(|(class, values)| merged.forget(*class, values).unwrap());
        assert_eq!(merged, learned(&[]));
        // forgotten categories are gone, declared ones stay
        assert_eq!((merged.n_categories(0), merged.n_categories(1), merged.n_categories(2)), (3, 0, 0));
    }

    #[test]
    fn an_error_changes_nothing() {
        let mut s = learned(&ROWS);
        let unknown = StatisticsError::UnknownClass { expected: 2, got: 2 };
        assert_eq!(s.observe(2, &[None, Some(77)]), Err(unknown.into()));
        assert_eq!(s.observe(0, &[None]), Err(ObservationError::Features { expected: 2, got: 1 }));
        assert_eq!(s.forget(0, &[None, Some(7)]), Err(ObservationError::Unseen { feature: 1, got: 7 }));
        assert!(matches!(s.forget(1, &[Some(0), None]), Err(ObservationError::Counts(_))));
        assert_eq!(s.merge(&CategoricalStatistics::new(2, [3])), Err(ObservationError::Schema));
        assert!(s.merge(&CategoricalStatistics::new(3, [3, 0])).is_err());
        assert_eq!(s, learned(&ROWS));
        assert_eq!((s.n_categories(1), s.category_count(1, 5, 1), s.category_count(1, 77, 0)), (6, 1, 0));
    }

    #[test]
    fn the_greatest_category_costs_no_more_than_another() {
        let mut s = CategoricalStatistics::new(1, [0]);
        s.observe(0, &[Some(u32::MAX)]).unwrap();
        assert_eq!(s.n_categories(0), 1 << 32);
        let model = CategoricalNaiveBayes::new(&ClassPrior::Learned, Smoothing::LAPLACE, &s).unwrap();
        let p = model.feature_log_prob(&s, 0, 7).unwrap()[0];
        assert!((p + ((1u64 << 32) as f64 + 1.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_missing_or_out_of_range_says_nothing() {
        let s = learned(&ROWS);
        let model = CategoricalNaiveBayes::new(&ClassPrior::Learned, Smoothing::LAPLACE, &s).unwrap();
        let joint = |values: &[Option<u32>]| {
            let mut out = Vec::new();
            (model.joint_log_likelihood(&s, values, &mut out), out)
        };
        assert_eq!(joint(&[None, None]), (0, model.class_log_prior().to_vec()));
        assert_eq!(joint(&[Some(3), Some(6)]), joint(&[]));
        assert_eq!(joint(&[Some(1), Some(u32::MAX)]), joint(&[Some(1)]));
        // declared but never seen: (0 + 1) / (2 + 3) in class 0, (0 + 1) / (1 + 3) in class 1
        let (known, out) = joint(&[Some(2), None, Some(1)]);
        assert_eq!(known, 1);
        assert!((out[0] - (0.5 / 5.0f64).ln()).abs() < 1e-12 && (out[1] - (0.5 / 4.0f64).ln()).abs() < 1e-12);
    }
}
