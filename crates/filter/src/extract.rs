//! Extraction: documents to counts of terms.

pub mod counted;
pub mod digest;
pub mod document;
pub mod extractor;
