//! Arguments for the labels of documents.

use clap::Args;

use crate::args::values::{HowMany, label_delimiter};
use crate::formats::labels::RowLabels;

/// How many labels a document has.
#[derive(Args, Clone)]
pub(crate) struct LabelsArgs {
    /// How many labels a document has. With many, a label column holds labels between delimiters or, in JSON, an array
    /// of labels; so does a LABEL before a path or a folder's name. An empty cell or array is a document without a
    /// label
    #[arg(long, value_enum, value_name = "one|many", default_value_t = HowMany::One, hide_possible_values = true)]
    labels: HowMany,
    /// Delimiter of the labels in a cell, with --labels many
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = label_delimiter)]
    label_delimiter: char,
}

impl LabelsArgs {
    /// How labels are read.
    pub(crate) fn row_labels(&self) -> RowLabels {
        match self.labels {
            HowMany::One => RowLabels::One,
            HowMany::Many => RowLabels::Many { delimiter: self.label_delimiter },
        }
    }
}
