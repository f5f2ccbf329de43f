//! A spam and topic filter for mail and text: train, open, score, explain, learn.
//!
//! A [`Trainer`] turns labelled documents into a [`Model`], the bytes of a model file. A [`Filter`] is an open model,
//! mapped from its file and only read: share one among threads, give each thread a [`Scratch`], and ask for a [`Score`]
//! or an [`Explanation`]. Rows of a table are documents too; see [`Scoring::Mixed`]. Nothing in this crate prints,
//! exits or panics on input, and there is no global state.
//!
//! The same documents give the same model, byte for byte, in any order and with any number of threads. Data from a file
//! is verified when it is first read, so a damaged model causes an error, never a wrong answer.
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
#![cfg_attr(not(feature = "files"), allow(dead_code, unused_imports, reason = "what only files need"))]

#[cfg(all(feature = "files", not(unix)))]
compile_error!(
    "models in files are for Unix: locks, modes of files and inodes keep them whole; without the feature `files` they come as bytes"
);

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod kind;

mod error;

mod config;

mod disk;

mod file;

mod store;

mod extract;

mod score;

#[cfg(feature = "files")]
mod gather;

#[cfg(feature = "files")]
mod train;

#[cfg(feature = "files")]
mod merge;

#[cfg(feature = "files")]
mod update;

#[cfg(feature = "files")]
pub mod evaluate;

#[cfg(feature = "files")]
pub mod exchange;

pub use config::column::is_missing;
pub use config::decision::{Decision, DecisionOptions};
pub use config::keep::Keep;
pub use config::label_set::{join_labels, split_labels};
pub use config::recipe::{RECIPE_VERSION, Recipe};
pub use config::roles::{positive_class, spam_class};
pub use config::scoring::Scoring;
pub use config::training::TrainOptions;
#[cfg(feature = "files")]
pub use disk::lock::Lock;
pub use disk::model::Model;
pub use error::{Error, ErrorKind, Result};
pub use extract::document::Document;
pub use file::header::FORMAT_VERSION;
pub use file::names::document_name;
pub use kind::Kind;
#[cfg(feature = "files")]
pub use merge::models::{MergeOptions, merge};
pub use score::explain::{Explanation, TermContribution};
pub use score::filter::Filter;
#[cfg(feature = "files")]
pub use score::live::LiveFilter;
pub use score::scratch::{LabelScore, Scratch};
pub use score::verdict::{Score, may_judge};
pub use score::words::ExplainedWord;
pub use store::information::Information;
#[cfg(feature = "files")]
pub use train::trainer::Trainer;
#[cfg(feature = "files")]
pub use update::learner::{Learned, Learner};
#[cfg(feature = "files")]
pub use update::options::LearnOptions;

pub use tamis_mail::{Limits, LimitsHit};
pub use tamis_model::{ClassId, Classes};

/// The parts of a [`Recipe`], a [`Scoring`] and [`TrainOptions`]: set them to change a default.
///
/// [`ScoringOptions`](options::ScoringOptions) turns the options that a user gives, as names and numbers, into a
/// [`Scoring`].
pub mod options {
    pub use crate::config::column::{Column, ColumnKind};
    pub use crate::config::guess::ColumnGuess;
    pub use crate::config::options::{
        CorrectionOptions, Estimate, LabelShare, LikelihoodName, PriorOption, ScoringOptions, Span,
        UnlabelledOptions,
    };
    pub use crate::config::scoring::{ExpectationMaximization, Mixed};
    pub use crate::config::training::{Labels, Pairs, Pieces};

    pub use tamis_model::{
        ClassPrior, Counting, Criterion, EmOptions, FeatureLimits, Likelihood, Parameters, RobinsonFisher,
        Select, Smoothing, Transform, WeightedOptions,
    };
    pub use tamis_tokenizer::{Language, Ngrams, TokenizerOptions, WordRule, stop_words};
}

/// What a model tells about itself: the parts of [`Information`], and documents that deserve a second look.
pub mod information {
    pub use crate::config::decision::{Expected, LabelDecision};
    pub use crate::config::scoring::{Chosen, Teacher, TriedTeacher, TriedTerms, Unlabelled};
    pub use crate::file::header::{Changes, Stored};
    pub use crate::score::remembered::{LearnedRange, Suspect};
    pub use crate::store::information::{FileSize, ModelSize, TableStatistics};
    #[cfg(feature = "files")]
    pub use crate::train::duplicates::Contradiction;

