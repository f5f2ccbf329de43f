//! Training: counts labelled documents, decides what is a term, and makes a model of them.

pub(crate) mod finish;
pub(crate) mod refinements;
pub(crate) mod trainer;
pub(crate) mod unlabelled;
