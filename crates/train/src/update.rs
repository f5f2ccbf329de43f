//! Updating a model file: learning and forgetting one document at a time, and retraining.

pub(crate) mod learner;
pub(crate) mod message_index;
pub(crate) mod record;
