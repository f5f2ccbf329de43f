//! Evaluation on documents that a model was not trained on: cross-validation and prequential evaluation.

pub(crate) mod cross_validation;
pub(crate) mod curves;
pub(crate) mod evaluation;
pub(crate) mod prequential;
