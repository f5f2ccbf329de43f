//! Arguments for learning from more than labels and texts.

use std::ffi::OsString;

use clap::Args;

use crate::args::values::ColumnChoice;

/// The columns of a table.
#[derive(Args)]
#[command(next_help_heading = "Table")]
pub(crate) struct TableArgs {
    /// Learn to predict this column of a table from all the others; the first row names the columns
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["label_column", "text_column"])]
    pub(crate) target: Option<String>,
    /// What a column holds: gaussian (numbers), categorical, bernoulli (yes or no), text, or skip to leave it out
    #[arg(long, value_name = "NAME=KIND", requires = "target")]
    pub(crate) column: Vec<ColumnChoice>,
}

/// Documents to learn from that have no labels.
#[derive(Args)]
#[command(next_help_heading = "Documents without labels")]
pub(crate) struct UnlabelledArgs {
    /// Also learn from the unlabelled documents below this path, useful when few documents have labels: they get labels
    /// from what is learned, and count if held-out labelled documents are then predicted better
    #[arg(long, value_name = "PATH", conflicts_with = "target")]
    pub(crate) unlabelled: Vec<OsString>,
    /// Count unlabelled documents in any case, by expectation maximization, with this weight, where a labelled one has 1
    #[arg(long, value_name = "X", requires = "unlabelled", allow_negative_numbers = true)]
    pub(crate) lambda: Option<f64>,
    /// Count them so too, and stop after N iterations at most [default: 10]
    #[arg(long, value_name = "N", requires = "unlabelled")]
    pub(crate) iterations: Option<usize>,
}
