//! Naive Bayes: from counts and parameters to log-probabilities.

pub(crate) mod complement;
pub(crate) mod error;
pub(crate) mod features;
pub(crate) mod likelihood;
pub(crate) mod linear_form;
pub(crate) mod mass;
pub(crate) mod naive_bayes;
pub(crate) mod parameters;
pub(crate) mod prior;
pub(crate) mod robinson;
pub(crate) mod rule;
pub(crate) mod select;
pub(crate) mod selection;
pub(crate) mod smoothing;
pub(crate) mod summary;
