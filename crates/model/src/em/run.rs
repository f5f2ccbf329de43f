//! The iterations of expectation maximization.

use rayon::prelude::*;

use crate::bayes::{ClassPrior, Counting, ParametersError};
use crate::counts::{ClassId, MAX_WEIGHT, WeightedRow};
use crate::em::error::{EmError, ExpectedError};
use crate::em::expected::{ExpectedStatistics, probable};
use crate::em::expected_bayes::ExpectedNaiveBayes;
use crate::em::{Em, EmOptions, Stopped};
use crate::numbers::{SplitMix64, log_sum_exp, softmax};

/// Number of shards in which unlabelled documents are counted; fixed, so that sums do not depend on the number of
/// threads.
const SHARDS: usize = 8;

impl EmOptions {
    /// Fits a model of `n_classes` classes to labelled and unlabelled documents, in the current rayon pool. The
    /// result is the same, to the bit, for any number of threads.
    ///
    /// With `lambda` 0, unlabelled documents do not count, but their terms are features.
    ///
    /// # Errors
    /// Options out of their ranges; no classes; an unknown label; a prior that does not fit the classes.
    pub fn fit(
        &self,
        n_classes: usize,
        labelled: &[(ClassId, WeightedRow<'_>)],
        unlabelled: &[WeightedRow<'_>],
    ) -> Result<Em, EmError> {
        self.check()?;
        let only_presence = self.likelihood.counts_presence_only();
        let counting = if only_presence { Counting::Presence } else { Counting::Occurrences };
        let mut base = ExpectedStatistics::new(n_classes, counting);
        if base.n_classes() == 0 {
            return Err(ParametersError::NoClasses.into());
        }
        for &(class, row) in labelled {
            base.observe(class, row, 1.0)?;
        }
        let run = Run { options: self, labelled, unlabelled, base };
        let mut statistics = run.start()?;
        let mut objective: Vec<f64> = Vec::new();
        loop {
            let model = run.model(&statistics)?;
            let (now, posteriors) = run.expect(&statistics, &model);
            let before = objective.last().copied();
            objective.push(now);
            // written so that NaN stops EM
            let rises = |before: f64| now - before > self.tolerance * now.abs();
            let stopped = match before {
                Some(before) if !rises(before) => Stopped::Converged,
                _ if objective.len() > self.max_iterations => Stopped::MaxIterations,
                _ => {
                    statistics = run.maximize(&posteriors)?;
                    continue;
                }
            };
            return Ok(Em { statistics, model, posteriors, objective, stopped });
        }
    }

    fn check(&self) -> Result<(), EmError> {
        self.likelihood.check_generative()?;
        if !(0.0..=MAX_WEIGHT).contains(&self.lambda) {
            return Err(EmError::Lambda { expected: MAX_WEIGHT, got: self.lambda });
        }
        // written so that NaN fails
        let error = EmError::Tolerance { expected: 0.0, got: self.tolerance };
        (self.tolerance >= 0.0).then_some(()).ok_or(error)
    }
}

/// The inputs, constant over all iterations.
struct Run<'a> {
    options: &'a EmOptions,
    labelled: &'a [(ClassId, WeightedRow<'a>)],
    unlabelled: &'a [WeightedRow<'a>],
    /// The counts of the labelled documents.
    base: ExpectedStatistics,
}

type Posterior = Vec<(ClassId, f64)>;

impl Run<'_> {
    /// The initial statistics. They contain all terms, since the parameter space must not change later.
    fn start(&self) -> Result<ExpectedStatistics, EmError> {
        if self.labelled.is_empty() {
            return self.maximize(&self.random_posteriors());
        }
        let mut statistics = self.base.clone();
        for row in self.unlabelled {
            statistics.observe(0, *row, 0.0)?;
        }
        Ok(statistics)
    }

    /// Random posteriors of the unlabelled documents, uniform over the simplex.
    fn random_posteriors(&self) -> Vec<Posterior> {
        let mut random = SplitMix64::new(self.options.seed);
        let mut posterior = || {
            // logarithms of exponential variates, which become uniform over the simplex when normalized
            let mut draw = || (-((random.next_u64() >> 11) as f64 + 0.5).ln() + 53.0 * 2f64.ln()).ln();
            let mut logs: Vec<f64> = (0..self.base.n_classes()).map(|_| draw()).collect();
            softmax(&mut logs);
            probable(&logs)
        };
        self.unlabelled.iter().map(|_| posterior()).collect()
    }

    fn model(&self, statistics: &ExpectedStatistics) -> Result<ExpectedNaiveBayes, EmError> {
        let EmOptions { likelihood, alpha, prior, .. } = self.options;
        Ok(ExpectedNaiveBayes::fit(statistics, *likelihood, *alpha, prior)?)
    }

    /// The E step: the objective of the model and the posteriors of the unlabelled documents.
    fn expect(&self, statistics: &ExpectedStatistics, model: &ExpectedNaiveBayes) -> (f64, Vec<Posterior>) {
        let joint = |row| {
            let mut out = Vec::new();
            let Ok(_) = model.joint_log_likelihood(statistics, row, &mut out);
            out
        };
        let labelled: Vec<f64> =
            self.labelled.par_iter().map(|&(class, row)| joint(row)[usize::from(class)]).collect();
        let unlabelled = self.unlabelled.par_iter().map(|&row| {
            let mut joint = joint(row);
            let log_likelihood = log_sum_exp(&joint);
            softmax(&mut joint);
            (log_likelihood, probable(&joint))
        });
        let (unlabelled, posteriors): (Vec<f64>, Vec<Posterior>) = unlabelled.unzip();
        let mut objective = model.log_prior_density(statistics);
        if self.options.prior == ClassPrior::Smoothed {
            objective += model.class_log_prior().iter().sum::<f64>();
        }
        objective += labelled.iter().sum::<f64>() + self.options.lambda * unlabelled.iter().sum::<f64>();
        (objective, posteriors)
    }

    /// The M step: the counts of the labelled documents plus the expected counts of the others.
    fn maximize(&self, posteriors: &[Posterior]) -> Result<ExpectedStatistics, EmError> {
        let size = self.unlabelled.len().div_ceil(SHARDS).max(1);
        let shards = self.unlabelled.par_chunks(size).zip(posteriors.par_chunks(size));
        let count = |(rows, posteriors): (&[WeightedRow<'_>], &[Posterior])| {
            let mut shard = ExpectedStatistics::new(self.base.n_classes(), self.base.counting());
            for (row, posterior) in rows.iter().zip(posteriors) {
                shard.observe_classes(posterior, *row, self.options.lambda)?;
            }
            Ok(shard)
        };
        let shards: Vec<_> = shards.map(count).collect::<Result<_, ExpectedError>>()?;
        let mut statistics = self.base.clone();
        for shard in &shards {
            statistics.merge(shard)?;
        }
        Ok(statistics)
    }
}
