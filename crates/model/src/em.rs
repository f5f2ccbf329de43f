//! Expectation maximization (EM): naive Bayes from labelled and unlabelled documents.

pub(crate) mod em;
pub(crate) mod error;
pub(crate) mod expected;
pub(crate) mod expected_bayes;
pub(crate) mod expected_error;
#[cfg(feature = "fit")]
pub(crate) mod run;
