//! Models of real values: Gaussian naive Bayes and linear discriminant analysis.

pub(crate) mod cholesky;
pub(crate) mod discriminant;
pub(crate) mod moments;
pub(crate) mod naive_bayes;
pub(crate) mod scatter;
pub(crate) mod statistics;
