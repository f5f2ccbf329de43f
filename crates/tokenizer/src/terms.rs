//! From text to terms.
//!
//! A [`Tokenizer`](tokenizer::Tokenizer) makes terms of words ([`word_terms`]) or of characters ([`ngrams`]), as its
//! [`options`] say. Words that are not all ASCII are found and folded by [`walk`], at one look-up a character; the few that
//! this cannot settle by [`exact`].

pub(crate) mod exact;
pub(crate) mod language;
pub(crate) mod letters;
pub(crate) mod ngrams;
pub(crate) mod options;
pub(crate) mod stems;
pub(crate) mod tokenizer;
pub(crate) mod walk;
pub(crate) mod word_terms;
