//! Arguments for learning from more than labels and texts.

use std::ffi::OsString;

use clap::Args;

use crate::args::values::ColumnChoice;

/// The columns of a table.
#[derive(Args)]
#[command(next_help_heading = "Table")]
pub(crate) struct TableArgs {
    /// Predict this column of a table from all the others; the first row names the columns
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["label_column", "text_column"])]
    pub(crate) target: Option<String>,
    /// Kind of a column: gaussian (numbers), categorical, bernoulli (yes or no), text, or skip to leave it out
    #[arg(long, value_name = "NAME=KIND", requires = "target")]
    pub(crate) column: Vec<ColumnChoice>,
}

/// Documents to learn from that have no labels.
#[derive(Args)]
#[command(next_help_heading = "Documents without labels")]
pub(crate) struct UnlabelledArgs {
    /// Also learn from the unlabelled documents below this path. This helps when few documents have labels. They are
    /// labelled by a model of the others, and count if this predicts held-out labelled documents better
    #[arg(long, value_name = "PATH", conflicts_with = "target")]
    pub(crate) unlabelled: Vec<OsString>,
    /// Always count unlabelled documents, by expectation maximization, with this weight (a labelled document has 1)
    #[arg(long, value_name = "X", requires = "unlabelled", allow_negative_numbers = true)]
    pub(crate) lambda: Option<f64>,
    /// Always count them, by expectation maximization with at most N iterations [default: 10]
    #[arg(long, value_name = "N", requires = "unlabelled")]
    pub(crate) iterations: Option<usize>,
}
