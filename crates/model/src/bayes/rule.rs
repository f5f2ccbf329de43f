//! Log-probabilities and weights of a term, from its counts in a class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bayes::features::Mass;
use crate::bayes::likelihood::Likelihood;
use crate::bayes::parameters::Parameters;
use crate::counts::{Cell, ClassId, ClassTotals, Scalars, TermEntry};
use crate::numbers::log_smoothed;

/// Turns the counts of a term, integer or expected, into a probability; for the complement likelihoods, into a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) likelihood: Likelihood,
    presence: bool,
    alpha: f64,
}

/// The counts of a class that its probabilities may be relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassCounts {
    pub(crate) documents: f64,
    /// The count of all features in the class.
    pub(crate) tokens: f64,
    /// The count of all features in the other classes.
    pub(crate) other_tokens: f64,
}

/// The numbers that all terms of a class share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassLikelihood {
    /// The count that probabilities are relative to: tokens (multinomial), documents (Bernoulli), tokens of the other
    /// classes (complement).
    total: f64,
    /// The logarithm of the denominator of p(t|c), or of p(t|not c) for the complement.
    pub(crate) log_total: f64,
    /// The factor of complement weights; 0 for the other likelihoods.
    pub(crate) scale: f64,
    /// The weight of a term that the class lacks; for the complement, without the part that depends on the term.
    absent: Weight,
}

/// The logarithm of a ratio of products, with zero factors counted separately: `exp(finite) * 0^zeros`.
///
/// Without smoothing a probability can be 0 and its logarithm infinite. Counting zeros keeps sums of such logarithms
/// from becoming infinity minus infinity, which is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub(crate) struct Weight {
    pub(crate) finite: f64,
    /// A whole number.
    pub(crate) zeros: f64,
}

impl From<f64> for Weight {
    fn from(log_prob: f64) -> Self {
        let zeros = f64::from(u8::from(log_prob == f64::NEG_INFINITY));
        Weight { finite: if zeros > 0.0 { 0.0 } else { log_prob }, zeros }
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> Self {
        weight.value()
    }
}

impl Weight {
    pub(crate) fn plus(self, other: Weight) -> Weight {
        Weight { finite: self.finite + other.finite, zeros: self.zeros + other.zeros }
    }

    pub(crate) fn minus(self, other: Weight) -> Weight {
        Weight { finite: self.finite - other.finite, zeros: self.zeros - other.zeros }
    }

    /// The logarithm of the `n`-th power.
    fn times(self, n: f64) -> Weight {
        Weight { finite: n * self.finite, zeros: n * self.zeros }
    }

    pub(crate) fn value(self) -> f64 {
        match self.zeros {
            0.0 => self.finite,
            zeros => -zeros.signum() * f64::INFINITY,
        }
    }
}

impl ClassLikelihood {
    /// Sets the factor of complement weights.
    fn rescale(&mut self, scale: f64) {
        self.scale = scale;
        self.absent.finite = scale * self.log_total;
    }

    /// Whether all numbers are finite and in range; a check for values read from elsewhere.
    pub(crate) fn is_finite(&self) -> bool {
        self.total >= 0.0
            && [self.total, self.log_total, self.scale, self.absent.value()].into_iter().all(f64::is_finite)
    }

    /// The weight of a document's features, from the document's sums, in a class that has none of them.
    pub(crate) fn absence(&self, document: &Scalars) -> Weight {
        let finite = document.weight * self.absent.finite - self.scale * document.absent;
        Weight { finite, zeros: document.weight * self.absent.zeros }
    }
}

impl Rule {
    pub(crate) fn new(parameters: &Parameters) -> Rule {
        Rule {
            likelihood: parameters.likelihood,
            presence: parameters.counts_presence(),
            alpha: parameters.alpha.alpha(),
        }
    }

    /// The rule for expected counts.
    pub(crate) fn for_expected(likelihood: Likelihood, alpha: f64) -> Rule {
        Rule { likelihood, presence: likelihood.counts_presence_only(), alpha }
    }

    /// Whether probabilities can be 0, so that zero factors must be counted.
    pub(crate) fn has_zeros(&self) -> bool {
        self.alpha == 0.0
    }

    /// The counts of a class with these `totals`. `all` is the count of all features in all classes.
    pub(crate) fn class_counts(&self, totals: &ClassTotals, all: u64) -> ClassCounts {
        let tokens = self.tokens(totals);
        let (documents, others) = (totals.documents, all.saturating_sub(tokens));
        ClassCounts { documents: documents as f64, tokens: tokens as f64, other_tokens: others as f64 }
    }

    /// The numbers shared by the terms of a class.
    pub(crate) fn class(&self, counts: ClassCounts, n_features: u64) -> ClassLikelihood {
        // a model without features has no weights, so any number will do
        let n_features = n_features.max(1) as f64;
        let (total, outcomes) = match self.likelihood {
            Likelihood::Bernoulli => (counts.documents, 2.0),
            Likelihood::Multinomial => (counts.tokens, n_features),
            Likelihood::Complement | Likelihood::ComplementNormalized => (counts.other_tokens, n_features),
        };
        let log_total = log_smoothed(total, self.alpha, outcomes);
        let mut class = ClassLikelihood { total, log_total, scale: 0.0, absent: Weight::default() };
        if self.likelihood.is_complement() {
            class.rescale(1.0);
        } else {
            class.absent = self.weight(&class, 0.0, 0.0);
        }
        class
    }

