//! Naive Bayes over expected (real-valued) counts.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::error::ParametersError;
use crate::bayes::likelihood::Likelihood;
use crate::bayes::prior::ClassPrior;
use crate::bayes::smoothing::Smoothing;
use crate::counts::counts::ClassId;
use crate::counts::counts::ClassWeights;
use crate::counts::rows::WeightedRow;
use crate::counts::sums::{DocumentSums, Scalars, TermEntry};
use crate::counts::transform::{Transform, log_documents};
use crate::em::expected::{ExpectedStatistics, term_ids};
use crate::numbers::logs::{argmax, softmax};

/// Naive Bayes over expected (real-valued) counts: the counterpart of [`NaiveBayes`](crate::NaiveBayes), equal to it
/// where all weights are whole counts. It holds a few numbers per class; what a term weighs is computed from its counts
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
///   the sum of its weights times these, without a prior; it is not a log-likelihood. `w_t - w_tc` is a difference, so
///   less than 1e-16 of `w_t` is lost to rounding.
///
/// Unknown terms are skipped. All logarithms are natural (nats); vectors over classes are in class order. The weights
/// passed to a method must be those the model was fitted to; with others the result is meaningless.
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
/// let Ok(class) = model.predict(&statistics, WeightedVector::from_pairs([(1, 0.5)])?.row());
/// assert_eq!(class, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedNaiveBayes {
    likelihood: Likelihood,
    alpha: f64,
    n_features: u64,
    classes: Vec<Class>,
    class_log_prior: Vec<f64>,
    intercept: Vec<f64>,
}

