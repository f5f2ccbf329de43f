//! Lists of stop words by language.

use crate::error::ParseNameError;

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
    use super::*;
    use crate::terms::options::TokenizerOptions;
    use crate::terms::tokenizer::{Scratch, Tokenizer};

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
