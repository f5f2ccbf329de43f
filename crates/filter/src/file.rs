//! The file format of a model: header, sections, slots and log, written and read.
//!
//! `docs/format.md` describes it byte by byte.

pub(crate) mod blocks;
pub(crate) mod container;
pub(crate) mod documents;
pub(crate) mod fitted;
pub(crate) mod groups;
pub(crate) mod header;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod partial;
pub(crate) mod slots;
pub(crate) mod table;
pub(crate) mod terms;
pub(crate) mod texts;
pub(crate) mod varint;
