//! The commands that answer about documents.

pub(crate) mod explain;
pub(crate) mod label;
pub(crate) mod score;
pub(crate) mod suggest;
