//! Tokenizer options.

use std::ops::Deref;

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use crate::characters::fold_into;
use crate::characters::normalize::normalize;
use crate::error::OptionsError;
use crate::terms::language::Language;
use crate::words::WordRule;

/// The largest n of an n-gram.
pub(crate) const MAX_NGRAM: usize = 8;
/// The largest `max_chars`.
const MAX_CHARS: u16 = 256;

/// N-grams of words or of characters, with the range of n: 1 <= min <= max <= 8.
///
/// By default, single words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ngrams {
    /// Consecutive words, joined by a space.
    Words {
        /// Words in the shortest term.
        min: u8,
        /// Words in the longest term.
        max: u8,
    },
    /// Consecutive characters of the whole text. The text is trimmed, and every run of white space and control
    /// characters becomes one space. Options about words do not apply.
    Characters {
        /// Characters in the shortest term.
        min: u8,
        /// Characters in the longest term.
        max: u8,
    },
}

impl Default for Ngrams {
    fn default() -> Self {
        Ngrams::Words { min: 1, max: 1 }
    }
}

impl Ngrams {
    fn check(self) -> Result<(), OptionsError> {
        let (Ngrams::Words { min, max } | Ngrams::Characters { min, max }) = self;
        if 1 <= min && min <= max && usize::from(max) <= MAX_NGRAM {
            Ok(())
        } else {
            Err(OptionsError::NgramRange { min, max })
        }
    }
}

/// Options of a [`Tokenizer`](crate::Tokenizer), which checks them.
///
/// | Name | `text()` | `mail()` | Purpose | Range |
/// | --- | --- | --- | --- | --- |
/// | `word_rule` | `Unicode` | `Mail` | what a word is | |
/// | `normalize` | true | true | NFKC, invisible and look-alike characters | |
/// | `fold_case` | true | true | ignore case | |
/// | `stop_words` | none | none | words to leave out | |
/// | `stemmer` | none | none | reduce words to their stems | |
/// | `terms` | 1-grams of words | the same | n-grams of words or characters | n from 1 to 8 |
/// | `min_chars` | 1 | 1 | shorter words are left out | 1 to `max_chars` |
/// | `max_chars` | 64 | 24 | longer words become `~longN` | 1 to 256 |
/// | `unspaced_bigrams` | true | true | bigrams of characters for scripts without spaces | |
/// | `ends` | false | false | a text's ends count as words in n-grams | |
/// | `signs` | false | true | punctuation, hashtags, mentions and capitals are terms too | |
///
/// ```
/// use tamis_tokenizer::{Language, Ngrams, TokenizerOptions};
///
/// let mut options = TokenizerOptions::text();
/// options.stemmer = Some(Language::English);
/// options.terms = Ngrams::Words { min: 1, max: 2 };
/// assert_eq!(options.max_chars, 64);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenizerOptions {
    /// What counts as a word. By default, [`WordRule::Unicode`].
    pub word_rule: WordRule,
    /// Whether to [`normalize`](crate::normalize()) the text first. By default, true.
    pub normalize: bool,
    /// Whether to ignore case. Characters are lower-cased one by one. By default, true.
    pub fold_case: bool,
    /// Stop words, which are left out. They are compared after normalization and case folding, and before stemming. By
    /// default, none.
    pub stop_words: Vec<String>,
    /// The language of the stemmer. By default, none.
    pub stemmer: Option<Language>,
    /// N-grams of words or of characters. By default, single words.
    pub terms: Ngrams,
    /// Minimum length in characters; shorter words are left out. By default, 1.
    pub min_chars: u16,
    /// Maximum length in characters; longer words become `~longN`, where N is a tenth of their length, at most 20. By
    /// default, 64; for mail, 24.
    pub max_chars: u16,
    /// Whether runs of Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar become overlapping bigrams of characters.
    /// A lone character stays. If the terms are single words, runs of the last four scripts also yield sequences of
    /// four characters. Digits of these scripts still make numbers. Stop words apply to bigrams; length limits and
    /// stemming do not. By default, true.
    pub unspaced_bigrams: bool,
    /// Whether the beginning and the end of the text, each written `^`, count as words of n-grams longer than one. By
    /// default, false.
    pub ends: bool,
    /// Whether a text has signs beside its words, each written after `^`: runs of punctuation (a character at most three
    /// times in a row, six in all), a word after `#` or `@` together with it, words in capitals as they are, `^AA` for
    /// each of them, and `^Aa` for each other word that begins with a capital. Not with n-grams of characters. By
    /// default, false; for mail, true: of three archives of mail, held-out log loss was 8 to 11 % less with them.
    ///
    /// ```
    /// use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions};
    ///
    /// let mut options = TokenizerOptions::text();
    /// options.signs = true;
    /// let mut terms = Vec::new();
    /// Tokenizer::new(options)?.for_each_term("So COOL!!!! #winning", &mut Scratch::default(), |term| {
    ///     terms.push(term.to_owned());
    /// });
    /// assert_eq!(terms[..3], ["so", "cool", "winning"]);
    /// assert_eq!(terms[3..], ["^Aa", "^AA", "^COOL", "^!!!", "^#", "^#winning"]);
    /// # Ok::<(), tamis_tokenizer::OptionsError>(())
    /// ```
    pub signs: bool,
}

