//! Files that hold many documents, as rows: CSV, TSV, JSON lines, fastText's lines, Parquet and Arrow.
//!
//! These modules refer to their neighbours by `super`, since fuzzing includes them on their own.

pub(crate) mod array;
#[cfg(feature = "parquet")]
mod arrow_stream;
#[cfg_attr(not(feature = "parquet"), path = "formats/no_columnar.rs")]
pub(crate) mod columnar;
pub(crate) mod fasttext;
pub(crate) mod holds;
pub(crate) mod keep;
pub(crate) mod labels;
pub(crate) mod names;
pub(crate) mod object;
#[cfg(feature = "parquet")]
mod parquet_footer;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod table;
