//! Expectation maximization: learning from documents without labels.

pub(crate) mod em;
pub(crate) mod error;
pub(crate) mod expected;
pub(crate) mod expected_bayes;
pub(crate) mod expected_error;
