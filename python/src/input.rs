//! Documents, tables and labels from Python: lists, numpy, pandas, polars and Arrow, borrowed where that is possible.

pub(crate) mod arrow;
pub(crate) mod column;
pub(crate) mod decoding;
pub(crate) mod documents;
pub(crate) mod rows;
