//! Terms to numbers, and how often they occur.
//!
//! A [`Vocabulary`](vocabulary::Vocabulary) finds terms by their [`fingerprint`](mod@fingerprint) in a [`table`], and counts the document
//! at hand there ([`tally`]). A [`vector`] holds the counts of one document, a [`matrix`] those of many.

pub(crate) mod fingerprint;
pub(crate) mod matrix;
pub(crate) mod table;
pub(crate) mod tally;
pub(crate) mod vector;
pub(crate) mod vocabulary;
