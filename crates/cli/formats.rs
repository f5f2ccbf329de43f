//! Files that hold many documents, as rows: CSV, TSV and JSON lines.
//!
//! These files name their neighbours by `super`, since fuzzing takes them in by themselves.

pub(crate) mod array;
pub(crate) mod holds;
pub(crate) mod object;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod table;
