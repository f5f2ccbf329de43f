//! The commands that measure: models on labelled documents, and new documents against those that were learned.

pub(crate) mod arguments;
pub(crate) mod compare;
mod comparison;
mod confusion;
pub(crate) mod drift;
pub(crate) mod evaluate;
mod hold_out;
mod pictures;
mod report;
