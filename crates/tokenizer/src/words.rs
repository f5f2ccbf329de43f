//! Word segmentation: the positions of words in a text.
//!
//! [`WordRule`](rule::WordRule) says what a word is. [`scan`] finds ASCII words 64 bytes at a time, by the characters
//! in [`shapes`]; elsewhere, [`runs`] finds the runs that contain words.

pub(crate) mod batch;
pub(crate) mod pieces;
pub(crate) mod plain;
pub(crate) mod rule;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod shapes;
pub(crate) mod stretches;
pub(crate) mod unicode;
pub(crate) mod unspaced;
