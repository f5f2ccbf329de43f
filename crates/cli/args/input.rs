//! What a command reads.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tamis_filter::Kind;

use crate::args::values::{at_least, delimiter};
use crate::formats::holds::{Holds, Shape};

/// A list of paths.
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Also the paths that this file lists, one a line, as they are or as $'...', which is how JSON lines tell those that
    /// are not UTF-8; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// The list has its paths as they are, each ended by a zero byte, as `find -print0` writes them
    #[arg(long, requires = "files_from")]
    pub(crate) null: bool,
}

#[derive(Args)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Take the documents as mail or as text instead of recognising them
    #[arg(long = "as", value_name = "mail|text")]
    pub(crate) kind: Option<Kind>,
    /// Take standard input and files that are named for mboxes, whatever they begin with
    #[arg(long)]
    pub(crate) mbox: bool,
    /// What files that are named hold, and standard input (-), instead of going by their names
    #[arg(long, value_name = "csv|tsv|jsonl", conflicts_with = "mbox", value_parser = table_format())]
    pub(crate) input_format: Option<Holds>,
    /// What separates the cells of CSV, instead of recognising comma, semicolon, tab or bar
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// The first row of CSV and TSV does not hold the names of the columns, which have numbers only
    #[arg(long)]
    pub(crate) no_header: bool,
    /// The column that holds the label in CSV, TSV and JSONL: a name, or a number from 1 [default: label]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label_column: Option<String>,
    /// The column that holds the text [default: text]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text_column: Option<String>,
    /// How many threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = at_least::<u16>(1))]
    pub(crate) threads: Option<u16>,
    /// Fail (exit 3) if any document could not be read
    #[arg(long)]
    pub(crate) strict: bool,
}

/// A format of tables by its name.
fn table_format() -> impl TypedValueParser<Value = Holds> {
    let parser = PossibleValuesParser::new(Holds::TABLES.map(|(name, _)| name));
    parser.try_map(|name| {
        Holds::TABLES.into_iter().find(|(known, _)| *known == name).map(|(_, holds)| holds).ok_or(name)
    })
}

impl InputArgs {
    /// Whether files that are named are mboxes, and what they are else, as far as the user says.
    pub(crate) fn holds(&self) -> (bool, Option<Holds>) {
        (self.mbox, self.input_format)
    }

    /// How rows are written, as far as the user says.
    pub(crate) fn shape(&self) -> Shape {
        Shape { delimiter: self.delimiter, no_header: self.no_header }
    }
}
