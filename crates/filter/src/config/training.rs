//! How a model is trained.

use tamis_tokenizer::Ngrams;

use crate::config::decision::DecisionOptions;
use crate::config::keep::Keep;
use crate::config::recipe::Recipe;
use crate::config::scoring::Scoring;
use crate::kind::Kind;

/// Everything that decides how a model is trained.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainOptions {
    /// How documents become terms.
    pub recipe: Recipe,
    /// How counts become scores; by default what suits the documents and the number of classes, see
    /// [`Scoring::for_recipe`].
    pub scoring: Option<Scoring>,
    /// What is asked of decisions between two classes.
    pub decision: DecisionOptions,
    /// What is remembered of each document.
    pub keep: Keep,
    /// Whether a document that equals another of the same label counts again. By default mail counts once, however
    /// often it comes, and text as often as it is given: equal short texts are data. Documents without terms and rows of
    /// a table always count as often as they are given.
    pub repeat: bool,
    /// Who decides whether pairs of words are terms: [`Pairs::Auto`] by default.
    pub pairs: Pairs,
    /// Whether what a document is called is remembered, by default of mail: its Message-ID, the least of several. Models of
    /// documents that sources name differently are then of different bytes.
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

    /// Whether equal documents of a label count once.
    pub(crate) fn counts_once(&self) -> bool {
        !self.repeat && self.recipe.kind != Kind::Table
    }

    /// Whether the terms of documents are needed after they were counted: also to count those once that two trainers know.
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

/// Who decides whether pairs of words are terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// What predicts left-out documents best, where it can be told: for text of two labels with weighted scoring whose
    /// recipe names single words. Anything else has no pairs but those of its recipe.
    Auto,
    /// The recipe: its [`Ngrams`] are those of the model.
    Fixed,
}

impl TrainOptions {
    /// The same options with pairs of words, if it is open whether a model has them.
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