impl ExpectedNaiveBayes {
    /// Derives the model. Passes over the weights of all terms.
    ///
    /// # Errors
    /// No classes; no smoothing; a prior that does not fit the classes, such as a learned one with a class without
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
        let all: f64 = statistics.totals().iter().sum();
        let class = |(&documents, &total): (&f64, &f64)| {
            let total = if likelihood.is_complement() { (all - total).max(0.0) } else { total };
            Class::new(likelihood, alpha, documents, total, n_features)
        };
        let classes = statistics.class_weights().iter().zip(statistics.totals()).map(class).collect();
        let intercept = match likelihood.is_complement() {
            true => vec![0.0; class_log_prior.len()],
            false => class_log_prior.clone(),
        };
        let mut model =
            ExpectedNaiveBayes { likelihood, alpha, n_features, classes, class_log_prior, intercept };
        match likelihood {
            Likelihood::Bernoulli => {
                let absence = model.sum_over_features(statistics, |class, n| class.log_not(alpha, n));
                model.intercept.iter_mut().zip(absence).for_each(|(sum, absence)| *sum += absence);
            }
            Likelihood::ComplementNormalized => model.normalize(statistics),
            Likelihood::Multinomial | Likelihood::Complement => {}
        }
        Ok(model)
    }

    /// Divides the complement weights of each class by their sum over all features. A single feature weighs nothing.
    fn normalize(&mut self, statistics: &ExpectedStatistics) {
        // the sum for a class that has none of the features, then what each class changes
        let (mut absent, mut sums) = (0.0, vec![0.0; self.classes.len()]);
        for term in term_ids(statistics).filter(|&term| statistics.weights(term).next().is_some()) {
            let total = statistics.weights(term).map(|(_, n)| n).sum();
            let log_absent = self.log_outside(total, 0.0);
            absent += log_absent;
            for (class, n) in statistics.weights(term) {
                sums[usize::from(class)] += self.log_outside(total, n) - log_absent;
            }
        }
        for (class, sum) in self.classes.iter_mut().zip(sums) {
            let sum = self.n_features as f64 * class.log_total - absent - sum;
            class.rescale(if self.n_features > 1 && sum > 0.0 { 1.0 / sum } else { 0.0 });
        }
    }

    /// Whether all numbers are finite and consistent; a check for a model that was deserialized.
    pub fn is_consistent(&self) -> bool {
        let n = self.classes.len();
        let lists = [&self.class_log_prior, &self.intercept];
        let numbers = |class: &Class| [class.total, class.log_total, class.scale, class.absent];
        let classes = self.classes.iter().flat_map(numbers);
        n > 0
            && self.alpha > 0.0
            && self.classes.iter().all(|class| class.total >= 0.0)
            && lists.iter().all(|list| list.len() == n)
            && classes.chain(lists.into_iter().flatten().copied()).chain([self.alpha]).all(f64::is_finite)
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The number of features, the known terms.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The joint log-likelihood of a document without features: the log-prior, for Bernoulli plus the log-probability
    /// that no feature is present; 0 for the complement likelihoods.
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The logarithm of `p(term | class)`, for the complement likelihoods the weight of an occurrence; `None` if
    /// the term or the class is not known.
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
            true => class.scale * (class.log_total - self.log_outside(total, n)),
            false => class.log_prob(self.alpha, n),
        }))
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
        out.clear();
        out.extend_from_slice(&self.intercept);
        let (mut n_known, mut sum, mut common) = (0, 0.0, 0.0);
        for (term, amount) in row.iter() {
            let amount = if self.likelihood == Likelihood::Bernoulli { 1.0 } else { amount };
            let total = self.total(weights, term)?;
            let mut known = false;
            weights.for_each_weight(term, |class, n| {
                known = true;
                let at = usize::from(class);
                if let (Some(class), Some(out)) = (self.classes.get(at), out.get_mut(at)) {
                    *out += amount * self.presence(class, total, n);
                }
            })?;
            if known {
                n_known += 1;
                sum += amount;
                if self.likelihood.is_complement() {
                    common += amount * self.log_outside(total, 0.0);
                }
            }
        }
        for (out, class) in out.iter_mut().zip(&self.classes) {
            *out += sum * class.absent - class.scale * common;
        }
        Ok(n_known)
    }

    /// The number of [`DocumentSums`] it needs: one per class.
    pub fn n_sums(&self) -> usize {
        self.classes.len()
    }

    /// The factor of a term that occurs `count` times in the document.
    #[inline]
    pub fn amount(&self, transform: &Transform, count: u32) -> f64 {
        if self.likelihood == Likelihood::Bernoulli { 1.0 } else { transform.amount(count) }
    }

    /// Writes the weights of a term to `out`, to be reused over documents; empty if it weighs nothing. `df` of
    /// `documents` contain it.
    ///
    /// # Errors
    /// Reading the weights fails.
    pub fn weigh_term<W: ClassWeights>(
        &self,
        transform: &Transform,
        [df, documents]: [u64; 2],
        weights: &W,
        term: TermId,
        out: &mut TermEntry,
    ) -> Result<(), W::Error> {
        out.clear();
        out.full = transform.rarity(df, log_documents(documents));
        if out.full <= 0.0 {
            return Ok(());
        }
        let weight = if self.likelihood == Likelihood::Bernoulli { 1.0 } else { out.full };
        let total = self.total(weights, term)?;
        weights.for_each_weight(term, |class, n| {
            (out.is_known, out.weight) = (true, weight);
            let at = usize::from(class);
            if let Some(class) = self.classes.get(at) {
                out.cells.push((at, weight * self.presence(class, total, n)));
            }
        })?;
        if out.is_known && self.likelihood.is_complement() {
            out.absent = self.log_outside(total, 0.0);
        }
        Ok(())
    }

    /// [`joint_log_likelihood`](Self::joint_log_likelihood) of a document, from the sums over its transformed terms.
    pub fn joint_log_likelihood_of(
        &self,
        transform: &Transform,
        sums: &DocumentSums,
        out: &mut Vec<f64>,
    ) -> usize {
        let Scalars { weight, full_square, absent, known, .. } = sums.scalars;
        let scale = if self.likelihood == Likelihood::Bernoulli { 1.0 } else { transform.scale(full_square) };
        let terms = self.classes.iter().zip(&sums.columns);
        let of_terms = |(class, sum): (&Class, &f64)| sum + (weight * class.absent - class.scale * absent);
        out.clear();
        out.extend(self.intercept.iter().zip(terms).map(|(start, terms)| start + scale * of_terms(terms)));
        known
    }

    /// The weight of a term in all classes; 0 for likelihoods that do not need it.
    fn total<W: ClassWeights>(&self, weights: &W, term: TermId) -> Result<f64, W::Error> {
        let mut total = 0.0;
        if self.likelihood.is_complement() {
            weights.for_each_weight(term, |_, n| total += n)?;
        }
        Ok(total)
    }

    /// The logarithm of the smoothed weight of a term outside a class in which it has weight `n`.
    fn log_outside(&self, total: f64, n: f64) -> f64 {
        ((total - n).max(0.0) + self.alpha).ln()
    }

    /// The weight of one occurrence in a class where the term has weight `n`, less that in a class that lacks it.
    fn presence(&self, class: &Class, total: f64, n: f64) -> f64 {
        match self.likelihood.is_complement() {
            true => class.scale * (self.log_outside(total, 0.0) - self.log_outside(total, n)),
            false => class.weight(self.likelihood, self.alpha, n) - class.absent,
        }
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities.
    ///
    /// # Errors
    /// Reading the weights fails.
    pub fn predict_proba<W: ClassWeights>(
        &self,
        weights: &W,
        row: WeightedRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, W::Error> {
        let known = self.joint_log_likelihood(weights, row, out)?;
        softmax(out);
        Ok(known)
    }

    /// The most probable class; ties go to the lowest id.
    ///
    /// # Errors
    /// Reading the weights fails.
    pub fn predict<W: ClassWeights>(&self, weights: &W, row: WeightedRow<'_>) -> Result<ClassId, W::Error> {
        let mut joint = Vec::new();
        self.joint_log_likelihood(weights, row, &mut joint)?;
        Ok(argmax(&joint))
    }

    /// The log-density, up to a constant, of the prior under which the `p(t|c)` are the posterior mode: Dirichlet with
    /// `alpha + 1` (multinomial), Beta with `alpha + 1` twice (Bernoulli).
    pub(crate) fn log_prior_density(&self, statistics: &ExpectedStatistics) -> f64 {
        let density = |class: &Class, n| match self.likelihood {
            Likelihood::Bernoulli => class.log_prob(self.alpha, n) + class.log_not(self.alpha, n),
            _ => class.log_prob(self.alpha, n),
        };
        self.alpha * self.sum_over_features(statistics, density).iter().sum::<f64>()
    }

    /// The sum of `f` over all features, per class.
    fn sum_over_features(&self, statistics: &ExpectedStatistics, f: impl Fn(&Class, f64) -> f64) -> Vec<f64> {
        let absent: Vec<f64> = self.classes.iter().map(|class| f(class, 0.0)).collect();
        let mut sums: Vec<f64> = absent.iter().map(|absent| absent * self.n_features as f64).collect();
        for (class, n) in term_ids(statistics).flat_map(|term| statistics.weights(term)) {
            let at = usize::from(class);
            sums[at] += f(&self.classes[at], n) - absent[at];
        }
        sums
    }
}

/// What all terms of a class share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Class {
    /// The weight of all terms of the class (multinomial) or of the other classes (complement), or its documents
    /// (Bernoulli).
    total: f64,
    /// The logarithm of the denominator of p(t|c), or of p(t|not c) for the complement.
    log_total: f64,
    /// The factor of complement weights; 0 for the other likelihoods.
    scale: f64,
    /// The weight of a term that the class lacks; for the complement, without the part that depends on the term.
    absent: f64,
}

