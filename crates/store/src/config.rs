//! Configuration: recipe (documents to terms), scoring (counts to scores), decision (scores to verdicts), training.

pub mod column;
pub mod columns;
pub mod decision;
pub mod labels;
pub mod options;
pub mod recipe;
pub mod refinement;
pub mod scoring;
pub mod training;
