//! Arguments for the input of a command.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use encoding_rs::Encoding;
use tamis_train::{Filter, Kind};

use crate::args::values::{ColumnChoice, at_least, delimiter, either, encoding, label_delimiter};
use crate::args::vectors::VectorArgs;
use crate::formats::holds::{Holds, TableShape};
use crate::formats::labels::RowLabels;

/// A list of paths.
#[derive(Args, Clone)]
pub(crate) struct ListArgs {
    /// Also read the paths listed in this file, one per line (- for standard input). A path that is not UTF-8 may be
    /// written as $'...', as in JSON output
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// Paths in the list end with a zero byte, as `find -print0` writes them, and are never quoted
    #[arg(long, requires = "files_from")]
    pub(crate) null: bool,
}

/// Programs that read documents.
#[derive(Args, Clone, Default)]
pub(crate) struct TextCommandArgs {
    /// Read files of an ending by a program that gets the file on standard input and writes its text to standard output:
    /// '.doc=antiword -'. May be repeated. PDF is read by pdftotext where it is installed
    #[arg(long, value_name = "COMMAND")]
    pub(crate) text_command: Vec<String>,
}

/// Documents that belong together.
#[derive(Args)]
#[command(next_help_heading = "Groups")]
pub(crate) struct GroupArgs {
    /// Column of the group of each row in tables, such as its author or thread: a name, or a number from 1. Documents
    /// of a group are held out together, so expected error rates apply to documents of new groups. For documents with
    /// dates, `evaluate --online --order date` measures performance on later ones
    #[arg(long, value_name = "COLUMN", conflicts_with = "group_by")]
    pub(crate) group: Option<String>,
    /// Group documents by the first folder below their label's folder: by AUTHOR in DIR/LABEL/AUTHOR/..., and in
    /// DIR/AUTHOR/... given as LABEL=DIR. The same name is the same group under any label. Files directly in a label's
    /// folder have no group
    #[arg(long, value_name = "folder", hide_possible_values = true, value_parser = ["folder"])]
    pub(crate) group_by: Option<String>,
}

impl GroupArgs {
    /// Whether documents should be grouped.
    pub(crate) fn are_given(&self) -> bool {
        self.group.is_some() || self.group_by.is_some()
    }

    /// The option that was given, for error messages.
    pub(crate) fn option(&self) -> String {
        self.group.as_ref().map_or("--group-by folder".to_owned(), |column| format!("--group {column}"))
    }
}

#[derive(Args, Clone)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Treat the documents as mail or as text, instead of detecting the kind
    #[arg(long = "as", value_name = "mail|text")]
    pub(crate) kind: Option<Kind>,
    /// Treat standard input and the named files as mboxes, whatever they begin with
    #[arg(long)]
    pub(crate) mbox: bool,
    /// Format of standard input (-) and of the named files, instead of judging by file names
    #[arg(long, value_name = "FORMAT", conflicts_with = "mbox", value_parser = table_format())]
    pub(crate) input_format: Option<Holds>,
    /// Delimiter of the cells of CSV [default: detect comma, semicolon, tab or bar]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Encoding of tables, such as windows-1252 or gb18030 [default: detect]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub(crate) encoding: Option<&'static Encoding>,
    /// CSV and TSV have no header row: columns have numbers instead of names
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Sheet of workbooks (.xlsx, .ods) that are read as tables [default: the first that is not empty]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// Column of the label in tables: a name, or a number from 1 [default: label]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label_column: Option<String>,
    /// Learn labels such as NA or null as they are, instead of leaving their rows out
    #[arg(long)]
    pub(crate) na_labels: bool,
    /// Whether each line of standard input is answered before the next is awaited.
    #[arg(skip)]
    pub(crate) is_by_line: bool,
    /// Column of the text [default: text]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text_column: Option<String>,
    #[command(flatten)]
    pub(crate) text: TextCommandArgs,
    #[command(flatten)]
    pub(crate) vectors: VectorArgs,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = at_least::<u16>(1))]
    pub(crate) threads: Option<u16>,
    /// Fail (exit 3) if any document could not be read, or a file in a folder is of another kind
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Parses the name of a table format.
fn table_format() -> impl TypedValueParser<Value = Holds> {
    let parser = PossibleValuesParser::new(Holds::TABLES.map(|(name, _)| name));
    parser.try_map(|name| {
        Holds::TABLES.into_iter().find(|(known, _)| *known == name).map(|(_, holds)| holds).ok_or(name)
    })
}

impl InputArgs {
    /// What the arguments say about how rows are written.
    pub(crate) fn shape(&self) -> TableShape {
        TableShape {
            delimiter: self.delimiter,
            no_header: self.no_header,
            encoding: self.encoding,
            is_by_line: self.is_by_line,
        }
    }
}

/// How many labels a document has.
#[derive(Args, Clone)]
pub(crate) struct LabelsArgs {
    /// How many labels a document has. With many, a label column holds labels between delimiters or, in JSON, an array
    /// of labels; so does a LABEL before a path or a folder's name. An empty cell or array is a document without a
    /// label [default: as in the model; one for a new model]
    #[arg(long = "labels", value_name = "one|many", hide_possible_values = true, value_parser = either(["one", "many"], "many"))]
    are_many: Option<bool>,
    /// Delimiter of the labels in a cell, with --labels many
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = label_delimiter)]
    label_delimiter: char,
}

impl LabelsArgs {
    /// How the labels of a new model are read.
    pub(crate) fn row_labels(&self) -> RowLabels {
        self.if_many(self.are_many == Some(true))
    }

    /// How labels are read for a model.
    ///
    /// # Errors
    /// If the model has another number of labels a document than the argument says.
    pub(crate) fn for_model(&self, filter: &Filter) -> Result<RowLabels> {
        let of_model = filter.has_many_labels();
        match self.are_many.filter(|are_many| *are_many != of_model) {
            Some(true) => bail!("--labels many: expected a model of many labels a document, got one"),
            Some(false) => bail!("--labels one: expected a model of one label a document, got many"),
            None => Ok(self.if_many(of_model)),
        }
    }

    fn if_many(&self, are_many: bool) -> RowLabels {
        if are_many { RowLabels::Many { delimiter: self.label_delimiter } } else { RowLabels::One }
    }
}

/// The columns of a table.
#[derive(Args)]
#[command(next_help_heading = "Table")]
pub(crate) struct TableArgs {
    /// Predict this column of a table from all the others; the first row names the columns
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["label_column", "text_column"])]
    pub(crate) target: Option<String>,
    /// Kind of a column: gaussian (numbers), categorical, bernoulli (yes or no), text, or skip to leave it out
    #[arg(long, value_name = "NAME=KIND", requires = "target", value_parser = ColumnChoice::parse)]
    pub(crate) column: Vec<ColumnChoice>,
}
