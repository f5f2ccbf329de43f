//! Expectation maximization (EM): naive Bayes from labelled and unlabelled documents.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bayes::{ClassPrior, Counting, Likelihood, ParametersError, Smoothing};
use crate::counts::{ClassId, MAX_WEIGHT, WeightedRow};
use crate::numbers::{SplitMix64, log_sum_exp, softmax};
use crate::reals::expected::{EmError, ExpectedError, ExpectedStatistics, probable};
use crate::reals::expected_bayes::{ExpectedNaiveBayes, WeighedFeatures};

/// Expectation maximization (EM): naive Bayes from documents with few or no labels.
///
/// A first model is fitted to the labelled documents. Then two steps alternate: the E step computes the posterior class
/// probabilities of each unlabelled document, and the M step fits a new model to all documents, where an unlabelled one
/// counts in every class with its posterior. Without labels EM starts from random posteriors.
///
/// No step lowers the objective. With the parameters theta, it is (in nats and up to a constant)
///
/// ```text
/// sum over labelled ln p(class, document | theta) + lambda sum over unlabelled ln p(document | theta) + ln p(theta)
/// ```
///
/// where `p(theta)` is the prior that smoothing implies. For the terms of each class it is Dirichlet (Bernoulli: Beta)
/// with parameters `alpha + 1`. For the class shares it is Dirichlet with parameters 2 if the class prior is
/// [`Smoothed`](ClassPrior::Smoothed), and flat if it is learned. (Posteriors below 1e-10 are set to 0, which costs a
/// document at most 1e-10 nats per class.)
///
/// | field | default | range |
/// | --- | --- | --- |
/// | `likelihood` | `Multinomial` | multinomial or Bernoulli |
/// | `alpha` | 0.1 | finite, > 0 |
/// | `prior` | `Smoothed` | |
/// | `lambda` | 1 | 0 to 1e100 |
/// | `max_iterations` | 10 | |
/// | `tolerance` | 1e-4 | a number, 0 or more |
/// | `seed` | 0 | |
///
/// Multinomial EM needs documents of equal length, as [`Transform`](crate::Transform) makes them by default: over raw
/// counts, posteriors are nearly 0 or 1 from the start and stay wrong. Bernoulli reads presence only.
///
/// Source: Nigam, McCallum, Thrun and Mitchell, "Text Classification from Labeled and Unlabeled Documents using
/// EM" (2000); the objective is their equation 8 with lambda.
///
/// ```
/// use tamis_model::{EmOptions, WeightedVector};
///
/// let row = |pairs: &[(u32, f64)]| WeightedVector::from_pairs(pairs.iter().copied());
/// // terms: 0 "goal", 1 "orbit", 2 "match", 3 "rocket"
/// let (sport, space) = (row(&[(0, 1.0)])?, row(&[(1, 1.0)])?);
/// let unlabelled = [row(&[(0, 1.0), (2, 1.0)])?, row(&[(1, 1.0), (3, 1.0)])?];
/// let unlabelled: Vec<_> = unlabelled.iter().map(WeightedVector::row).collect();
/// let em = EmOptions::default().fit(2, &[(0, sport.row()), (1, space.row())], &unlabelled)?;
///
/// // No labelled document has a rocket, but one with an orbit does.
/// let mut joint = Vec::new();
/// em.model.joint_log_likelihood(&em.statistics, row(&[(3, 1.0)])?.row(), &mut joint)?;
/// assert!(joint[1] > joint[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmOptions {
    /// The likelihood, not a complement. By default multinomial.
    pub likelihood: Likelihood,
    /// Additive smoothing. By default 0.1.
    pub alpha: Smoothing,
    /// The class prior. By default smoothed.
    pub prior: ClassPrior,
    /// The weight of an unlabelled document; a labelled one weighs 1. By default 1.
    pub lambda: f64,
    /// The maximum number of M steps. By default 10.
    pub max_iterations: usize,
    /// EM stops when an iteration raises the objective by no more than this share of its value. By default 1e-4.
    pub tolerance: f64,
    /// Seed of the random start, which is used without labels. By default 0.
    pub seed: u64,
}

impl Default for EmOptions {
    fn default() -> Self {
        EmOptions {
            likelihood: Likelihood::Multinomial,
            alpha: Smoothing::try_from(0.1).unwrap_or_default(),
            prior: ClassPrior::Smoothed,
            lambda: 1.0,
            max_iterations: 10,
            tolerance: 1e-4,
            seed: 0,
        }
    }
}

/// The result of [`EmOptions::fit`].
#[derive(Clone, Debug)]
pub struct Em {
    /// The expected counts of the last M step.
    pub statistics: ExpectedStatistics,
    /// The model derived from `statistics`.
    pub model: ExpectedNaiveBayes,
    /// The posterior of each unlabelled document: its classes with their probabilities, in class order. Probabilities
    /// below 1e-10 are left out.
    pub posteriors: Vec<Vec<(ClassId, f64)>>,
    /// The objective (nats) of the first model and after each iteration; it never falls. The last iteration raised it by
    /// no more than the tolerance, unless it was the last allowed.
    pub objective: Vec<f64>,
}

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
        let run = EmRun { options: self, labelled, unlabelled, base };
        let mut statistics = run.start()?;
        let mut objective: Vec<f64> = Vec::new();
        loop {
            let model = run.model(&statistics)?;
            let (now, posteriors) = run.expect(&statistics, &model);
            let before = objective.last().copied();
            objective.push(now);
            // written so that NaN stops EM
            let rises = |before: f64| now - before > self.tolerance * now.abs();
            if objective.len() > self.max_iterations || before.is_some_and(|before| !rises(before)) {
                return Ok(Em { statistics, model, posteriors, objective });
            }
            statistics = run.maximize(&posteriors)?;
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
struct EmRun<'a> {
    options: &'a EmOptions,
    labelled: &'a [(ClassId, WeightedRow<'a>)],
    unlabelled: &'a [WeightedRow<'a>],
    /// The counts of the labelled documents.
    base: ExpectedStatistics,
}

type Posterior = Vec<(ClassId, f64)>;

impl EmRun<'_> {
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
        let features = WeighedFeatures::new(model, statistics);
        let joint = |row| features.joint_log_likelihood(model, row);
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
