//! Real values: expected counts and expectation maximization (EM), moments and normal distributions, and mixed naive
//! Bayes over the columns of a table.

mod em;
mod expected;
mod expected_bayes;
mod gaussian;
mod gaussian_statistics;
mod mixed;
mod mixed_calibration;
mod moments;

pub use em::{Em, EmOptions};
pub use expected::{EmError, ExpectedError, ExpectedStatistics};
pub use expected_bayes::ExpectedNaiveBayes;
pub use gaussian::{GaussianFeature, GaussianParameters};
pub use gaussian_statistics::GaussianStatistics;
pub use mixed::{ColumnLikelihood, MixedChoices, MixedNaiveBayes, Trust};
pub use mixed_calibration::{MixedFit, RowPrediction};
pub use moments::{Moments, checked};
