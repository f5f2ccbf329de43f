//! The file format of a model: header, sections, slots and log, written and read.
//!
//! `docs/format.md` describes it byte by byte.

pub mod container;
pub mod documents;
pub mod fitted;
pub mod header;
pub mod log;
pub mod partial;
pub mod slots;
pub mod terms;
pub mod varint;