    pub use tamis_model::{
        Choices, ClassTotals, GaussianStatistics, Interval, MixedChoices, Moments, TriedParts,
        TriedSmoothing, TriedTau, Trust,
    };
}

/// Training on many machines: counts that add up, and a fit of their documents where they are.
///
/// Each machine counts its documents into a [`Partial`](distributed::Partial). For naive Bayes, merged partials are
/// enough; [`DistributedTrainer`](distributed::DistributedTrainer) fits weighted scoring to documents that stay apart.
#[cfg(feature = "files")]
pub mod distributed {
    pub use crate::train::distributed::lead::DistributedTrainer;
    pub use crate::train::distributed::plan::{FitPlan, PartitionRound};
    pub use crate::train::partial::Partial;
}

/// Several servers with one model: what one learns, all learn, from a stream of [`Record`](replication::Record)s.
///
/// Each server has a copy of the same model file. To learn or forget a document, a server makes a
/// [record](Learner::record), [applies](Learner::apply) it and appends it to the stream, which has one order for all.
/// Every server reads the stream in this order and applies every record, its own again. With each
/// [commit](Learner::commit) it stores how far it has read. If it is stopped, it goes on from there, or from anywhere
/// before.
///
/// Servers that have read the same stream to its end then have the same counts: the same documents under the same
/// labels, with equal copies, dates, groups and names, and for each term and label the same number of documents and
/// occurrences. It does not matter how often or how early a server applied its own records, nor how often it read a
/// part of the stream again: of all records of a document or message, the last one counts. The labels must stay the
/// same, and nothing may be learned or forgotten beside the stream. If the model stores the terms of documents, a server
/// may call [`Learner::learn`] or [`Learner::forget`] instead of applying its own record early.
///
/// Some numbers depend on the order of learning: a document's part of the correction, and so the weights of its terms;
/// its score before it was learned, and its number among those learned; the calibration, which is refitted to these
/// scores when the file is rewritten; and the numbers of [`Changes`](crate::information::Changes), which include repetitions. Scores therefore differ
/// a little. [`Learner::retrain`] makes everything but `Changes` from the counts. After it, the files are equal byte for
/// byte, apart from `Changes`. Files of naive Bayes are so without it, once they are
/// [rewritten](Learner::compact). There are two exceptions. A model that cannot be retrained, such as one that remembers
/// digests only, keeps its corrections. If records do not tell the texts of terms, files may differ in which terms have
/// a text.
///
/// To compare servers, [retrain](Learner::retrain) and [export](Filter::export) the models: all lines are equal, apart
/// from `changes` and `unfitted` in the first.
///
/// ```
/// use tamis_filter::replication::Record;
/// use tamis_filter::{Document, Kind, LearnOptions, Learner, TrainOptions};
///
/// let folder = tempfile::tempdir()?;
/// let open = |name| {
///     let train = TrainOptions::new(Kind::Mail);
///     Learner::create(folder.path().join(name), train, ["ham", "spam"], LearnOptions::default())
/// };
/// let (mut here, mut there) = (open("here.tamis")?, open("there.tamis")?);
///
/// let pills = Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n");
/// let record = here.record(Some("spam"), pills)?;
/// assert!(here.apply(&record)?);
/// let stream: Vec<Vec<u8>> = vec![record.to_bytes()];
///
/// for bytes in &stream {
///     let record = Record::from_bytes(bytes)?;
///     assert!(there.apply(&record)?);
///     // its own, again
///     assert!(!here.apply(&record)?);
/// }
/// assert_eq!(here.filter().information().totals, there.filter().information().totals);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "files")]
pub mod replication {
    pub use crate::update::record::Record;
}

/// The examples of the READMEs and of the guide, run as doctests.
#[cfg(all(doctest, feature = "files"))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../README.md")]
    struct CrateReadme;

    #[doc = include_str!("../../../docs/guide/engineer.md")]
    struct Guide;
}
