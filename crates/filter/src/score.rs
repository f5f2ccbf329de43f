//! Scoring: from a document to a verdict, and its explanation.

pub(crate) mod annotation;
pub(crate) mod current;
pub(crate) mod decide;
pub mod derive;
pub(crate) mod documents;
pub(crate) mod expected;
pub mod explain;
pub(crate) mod fallback;
pub mod filter;
pub mod live;
pub(crate) mod memo;
pub mod mixed;
pub(crate) mod naive_bayes;
pub(crate) mod pieces;
pub mod remembered;
pub(crate) mod robinson;
pub(crate) mod scorer;
pub mod scratch;
pub mod terms;
pub mod verdict;
pub mod weighted;
pub mod words;
