//! The documents that the user names: finding, reading and splitting them.

mod archive;
pub(crate) mod columns;
mod complaints;
mod corpus;
mod duplicates;
mod embed;
mod encoder;
pub(crate) mod file;
mod find;
mod items;
mod listing;
mod pass;
mod reading;
mod sheet;
mod stock;
mod vectors;

pub(crate) use self::columns::CorpusScorer;
pub(crate) use self::corpus::Corpus;
pub(crate) use self::duplicates::{NameHashes, check_contradictions, say_equal};
pub(crate) use self::file::{SourceArg, SourceScope, different};
pub(crate) use self::find::{find_tables, holds_of};
pub(crate) use self::items::{Content, Item, part, table_texts, whole_rows};
pub(crate) use self::pass::Attributes;
pub(crate) use self::reading::{DocumentView, FileReader, HeldDocument, most_of_document, open};
pub(crate) use self::stock::Stock;
pub(crate) use self::vectors::VectorSource;
