//! From a document to its counts.

pub(crate) mod digest;
pub(crate) mod document;
pub(crate) mod extractor;
