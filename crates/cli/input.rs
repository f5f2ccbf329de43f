//! The documents that the user names: finding, reading and splitting them.

pub(crate) mod columns;
pub(crate) mod corpus;
pub(crate) mod duplicates;
pub(crate) mod find;
pub(crate) mod items;
pub(crate) mod listing;
pub(crate) mod lists;
pub(crate) mod loaded;
pub(crate) mod pass;
pub(crate) mod place;
pub(crate) mod reading;
pub(crate) mod same_file;
