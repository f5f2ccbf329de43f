//! `tamis merge`

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use tamis_filter::{ErrorKind, Filter, Keep, MergeOptions, merge};

use crate::args::model::lock;
use crate::input::same_file::different;
use crate::model::opened::check_unchanged;
use crate::output::expected::report;
use crate::output::numbers::counted;
use crate::output::shown::{named, say};

#[derive(Args)]
#[command(after_help = "\
Labels are matched by name, and a model may know labels that others do not. How documents become \
terms and scores must be the same. Counts, corrections and documents add up, whatever the order. \
A document that several models know counts once; models that remember only digests of such \
documents, as those of text do by default, are refused unless --repeat. \
Where all models remember the terms of their documents, everything is fitted anew, as if they had been \
trained together. Else what was chosen is that of the model with the most documents; with two \
labels, thresholds follow from the held-out scores of all documents. --retrain insists on fitting \
anew.

Example:
  tamis merge -m all.tamis shard-*.tamis
  tamis merge --strip -m to-share.tamis mine.tamis")]
pub(crate) struct MergeArgs {
    /// The model file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// The models to add up
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    /// Fit everything anew to the documents of all models, or refuse
    #[arg(long)]
    pub(crate) retrain: bool,
    /// Leave out the terms and names of documents, since they tell what was in them; only digests remain
    #[arg(long)]
    pub(crate) strip: bool,
    /// Count a document that several models know as often as each of them does, not once
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Replace a model that is there already
    #[arg(long)]
    pub(crate) replace: bool,
}

pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    // it may be one of those that are added up: nobody teaches it meanwhile
    let lock = lock(&args.model, args.replace)?;
    let open = |path: &PathBuf| Filter::open(path).map_err(named(path));
    let paths = different(&args.models);
    let models: Vec<Filter> = paths.into_iter().map(open).collect::<Result<_>>()?;
    let mut options = MergeOptions::default();
    options.retrain = args.retrain;
    options.strip = args.strip;
    options.repeat = args.repeat;
    let model = merge(&models.iter().collect::<Vec<_>>(), options).map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => {
            anyhow!(
                "--retrain: expected models that all remember the terms of their documents (train --documents) and have no \
                 --windows; merge without --retrain, or train on all documents anew"
            )
        }
        ErrorKind::Shared { .. } => anyhow!("{error}; --repeat counts these again for each model"),
        ErrorKind::Incompatible { setting, .. } if setting.starts_with("recipe.tokenizer.terms.") => {
            anyhow!("{error}; what is left to be chosen may differ: train with the same --ngrams or --characters")
        }
        _ => error.into(),
    })?;
    let unfitted: u64 = models.iter().map(|model| model.information().unfitted).sum();
    let had = |keep| models.iter().any(|model| model.information().keep == keep);
    models.iter().try_for_each(check_unchanged)?;
    lock.save(&model)?;
    drop(lock);
    let filter = model.into_filter()?;
    let contradictions = filter.n_contradictions()?;
    if contradictions > 0 {
        say!("{} known under several labels", counted(contradictions, "document"));
    }
    if let Some(more @ 1..) = filter.information().unfitted.checked_sub(unfitted) {
        say!(
            "{} counted but not fitted: what was chosen is that of the model with the most documents; models that remember \
             terms (train --documents) are fitted anew when they are merged",
            counted(more, "document")
        );
    }
    if filter.information().keep == Keep::Digests && had(Keep::Vectors) {
        say!(
            "left out the terms of documents: the model cannot be retrained, and forgets only documents that are at hand"
        );
    }
    report(&args.model, &filter)?;
    Ok(0)
}
