//! Tables: rows with columns of many kinds.

mod columns;
mod kept_columns;
mod several_labels;
mod table_rows;
