//! From text to terms.
//!
//! A [`Tokenizer`](tokenizer::Tokenizer) turns words ([`word_terms`]) or characters ([`ngrams`]) into terms, controlled
//! by [`options`]. Words that are not all ASCII are found and folded by [`walk`], with one look-up per character; the
//! few that it cannot handle by [`exact`].

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
