//! From text to terms.
//!
//! A [`Tokenizer`](tokenizer::Tokenizer) turns words ([`word_terms`]) or characters ([`ngrams`]) into terms, controlled
//! by [`options`]. [`walk`] finds and folds the words that are not all ASCII, with one look-up per character; [`exact`]
//! handles the few that it cannot.

pub(crate) mod exact;
pub(crate) mod language;
pub(crate) mod letters;
pub(crate) mod ngrams;
pub(crate) mod options;
pub(crate) mod stems;
pub(crate) mod stop_words;
pub(crate) mod tokenizer;
pub(crate) mod walk;
pub(crate) mod word_terms;
