//! How documents become terms.

use pyo3::prelude::*;
use tamis_train::TrainOptions;
use tamis_train::options::{Span, stop_words};

use crate::error::Failure;
use crate::options::given::{Given, Value, wrong};

/// A range of lengths: one of them, or the least and the most.
#[derive(FromPyObject)]
enum Lengths {
    One(u8),
    Both((u8, u8)),
}

impl Value for Lengths {
    const EXPECTED: &'static str = "a whole number or a pair of them (least, most), from 1 to 255";
}

impl From<Lengths> for Span {
    fn from(lengths: Lengths) -> Span {
        match lengths {
            Lengths::One(n) => Span { min: n, max: n },
            Lengths::Both((min, max)) => Span { min, max },
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

/// Sets how documents become terms, as far as it is given.
pub(super) fn set_recipe(given: &Given<'_>, options: &mut TrainOptions) -> PyResult<()> {
    let recipe = &mut options.recipe;
    recipe.content_only = given.flag("content_only")?;
    recipe.ignored_headers = given.take("ignore_header")?.unwrap_or_default();
    recipe.raw = given.flag("raw")?;
    recipe.windows = given.take("windows")?;
    let terms = &mut recipe.tokenizer;
    terms.word_rule = given.named("words")?.unwrap_or(terms.word_rule);
    terms.fold_case &= !given.flag("keep_case")?;
    terms.stemmer = given.named("stem")?;
    terms.min_chars = given.take("min_chars")?.unwrap_or(terms.min_chars);
    terms.max_chars = given.take("max_chars")?.unwrap_or(terms.max_chars);
    terms.stop_words = given.take::<StopWords>("stop_words")?.map_or(Ok(Vec::new()), StopWords::words)?;
    let span = |name| Ok::<_, PyErr>(given.take::<Lengths>(name)?.map(Span::from));
    options
        .set_terms(span("ngrams")?, span("characters")?, given.take("pieces")?)
        .map_err(|error| Failure::from(error).into())
}
