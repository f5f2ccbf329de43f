use std::collections::BTreeMap;

use crate::logs::log_smoothed;
use crate::{Cell, ClassTotals, Counting, Likelihood, Parameters};

/// How the counts of a term become a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    likelihood: Likelihood,
    presence: bool,
    alpha: f64,
}

/// What is the same for all terms of a class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    /// Tokens (multinomial) or documents (Bernoulli).
    total: u64,
    /// The logarithm of the denominator of p(t|c).
    log_total: f64,
    /// The weight of a term that the class does not have.
    pub(crate) absent: f64,
}

impl Rule {
    pub(crate) fn new(parameters: &Parameters) -> Rule {
        let likelihood = parameters.likelihood;
        let presence = likelihood == Likelihood::Bernoulli || parameters.counting == Counting::Presence;
        Rule { likelihood, presence, alpha: parameters.alpha.alpha() }
    }

    pub(crate) fn class(&self, totals: &ClassTotals, n_features: u64) -> Class {
        let (total, outcomes) = match self.likelihood {
            Likelihood::Bernoulli => (totals.documents, 2.0),
            // a model without features weighs nothing: any outcomes will do
            Likelihood::Multinomial => {
                (if self.presence { totals.df } else { totals.tf }, n_features.max(1) as f64)
            }
        };
        let log_total = log_smoothed(total, self.alpha, outcomes);
        let mut class = Class { total, log_total, absent: 0.0 };
        class.absent = self.weight(&class, 0);
        class
    }

    /// What is counted of a term in a class.
    pub(crate) fn evidence(&self, cell: Cell) -> u64 {
        u64::from(if self.presence { cell.df } else { cell.tf })
    }

    /// What is counted of a term in the document.
    pub(crate) fn count(&self, count: u32) -> f64 {
        if self.presence { 1.0 } else { f64::from(count) }
    }

    /// log p(t|c) of a term counted `n` times in the class; never above 0, whatever a file says.
    pub(crate) fn log_prob(&self, class: &Class, n: u64) -> f64 {
        ((n.min(class.total) as f64 + self.alpha).ln() - class.log_total).min(0.0)
    }

    /// log (1 - p(t|c)) for Bernoulli, without subtracting from 1.
    fn log_not(&self, class: &Class, n: u64) -> f64 {
        self.log_prob(class, class.total - n.min(class.total))
    }

    /// What one occurrence adds to the joint log-likelihood, compared with none.
    pub(crate) fn weight(&self, class: &Class, n: u64) -> f64 {
        match self.likelihood {
            Likelihood::Bernoulli => self.log_prob(class, n) - self.log_not(class, n),
            Likelihood::Multinomial => self.log_prob(class, n),
        }
    }

    /// The sum of log (1 - p) over all features, for Bernoulli; document frequency by document frequency, so
    /// that the order of the terms does not matter.
    pub(crate) fn log_absence(&self, class: &Class, histogram: &BTreeMap<u32, u64>, n_features: u64) -> f64 {
        let present: u64 = histogram.values().sum();
        let absent = (n_features - present) as f64 * self.log_not(class, 0);
        let sum = |(&df, &n): (&u32, &u64)| n as f64 * self.log_not(class, u64::from(df));
        absent + histogram.iter().map(sum).sum::<f64>()
    }
}
