//! `tamis salvage`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use tamis_program::{counted, done, named, shown_path};
use tamis_train::ErrorKind;
use tamis_train::exchange::{Salvaged, salvage};

use crate::args::{ModelArg, lock, refuse_to_replace};

#[derive(Args)]
#[command(after_help = "\
Recovers every document with correct checksums, without terms whose own checksums are wrong, and fits a new model to them. \
A model can be salvaged only if it remembers the terms of its documents and its header is intact. The damaged file is not \
changed.

Example:
  tamis salvage damaged.tamis -m new.tamis")]
pub(crate) struct SalvageArgs {
    /// The damaged model
    #[arg(value_name = "MODEL")]
    pub(crate) damaged: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Replace an existing model
    #[arg(long)]
    pub(crate) replace: bool,
}

pub(crate) fn run(args: &SalvageArgs) -> Result<u8> {
    let path = args.model.path()?;
    refuse_to_replace(&path, args.replace)?;
    let salvaged = salvage(&args.damaged).map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => anyhow!(
            "{}: expected a model of mail or text that remembers the terms of its documents: others cannot be salvaged",
            shown_path(&args.damaged)
        ),
        _ => named(&args.damaged)(error),
    })?;
    let Salvaged { model, documents, lost, lost_terms, lost_bytes, .. } = salvaged;
    args.model.make_folder(&path)?;
    lock(&path, args.replace)?.save(&model)?;
    let mut out = done();
    writeln!(out, "wrote {} with {}", shown_path(&path), counted(documents, "document"))?;
    writeln!(out, "lost {}", counted(lost, "document"))?;
    if lost_terms > 0 {
        writeln!(out, "could not read {}: the documents are without", counted(lost_terms, "term"))?;
    }
    if lost_bytes > 0 {
        writeln!(out, "could not read {} at the end, of what was learned last", counted(lost_bytes, "byte"))?;
    }
    Ok(0)
}
