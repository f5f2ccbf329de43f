//! Extraction: documents to counts of terms.

pub mod counted;
pub mod document;
pub mod extraction;
pub mod extractor;
pub(crate) mod part_verdict;