impl TokenizerOptions {
    /// Returns the options for general text.
    pub fn text() -> Self {
        TokenizerOptions {
            word_rule: WordRule::Unicode,
            normalize: true,
            fold_case: true,
            stop_words: Vec::new(),
            stemmer: None,
            terms: Ngrams::default(),
            min_chars: 1,
            max_chars: 64,
            unspaced_bigrams: true,
            ends: false,
            signs: false,
        }
    }

    /// Returns the options for mail.
    pub fn mail() -> Self {
        TokenizerOptions { word_rule: WordRule::Mail, max_chars: 24, signs: true, ..Self::text() }
    }

    /// Whether unspaced alphabets also become sequences of four characters. Not with n-grams of words, because the
    /// sequences would separate the words.
    pub(crate) fn has_fours(&self) -> bool {
        matches!(self.terms, Ngrams::Words { max: 1, .. })
    }

    /// Checks the ranges. Normalizes and folds the stop words as it would the text, then sorts and deduplicates them.
    fn checked(mut self) -> Result<Self, OptionsError> {
        self.terms.check()?;
        let (min_chars, max_chars) = (self.min_chars, self.max_chars);
        if !(1..=MAX_CHARS).contains(&max_chars) {
            return Err(OptionsError::MaxChars { got: max_chars });
        }
        if !(1..=max_chars).contains(&min_chars) {
            return Err(OptionsError::MinChars { got: min_chars, max_chars });
        }
        if self.normalize {
            let mut buffer = String::new();
            for word in &mut self.stop_words {
                *word = normalize(word, &mut buffer).to_owned();
            }
        }
        if self.fold_case {
            for word in &mut self.stop_words {
                let spelt = std::mem::take(word);
                fold_into(&spelt, word);
            }
        }
        self.stop_words.sort_unstable();
        self.stop_words.dedup();
        Ok(self)
    }
}

/// Checked options, with the set of stop words.
#[derive(Clone, Debug)]
pub(crate) struct CheckedOptions {
    options: TokenizerOptions,
    stop_words: HashSet<String>,
}

impl CheckedOptions {
    pub(crate) fn new(options: TokenizerOptions) -> Result<Self, OptionsError> {
        let options = options.checked()?;
        let stop_words = options.stop_words.iter().cloned().collect();
        Ok(CheckedOptions { options, stop_words })
    }

    #[inline]
    pub(crate) fn is_stop_word(&self, word: &str) -> bool {
        // avoids hashing every word for an empty set
        !self.stop_words.is_empty() && self.stop_words.contains(word)
    }
}

impl Deref for CheckedOptions {
    type Target = TokenizerOptions;

    fn deref(&self) -> &TokenizerOptions {
        &self.options
    }
}

/// [`TokenizerOptions::text`].
impl Default for TokenizerOptions {
    fn default() -> Self {
        Self::text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked() {
        let check = |change: fn(&mut TokenizerOptions)| {
            let mut options = TokenizerOptions::text();
            change(&mut options);
            options.checked().map(|_| ())
        };
        assert_eq!(check(|o| o.terms = Ngrams::Characters { min: 3, max: 8 }), Ok(()));
        for (min, max) in [(0, 1), (2, 1), (1, 9), (9, 9)] {
            let terms = Ngrams::Words { min, max };
            assert_eq!(terms.check(), Err(OptionsError::NgramRange { min, max }));
        }
        assert_eq!(check(|o| o.max_chars = 0), Err(OptionsError::MaxChars { got: 0 }));
        assert_eq!(check(|o| o.max_chars = 257), Err(OptionsError::MaxChars { got: 257 }));
        assert_eq!(check(|o| o.min_chars = 0), Err(OptionsError::MinChars { got: 0, max_chars: 64 }));
        assert_eq!(check(|o| o.min_chars = 65), Err(OptionsError::MinChars { got: 65, max_chars: 64 }));
        assert_eq!(
            check(|o| o.min_chars = 65).unwrap_err().to_string(),
            "shortest word (min_chars): expected 1 to 64 characters (max_chars), got 65"
        );
    }

    #[test]
    fn equal_settings_are_equal() {
        let with = |words: &[&str]| TokenizerOptions {
            stop_words: words.iter().map(|&word| word.to_owned()).collect(),
            ..TokenizerOptions::text()
        };
        let a = with(&["The", "a", "THE"]).checked().unwrap();
        assert_eq!(a, with(&["a", "the"]).checked().unwrap());
        assert_eq!(a.clone().checked(), Ok(a));
        let cased = TokenizerOptions { fold_case: false, ..with(&["The", "a"]) };
        assert_eq!(cased.checked().unwrap().stop_words, ["The", "a"]);
    }
}
