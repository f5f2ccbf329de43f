//! Where words are in a text.
//!
//! [`WordRule`](rule::WordRule) says what a word is. ASCII is scanned by bits, 64 bytes at a time ([`scan`]), for what the
//! rule calls a word ([`shapes`]); where other characters are, it finds the runs that hold the words ([`runs`]).

pub(crate) mod batch;
pub(crate) mod plain;
pub(crate) mod rule;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod shapes;
pub(crate) mod stretches;
pub(crate) mod unicode;
pub(crate) mod unspaced;
