//! Updating a model: learn and forget one document at a time, merge, rewrite, retrain.

pub(crate) mod learner;
pub(crate) mod messages;
pub(crate) mod options;
