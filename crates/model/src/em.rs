//! Expectation maximization (EM): naive Bayes from labelled and unlabelled documents.

pub(crate) mod error;
pub(crate) mod expected;
pub(crate) mod expected_bayes;
pub(crate) mod run;

use serde::{Deserialize, Serialize};

use crate::bayes::{ClassPrior, Likelihood, Smoothing};
use crate::counts::ClassId;
use crate::em::expected::ExpectedStatistics;
use crate::em::expected_bayes::ExpectedNaiveBayes;

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
/// let Ok(class) = em.model.predict(&em.statistics, row(&[(3, 1.0)])?.row());
/// assert_eq!(class, 1);
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
    /// The objective (nats) of the first model and after each iteration; it never falls.
    pub objective: Vec<f64>,
    /// Why the iterations ended.
    pub stopped: Stopped,
}

impl Em {
    /// The number of M steps after the start.
    pub fn iterations(&self) -> usize {
        self.objective.len() - 1
    }
}

/// Why the iterations of EM ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The objective rose by no more than the tolerance.
    Converged,
    /// The maximum number of iterations was reached.
    MaxIterations,
}
