//! Sufficient statistics: integer counts of documents and occurrences per class and term, and what scoring reads from
//! them.

pub(crate) mod cells;
pub(crate) mod classes;
pub(crate) mod counts;
pub(crate) mod observation;
pub(crate) mod outcomes;
pub(crate) mod rows;
pub(crate) mod statistics;
pub(crate) mod sums;
pub(crate) mod term_frequency;
pub(crate) mod transform;
