//! Scoring: from a document to a verdict, and its explanation.

pub(crate) mod annotation;
#[cfg(feature = "files")]
pub(crate) mod current;
pub(crate) mod decide;
pub(crate) mod derive;
pub(crate) mod documents;
pub(crate) mod expected;
pub(crate) mod explain;
pub(crate) mod fallback;
pub(crate) mod filter;
#[cfg(feature = "files")]
pub(crate) mod live;
pub(crate) mod memo;
pub(crate) mod mixed;
pub(crate) mod naive_bayes;
pub(crate) mod pieces;
pub(crate) mod remembered;
pub(crate) mod robinson;
pub(crate) mod scorer;
pub(crate) mod scratch;
pub(crate) mod verdict;
pub(crate) mod weighted;
pub(crate) mod words;
