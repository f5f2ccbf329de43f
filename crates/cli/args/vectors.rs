//! Arguments for the dense vectors of documents.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use tamis_program::shown;
use tamis_train::Recipe;
use tamis_train::options::VectorSpace;

use crate::args::values::at_least;

/// Where the dense vectors of documents come from.
#[derive(Args, Clone)]
pub(crate) struct VectorArgs {
    /// Column of the vector of each row in tables, an array of numbers or a cell such as [0.5, -1]: a name, or a number from
    /// 1 [default: vector]. A row may lack its vector
    #[arg(long, value_name = "COLUMN", help_heading = "Vectors")]
    pub(crate) vector_column: Option<String>,
    /// Vectors of the documents, a row for each in the order in which they are read: a file of NumPy with two dimensions of
    /// float16, float32 or float64. Files in folders are read by path
    #[arg(long, value_name = "FILE.npy", help_heading = "Vectors", conflicts_with = "vector_column")]
    pub(crate) vectors: Option<PathBuf>,
    /// Shell command that makes the vectors. It is started once, reads the text of each document as a JSON string on a line,
    /// and writes a JSON array of numbers on a line for each, in order. It gets all texts before an array is needed, so it
    /// may answer in batches
    #[arg(long, value_name = "COMMAND", help_heading = "Vectors", conflicts_with_all = ["vectors", "vector_column"])]
    pub(crate) encoder: Option<String>,
    /// Name of what makes the vectors. A model takes only vectors of the name it was trained with [default: the command of
    /// --encoder; otherwise the name is not checked]
    #[arg(long, value_name = "NAME", help_heading = "Vectors")]
    encoder_name: Option<String>,
    /// Seconds that the encoder may neither read nor write anything
    #[arg(long, value_name = "SECONDS", default_value_t = 600, help_heading = "Vectors", value_parser = at_least::<u32>(1))]
    pub(crate) encoder_timeout: u32,
}

impl VectorArgs {
    /// The option that was given, for error messages.
    pub(crate) fn option(&self) -> Option<&'static str> {
        match self {
            VectorArgs { encoder: Some(_), .. } => Some("--encoder"),
            VectorArgs { vectors: Some(_), .. } => Some("--vectors"),
            VectorArgs { vector_column: Some(_), .. } => Some("--vector-column"),
            _ => None,
        }
    }

    /// The column of rows that holds vectors, unless they come from elsewhere.
    pub(crate) fn column(&self) -> Option<&str> {
        let is_elsewhere = self.vectors.is_some() || self.encoder.is_some();
        (!is_elsewhere).then(|| self.vector_column.as_deref().unwrap_or("vector"))
    }

    /// What makes the vectors; empty if that was not said.
    pub(crate) fn encoder_name(&self) -> &str {
        self.encoder_name.as_deref().or(self.encoder.as_deref()).unwrap_or_default()
    }

    /// Checks that a model takes these vectors. Returns the space of its own.
    pub(crate) fn check_for<'a>(&self, model: &'a Recipe) -> Result<Option<&'a VectorSpace>> {
        match (&model.vectors, self.option()) {
            (None, Some(option)) => bail!("{option}: expected a model of vectors, got one without"),
            (Some(VectorSpace { encoder, .. }), _)
                if ![encoder, ""].contains(&self.encoder_name()) && !encoder.is_empty() =>
            {
                let (expected, got) = (shown(encoder), shown(self.encoder_name()));
                bail!(
                    "expected vectors of the encoder that the model was trained with, {expected}, got {got}; if they are the \
                     same: --encoder-name '{expected}'"
                )
            }
            (space, _) => Ok(space.as_ref()),
        }
    }
}
