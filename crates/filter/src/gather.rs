//! What training gathers of documents: who they are, their terms as they came and in canonical order, on disk beyond a bound.

pub(crate) mod learned;
pub(crate) mod ordered;
pub(crate) mod packed;
pub(crate) mod rows;
pub(crate) mod union;
