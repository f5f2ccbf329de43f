//! The kinds of scoring, each in a file of its own, and the cache of term weights that they share.

pub mod derive;
pub(crate) mod expected;
pub mod mixed;
pub(crate) mod naive_bayes;
pub(crate) mod parts;
pub(crate) mod robinson;
pub(crate) mod scorer;
pub mod scratch;
pub mod weighted;
