//! Changing a model: learning and forgetting one by one, adding up, writing anew.

pub(crate) mod learner;
pub(crate) mod merge;
pub(crate) mod options;
pub(crate) mod rewrite;
