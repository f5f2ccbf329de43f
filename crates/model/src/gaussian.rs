//! Real values: moments and Gaussian naive Bayes.

mod moments;
mod naive_bayes;
mod statistics;

pub use moments::{Moments, checked};
pub use naive_bayes::{GaussianFeature, GaussianNaiveBayes, GaussianParameters};
pub use statistics::GaussianStatistics;
