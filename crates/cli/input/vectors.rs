//! The dense vectors beside documents: in a column of their rows, in a file, or made by an encoder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tamis_program::{grouped, note, shown, shown_path};
use tamis_train::Recipe;
use tamis_train::options::VectorSpace;

use crate::args::VectorArgs;
use crate::formats::vector::VectorFile;
use crate::input::encoder::Encoder;

/// The vectors of the documents of a command; by default they have none.
#[derive(Default)]
pub(crate) struct VectorSource {
    /// A row for each document, instead of a column.
    file: Option<(String, VectorFile)>,
    /// The column of rows that holds vectors, if there may be any.
    column: Option<String>,
    /// Whether documents should have them, if that is known.
    are_expected: Option<bool>,
    /// Whether a document that was read has one.
    are_found: AtomicBool,
}

impl VectorSource {
    /// Finds the vectors as the arguments say. `encode` sends the texts of all documents to an encoder, in order.
    pub(crate) fn new(args: &VectorArgs, encode: impl FnOnce(&mut Encoder) -> Result<()>) -> Result<Self> {
        let file = match args {
            VectorArgs { encoder: Some(command), encoder_timeout, .. } => {
                let mut encoder = Encoder::start(command, Duration::from_secs(u64::from(*encoder_timeout)))?;
                let sent = encode(&mut encoder);
                // if it takes no more, its end says why
                let vectors = encoder.finish()?;
                sent?;
                Some((format!("--encoder {}", shown(command)), vectors))
            }
            VectorArgs { vectors: Some(path), .. } => {
                let option = format!("--vectors {}", shown_path(path));
                let file =
                    VectorFile::open(path).map_err(anyhow::Error::msg).with_context(|| option.clone())?;
                Some((option, file))
            }
            _ => None,
        };
        Ok(VectorSource { file, column: args.column().map(str::to_owned), ..VectorSource::default() })
    }

    /// As [`new`](Self::new), for a model of this recipe.
    pub(crate) fn for_model(
        args: &VectorArgs,
        model: &Recipe,
        encode: impl FnOnce(&mut Encoder) -> Result<()>,
    ) -> Result<Self> {
        match args.check_for(model)? {
            Some(_) => VectorSource::new(args, encode)?.suit(model),
            None => VectorSource::default().suit(model),
        }
    }

    /// Takes the vectors for a model of this recipe.
    ///
    /// # Errors
    /// If they are of another length.
    pub(crate) fn suit(self, model: &Recipe) -> Result<Self> {
        let Some(VectorSpace { dimensions, .. }) = model.vectors else {
            return Ok(VectorSource { are_expected: Some(false), ..VectorSource::default() });
        };
        match &self.file {
            Some((option, VectorFile { rows: 1.., dimensions: got, .. })) if *got != dimensions as usize => {
                bail!("{option}: expected {dimensions} numbers a vector, as the model has, got {got}")
            }
            _ => Ok(VectorSource { are_expected: Some(true), ..self }),
        }
    }

    /// Whether the model is not known yet that takes them.
    pub(crate) fn are_unknown(&self) -> bool {
        self.are_expected.is_none()
    }

    /// The column of rows that holds vectors, if there may be any.
    pub(crate) fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// How long the vectors of the file are, if they are in one.
    pub(crate) fn dimensions(&self) -> Option<usize> {
        self.file.as_ref().map(|(_, file)| file.dimensions).filter(|dimensions| *dimensions > 0)
    }

    /// The vector of a document: its row's `own`, or the one at this place in the file. Empty if it has none.
    pub(crate) fn beside(&self, at: u64, own: Vec<f32>) -> Result<Vec<f32>> {
        let vector = match &self.file {
            Some((option, file)) if at < file.rows => file.row(at).with_context(|| option.clone())?,
            Some((option, file)) => {
                let [expected, got] = [at + 1, file.rows].map(grouped);
                bail!("{option}: expected at least {expected} rows, one for each document, got {got}")
            }
            None => own,
        };
        self.are_found.fetch_or(!vector.is_empty(), Ordering::Relaxed);
        Ok(vector)
    }

    /// Checks at the end that there were as many documents as vectors, and says if there were none.
    pub(crate) fn conclude(&self, n_documents: u64) -> Result<()> {
        match &self.file {
            Some((option, file)) if file.rows != n_documents => {
                let [expected, got] = [n_documents, file.rows].map(grouped);
                bail!("{option}: expected {expected} rows, one for each document, got {got}")
            }
            None if self.are_expected == Some(true)
                && n_documents > 0
                && !self.are_found.load(Ordering::Relaxed) =>
            {
                note!(
                    "the model has vectors, and no document came with one: only words count; --encoder, --vectors or a column \
                     gives vectors"
                );
            }
            _ => (),
        }
        Ok(())
    }
}
