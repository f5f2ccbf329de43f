//! Trains a model on a mailbox: fetches what its owner has filed, and shows how the last month would have been sorted.

pub(crate) mod learn;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod spool;