    /// Divides the weights of a class by their sum over all features. `log_counts` is the sum of the logarithms of the
    /// smoothed counts outside the class. A single feature weighs nothing.
    pub(crate) fn normalize(&self, class: &mut ClassLikelihood, log_counts: f64, n_features: u64) {
        let sum = n_features as f64 * class.log_total - log_counts;
        class.rescale(if n_features > 1 && sum > 0.0 { 1.0 / sum } else { 0.0 });
    }

    /// The count of all features in a class.
    pub(crate) fn tokens(&self, totals: &ClassTotals) -> u64 {
        if self.presence { totals.df } else { totals.tf }
    }

    /// The count of a term in a class.
    pub(crate) fn evidence(&self, cell: Cell) -> u64 {
        u64::from(if self.presence { cell.df } else { cell.tf })
    }

    /// The factor of a term that occurs `count` times in the document.
    pub(crate) fn count(&self, count: u32) -> f64 {
        if self.presence { 1.0 } else { f64::from(count) }
    }

    /// log p(t|c) of a term counted `n` times in the class; never above 0, even for corrupt counts. Minus infinity for
    /// `n` 0 without smoothing.
    pub(crate) fn log_prob(&self, class: &ClassLikelihood, n: f64) -> f64 {
        match n.min(class.total) + self.alpha {
            0.0 => f64::NEG_INFINITY,
            n => (n.ln() - class.log_total).min(0.0),
        }
    }

    /// log (1 - p(t|c)), for Bernoulli, without cancellation.
    pub(crate) fn log_not(&self, class: &ClassLikelihood, n: f64) -> f64 {
        self.log_prob(class, class.total - n.min(class.total))
    }

    /// The sum of the log-probabilities of a feature's outcomes: for Bernoulli, that it is present and that it is
    /// absent; otherwise [`log_prob`](Self::log_prob).
    pub(crate) fn log_outcomes(&self, class: &ClassLikelihood, n: f64) -> f64 {
        match self.likelihood {
            Likelihood::Bernoulli => self.log_prob(class, n) + self.log_not(class, n),
            _ => self.log_prob(class, n),
        }
    }

    /// The count of a term in all classes.
    pub(crate) fn total(&self, mass: Mass) -> u64 {
        if self.presence { mass.df } else { mass.tf }
    }

    /// ln(count + alpha) of a term counted `n` times in a class and `total - n` outside it, for the complement.
    pub(crate) fn log_count(&self, total: f64, n: f64) -> f64 {
        ((total - n).max(0.0) + self.alpha).ln()
    }

    /// The contribution of one occurrence to the joint log-likelihood. `total` is the count of the term in all classes,
    /// `n` the count in this one.
    pub(crate) fn weight(&self, class: &ClassLikelihood, total: f64, n: f64) -> Weight {
        match self.likelihood {
            Likelihood::Bernoulli => {
                Weight::from(self.log_prob(class, n)).minus(Weight::from(self.log_not(class, n)))
            }
            Likelihood::Multinomial => Weight::from(self.log_prob(class, n)),
            Likelihood::Complement | Likelihood::ComplementNormalized => {
                Weight { finite: class.scale * (class.log_total - self.log_count(total, n)), zeros: 0.0 }
            }
        }
    }

    /// The weight of one occurrence in a class that has the term, minus that in a class that lacks it.
    fn presence(&self, class: &ClassLikelihood, total: f64, n: f64) -> Weight {
        match self.likelihood {
            Likelihood::Bernoulli | Likelihood::Multinomial => {
                self.weight(class, total, n).minus(class.absent)
            }
            Likelihood::Complement | Likelihood::ComplementNormalized => {
                let log_ratio = self.log_count(total, 0.0) - self.log_count(total, n);
                Weight { finite: class.scale * log_ratio, zeros: 0.0 }
            }
        }
    }

    /// Writes the weights of one occurrence of a feature to `out`. `total` is the count of the term in all classes,
    /// `counts` has its count in each class that contains it.
    pub(crate) fn weigh_term(
        &self,
        classes: &[ClassLikelihood],
        total: f64,
        counts: impl Iterator<Item = (ClassId, f64)>,
        out: &mut TermEntry,
    ) {
        let absent = if self.likelihood.is_complement() { self.log_count(total, 0.0) } else { 0.0 };
        (out.is_known, out.weight, out.absent) = (true, 1.0, absent);
        for (class, n) in counts {
            let at = usize::from(class);
            let Some(class) = classes.get(at) else { continue };
            let Weight { finite, zeros } = self.presence(class, total, n);
            out.cells.push((at, finite));
            if self.has_zeros() {
                out.cells.push((classes.len() + at, zeros));
            }
        }
    }

    /// The sum of log (1 - p) over all features, for Bernoulli. Summed by document frequency, so that the order of the
    /// terms does not matter.
    pub(crate) fn log_absence(
        &self,
        class: &ClassLikelihood,
        histogram: &BTreeMap<u32, u64>,
        n_features: u64,
    ) -> Weight {
        let present: u64 = histogram.values().sum();
        let absent = Weight::from(self.log_not(class, 0.0)).times((n_features - present) as f64);
        let log_not = |df: u32, n: u64| Weight::from(self.log_not(class, f64::from(df))).times(n as f64);
        absent.plus(histogram.iter().fold(Weight::default(), |sum, (&df, &n)| sum.plus(log_not(df, n))))
    }
}
