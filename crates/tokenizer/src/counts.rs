//! The vocabulary and count vectors: terms to ids and counts.
//!
//! A [`Vocabulary`](vocabulary::Vocabulary) finds terms by their [`fingerprint`](mod@fingerprint) in a hash [`table`]
//! and counts the terms of the current document ([`tally`]). A [`vector`] holds the counts of one document.

pub(crate) mod fingerprint;
pub(crate) mod table;
pub(crate) mod tally;
pub(crate) mod term_texts;
pub(crate) mod vector;
pub(crate) mod vocabulary;
pub(crate) mod word_pieces;
