//! Languages: their stemmers (Snowball), with a cache of stems, and their stop words.

use std::fmt;
use std::str::FromStr;

use hashbrown::HashMap;
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
    pub const ALL: [Language; 17] = {
        let mut all = [Language::Arabic; 17];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].0;
            at += 1;
        }
        all
    };

    /// The language's name.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    pub(crate) fn stemmer(self) -> Stemmer {
        Stemmer::create(TABLE[self as usize].2)
    }
}

/// Every language at its number, with its name and its stemmer.
const TABLE: [(Language, &str, Algorithm); 17] = [
    (Language::Arabic, "arabic", Algorithm::Arabic),
    (Language::Danish, "danish", Algorithm::Danish),
    (Language::Dutch, "dutch", Algorithm::Dutch),
    (Language::English, "english", Algorithm::English),
    (Language::Finnish, "finnish", Algorithm::Finnish),
    (Language::French, "french", Algorithm::French),
    (Language::German, "german", Algorithm::German),
    (Language::Hungarian, "hungarian", Algorithm::Hungarian),
    (Language::Italian, "italian", Algorithm::Italian),
    (Language::Norwegian, "norwegian", Algorithm::Norwegian),
    (Language::Portuguese, "portuguese", Algorithm::Portuguese),
    (Language::Romanian, "romanian", Algorithm::Romanian),
    (Language::Russian, "russian", Algorithm::Russian),
    (Language::Spanish, "spanish", Algorithm::Spanish),
    (Language::Swedish, "swedish", Algorithm::Swedish),
    (Language::Tamil, "tamil", Algorithm::Tamil),
    (Language::Turkish, "turkish", Algorithm::Turkish),
];

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

/// A cache of stems in one language.
///
/// Stemming a word takes about thirty times as long as looking it up. The cache is cleared when it reaches its bound,
/// so new words cannot make it grow for ever.
#[derive(Clone, Default, Debug)]
pub(crate) struct StemCache {
    language: Option<Language>,
    stems: HashMap<String, Box<str>>,
    bytes: usize,
}

impl StemCache {
    /// Room for about 30,000 words.
    const MAX_BYTES: usize = 4 << 20;
    /// Overhead of an entry: its slot in a table that may be half empty, and two heap blocks.
    const ENTRY_BYTES: usize = 120;

    /// Returns the stem of `word`, or `word` itself if stemming leaves nothing.
    pub(crate) fn stem(&mut self, language: Language, word: &str) -> &str {
        if self.language != Some(language) || self.bytes > Self::MAX_BYTES {
            *self = StemCache { language: Some(language), stems: std::mem::take(&mut self.stems), bytes: 0 };
            self.stems.clear();
        }
        let bytes = &mut self.bytes;
        self.stems.entry_ref(word).or_insert_with(|| {
            let stem = language.stemmer().stem(word);
            let stem = if stem.is_empty() { word } else { &*stem };
            *bytes += Self::ENTRY_BYTES + word.len() + stem.len();
            stem.into()
        })
    }
}

// `LISTS`: for each language its code and its words, one per line. One text per language, because a table of words
// would have to be relocated whenever a program starts.
include!(concat!(env!("OUT_DIR"), "/stop_words.rs"));

/// Codes of languages (ISO 639-1) and their English names.
#[rustfmt::skip]
const NAMES: [(&str, &str); 67] = [
    ("af", "afrikaans"), ("ar", "arabic"), ("az", "azerbaijani"), ("be", "belarusian"), ("bg", "bulgarian"),
    ("bn", "bengali"), ("br", "breton"), ("ca", "catalan"), ("cs", "czech"), ("da", "danish"), ("de", "german"),
    ("el", "greek"), ("en", "english"), ("eo", "esperanto"), ("es", "spanish"), ("et", "estonian"), ("eu", "basque"),
    ("fa", "persian"), ("fi", "finnish"), ("fr", "french"), ("ga", "irish"), ("gl", "galician"), ("gu", "gujarati"),
    ("ha", "hausa"), ("he", "hebrew"), ("hi", "hindi"), ("hinglish", "hinglish"), ("hr", "croatian"),
    ("hu", "hungarian"), ("hy", "armenian"), ("id", "indonesian"), ("it", "italian"), ("ja", "japanese"),
    ("kk", "kazakh"), ("ko", "korean"), ("ku", "kurdish"), ("la", "latin"), ("lt", "lithuanian"), ("lv", "latvian"),
    ("mr", "marathi"), ("ms", "malay"), ("ne", "nepali"), ("nl", "dutch"), ("no", "norwegian"), ("pl", "polish"),
    ("pt", "portuguese"), ("ro", "romanian"), ("ru", "russian"), ("sk", "slovak"), ("sl", "slovenian"),
    ("so", "somali"), ("sq", "albanian"), ("st", "sotho"), ("sv", "swedish"), ("sw", "swahili"), ("ta", "tamil"),
    ("tg", "tajik"), ("th", "thai"), ("tl", "tagalog"), ("tr", "turkish"), ("uk", "ukrainian"), ("ur", "urdu"),
    ("uz", "uzbek"), ("vi", "vietnamese"), ("yo", "yoruba"), ("zh", "chinese"), ("zu", "zulu"),
];

