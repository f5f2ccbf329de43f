//! Trains a model on the messages that the owner has filed, and shows how it would have sorted the last month.

pub(crate) mod learn;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod spool;