impl Class {
    fn new(likelihood: Likelihood, alpha: f64, documents: f64, total: f64, n_features: u64) -> Class {
        let (total, outcomes) = match likelihood {
            Likelihood::Bernoulli => (documents, 2.0),
            // a model without features weighs nothing, so any number will do
            _ => (total, n_features.max(1) as f64),
        };
        // huge numbers: the same with alpha taken out of the sum
        let sum = total + alpha * outcomes;
        let log_total = if sum.is_finite() { sum.ln() } else { alpha.ln() + (total / alpha + outcomes).ln() };
        let mut class = Class { total, log_total, scale: 0.0, absent: 0.0 };
        match likelihood.is_complement() {
            true => class.rescale(1.0),
            false => class.absent = class.weight(likelihood, alpha, 0.0),
        }
        class
    }

    /// Sets the factor of complement weights.
    fn rescale(&mut self, scale: f64) {
        self.scale = scale;
        self.absent = scale * self.log_total;
    }

    /// log p(t|c) of a term of weight `n` in the class; never above 0, even for corrupt counts.
    fn log_prob(&self, alpha: f64, n: f64) -> f64 {
        ((n.min(self.total) + alpha).ln() - self.log_total).min(0.0)
    }

    /// log (1 - p(t|c)) for Bernoulli, without cancellation.
    fn log_not(&self, alpha: f64, n: f64) -> f64 {
        self.log_prob(alpha, self.total - n.min(self.total))
    }

    /// What one occurrence adds to the joint log-likelihood. Not for the complement, which depends on the other
    /// classes.
    fn weight(&self, likelihood: Likelihood, alpha: f64, n: f64) -> f64 {
        match likelihood {
            Likelihood::Bernoulli => self.log_prob(alpha, n) - self.log_not(alpha, n),
            _ => self.log_prob(alpha, n),
        }
    }
}
