//! Tables: rows with columns of many kinds.

mod columns;
mod table_rows;
