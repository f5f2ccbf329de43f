//! Files that hold many documents, as rows: CSV, TSV, JSON lines and fastText's lines.
//!
//! These modules refer to their neighbours by `super`, since fuzzing includes them on their own.

pub(crate) mod cells;
pub(crate) mod holds;
pub(crate) mod json;
pub(crate) mod keep;
pub(crate) mod labels;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod sniff;
pub(crate) mod table;
pub(crate) mod vector;
