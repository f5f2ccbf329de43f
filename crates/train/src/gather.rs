//! Gathers documents for training: their identities and terms, in order of arrival and in canonical order, spilled to
//! disk beyond a limit.

pub(crate) mod learned;
pub(crate) mod merged;
pub(crate) mod ordered;
pub(crate) mod packed;
pub(crate) mod row_blocks;
pub(crate) mod rows;
pub(crate) mod source;
pub(crate) mod texts;
