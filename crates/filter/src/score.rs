//! Scoring: from a document to a verdict, and its explanation.

pub(crate) mod annotation;
pub mod current;
pub mod decide;
pub mod derive;
pub mod documents;
pub mod expected;
pub mod explain;
pub mod fallback;
pub mod filter;
pub mod live;
pub(crate) mod memo;
pub mod mixed;
pub mod naive_bayes;
pub mod pieces;
pub mod remembered;
pub(crate) mod robinson;
pub mod scorer;
pub mod scratch;
pub mod terms;
pub mod verdict;
pub mod weighted;
pub mod words;
