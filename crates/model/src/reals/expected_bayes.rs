//! Naive Bayes over expected (real-valued) counts.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::{
    ClassCounts, ClassLikelihood, ClassPrior, FeatureSum, Likelihood, ParametersError, Rule, Smoothing,
};
use crate::counts::{
    ClassId, ClassWeights, DocumentSums, KnownTerm, TermEntry, TermTable, Transform, WeightedRow,
    log_documents,
};
use crate::reals::expected::{ExpectedStatistics, term_ids};

/// Naive Bayes over expected (real-valued) counts: the counterpart of [`NaiveBayes`](crate::NaiveBayes), equal to it if
/// all weights are whole counts. It holds a few numbers per class; the weights of a term are computed from its counts
/// when a document contains it.
///
/// * Multinomial: `p(t|c) = (w_tc + alpha) / (w_c + alpha V)`, with the weight `w_tc` of the term in the class,
///   the [total](ExpectedStatistics::totals) `w_c` of the class and `V` known terms. A document's log-likelihood is the
///   sum of its weights times `ln p(t|c)`.
/// * Bernoulli: `p(t|c) = (w_tc + alpha) / (d_c + 2 alpha)`, with the [documents](ExpectedStatistics::class_weights)
///   `d_c` of the class. Only presence counts, so the statistics must be of
///   [`Counting::Presence`](crate::Counting::Presence).
/// * Complement: an occurrence weighs `-ln((w_t - w_tc + alpha) / (w - w_c + alpha V))`, with the sums `w_t` and `w`
///   over all classes; the normalised form divides by the sum of these weights over all features. A document's score is
///   the sum of its weights times these, without a prior; it is not a log-likelihood. The difference `w_t - w_tc` is
///   rounded by about 1e-16 of `w_t`.
///
/// Unknown terms are skipped. All logarithms are natural (nats); vectors over classes are in class order. The weights
/// passed to a method must be those that the model was fitted to; with others the result is meaningless.
///
/// ```
/// use tamis_model::{
///     ClassPrior, Counting, ExpectedNaiveBayes, ExpectedStatistics, Likelihood, Smoothing, WeightedVector,
/// };
///
/// let mut statistics = ExpectedStatistics::new(2, Counting::Occurrences);
/// statistics.observe(0, WeightedVector::from_pairs([(0, 1.0)])?.row(), 2.0)?;
/// statistics.observe(1, WeightedVector::from_pairs([(1, 2.5)])?.row(), 1.0)?;
/// let (alpha, prior) = (Smoothing::try_from(0.1)?, ClassPrior::Smoothed);
/// let model = ExpectedNaiveBayes::fit(&statistics, Likelihood::Multinomial, alpha, &prior)?;
/// let mut joint = Vec::new();
/// model.joint_log_likelihood(&statistics, WeightedVector::from_pairs([(1, 0.5)])?.row(), &mut joint)?;
/// assert!(joint[1] > joint[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedNaiveBayes {
    likelihood: Likelihood,
    alpha: f64,
    n_features: u64,
    classes: Vec<ClassLikelihood>,
    class_log_prior: Vec<f64>,
    intercept: Vec<f64>,
}

