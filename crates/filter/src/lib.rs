//! A filter of mail and text: train it, open it, score with it, ask it why.
//!
//! A [`Trainer`] counts labelled documents into a [`Model`], the bytes of a file. A [`Filter`] is such a file in use,
//! mapped and never changed: share one among threads, give each a [`Scratch`], and ask for a [`Score`] or an
//! [`Explanation`]. Rows of a table are documents too, see [`Scoring::Mixed`]. Nothing here prints, exits or panics on input, and there is no global state.
//!
//! Equal documents of equal names give a model of equal bytes, whatever the order they came in and the threads that counted
//! them.
//! What is read from a file is checked when it is first touched, so a damaged model is an error and never a wrong answer.
//!
//! ```
//! use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
//!
//! let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
//! trainer.add("fruit", Document::Text("apples and pears"))?;
//! trainer.add("metal", Document::Text("iron and tin"))?;
//! let filter = trainer.finish()?.into_filter()?;
//!
//! let mut scratch = Scratch::default();
//! let score = filter.score_text("a pound of pears", &mut scratch)?;
//! assert_eq!(filter.label_of(&score), "fruit");
//!
//! let explanation = filter.explain_text("a pound of pears", &mut scratch)?;
//! assert_eq!(explanation.terms[0].term, "pears");
//! # Ok::<(), tamis_filter::Error>(())
//! ```
#![deny(unsafe_code)]

mod blocks;
mod columns;
mod documents;
mod duplicates;
mod error;
mod explain;
mod export;
mod extractor;
mod fallback;
mod file;
mod filter;
mod fitting;
mod format;
mod import;
mod labels;
mod learned;
mod learner;
mod log;
mod map;
mod memo;
mod merge;
mod mixed;
mod model;
mod names;
mod online;
mod ordered;
mod overlay;
mod packed;
mod pairs;
mod recipe;
mod rewrite;
mod rows;
mod save;
mod scorer;
mod scoring;
mod shared;
mod slots;
mod source;
mod spool;
mod store;
mod trainer;
mod union;
mod validation;

pub use columns::{Column, ColumnKind, is_missing, parse_flag};
pub use duplicates::Contradiction;
pub use error::{Error, Result};
pub use explain::{Explanation, TermContribution};
pub use export::Known;
pub use filter::{Filter, Score, Scratch, Suspect};
pub use format::FORMAT_VERSION;
pub use import::{Imported, import, import_bogofilter};
pub use learner::{LearnOptions, Learned, Learner};
pub use merge::{MergeOptions, merge};
pub use model::Model;
pub use names::document_name;
pub use online::Online;
pub use pairs::Pairs;
pub use recipe::{Document, Kind, RECIPE_VERSION, Recipe};
pub use save::Lock;
pub use scorer::{positive_class, spam_class};
pub use scoring::{Chosen, Decision, DecisionOptions, ExpectationMaximization, Expected, Mixed, Scoring};
pub use store::Information;
pub use trainer::{Keep, TrainOptions, Trainer};
pub use validation::HeldOut;

pub use tamis_mail::{Limits, LimitsHit};
pub use tamis_model::{
    Choices, ClassId, ClassPrior, ClassTotals, Classes, Counting, Criterion, EmOptions, FeatureLimits,
    GaussianStatistics, Likelihood, Moments, Parameters, Select, Smoothing, Transform, WeightedOptions,
};
pub use tamis_tokenizer::{Language, Terms, TokenizerOptions, WordRule};

/// The README's examples.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
