//! `tamis retrain`

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use tamis_program::{counted, done, expectation, named, shown_path};
use tamis_train::{ErrorKind, Learner, Scoring};

use crate::args::{ChangeArgs, ModelArg};

/// Refits what incremental learning leaves unchanged.
#[derive(Args)]
#[command(after_help = "\
Learning documents one by one does not change the correction, the calibration and the thresholds. \
This command fits them to all documents that the model remembers, as train does.")]
pub(crate) struct RetrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

pub(crate) fn run(args: &RetrainArgs) -> Result<u8> {
    let path = args.model.path()?;
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    learner.retrain().map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => anyhow!(
            "{}: expected a model that remembers the terms of its documents and has no --windows; train it again",
            shown_path(&path)
        ),
        _ => error.into(),
    })?;
    let information = learner.filter().information();
    let documents = information.size.documents as u64;
    if matches!(information.scoring, Scoring::RobinsonFisher(_)) {
        let until = "until it has learned 100 messages of each label";
        writeln!(done(), "not retrained: it answers as bogofilter does {until}")?;
        return Ok(0);
    }
    writeln!(done(), "retrained on {}", counted(documents, "document"))?;
    if let Some(expectation) = expectation(learner.filter()) {
        writeln!(done(), "{expectation}")?;
    }
    Ok(0)
}
