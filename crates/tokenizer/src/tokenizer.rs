//! From text to terms.

use std::mem;

use hashbrown::HashSet;

use crate::batch::Batch;
use crate::counts::CountVector;
use crate::error::{OptionsError, VocabularyFull};
use crate::fold::fold_into;
use crate::ngrams::{WordWindow, collapse_into, for_each_char_ngram};
use crate::normalize::normalize;
use crate::options::{Terms, TokenizerOptions};
use crate::scan::{SHORT, Spans};
use crate::stems::StemCache;
use crate::unspaced::{Piece, Runs};
use crate::vocabulary::{TermId, Vocabulary};
use crate::words::Found;

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
        self.for_each_batch(text, scratch, |batch| batch.iter().for_each(&mut emit));
    }

    /// [`for_each_term`](Self::for_each_term) with several terms at a time, so that what is done with them can be done
    /// for all of them step by step.
    pub fn for_each_batch(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(Batch<'_>)) {
        let Scratch { normal, text: lower, window, words, .. } = scratch;
        let text = if self.options.normalize { normalize(text, normal) } else { text };
        let fold_case = self.options.fold_case;
        if let Terms::Characters { min, max } = self.options.terms {
            collapse_into(text, fold_case, lower);
            let emit = |term: &str| Batch::of_one(term, &mut emit);
            return for_each_char_ngram(lower, min.into(), max.into(), emit);
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
                let mut emit = |term: &str| Batch::of_one(term, &mut emit);
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
    fn for_each_word(&self, text: &str, scratch: &mut WordScratch, emit: impl FnMut(Batch<'_>)) {
        let mut words = Words { tokenizer: self, scratch, text, emit };
        let unspaced = self.options.unspaced_bigrams;
        let mut runs = Runs::new(text);
        self.options.word_rule.find_words(text, |found| match found {
            Found::Ascii(found) => {
                runs.finish(&mut |piece| words.piece(piece));
                words.ascii_words(found);
            }
            Found::Foreign(span) if unspaced => runs.word(span, &mut |piece| words.piece(piece)),
            Found::Foreign(span) => words.foreign_word(span.text),
        });
        runs.finish(&mut |piece| words.piece(piece));
    }
}

/// What happens to each word of a text.
struct Words<'a, 't, F> {
    tokenizer: &'a Tokenizer,
    scratch: &'a mut WordScratch,
    text: &'t str,
    emit: F,
}

impl<F: FnMut(Batch<'_>)> Words<'_, '_, F> {
    #[inline(never)]
    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Word(word) => self.foreign_word(word),
            Piece::Pair(pair) if self.is_stop_word(pair) => {}
            Piece::Pair(pair) => Batch::of_one(pair, &mut self.emit),
        }
    }

    /// Words of the text that are all ASCII.
    #[inline(always)]
    fn ascii_words(&mut self, Spans { spans, are_short }: Spans<'_>) {
        let Tokenizer { options, stop_words } = self.tokenizer;
        let (min, max) = (usize::from(options.min_chars), usize::from(options.max_chars));
        let plain = options.stemmer.is_none() && stop_words.is_empty();
        // Most often all words of a batch are terms as they are.
        if plain && are_short && min == 1 && max >= SHORT {
            return (self.emit)(Batch { text: self.text, spans });
        }
        let fits = |[start, end]: &[usize; 2]| (end - start).wrapping_sub(min) <= max - min;
        for spans in spans.chunk_by(|a, b| plain && fits(a) && fits(b)) {
            match *spans {
                [[start, end]] => self.word(&self.text[start..end], end - start),
                _ => (self.emit)(Batch { text: self.text, spans }),
            }
        }
    }

    #[inline(never)]
    fn foreign_word(&mut self, word: &str) {
        let chars = word.chars().count();
        if !self.tokenizer.options.fold_case {
            return self.word(word, chars);
        }
        let mut folded = mem::take(&mut self.scratch.folded);
        fold_into(word, &mut folded);
        self.word(&folded, chars);
        self.scratch.folded = folded;
    }

    /// A folded word of so many characters. Of one that is too long, what is left is its length.
    #[inline(never)]
    fn word(&mut self, word: &str, chars: usize) {
        let options = &self.tokenizer.options;
        if chars > usize::from(options.max_chars) {
            Batch::of_one(LONG[(chars / 10).min(LONG.len() - 1)], &mut self.emit);
        } else if chars >= usize::from(options.min_chars) && !self.is_stop_word(word) {
            match options.stemmer {
                None => Batch::of_one(word, &mut self.emit),
                Some(language) => Batch::of_one(self.scratch.stems.stem(language, word), &mut self.emit),
            }
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
