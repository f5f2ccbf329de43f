//! Textbook methods in addition to the main models: categorical and mixed naive Bayes, cost matrices, Beta and
//! Dirichlet estimates, sampling.

pub(crate) mod categorical;
pub(crate) mod decision;
pub(crate) mod estimate;
pub(crate) mod mixed;
pub(crate) mod mixed_fit;
pub(crate) mod mixed_statistics;
pub(crate) mod sample;
