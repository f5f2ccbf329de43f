//! A spam and topic filter for mail and text: train, open, score, explain, learn.
//!
//! A [`Trainer`] turns labelled documents into a [`Model`], the bytes of a model file. A [`Filter`] is an open model,
//! mapped from its file and only read: share one among threads, give each thread a [`Scratch`], and ask for a [`Score`]
//! or an [`Explanation`]. A [`Learner`] changes a file, a document at a time. Rows of a table are documents too; see
//! [`Scoring::Mixed`]. Nothing in this crate prints, exits or panics on input, and there is no global state. It is all an
//! application needs: what only scores is `tamis-filter`, which is re-exported here.
//!
//! The same documents give the same model, byte for byte, in any order and with any number of threads.
//!
//! ```
//! use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
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
//! let explanation = filter.explain(Document::Text("a pound of pears"), &mut scratch)?;
//! assert_eq!(explanation.terms[0].term, "pears");
//! # Ok::<(), tamis_train::Error>(())
//! ```
#![forbid(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod lock;

mod model;

mod gather;

mod fit;

mod train;

pub mod distributed;

mod merge;

mod update;

pub mod evaluate;

pub mod exchange;

#[cfg(test)]
mod tests;

pub use lock::Lock;
pub use merge::models::{MergeOptions, merge};
pub use model::Model;
pub use train::trainer::Trainer;
pub use update::learner::{LearnOptions, LearnOutcome, Learner};

#[cfg(unix)]
pub use tamis_filter::survive_lost_pages;
#[doc(inline)]
pub use tamis_filter::{
    Attempts, ClassId, Classes, CountedDocument, Decision, DecisionOptions, Document, Doubt, Error,
    ErrorKind, ExplainedWord, Explanation, FORMAT_VERSION, Filter, Information, Keep, Kind, KnownDocument,
    LabelScore, Limits, LimitsHit, LiveFilter, RECIPE_VERSION, Recipe, Result, Score, Scoring, Scratch,
    TermContribution, TermRow, TrainOptions, document_name, is_missing, join_labels, may_judge, options,
    positive_class, return_large_blocks, spam_class, split_labels,
};

/// What a model tells about itself: the parts of [`Information`], and documents that deserve a second look.
pub mod information {
    pub use crate::train::trainer::Contradiction;
    pub use tamis_filter::information::*;
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
/// may call [`Learner::learn`] or [`Learner::forget`] instead of applying its own record early, unless a
/// [shared model](Learner::set_fallback) is behind it, whose documents `learn` may take over.
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
/// To compare servers, [retrain](Learner::retrain) and [export](exchange::export) the models: all lines are equal, apart
/// from `changes` and `unfitted` in the first.
///
/// ```
/// use tamis_train::replication::Record;
/// use tamis_train::{Document, Kind, LearnOptions, Learner, TrainOptions};
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
pub mod replication {
    pub use crate::update::record::Record;
}

/// The examples of the READMEs and of the guide, run as doctests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../README.md")]
    struct CrateReadme;

    #[doc = include_str!("../../../docs/guide/engineer.md")]
    struct Guide;
}
