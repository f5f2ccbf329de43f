//! Gathers documents for training: their identities and terms, in order of arrival and in canonical order, spilled to
//! disk beyond a limit.

pub(crate) mod collection;
pub(crate) mod document;
pub(crate) mod merged;
pub(crate) mod packed;
pub(crate) mod row_blocks;
pub(crate) mod rows;
pub(crate) mod texts;
pub(crate) mod word_hash;
