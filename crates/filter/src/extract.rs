//! Extraction: documents to counts of terms.

pub(crate) mod counted;
pub(crate) mod digest;
pub(crate) mod document;
pub(crate) mod extractor;
