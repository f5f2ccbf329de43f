//! Open a trained model, score documents by log-odds, and explain the scores.
//!
//! A [`Filter`] is an open model, mapped from its file and only read: share one among threads, give each thread a
//! [`Scratch`], and ask for a [`Score`] or an [`Explanation`]. Nothing in this crate trains: `tamis-train` does, and
//! re-exports all that is here. Nothing prints, exits or panics on input, and there is no global state.
//!
//! Data from a file is verified when it is first read, so a damaged model causes an error, never a wrong answer. Elsewhere
//! than on Unix (wasm32 too) no file can be opened; a model comes as bytes, see [`Filter::from_bytes`].
//!
//! ```
//! use tamis_filter::{Filter, Scratch};
//! # use tamis_train::{Document, Kind, TrainOptions, Trainer};
//!
//! # let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
//! # trainer.add("fruit", Document::Text("apples and pears"))?;
//! # trainer.add("metal", Document::Text("iron and tin"))?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.tamis");
//! # trainer.finish()?.save(&path)?;
//! let filter = Filter::open(&path)?;
//! let mut scratch = Scratch::default();
//! let score = filter.score_text("a pound of pears", &mut scratch)?;
//! assert_eq!(filter.label_of(&score), "fruit");
//!
//! let explanation = filter.explain(Document::Text("a pound of pears"), &mut scratch)?;
//! assert_eq!(explanation.terms[0].term, "pears");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs). What trains uses them too.
#[doc(hidden)]
pub mod extract;

#[doc(hidden)]
pub mod scorers;

#[doc(hidden)]
pub mod score;

pub use extract::counted::CountedDocument;
pub use extract::document::Document;
pub use score::explain::Explanation;
pub use score::filter::Filter;
pub use score::live::{Attempts, LiveFilter};
pub use score::remembered::{KnownDocument, TermRow};
pub use score::verdict::{Doubt, Score, may_judge};
pub use score::words::ExplainedWord;
pub use scorers::scorer::TermContribution;
pub use scorers::scratch::{LabelScore, Scratch};

pub use tamis_mail::{Limits, LimitsHit};
pub use tamis_model::{ClassId, Classes};
#[doc(inline)]
pub use tamis_store::config::{
    column::is_missing,
    decision::{Decision, DecisionOptions},
    labels::{join_labels, positive_class, spam_class, split_labels},
    recipe::{Keep, RECIPE_VERSION, Recipe},
    scoring::Scoring,
    training::TrainOptions,
};
pub use tamis_store::disk::memory::return_large_blocks;
#[doc(inline)]
#[cfg(unix)]
pub use tamis_store::disk::memory::survive_lost_pages;
#[doc(inline)]
pub use tamis_store::file::{documents::document_name, header::FORMAT_VERSION};
#[doc(inline)]
pub use tamis_store::store::information::Information;
pub use tamis_store::{Error, ErrorKind, Kind, Result};

/// The parts of a [`Recipe`], a [`Scoring`] and [`TrainOptions`]: set them to change a default.
///
/// [`ScoringOptions`](options::ScoringOptions) turns the options that a user gives, as names and numbers, into a
/// [`Scoring`].
pub mod options {
    pub use tamis_store::config::column::{Column, ColumnGuess, ColumnKind};
    pub use tamis_store::config::options::{
        Estimate, LabelShare, LikelihoodName, PieceOption, PriorOption, ScoringOptions, Span, TermOptions,
    };
    pub use tamis_store::config::recipe::VectorSpace;
    pub use tamis_store::config::refinement::Refinement;
    pub use tamis_store::config::scoring::{ExpectationMaximization, Mixed};
    pub use tamis_store::config::training::Labels;

    pub use tamis_model::{
        ClassPrior, Counting, Criterion, EmOptions, FeatureLimits, Likelihood, Parameters, RobinsonFisher,
        Select, Smoothing, Transform, WeightedOptions,
    };
    pub use tamis_tokenizer::{Language, Ngrams, PieceLengths, TokenizerOptions, WordRule, stop_words};
}

/// What a model tells about itself: the parts of [`Information`], and documents that deserve a second look.
pub mod information {
    pub use crate::score::remembered::{LearnedRange, Suspect};
    pub use tamis_store::config::decision::{HeldOutPerformance, LabelDecision};
    pub use tamis_store::config::refinement::TriedRefinement;
    pub use tamis_store::config::scoring::{ModelSelection, Teacher, TriedTeacher, Unlabelled};
    pub use tamis_store::file::fitted::TableStatistics;
    pub use tamis_store::file::header::{Changes, Retention};
    pub use tamis_store::store::information::{FileSize, ModelSize};

    pub use tamis_model::{
        Choices, ClassTotals, GaussianStatistics, Interval, MixedChoices, Moments, PartsTrial,
        SmoothingTrial, TauTrial, Trust,
    };
}

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
