//! Configuration: recipe (documents to terms), scoring (counts to scores), decision (scores to verdicts), training.

pub mod column;
pub mod columns;
pub mod decision;
pub mod guess;
pub mod keep;
pub mod label_set;
pub mod labels;
pub mod options;
pub mod recipe;
pub mod roles;
pub mod scoring;
pub mod training;
