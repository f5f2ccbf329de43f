//! Arguments that several commands share.

pub(crate) mod decision;
pub(crate) mod documents;
pub(crate) mod input;
pub(crate) mod log;
pub(crate) mod model;
pub(crate) mod recipe;
pub(crate) mod scoring;
pub(crate) mod values;
pub(crate) mod volume;
