//! Scoring: from a document to a verdict, and its explanation.

pub(crate) mod decide;
pub(crate) mod documents;
pub mod explain;
pub(crate) mod fallback;
pub mod filter;
pub mod live;
pub(crate) mod parts;
pub mod remembered;
pub mod verdict;
pub mod words;