impl ExpectedNaiveBayes {
    /// Derives the model. Passes over the weights of all terms.
    ///
    /// # Errors
    /// No classes; no smoothing; a prior that does not fit the classes, such as a learned one if a class has no
    /// documents.
    pub fn fit(
        statistics: &ExpectedStatistics,
        likelihood: Likelihood,
        alpha: Smoothing,
        prior: &ClassPrior,
    ) -> Result<ExpectedNaiveBayes, ParametersError> {
        if statistics.class_weights().is_empty() {
            return Err(ParametersError::NoClasses);
        }
        if alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: alpha.alpha() });
        }
        let class_log_prior = prior.log_prior_of(statistics.class_weights())?;
        let n_features =
            term_ids(statistics).filter(|&t| statistics.weights(t).next().is_some()).count() as u64;
        let alpha = alpha.alpha();
        let rule = Rule::for_expected(likelihood, alpha);
        let all: f64 = statistics.totals().iter().sum();
        let class = |(&documents, &total): (&f64, &f64)| {
            let counts = ClassCounts { documents, tokens: total, other_tokens: (all - total).max(0.0) };
            rule.class(counts, n_features)
        };
        let classes = statistics.class_weights().iter().zip(statistics.totals()).map(class).collect();
        let mut intercept = class_log_prior.clone();
        if likelihood.is_complement() {
            intercept.fill(0.0);
        }
        let mut model =
            ExpectedNaiveBayes { likelihood, alpha, n_features, classes, class_log_prior, intercept };
        match likelihood.feature_sum() {
            FeatureSum::None => {}
            FeatureSum::LogAbsence => {
                let absence = model.sum_over_features(statistics, |class, n| rule.log_not(class, n));
                model.intercept.iter_mut().zip(absence).for_each(|(sum, absence)| *sum += absence);
            }
            FeatureSum::ComplementWeights => model.normalize(statistics),
        }
        Ok(model)
    }

    /// Divides the complement weights of each class by their sum over all features. A single feature weighs nothing.
    fn normalize(&mut self, statistics: &ExpectedStatistics) {
        // `absent` is the sum for a class without any of the features, `sums` what each class adds to it
        let (rule, mut absent, mut sums) = (self.rule(), 0.0, vec![0.0; self.classes.len()]);
        for term in term_ids(statistics).filter(|&term| statistics.weights(term).next().is_some()) {
            let total = statistics.weights(term).map(|(_, n)| n).sum();
            let log_absent = rule.log_count(total, 0.0);
            absent += log_absent;
            for (class, n) in statistics.weights(term) {
                sums[usize::from(class)] += rule.log_count(total, n) - log_absent;
            }
        }
        for (class, sum) in self.classes.iter_mut().zip(sums) {
            rule.normalize(class, absent + sum, self.n_features);
        }
    }

    /// Whether all numbers are finite and consistent. Checks a model that was deserialized.
    pub fn is_consistent(&self) -> bool {
        let n = self.classes.len();
        let lists = [&self.class_log_prior, &self.intercept];
        n > 0
            && self.alpha > 0.0
            && self.classes.iter().all(ClassLikelihood::is_finite)
            && lists.iter().all(|list| list.len() == n)
            && lists.into_iter().flatten().copied().chain([self.alpha]).all(f64::is_finite)
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The number of features: the known terms.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The joint log-likelihood of a document without features: the log-prior; for Bernoulli, plus the log-probability
    /// that all features are absent; 0 for the complement likelihoods.
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The logarithm of `p(term | class)`; for the complement likelihoods, the weight of an occurrence. `None` if the
    /// term or the class is unknown.
    ///
    /// # Errors
    /// Reading the weights fails.
    pub fn feature_log_prob<W: ClassWeights>(
        &self,
        weights: &W,
        term: TermId,
        class: ClassId,
    ) -> Result<Option<f64>, W::Error> {
        let (mut known, mut n, mut total) = (false, 0.0, 0.0);
        weights.for_each_weight(term, |c, weight| {
            known = true;
            total += weight;
            if c == class {
                n = weight;
            }
        })?;
        let class = self.classes.get(usize::from(class)).filter(|_| known);
        Ok(class.map(|class| match self.likelihood.is_complement() {
            true => self.rule().weight(class, total, n).value(),
            false => self.rule().log_prob(class, n),
        }))
    }

    fn rule(&self) -> Rule {
        Rule::for_expected(self.likelihood, self.alpha)
    }

    /// Writes the joint log-likelihood of the document and each class to `out`; returns the number of its known terms.
    /// Work grows with the cells of the terms plus the number of classes.
    ///
    /// # Errors
    /// Reading the weights fails; `out` is then unspecified.
    pub fn joint_log_likelihood<W: ClassWeights>(
        &self,
        weights: &W,
        row: WeightedRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, W::Error> {
        let (mut known, mut entry, mut sums) = (Vec::new(), TermEntry::default(), DocumentSums::default());
        sums.columns.extend_from_slice(&self.intercept);
        for (term, amount) in row.iter() {
            known.clear();
            weights.for_each_weight(term, |class, weight| known.push((class, weight)))?;
            entry.clear();
            self.weigh(&known, &mut entry);
            sums.add(&entry, if self.likelihood.counts_presence_only() { 1.0 } else { amount });
        }
        *out = self.with_absence(&sums);
        Ok(sums.scalars.known)
    }

    fn with_absence(&self, DocumentSums { scalars, columns }: &DocumentSums) -> Vec<f64> {
        let classes = columns.iter().zip(&self.classes);
        classes.map(|(sum, class)| sum + class.absence(scalars).finite).collect()
    }

    /// The factor of a term that occurs `count` times in the document.
    #[inline]
    pub fn amount(&self, transform: &Transform, count: u32) -> f64 {
        if self.likelihood.counts_presence_only() { 1.0 } else { transform.amount(count) }
    }

    /// Writes the weights of a term to `out`; none if `transform` gives the term weight 0. `documents` is the number of
    /// documents that the term was counted in.
    pub fn weigh_term(
        &self,
        transform: &Transform,
        documents: u64,
        known: KnownTerm<'_>,
        out: &mut TermEntry,
    ) {
        out.clear();
        out.full = transform.rarity(known.document_frequency(), log_documents(documents));
        if out.full > 0.0 {
            self.weigh(known.weights, out);
            out.weight *= if self.likelihood.counts_presence_only() { 1.0 } else { out.full };
        }
    }

    /// Writes the weights of a term to `out`, per unit of its weight in the document; none if `weights` is empty.
    fn weigh(&self, weights: &[(ClassId, f64)], out: &mut TermEntry) {
        if !weights.is_empty() {
            let total = weights.iter().map(|(_, n)| n).sum();
            self.rule().weigh_term(&self.classes, total, weights.iter().copied(), out);
        }
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), from the sums over the document's transformed terms.
    pub fn joint_log_likelihood_of(
        &self,
        transform: &Transform,
        sums: &DocumentSums,
        out: &mut Vec<f64>,
    ) -> usize {
        let DocumentSums { scalars, columns } = sums;
        let scale =
            if self.likelihood.counts_presence_only() { 1.0 } else { transform.scale(scalars.full_square) };
        let terms = self.classes.iter().zip(columns);
        let of_terms = |(class, sum): (&ClassLikelihood, &f64)| sum + class.absence(scalars).finite;
        out.clear();
        out.extend(self.intercept.iter().zip(terms).map(|(start, terms)| start + scale * of_terms(terms)));
        scalars.known
    }

    /// The log-density, up to a constant, of the prior for which the `p(t|c)` are the posterior mode: Dirichlet with
    /// parameters `alpha + 1` (multinomial), or Beta with both parameters `alpha + 1` (Bernoulli).
    pub(crate) fn log_prior_density(&self, statistics: &ExpectedStatistics) -> f64 {
        let rule = self.rule();
        let density = self.sum_over_features(statistics, |class, n| rule.log_outcomes(class, n));
        self.alpha * density.iter().sum::<f64>()
    }

    /// The sum of `f` over all features, for each class.
    fn sum_over_features(
        &self,
        statistics: &ExpectedStatistics,
        f: impl Fn(&ClassLikelihood, f64) -> f64,
    ) -> Vec<f64> {
        let absent: Vec<f64> = self.classes.iter().map(|class| f(class, 0.0)).collect();
        let mut sums: Vec<f64> = absent.iter().map(|absent| absent * self.n_features as f64).collect();
        for (class, n) in term_ids(statistics).flat_map(|term| statistics.weights(term)) {
            let at = usize::from(class);
            sums[at] += f(&self.classes[at], n) - absent[at];
        }
        sums
    }
}

/// The weights of all terms, each derived once.
pub(crate) struct WeighedFeatures {
    table: TermTable,
    /// The place of each term in the table.
    places: Vec<u32>,
}

impl WeighedFeatures {
    pub(crate) fn new(model: &ExpectedNaiveBayes, statistics: &ExpectedStatistics) -> Self {
        let mut table = TermTable::new(model.n_classes());
        let (mut known, mut entry) = (Vec::new(), TermEntry::default());
        let place = |term: TermId| {
            known.clear();
            known.extend(statistics.weights(term));
            entry.clear();
            model.weigh(&known, &mut entry);
            // a table that is full has 32 GiB
            table.push(&entry).unwrap_or(TermTable::NOTHING)
        };
        let places = term_ids(statistics).map(place).collect();
        WeighedFeatures { table, places }
    }

    /// As that of the model.
    pub(crate) fn joint_log_likelihood(&self, model: &ExpectedNaiveBayes, row: WeightedRow<'_>) -> Vec<f64> {
        let mut sums = DocumentSums::default();
        sums.columns.extend_from_slice(&model.intercept);
        let amount = |amount: f64| if model.likelihood.counts_presence_only() { 1.0 } else { amount };
        let place = |term: TermId| self.places.get(term as usize).copied().unwrap_or(TermTable::NOTHING);
        self.table.accumulate(row.iter().map(|(term, weight)| (place(term), amount(weight))), &mut sums);
        model.with_absence(&sums)
    }
}
