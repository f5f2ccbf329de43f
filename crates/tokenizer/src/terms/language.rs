//! Stemming languages (Snowball).

use std::fmt;
use std::str::FromStr;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use crate::error::ParseNameError;

/// A language with a stemmer (Snowball algorithms).
///
/// Displayed and parsed as a lower-case English name.
///
/// ```
/// use tamis_tokenizer::Language;
///
/// assert_eq!("english".parse(), Ok(Language::English));
/// assert_eq!(Language::English.to_string(), "english");
/// assert!("klingon".parse::<Language>().is_err());
/// ```
// No Greek: the Greek stemmer of rust-stemmers panics on some words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

impl Language {
    /// Every language, in alphabetical order.
    pub const ALL: [Language; 17] = [
        Language::Arabic,
        Language::Danish,
        Language::Dutch,
        Language::English,
        Language::Finnish,
        Language::French,
        Language::German,
        Language::Hungarian,
        Language::Italian,
        Language::Norwegian,
        Language::Portuguese,
        Language::Romanian,
        Language::Russian,
        Language::Spanish,
        Language::Swedish,
        Language::Tamil,
        Language::Turkish,
    ];

    /// The language's name.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    pub(crate) fn stemmer(self) -> Stemmer {
        Stemmer::create(self.entry().1)
    }

    fn entry(self) -> (&'static str, Algorithm) {
        match self {
            Language::Arabic => ("arabic", Algorithm::Arabic),
            Language::Danish => ("danish", Algorithm::Danish),
            Language::Dutch => ("dutch", Algorithm::Dutch),
            Language::English => ("english", Algorithm::English),
            Language::Finnish => ("finnish", Algorithm::Finnish),
            Language::French => ("french", Algorithm::French),
            Language::German => ("german", Algorithm::German),
            Language::Hungarian => ("hungarian", Algorithm::Hungarian),
            Language::Italian => ("italian", Algorithm::Italian),
            Language::Norwegian => ("norwegian", Algorithm::Norwegian),
            Language::Portuguese => ("portuguese", Algorithm::Portuguese),
            Language::Romanian => ("romanian", Algorithm::Romanian),
            Language::Russian => ("russian", Algorithm::Russian),
            Language::Spanish => ("spanish", Algorithm::Spanish),
            Language::Swedish => ("swedish", Algorithm::Swedish),
            Language::Tamil => ("tamil", Algorithm::Tamil),
            Language::Turkish => ("turkish", Algorithm::Turkish),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Language {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, ParseNameError> {
        Language::ALL.into_iter().find(|language| language.name() == name).ok_or_else(|| ParseNameError {
            fault: "no stemmer for this language",
            expected: format!("one of {}", Language::ALL.map(Language::name).join(", ")),
            got: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_order() {
        assert!(Language::ALL.is_sorted_by_key(|language| language.name()));
        for language in Language::ALL {
            assert_eq!(language.to_string().parse(), Ok(language));
        }
        let error = "greek".parse::<Language>().unwrap_err().to_string();
        assert!(error.contains("german, hungarian") && error.ends_with("got \"greek\""), "{error}");
    }
}
