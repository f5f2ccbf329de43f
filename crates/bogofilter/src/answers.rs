//! bogofilter's answers: verdicts, lines, header fields, tables, and information about itself.

pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod numbers;
pub(crate) mod query;
pub(crate) mod report;
