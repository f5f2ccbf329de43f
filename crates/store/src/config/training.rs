//! Training options.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::{Ngrams, PieceLengths};

use crate::config::decision::DecisionOptions;
use crate::config::recipe::{Keep, Recipe};
use crate::config::refinement::Refinement;
use crate::config::scoring::Scoring;
use crate::kind::Kind;

/// Options of a `Trainer`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrainOptions {
    /// How documents become terms.
    pub recipe: Recipe,
    /// How counts become scores; the default depends on the documents, see [`Scoring::for_recipe`].
    pub scoring: Option<Scoring>,
    /// Requirements on decisions between two classes.
    pub decision: DecisionOptions,
    /// What the model remembers of each document. By default, terms as well as a digest: always for mail, and for text
    /// if anything is fitted to them and they take no more than about 64 MB.
    pub keep: Option<Keep>,
    /// Whether equal documents of the same label count again. By default mail counts once and text every time, since it
    /// matters how often a short text occurs. Documents without terms and rows of a table always count every time.
    pub repeat: bool,
    /// How many labels a document has: [`Labels::One`] by default.
    pub labels: Labels,
    /// What training tries besides: all refinements by default. See [`TrainOptions::to_try`].
    pub refinements: Vec<Refinement>,
    /// Whether the names of documents are stored; by default only for mail. The name of a mail is its Message-ID; of
    /// several names, the first in byte order is stored. The bytes of the model then depend on the names.
    pub names: bool,
}

/// By default, a model of text stores terms while its documents have at most this many in all, about 64 MB.
const MOST_TERMS_KEPT: usize = 1 << 25;

/// How many labels a document has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Labels {
    /// One.
    #[default]
    One,
    /// Any number. Documents are learned under [sets of labels](crate::config::labels::join_labels), and each label is found by itself,
    /// with a probability and a threshold of its own.
    Many,
}

impl TrainOptions {
    /// The defaults for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        TrainOptions {
            recipe: Recipe::new(kind),
            scoring: None,
            decision: DecisionOptions::default(),
            keep: None,
            repeat: kind != Kind::Mail,
            labels: Labels::One,
            refinements: Refinement::ALL.to_vec(),
            names: kind == Kind::Mail,
        }
    }

    /// Whether equal documents of the same label count once.
    pub fn counts_once(&self) -> bool {
        !self.repeat && self.recipe.kind != Kind::Table
    }

    /// What the model remembers of documents that have `n_terms` terms in all.
    pub fn kept(&self, n_terms: usize) -> Keep {
        let is_fitted = self.scoring().weighted().is_some();
        match (self.keep, self.recipe.kind) {
            (Some(keep), _) => keep,
            (None, Kind::Mail) => Keep::Vectors,
            (None, Kind::Text) if is_fitted && n_terms <= MOST_TERMS_KEPT => Keep::Vectors,
            (None, Kind::Text | Kind::Table) => Keep::Digests,
        }
    }

    /// Whether the terms of documents are needed after counting, which includes counting a document once that two
    /// trainers know.
    pub fn needs_terms(&self) -> bool {
        self.kept(0) == Keep::Vectors
            || self.counts_once()
            || match self.scoring() {
                Scoring::NaiveBayes(_) => false,
                Scoring::Mixed(mixed) => mixed.correction,
                Scoring::Weighted(_) | Scoring::ExpectationMaximization(_) | Scoring::RobinsonFisher(_) => {
                    true
                }
            }
    }

    /// The scoring asked for, or the default.
    pub fn scoring(&self) -> Scoring {
        self.scoring.clone().unwrap_or_else(|| Scoring::for_recipe(&self.recipe))
    }
}

impl TrainOptions {
    /// What training tries: the `refinements`, for text (that of a table's columns too) with words as terms and a
    /// correction. One after another is taken if held-out documents are then predicted better. The regularisation alone is
    /// not tried.
    pub fn to_try(&self) -> &[Refinement] {
        let has_words = matches!(self.recipe.tokenizer.terms, Ngrams::Words { .. });
        let is_text = self.recipe.kind == Kind::Text || self.recipe.has_text();
        let is_open =
            is_text && has_words && self.scoring().weighted().is_some_and(|weighted| weighted.correction);
        let are_any = self.refinements.iter().any(|refinement| *refinement != Refinement::Regularisation);
        if is_open && are_any { &self.refinements } else { &[] }
    }

    /// The options with a refinement; `None` if they have it, or another in its place.
    pub fn with(&self, refinement: Refinement) -> Option<TrainOptions> {
        let mut with = self.clone();
        let Recipe { tokenizer, pieces, .. } = &mut with.recipe;
        match refinement {
            Refinement::Pieces if pieces.is_none() => *pieces = Some(PieceLengths::FOUR),
            Refinement::AllPieces if *pieces == Some(PieceLengths::FOUR) => *pieces = Some(PieceLengths::ALL),
            Refinement::Pairs if tokenizer.terms == Ngrams::default() => {
                (tokenizer.terms, tokenizer.ends) = (Ngrams::Words { min: 1, max: 2 }, true);
            }
            Refinement::Signs if !tokenizer.signs => tokenizer.signs = true,
            Refinement::Regularisation => {
                let mut weighted = *self.scoring().weighted().filter(|weighted| weighted.correction)?;
                weighted.regularisation = Refinement::C;
                with.scoring = Some(Scoring::Weighted(weighted));
            }
            _ => return None,
        }
        Some(with)
    }
}
