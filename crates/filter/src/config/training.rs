//! Training options.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::Ngrams;

use crate::config::decision::DecisionOptions;
use crate::config::keep::Keep;
use crate::config::recipe::Recipe;
use crate::config::scoring::Scoring;
use crate::kind::Kind;

/// Options of a [`Trainer`](crate::Trainer).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainOptions {
    /// How documents become terms.
    pub recipe: Recipe,
    /// How counts become scores; the default depends on the documents, see [`Scoring::for_recipe`].
    pub scoring: Option<Scoring>,
    /// Requirements on decisions between two classes.
    pub decision: DecisionOptions,
    /// What is remembered of each document.
    pub keep: Keep,
    /// Whether equal documents of the same label count again. By default mail counts once and text every time, since
    /// equal short texts are data. Documents without terms and rows of a table always count every time.
    pub repeat: bool,
    /// Whether pairs of words are terms: [`Pairs::Auto`] by default.
    pub pairs: Pairs,
    /// Whether the names of documents are stored (for mail the Message-ID; the least of several), by default for mail.
    /// The bytes of the model then depend on the names.
    pub names: bool,
}

impl TrainOptions {
    /// The defaults for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        let keep = match kind {
            Kind::Mail => Keep::Vectors,
            Kind::Text | Kind::Table => Keep::Digests,
        };
        TrainOptions {
            recipe: Recipe::new(kind),
            scoring: None,
            decision: DecisionOptions::default(),
            keep,
            repeat: kind != Kind::Mail,
            pairs: Pairs::Auto,
            names: kind == Kind::Mail,
        }
    }

    /// Whether equal documents of the same label count once.
    pub(crate) fn counts_once(&self) -> bool {
        !self.repeat && self.recipe.kind != Kind::Table
    }

    /// Whether the terms of documents are needed after counting; also to count documents once that two trainers know.
    pub(crate) fn needs_terms(&self) -> bool {
        self.keep == Keep::Vectors
            || self.counts_once()
            || !matches!(self.scoring(), Scoring::NaiveBayes(_) | Scoring::Mixed(_))
    }

    /// The scoring asked for, or the default.
    pub(crate) fn scoring(&self) -> Scoring {
        self.scoring.clone().unwrap_or_else(|| Scoring::for_recipe(&self.recipe))
    }
}

/// How to decide whether pairs of words are terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Pairs {
    /// By leave-one-out, for text of two labels with weighted scoring and a recipe of single words. Otherwise as the
    /// recipe says.
    Auto,
    /// As the [`Ngrams`] of the recipe say.
    Fixed,
}

impl TrainOptions {
    /// The same options with pairs of words, if that is undecided.
    pub(crate) fn with_pairs(&self) -> Option<TrainOptions> {
        let is_open = self.pairs == Pairs::Auto
            && self.recipe.kind == Kind::Text
            && self.recipe.tokenizer.terms == Ngrams::default()
            && matches!(self.scoring(), Scoring::Weighted(_));
        is_open.then(|| {
            let mut options = TrainOptions { pairs: Pairs::Fixed, ..self.clone() };
            options.recipe.tokenizer.terms = Ngrams::Words { min: 1, max: 2 };
            options
        })
    }
}
