//! Textbook methods over the statistics of tamis-model, for study and for tests: what the engine does not use.
//!
//! It reads side by side with `docs/theory.md` of the repository. Estimates of a distribution from counts are
//! [`Dirichlet`] and [`Beta`], decisions by loss a [`CostMatrix`]. Documents are drawn from the generative model by a
//! [`Generator`]. [`CategoricalNaiveBayes`] has categories as features, [`MixedStatistics`] features of different kinds,
//! and [`LinearDiscriminant`] is Gaussian discriminant analysis with one covariance. [`GaussianNaiveBayes`]
//! has real values. Bernoulli and multinomial naive Bayes themselves are those of `tamis-model`, and so is expectation
//! maximization.
//!
//! ```
//! use tamis_textbook::Dirichlet;
//!
//! // three throws of a die with three faces: maximum likelihood, and with Laplace's prior
//! assert_eq!(Dirichlet::maximum_likelihood(&[2, 1, 0])?, [2.0 / 3.0, 1.0 / 3.0, 0.0]);
//! assert_eq!(Dirichlet::symmetric(1.0, 3)?.posterior_mean(&[2, 1, 0])?, [0.5, 2.0 / 6.0, 1.0 / 6.0]);
//! # Ok::<(), tamis_textbook::EstimateError>(())
//! ```
#![forbid(unsafe_code)]

mod estimate;

mod decision;

mod categorical;

mod gaussian;

mod mixed_statistics;

mod scatter;

mod discriminant;

mod sample;

pub use categorical::{CategoricalNaiveBayes, CategoricalStatistics};
pub use decision::{CostError, CostMatrix};
pub use discriminant::{DiscriminantParameters, Hyperplane, LinearDiscriminant, Regularization};
pub use estimate::{Beta, Dirichlet, EstimateError};
pub use gaussian::GaussianNaiveBayes;
pub use mixed_statistics::{Feature, MixedParameters, MixedStatistics, Value};
pub use sample::{Generator, SampleError, sample};
pub use scatter::ScatterStatistics;
