//! What is asked for: how documents become terms, counts become scores, and scores decisions.

pub(crate) mod column;
pub(crate) mod columns;
pub(crate) mod decision;
pub(crate) mod keep;
pub(crate) mod labels;
pub(crate) mod recipe;
pub(crate) mod roles;
pub(crate) mod scoring;
pub(crate) mod training;
