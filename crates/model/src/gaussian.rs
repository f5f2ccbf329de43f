//! Models of real values: Gaussian naive Bayes and linear discriminant analysis.

mod cholesky;
mod discriminant;
mod moments;
mod naive_bayes;
mod scatter;
mod statistics;

pub use discriminant::{DiscriminantParameters, Hyperplane, LinearDiscriminant, Regularization};
pub use moments::Moments;
pub use naive_bayes::{GaussianFeature, GaussianNaiveBayes, GaussianParameters};
pub use scatter::ScatterStatistics;
pub use statistics::GaussianStatistics;
