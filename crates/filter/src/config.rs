//! Configuration: recipe (documents to terms), scoring (counts to scores), decision (scores to verdicts), training.

pub(crate) mod column;
pub(crate) mod columns;
pub(crate) mod decision;
pub(crate) mod guess;
pub(crate) mod keep;
pub(crate) mod label_set;
pub(crate) mod labels;
pub(crate) mod options;
pub(crate) mod recipe;
pub(crate) mod roles;
pub(crate) mod scoring;
pub(crate) mod training;
