//! From text to terms.
//!
//! A [`Tokenizer`] turns words ([`word_terms`]) or characters ([`ngrams`]) into terms, controlled
//! by [`options`]. [`walk`] finds and folds the words that are not all ASCII, with one look-up per character; the
//! Unicode crates handle the few that it cannot.

pub(crate) mod language;
pub(crate) mod letters;
pub(crate) mod ngrams;
pub(crate) mod options;
pub(crate) mod signs;
pub(crate) mod walk;
pub(crate) mod word_terms;

use std::mem;

use crate::counts::table::TermId;
use crate::counts::vector::CountVector;
use crate::counts::vocabulary::Vocabulary;
use crate::error::{OptionsError, VocabularyFull};
use crate::terms::ngrams::{WordWindow, collapse_into, for_each_char_ngram};
use crate::terms::options::{CheckedOptions, Ngrams, TokenizerOptions};
use crate::words::batch::Batch;

/// Turns text into terms.
///
/// ```
/// use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions};
///
/// let tokenizer = Tokenizer::new(TokenizerOptions::text())?;
/// let mut scratch = Scratch::default();
/// let mut terms = Vec::new();
/// tokenizer.for_each_term("iPhone发布会2024年", &mut scratch, |term| terms.push(term.to_owned()));
/// assert_eq!(terms, ["iphone", "发布", "布会", "2024", "年"]);
/// # Ok::<(), tamis_tokenizer::OptionsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    options: CheckedOptions,
}

/// Buffers and the stem cache of a [`Tokenizer`]. Make one per thread and reuse it.
///
/// Memory is proportional to the longest text so far, plus at most 5 MB for stems.
#[derive(Clone, Default, Debug)]
pub struct Scratch {
    text: String,
    ids: Vec<TermId>,
    window: WordWindow,
    words: word_terms::TermBuffers,
    signs: signs::SignBuffers,
}

impl Scratch {
    /// Limits how many bytes [normalization](crate::normalize()) may add to the next texts in total, since one
    /// character may become eighteen. The text that exceeds the limit is cut off there; from then on, any text that is
    /// not already normalized is left out. By default, there is no limit.
    ///
    /// ```
    /// use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions};
    ///
    /// let tokenizer = Tokenizer::new(TokenizerOptions::text())?;
    /// let mut scratch = Scratch::default();
    /// let mut terms = |text: &str, most| {
    ///     scratch.grow_by_at_most(most);
    ///     let mut terms = Vec::new();
    ///     tokenizer.for_each_term(text, &mut scratch, |term| terms.push(term.to_owned()));
    ///     (terms.join(" "), scratch.is_cut())
    /// };
    /// assert_eq!(terms("㌔㌦", 100), ("キロ ロド ドル".to_owned(), false));
    /// assert_eq!(terms("㌔㌦", 3), ("キロ ロド".to_owned(), true));
    /// # Ok::<(), tamis_tokenizer::OptionsError>(())
    /// ```
    pub fn grow_by_at_most(&mut self, bytes: usize) {
        self.words.exact.normalizer.grow_by_at_most(bytes);
    }

    /// Whether a text was cut off by [that limit](Self::grow_by_at_most).
    pub fn is_cut(&self) -> bool {
        self.words.exact.normalizer.is_cut
    }
}

impl Tokenizer {
    /// Creates a tokenizer with these options.
    ///
    /// # Errors
    /// An option is outside the range that [`TokenizerOptions`] states.
    pub fn new(options: TokenizerOptions) -> Result<Tokenizer, OptionsError> {
        CheckedOptions::new(options).map(|options| Tokenizer { options })
    }

    /// The options in canonical form: equal settings compare equal.
    pub fn options(&self) -> &TokenizerOptions {
        &self.options
    }

    /// Calls `emit` with every term of `text`, in order and as often as it occurs.
    ///
    /// Words are cut from the normalized text. Each word then goes through length limits, case folding, stop words,
    /// stemming and n-grams, in this order. Signs, if any, follow the words.
    pub fn for_each_term(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(&str)) {
        self.for_each_batch(text, scratch, |batch| batch.iter().for_each(&mut emit));
    }

    /// As [`for_each_term`](Self::for_each_term), but with several terms at a time, which is faster.
    pub fn for_each_batch(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(Batch<'_>)) {
        let Scratch { text: plain, window, words, signs, .. } = scratch;
        match self.options.terms {
            Ngrams::Characters { min, max } => {
                let normalizer = &mut words.exact.normalizer;
                let text = if self.options.normalize { normalizer.normalize(text) } else { text };
                collapse_into(text, self.options.fold_case, plain);
                let emit = |term: &str| {
                    emit(Batch { bytes: term.as_bytes(), spans: &[[0, term.len()]], are_signs: false });
                };
                for_each_char_ngram(plain, min.into(), max.into(), emit);
            }
            Ngrams::Words { min, max } if max > 1 => {
                window.clear();
                let end = self.options.ends.then_some(signs::END);
                end.into_iter().for_each(|end| window.push(end, min.into(), max.into(), &mut emit));
                word_terms::for_each_batch(&self.options, text, words, |batch| {
                    window.push(batch, min.into(), max.into(), &mut emit);
                });
                end.into_iter().for_each(|end| window.push(end, min.into(), max.into(), &mut emit));
            }
            Ngrams::Words { .. } => word_terms::for_each_batch(&self.options, text, words, &mut emit),
        }
        if self.options.signs && matches!(self.options.terms, Ngrams::Words { .. }) {
            signs::for_each_batch(text, signs, emit);
        }
    }

    /// Counts the terms of `text`, adding new ones to the vocabulary.
    ///
    /// ```
    /// use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions, Vocabulary};
    ///
    /// let tokenizer = Tokenizer::new(TokenizerOptions::text()).unwrap();
    /// let (mut vocabulary, mut scratch) = (Vocabulary::new(), Scratch::default());
    /// let counts = tokenizer.count("Tea, more tea", &mut vocabulary, &mut scratch).unwrap();
    /// assert_eq!(vocabulary.term(0), Some("tea"));
    /// assert_eq!(counts.row().counts(), [2, 1]);
    /// ```
    ///
    /// # Errors
    /// The vocabulary is full. It keeps the terms added so far.
    pub fn count(
        &self,
        text: &str,
        vocabulary: &mut Vocabulary,
        scratch: &mut Scratch,
    ) -> Result<CountVector, VocabularyFull> {
        let mut outcome = Ok(());
        let intern = |term: &str| vocabulary.intern(term).map_err(|full| outcome = Err(full)).ok();
        let counts = self.count_ids(text, scratch, intern);
        outcome.map(|()| counts)
    }

    /// Counts those terms of `text` that are in the vocabulary.
    pub fn count_known(&self, text: &str, vocabulary: &Vocabulary, scratch: &mut Scratch) -> CountVector {
        self.count_ids(text, scratch, |term| vocabulary.id(term))
    }

    fn count_ids(
        &self,
        text: &str,
        scratch: &mut Scratch,
        mut id: impl FnMut(&str) -> Option<TermId>,
    ) -> CountVector {
        let mut ids = mem::take(&mut scratch.ids);
        ids.clear();
        self.for_each_term(text, scratch, |term| ids.extend(id(term)));
        let mut counts = CountVector::default();
        counts.assign_ids(&mut ids);
        scratch.ids = ids;
        counts
    }
}

#[cfg(test)]
mod tests;
