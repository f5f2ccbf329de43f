//! From text to terms.

use std::mem;

use hashbrown::HashSet;

use crate::counts::CountVector;
use crate::error::{OptionsError, VocabularyFull};
use crate::fold::fold_into;
use crate::ngrams::{WordWindow, collapse_into, for_each_char_ngram};
use crate::normalize::normalize;
use crate::options::{Terms, TokenizerOptions};
use crate::stems::StemCache;
use crate::unspaced::{Piece, Runs};
use crate::vocabulary::{TermId, Vocabulary};

/// Turns text into terms, by checked options.
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
    options: TokenizerOptions,
    stop_words: HashSet<String>,
}

/// Buffers a [`Tokenizer`] works in, and the stems it has computed: make one per thread and reuse it.
///
/// Takes as much memory as the longest text given so far, and at most some 5 MB for stems.
#[derive(Clone, Default, Debug)]
pub struct Scratch {
    normal: String,
    text: String,
    ids: Vec<TermId>,
    window: WordWindow,
    words: WordScratch,
}

/// What single words need.
#[derive(Clone, Default, Debug)]
struct WordScratch {
    folded: String,
    stems: StemCache,
}

impl Tokenizer {
    /// A tokenizer with these options, its stop words sorted and unique, normalized and folded if text is.
    ///
    /// # Errors
    /// An option out of the range that [`TokenizerOptions`] states.
    pub fn new(options: TokenizerOptions) -> Result<Tokenizer, OptionsError> {
        let options = options.checked()?;
        let stop_words = options.stop_words.iter().cloned().collect();
        Ok(Tokenizer { options, stop_words })
    }

    /// The options, in the form in which equal settings are equal.
    pub fn options(&self) -> &TokenizerOptions {
        &self.options
    }

    /// Calls `emit` with every term of `text`, in order and as often as it occurs.
    ///
    /// Words are cut from the normalized text. A word passes, in this order: its length in characters, case folding, stop words, stemming, n-grams.
    pub fn for_each_term(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(&str)) {
        self.for_each_batch(text, scratch, |terms| terms.iter().for_each(|term| emit(term)));
    }

    /// [`for_each_term`](Self::for_each_term) with several terms at a time, so that what is done with them can be done
    /// for all of them step by step.
    pub fn for_each_batch(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(&[&str])) {
        let Scratch { normal, text: lower, window, words, .. } = scratch;
        let text = if self.options.normalize { normalize(text, normal) } else { text };
        let fold_case = self.options.fold_case;
        if let Terms::Characters { min, max } = self.options.terms {
            collapse_into(text, fold_case, lower);
            return for_each_char_ngram(lower, min.into(), max.into(), |term| emit(&[term]));
        }
        let text = if fold_case {
            // All ASCII at once, which is faster than word by word and moves no word boundary.
            lower.clear();
            lower.push_str(text);
            lower.make_ascii_lowercase();
            lower
        } else {
            text
        };
        match self.options.terms {
            Terms::Words { min, max } if max > 1 => {
                window.clear();
                let mut emit = |term: &str| emit(&[term]);
                self.for_each_word(text, words, |batch| {
                    batch.iter().for_each(|word| window.push(word, min.into(), max.into(), &mut emit));
                });
            }
            _ => self.for_each_word(text, words, emit),
        }
    }

    /// The counts of the terms of `text`; new terms enter the vocabulary.
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
    /// The vocabulary is full; it keeps the terms learned so far.
    pub fn count(
        &self,
        text: &str,
        vocabulary: &mut Vocabulary,
        scratch: &mut Scratch,
    ) -> Result<CountVector, VocabularyFull> {
        let mut outcome = Ok(());
        let counts = self.count_ids(text, scratch, |term| match vocabulary.intern(term) {
            Ok(id) => Some(id),
            Err(full) => {
                outcome = Err(full);
                None
            }
        });
        outcome.map(|()| counts)
    }

    /// The counts of those terms of `text` that the vocabulary knows.
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