/// Returns the stop words of a language, given its English name or its code (ISO 639-1) in any case. Meant for
/// [`TokenizerOptions::stop_words`](crate::TokenizerOptions::stop_words).
///
/// The lists come from the crate [stop-words](https://docs.rs/stop-words): those of NLTK, or of the Stopwords ISO
/// project for languages that NLTK lacks.
///
/// # Errors
/// There is no list for the language.
///
/// ```
/// use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions, stop_words};
///
/// let mut options = TokenizerOptions::text();
/// options.stop_words = stop_words("english")?.map(str::to_owned).collect();
/// let (tokenizer, mut terms) = (Tokenizer::new(options)?, Vec::new());
/// tokenizer.for_each_term("You don’t see the FOREST", &mut Scratch::default(), |term| terms.push(term.to_owned()));
/// assert_eq!(terms, ["see", "forest"]);
/// assert!(stop_words("en")?.eq(stop_words("English")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stop_words(language: &str) -> Result<impl Iterator<Item = &'static str>, ParseNameError> {
    let is_it = |known: &str| known.eq_ignore_ascii_case(language);
    let code = NAMES.iter().find(|(code, name)| is_it(code) || is_it(name)).map(|(code, _)| code);
    let list = code.and_then(|code| LISTS.iter().find(|(of, _)| of == code)).map(|(_, words)| words.lines());
    list.ok_or_else(|| ParseNameError {
        fault: "no stop words for this language",
        expected: format!("one of {}", NAMES.map(|(_, name)| name).join(", ")),
        got: language.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::terms::options::TokenizerOptions;
    use crate::terms::{Scratch, Tokenizer};
    use crate::testing::text;

    #[test]
    fn names_round_trip_in_order() {
        assert!(Language::ALL.is_sorted_by_key(|language| language.name()));
        for language in Language::ALL {
            assert_eq!(language.to_string().parse(), Ok(language));
            let (_, name, algorithm) = TABLE[language as usize];
            let debug = format!("{language:?}");
            assert_eq!((debug.to_lowercase(), format!("{algorithm:?}")), (name.to_owned(), debug));
        }
        let error = "greek".parse::<Language>().unwrap_err().to_string();
        assert!(error.contains("german, hungarian") && error.ends_with("got \"greek\""), "{error}");
    }

    #[test]
    fn stems_by_language() {
        let mut cache = StemCache::default();
        for _ in 0..2 {
            assert_eq!(cache.stem(Language::English, "fruitlessly"), "fruitless");
        }
        assert_eq!(cache.stems.len(), 1);
        assert_eq!(cache.stem(Language::German, "fruitlessly"), "fruitlessly");
        assert_eq!(cache.stem(Language::German, "häuser"), "haus");
        assert_eq!(cache.stem(Language::English, ""), "");
    }

    #[test]
    fn new_words_without_end_do_not_fill_the_memory() {
        let mut cache = StemCache::default();
        for number in 0..100_000 {
            cache.stem(Language::English, &format!("word{number}"));
            assert!(cache.bytes <= StemCache::MAX_BYTES + 200);
        }
        assert!(cache.stems.len() < 100_000 && !cache.stems.is_empty());
    }

    proptest! {
        #[test]
        fn every_language_stems_anything(words in prop::collection::vec(text(), 1..4), any in "\\PC{1,12}") {
            let mut cache = StemCache::default();
            for language in Language::ALL {
                for word in words.iter().chain([&any]).filter(|word| !word.is_empty()) {
                    prop_assert!(!cache.stem(language, word).is_empty());
                }
            }
        }
    }

    #[test]
    fn every_list_has_a_name_and_every_name_a_list() {
        assert!(LISTS.iter().map(|(code, _)| code).eq(NAMES.iter().map(|(code, _)| code)));
        for (code, name) in NAMES {
            let n = stop_words(code).unwrap().count();
            assert!(n >= 25 && n == stop_words(name).unwrap().count(), "{name}: {n}");
        }
        let error = stop_words("klingon").err().unwrap().to_string();
        assert!(error.contains("english, esperanto") && error.ends_with("got \"klingon\""), "{error}");
    }

    #[test]
    fn a_list_is_left_out_as_it_is_normalized() {
        for (language, text, left) in [
            ("english", "IT isn't ＴＨＥ end; shouldn’t", vec!["end"]),
            ("de", "Über den Fluß", vec!["fluß"]),
            ("ru", "Что и ёж", vec!["ёж"]),
            ("tr", "Ama çok güzel", vec!["güzel"]),
        ] {
            let mut options = TokenizerOptions::text();
            options.stop_words = stop_words(language).unwrap().map(str::to_owned).collect();
            let (tokenizer, mut terms) = (Tokenizer::new(options).unwrap(), Vec::new());
            tokenizer.for_each_term(text, &mut Scratch::default(), |term| terms.push(term.to_owned()));
            assert_eq!(terms, left, "{language}");
        }
    }
}
