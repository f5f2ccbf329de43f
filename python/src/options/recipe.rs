//! How documents become terms.

use pyo3::prelude::*;
use tamis_filter::{Kind, Ngrams, Recipe, stop_words};

use crate::options::given::{Given, Value, wrong};

/// A range of lengths: one of them, or the least and the most.
#[derive(FromPyObject)]
enum Span {
    One(u8),
    Both((u8, u8)),
}

impl Value for Span {
    const EXPECTED: &'static str = "a whole number or a pair of them (least, most), from 1 to 255";
}

impl Span {
    fn ends(self) -> (u8, u8) {
        match self {
            Span::One(n) => (n, n),
            Span::Both(ends) => ends,
        }
    }
}

/// Words to leave out: those of a language by its name, or a list.
#[derive(FromPyObject)]
enum StopWords {
    Of(String),
    These(Vec<String>),
}

impl Value for StopWords {
    const EXPECTED: &'static str = "the name of a language or a list of words";
}

impl StopWords {
    fn words(self) -> PyResult<Vec<String>> {
        match self {
            StopWords::These(words) => Ok(words),
            StopWords::Of(language) => match stop_words(&language) {
                Ok(words) => Ok(words.map(str::to_owned).collect()),
                Err(error) => Err(wrong("stop_words", error)),
            },
        }
    }
}

/// The least that a window holds, in bytes.
const LEAST_WINDOW: u32 = 100;

/// Changes the recipe as it is asked; returns whether it was said of pairs, and of pieces of words, if they are terms.
pub(super) fn recipe(given: &Given<'_>, recipe: &mut Recipe) -> PyResult<[bool; 2]> {
    recipe.content_only = given.flag("content_only")?;
    recipe.ignored_headers = given.take("ignore_header")?.unwrap_or_default();
    if recipe.kind != Kind::Mail && (recipe.content_only || !recipe.ignored_headers.is_empty()) {
        let got = format!("expected mail, got {}", recipe.kind);
        return Err(wrong("content_only and ignore_header", got));
    }
    recipe.raw = given.flag("raw")?;
    if recipe.kind != Kind::Text && recipe.raw {
        return Err(wrong("raw", format!("expected text, got {}", recipe.kind)));
    }
    recipe.windows = given.take("windows")?;
    if let Some(got) = recipe.windows.filter(|bytes| *bytes < LEAST_WINDOW) {
        return Err(wrong("windows", format!("expected {LEAST_WINDOW} bytes or more, got {got}")));
    }
    let terms = &mut recipe.tokenizer;
    terms.word_rule = given.named("words")?.unwrap_or(terms.word_rule);
    terms.fold_case &= !given.flag("keep_case")?;
    terms.stemmer = given.named("stem")?;
    terms.min_chars = given.take("min_chars")?.unwrap_or(terms.min_chars);
    terms.max_chars = given.take("max_chars")?.unwrap_or(terms.max_chars);
    terms.stop_words = given.take::<StopWords>("stop_words")?.map_or(Ok(Vec::new()), StopWords::words)?;
    let ngrams = given.take::<Span>("ngrams")?.map(Span::ends);
    let characters = given.take::<Span>("characters")?.map(Span::ends);
    if let Some((min, max)) = ngrams {
        terms.terms = Ngrams::Words { min, max };
    }
    if let Some((min, max)) = characters {
        if ngrams.is_some() {
            return Err(wrong("characters", "expected none beside ngrams"));
        }
        terms.terms = Ngrams::Characters { min, max };
    }
    let pieces = given.take::<bool>("pieces")?;
    if pieces == Some(true) && (recipe.kind == Kind::Table || characters.is_some()) {
        return Err(wrong("pieces", "expected text or mail with words as terms"));
    }
    recipe.pieces = pieces == Some(true);
    Ok([ngrams.is_some(), pieces.is_some()])
}
