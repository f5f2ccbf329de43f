//! Word segmentation: the positions of words in a text.
//!
//! [`WordRule`] says what a word is. [`scan`] finds ASCII words 64 bytes at a time, by the characters
//! in [`shapes`], and the runs of other text that contain words; [`exact`] finds the words in those.

pub(crate) mod batch;
pub(crate) mod disguise;
pub(crate) mod exact;
pub(crate) mod pieces;
pub(crate) mod scan;
pub(crate) mod shapes;
pub(crate) mod unspaced;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::ParseNameError;
use crate::words::batch::WordSpan;
use crate::words::scan::{TextRun, for_each_run};
use crate::words::shapes::{MailWords, MixedRuns, UnicodeWords};

/// What counts as a word.
///
/// Displayed and parsed as `unicode` and `mail`.
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
    /// Words of Unicode text segmentation (UAX #29): segments with a letter or a number. Emoji and other pictures,
    /// currency signs and arrows are words by themselves.
    Unicode,
    /// For mail: maximal runs of ASCII letters, digits, `$ ' ! % -` and all non-ASCII characters, without leading and
    /// trailing `'` and `-`. A run that is all ASCII is one word; other runs are split into [`WordRule::Unicode`]
    /// words.
    Mail,
}

impl WordRule {
    /// Calls `emit` with every word of `text`, in order and unchanged.
    pub fn for_each_word(self, text: &str, mut emit: impl FnMut(&str)) {
        self.for_each_run(text, |run| match run {
            TextRun::Ascii(found) => found.spans.iter().for_each(|[start, end]| emit(&text[*start..*end])),
            TextRun::NonAscii(run) => {
                let range = match self {
                    WordRule::Unicode => exact::range(text, run),
                    WordRule::Mail => run.start..run.end,
                };
                exact::for_each_word(&text[range], |word| emit(word.text));
            }
        });
    }

    /// Calls `emit` with runs that contain all words of `text`.
    #[inline(always)]
    pub(crate) fn for_each_run(self, text: &str, emit: impl FnMut(TextRun<'_>)) {
        match self {
            WordRule::Unicode if text.is_ascii() => for_each_run::<UnicodeWords>(text, emit),
            WordRule::Unicode => for_each_run::<MixedRuns>(text, emit),
            WordRule::Mail => for_each_run::<MailWords>(text, emit),
        }
    }

    /// Calls `emit` with every word and its position, in the simple, slow way.
    pub(crate) fn for_each_word_plainly<'t>(self, text: &'t str, emit: impl FnMut(WordSpan<'t>)) {
        match self {
            WordRule::Unicode => exact::for_each_word(text, emit),
            WordRule::Mail => exact::for_each_word_of_mail(text, emit),
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

impl fmt::Display for WordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WordRule {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        [WordRule::Unicode, WordRule::Mail].into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            ParseNameError {
                fault: "unknown word rule",
                expected: "unicode or mail".to_owned(),
                got: name.to_owned(),
            }
        })
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
