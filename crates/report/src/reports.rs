//! The pages: of an evaluation, a model, an explanation, a score, of drift.

pub(crate) mod drift;
pub(crate) mod evaluation;
pub(crate) mod explanation;
pub(crate) mod mislabels;
pub(crate) mod model;
pub(crate) mod score;