    /// Calls `emit` with every word that is left of `text`, whose ASCII letters are folded already.
    fn for_each_word(&self, text: &str, scratch: &mut WordScratch, emit: impl FnMut(&[&str])) {
        let mut words = Words { tokenizer: self, scratch, emit, batch: [""; BATCH], n: 0 };
        if !self.options.unspaced_bigrams {
            self.options.word_rule.for_each_span(text, |span| words.word(span.text, span.is_ascii));
            return words.flush();
        }
        let mut runs = Runs::new(text);
        self.options.word_rule.for_each_span(text, |span| {
            if span.is_ascii {
                runs.finish(&mut |piece| words.piece(piece));
                words.word(span.text, true);
            } else {
                runs.word(span, &mut |piece| words.piece(piece));
            }
        });
        runs.finish(&mut |piece| words.piece(piece));
        words.flush();
    }
}

/// Words emitted at a time.
const BATCH: usize = 32;

/// What happens to each word of a text.
struct Words<'a, 't, F> {
    tokenizer: &'a Tokenizer,
    scratch: &'a mut WordScratch,
    emit: F,
    /// Words that stand in the text as they are, waiting to be emitted.
    batch: [&'t str; BATCH],
    n: usize,
}

impl<'t, F: FnMut(&[&str])> Words<'_, 't, F> {
    #[inline(never)]
    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Word(word) => self.foreign_word(word),
            Piece::Pair(pair) if self.is_stop_word(pair) => {}
            Piece::Pair(pair) => self.emit_now(pair),
        }
    }

    #[inline(always)]
    fn word(&mut self, word: &'t str, is_ascii: bool) {
        if !is_ascii {
            return self.foreign_word(word);
        }
        match self.kept(word, word.len()) {
            Some(word) if self.tokenizer.options.stemmer.is_none() => {
                self.batch[self.n] = word;
                self.n += 1;
                if self.n == BATCH {
                    self.flush();
                }
            }
            Some(word) => self.stemmed(word),
            None => (),
        }
    }

    #[inline(never)]
    fn foreign_word(&mut self, word: &str) {
        let chars = word.chars().count();
        let mut folded = mem::take(&mut self.scratch.folded);
        let word = if self.tokenizer.options.fold_case {
            fold_into(word, &mut folded);
            &folded
        } else {
            word
        };
        self.kept(word, chars).into_iter().for_each(|word| self.stemmed(word));
        self.scratch.folded = folded;
    }

    /// What is left of a folded word of so many characters: of one that is too long its length, of others nothing or
    /// all.
    #[inline(always)]
    fn kept<'w>(&self, word: &'w str, chars: usize) -> Option<&'w str> {
        let options = &self.tokenizer.options;
        if chars > usize::from(options.max_chars) {
            return Some(LONG[(chars / 10).min(LONG.len() - 1)]);
        }
        (chars >= usize::from(options.min_chars) && !self.is_stop_word(word)).then_some(word)
    }

    #[inline(never)]
    fn stemmed(&mut self, word: &str) {
        match self.tokenizer.options.stemmer {
            None => self.emit_now(word),
            Some(_) if word.starts_with('~') => self.emit_now(word),
            Some(language) => {
                self.flush();
                (self.emit)(&[self.scratch.stems.stem(language, word)]);
            }
        }
    }

    /// Emits a word that does not live as long as the text.
    fn emit_now(&mut self, word: &str) {
        self.flush();
        (self.emit)(&[word]);
    }

    #[inline(never)]
    fn flush(&mut self) {
        if self.n > 0 {
            (self.emit)(&self.batch[..self.n]);
            self.n = 0;
        }
    }

    #[inline]
    fn is_stop_word(&self, word: &str) -> bool {
        // An empty set is not asked: that would hash every word.
        !self.tokenizer.stop_words.is_empty() && self.tokenizer.stop_words.contains(word)
    }
}

/// What stands for words that are too long, by tens of characters.
static LONG: [&str; 21] = [
    "~long0", "~long1", "~long2", "~long3", "~long4", "~long5", "~long6", "~long7", "~long8", "~long9",
    "~long10", "~long11", "~long12", "~long13", "~long14", "~long15", "~long16", "~long17", "~long18",
    "~long19", "~long20",
];

#[cfg(test)]
mod tests;
