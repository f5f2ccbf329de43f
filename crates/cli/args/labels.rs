//! Arguments for the labels of documents.

use anyhow::{Result, bail};
use clap::Args;
use tamis_train::Filter;

use crate::args::values::{HowMany, label_delimiter};
use crate::formats::labels::RowLabels;

/// How many labels a document has.
#[derive(Args, Clone)]
pub(crate) struct LabelsArgs {
    /// How many labels a document has. With many, a label column holds labels between delimiters or, in JSON, an array
    /// of labels; so does a LABEL before a path or a folder's name. An empty cell or array is a document without a
    /// label [default: as in the model; one for a new model]
    #[arg(long, value_enum, value_name = "one|many", hide_possible_values = true)]
    labels: Option<HowMany>,
    /// Delimiter of the labels in a cell, with --labels many
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = label_delimiter)]
    label_delimiter: char,
}

impl LabelsArgs {
    /// How the labels of a new model are read.
    pub(crate) fn row_labels(&self) -> RowLabels {
        self.if_many(self.labels == Some(HowMany::Many))
    }

    /// How labels are read for a model.
    ///
    /// # Errors
    /// If the model has another number of labels a document than the argument says.
    pub(crate) fn for_model(&self, filter: &Filter) -> Result<RowLabels> {
        let of_model = if filter.has_many_labels() { HowMany::Many } else { HowMany::One };
        match self.labels.filter(|labels| *labels != of_model) {
            Some(HowMany::Many) => {
                bail!("--labels many: expected a model of many labels a document, got one")
            }
            Some(HowMany::One) => bail!("--labels one: expected a model of one label a document, got many"),
            None => Ok(self.if_many(of_model == HowMany::Many)),
        }
    }

    fn if_many(&self, are_many: bool) -> RowLabels {
        if are_many { RowLabels::Many { delimiter: self.label_delimiter } } else { RowLabels::One }
    }
}
