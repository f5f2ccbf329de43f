//! Where words begin and end.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use crate::error::ParseNameError;
use crate::scan::{SHORT, Spans};
use crate::{mail, unicode};

/// What counts as a word.
///
/// Written and parsed as `unicode` and `mail`.
///
/// ```
/// use tamis_tokenizer::WordRule;
///
/// let words = |rule: WordRule| {
///     let mut words = Vec::new();
///     rule.for_each_word("Don't pay $1,000 - really!", |word| words.push(word.to_owned()));
///     words
/// };
/// assert_eq!(words(WordRule::Unicode), ["Don't", "pay", "1,000", "really"]);
/// assert_eq!(words(WordRule::Mail), ["Don't", "pay", "$1", "000", "really!"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordRule {
    /// The words of Unicode's text segmentation (UAX #29): segments with a letter or a number in them.
    Unicode,
    /// What tells spam from ham: maximal runs of ASCII letters, digits and `$ ' ! % -` and of every
    /// character outside ASCII, without leading and trailing `'` and `-`. A run that is all ASCII is one
    /// word; another gives its [`WordRule::Unicode`] words.
    Mail,
}

impl WordRule {
    /// Calls `emit` with every word of `text`, in order, as it stands in the text.
    pub fn for_each_word(self, text: &str, mut emit: impl FnMut(&str)) {
        self.find_words(text, |found| match found {
            Found::Ascii(found) => found.spans.iter().for_each(|[start, end]| emit(&text[*start..*end])),
            Found::Foreign(span) => emit(span.text),
        });
    }

    /// [`for_each_word`](Self::for_each_word), several at a time where they are ASCII.
    pub(crate) fn find_words<'t>(self, text: &'t str, emit: impl FnMut(Found<'_, 't>)) {
        match self {
            WordRule::Unicode => unicode::for_each_word(text, emit),
            WordRule::Mail => mail::for_each_word(text, emit),
        }
    }

    /// The rule's name.
    pub fn name(self) -> &'static str {
        match self {
            WordRule::Unicode => "unicode",
            WordRule::Mail => "mail",
        }
    }
}

/// Words in their text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a, 't> {
    /// Words of ASCII.
    Ascii(Spans<'a>),
    /// A word of a passage that is not all ASCII.
    Foreign(Span<'t>),
}

/// A word in its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'t> {
    /// The byte it begins at.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

impl<'t> Span<'t> {
    /// The words of `text[range]`, which has characters outside ASCII.
    pub(crate) fn for_each_unicode_word(
        text: &'t str,
        range: Range<usize>,
        mut emit: impl FnMut(Found<'_, 't>),
    ) {
        let offset = range.start;
        for (start, text) in text[range].unicode_word_indices() {
            let (start, end) = (offset + start, offset + start + text.len());
            match text.is_ascii() {
                true => emit(Found::Ascii(Spans { spans: &[[start, end]], are_short: end - start <= SHORT })),
                false => emit(Found::Foreign(Span { start, text })),
            }
        }
    }
}

impl fmt::Display for WordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WordRule {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        [WordRule::Unicode, WordRule::Mail]
            .into_iter()
            .find(|rule| rule.name() == name)
            .ok_or_else(|| ParseNameError::UnknownWordRule { got: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for rule in [WordRule::Unicode, WordRule::Mail] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        let error = "Mail".parse::<WordRule>().unwrap_err();
        assert_eq!(error.to_string(), "unknown word rule: expected unicode or mail, got \"Mail\"");
    }
}
