//! Trains a model on the messages in the spool.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use tamis_program::shown_path;
use tamis_train::options::ScoringOptions;
use tamis_train::{Document, Kind, Model, TrainOptions, Trainer};

use crate::imap::messages::Location;

/// A message in the spool, with its label and where it is on the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SpooledMessage {
    pub(crate) path: PathBuf,
    pub(crate) label: String,
    pub(crate) place: Location,
}

/// Trains a model as `tamis train` does by default. The order of the messages does not matter.
pub(crate) fn train(messages: &[SpooledMessage]) -> Result<Model> {
    let mut options = TrainOptions::new(Kind::Mail);
    let asked = ScoringOptions::default();
    options.prepare(&asked)?;
    // on the threads that also fit, since each thread keeps the memory that it has freed
    let share = messages.len().div_ceil(rayon::current_num_threads()).max(1);
    let mut counted: Vec<Trainer> =
        messages.par_chunks(share).map(|part| count(part, &options)).collect::<Result<_>>()?;
    let mut trainer = counted.pop().map_or_else(|| Trainer::new(options.clone()), Ok)?;
    for other in counted {
        trainer.merge(other)?;
    }
    let scoring = asked.scoring(trainer.recipe(), trainer.classes(), trainer.n_documents())?;
    Ok(trainer.with_scoring(scoring).finish()?)
}

fn count(messages: &[SpooledMessage], options: &TrainOptions) -> Result<Trainer> {
    let mut trainer = Trainer::new(options.clone())?;
    for message in messages {
        let bytes = read(&message.path)?;
        if !bytes.is_empty() {
            trainer.add(&message.label, Document::Mail(&bytes))?;
        }
    }
    Ok(trainer)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| shown_path(path))
}
