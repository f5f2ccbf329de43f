//! Models as lines of JSON and back; models of other programs.

pub(crate) mod export;
pub(crate) mod import;
