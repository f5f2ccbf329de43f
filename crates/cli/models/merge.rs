//! `tamis merge`

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use tamis_program::{counted, named, note};
use tamis_train::distributed::Partial;
use tamis_train::{Error, ErrorKind, Filter, Keep, MergeOptions, merge};

use crate::args::{lock, refuse_to_replace_all_but_partials, say_chosen_terms, say_left_out};
use crate::input::different;
use crate::output::{report, report_counted};

#[derive(Args)]
#[command(after_help = "\
Labels are matched by name; a model may have labels that others lack. All models must have the \
same options for terms and scoring. What training chose by itself for texts may differ: pairs \
and signs that not all have are left out, and pieces are chosen again. Counts, corrections and \
documents are summed; the order of models does not matter. A document that several models know \
counts once. Models that share \
documents but remember only their digests (train --no-documents) are refused unless --repeat is \
given.

If all models remember the terms of their documents, the merged model is fitted to all of them, \
as if they had been trained together; --retrain insists on this. Otherwise smoothing and \
calibration are those of the model with the most documents; with two labels, thresholds follow \
from the held-out scores of all documents.

Partials (train --partial) become the model that train --repeat --no-names makes of all their documents, byte for byte. \
With --partial, they become one larger partial.

Example:
  tamis merge -m all.tamis shard-*.tamis
  tamis merge --strip -m to-share.tamis mine.tamis
  tamis merge -m all.tamis shard-*.partial")]
pub(crate) struct MergeArgs {
    /// The model file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// The models to merge, or the partials
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    /// Fit the merged model to the documents of all models, or fail
    #[arg(long)]
    pub(crate) retrain: bool,
    /// Leave out the terms and names of documents, which reveal their contents; keep only digests
    #[arg(long)]
    pub(crate) strip: bool,
    /// Count a document that several models know once for each of them
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Merge partials into a larger partial instead of a model
    #[arg(long, conflicts_with_all = ["retrain", "strip", "repeat"])]
    pub(crate) partial: bool,
    /// Replace an existing model
    #[arg(long)]
    pub(crate) replace: bool,
}

pub(crate) fn run(args: &MergeArgs) -> Result<u8> {
    let is_model = |error: &Error| error.kind() == ErrorKind::NotAModel;
    match Partial::open(&args.models[0]) {
        Err(error) if is_model(&error) && !args.partial => run_models(args),
        first => merge_partials(args, first.map_err(named(&args.models[0]))?),
    }
}

/// Merges partials one after another, so that only the sum and one partial are in memory.
fn merge_partials(args: &MergeArgs, first: Partial) -> Result<u8> {
    let options = [("--retrain", args.retrain), ("--strip", args.strip), ("--repeat", args.repeat)];
    if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
        bail!("{option}: expected models, got partials, which are counted as they were asked to be");
    }
    if args.partial {
        refuse_to_replace_all_but_partials(&args.model)?;
    }
    let mut trainer = first.to_trainer()?;
    drop(first);
    for path in &different(&args.models)[1..] {
        let partial = Partial::open(path).map_err(named(path))?;
        trainer = trainer.merge_partial(&partial).map_err(named(path))?;
    }
    if args.partial {
        let partial = trainer.into_partial()?;
        partial.save(&args.model)?;
        report_counted(&args.model, &partial)?;
        return Ok(0);
    }
    let lock = lock(&args.model, args.replace)?;
    let model = trainer.finish()?;
    lock.save(&model)?;
    drop(lock);
    let filter = model.into_filter()?;
    say_chosen_terms(&filter.information());
    say_contradictions(&filter)?;
    report(&args.model, &filter)?;
    Ok(0)
}

fn say_contradictions(filter: &Filter) -> Result<()> {
    let contradictions = filter.n_contradictions()?;
    if contradictions > 0 {
        note!("{} known under several labels", counted(contradictions, "document"));
    }
    Ok(())
}

fn run_models(args: &MergeArgs) -> Result<u8> {
    // it may be one of the models to merge, so nobody may change it meanwhile
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
                "--retrain: expected models that all remember the terms of their documents (train --documents); \
                 merge without --retrain, or train on all documents again"
            )
        }
        ErrorKind::Settings if error.setting().is_some_and(is_of_terms) => {
            anyhow!("{error}; training may choose differently: train all models with the same --ngrams, --pieces, --signs or --characters")
        }
        _ => error.into(),
    })?;
    let unfitted: u64 = models.iter().map(|model| model.information().changes.since_fit).sum();
    let had = |keep| models.iter().any(|model| model.information().stored.keep == keep);
    models.iter().try_for_each(Filter::check_unchanged)?;
    lock.save(&model)?;
    drop(lock);
    let filter = model.into_filter()?;
    say_left_out(&filter.information(), &models);
    say_contradictions(&filter)?;
    if let Some(more @ 1..) = filter.information().changes.since_fit.checked_sub(unfitted) {
        note!(
            "{} counted but not fitted: smoothing and calibration are those of the model with the most documents; \
            only models that remember terms (train --documents) are fitted again when merged",
            counted(more, "document")
        );
    }
    if filter.information().stored.keep == Keep::Digests && had(Keep::Vectors) {
        note!("left out the terms of documents: the model cannot be retrained, nor forget without files");
    }
    report(&args.model, &filter)?;
    Ok(0)
}

/// Whether training may choose a setting by itself: it is one that says what the terms are.
fn is_of_terms(setting: &str) -> bool {
    let of_tokenizer = ["terms.", "ends", "signs"].map(|option| format!("recipe.tokenizer.{option}"));
    setting == "recipe.pieces" || of_tokenizer.iter().any(|option| setting.starts_with(option))
}
