//! How well a model does on documents that it was not trained on.

pub(crate) mod cross_validation;
pub(crate) mod prequential;
