//! The documents that the user names: finding, reading and splitting them.

pub(crate) mod columns;
mod corpus;
mod duplicates;
mod find;
mod items;
mod listing;
mod lists;
mod loaded;
mod pass;
pub(crate) mod place;
mod reading;
mod same_file;

pub(crate) use self::columns::Scorer;
pub(crate) use self::corpus::Corpus;
pub(crate) use self::duplicates::{Names, check_contradictions, say_equal};
pub(crate) use self::find::find_tables;
pub(crate) use self::items::{Content, Item, part, whole_rows};
pub(crate) use self::loaded::Loaded;
pub(crate) use self::pass::Given;
pub(crate) use self::place::{Source, Wanted};
pub(crate) use self::reading::{foreign, open};
pub(crate) use self::same_file::different;
