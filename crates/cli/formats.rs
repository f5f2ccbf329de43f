//! Files that hold many documents, as rows: CSV, TSV and JSON lines.
//!
//! These modules refer to their neighbours by `super`, since fuzzing includes them on their own.

pub(crate) mod array;
pub(crate) mod holds;
pub(crate) mod object;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod table;
