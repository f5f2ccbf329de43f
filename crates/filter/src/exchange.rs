//! Models as lines of JSON and back; models of other programs.

pub(crate) mod bogofilter;
pub(crate) mod draft;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod lines;
