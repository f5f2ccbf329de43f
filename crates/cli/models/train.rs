//! `tamis train`

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use clap::Args;
use tamis_program::{counted, note, say};
use tamis_train::{
    Classes, DecisionOptions, Document, Filter, Keep, LearnOptions, Lock, Scoring, TrainOptions, Trainer,
    return_large_blocks,
};

use crate::args::{
    Contradictions, DecisionArgs, GroupArgs, InputArgs, LabelsArgs, ModelArg, RecipeArgs, ScoringArgs,
    TableArgs, UnlabelledArgs, refuse_to_replace_all_but_partials, refuse_to_replace_taught,
    say_chosen_terms, share,
};
use crate::input::{Attributes, Corpus, NameHashes, check_contradictions, columns, say_equal};
use crate::output::{report, report_counted, say_truncated, while_shown};

#[derive(Args)]
#[command(after_help = "\
SOURCE is one of
  DIR         a folder with a folder per label: DIR/LABEL/files
  LABEL=PATH  a file, folder, mbox or Maildir; all its documents have that label
  FILE.csv    (.tsv, .jsonl) a table of label and text; with --target any columns
A folder that holds two of cur/, new/ and tmp/ is a Maildir.

With --target the label is that column, predicted from all others. The kinds of the columns are \
guessed from the first 100,000 rows and printed; --column changes them. A cell that is empty, NA, \
N/A, NaN, null or ? counts as missing and is ignored.

Example:
  tamis train ham=\"$HOME/Maildir\" spam=\"$HOME/Maildir/.Junk\"
  tamis train -m topics.tamis articles/
  tamis train -m trips.tamis trips.csv --target mode --column zip=categorical
  tamis train --partial -m 1.partial shard-1.csv     (and elsewhere 2.partial; see tamis merge)")]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Labelled documents
    #[arg(required_unless_present = "files_from", value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    labels: LabelsArgs,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// Highest share of ham that may be called spam (0.5% or 0.005), with 95 % confidence
    #[arg(long, value_name = "SHARE", help_heading = "Decision", value_parser = share, conflicts_with_all = ["cost", "unsure"])]
    pub(crate) max_fpr: Option<f64>,
    /// With --labels many: lowest precision of each label (95% or 0.95), with 95 % confidence [default: the threshold of
    /// each label has the best F1 on held-out documents]
    #[arg(long, value_name = "SHARE", help_heading = "Decision", value_parser = share, conflicts_with_all = ["cost", "unsure", "max_fpr"])]
    pub(crate) min_precision: Option<f64>,
    #[command(flatten)]
    pub(crate) unlabelled: UnlabelledArgs,
    #[command(flatten)]
    copies: CopiesArgs,
    #[command(flatten)]
    kept: KeptArgs,
}

/// Documents given twice.
#[derive(Args)]
#[command(next_help_heading = "Documents given twice")]
struct CopiesArgs {
    /// Count equal messages as often as given instead of once (text and rows always count as often as given)
    #[arg(long)]
    repeat: bool,
    /// Column of the weight of each row in tables, up to 1,000,000: a name, or a number from 1. A row counts as often as its
    /// weight says, or the nearest whole number; the fit takes the fraction too. Rows of weight 0 are left out
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// What to do if more than 5 % of a label's messages equal messages of another label (for text and rows, only a
    /// note is printed)
    #[arg(long, value_enum, value_name = "refuse|keep", default_value_t = Contradictions::Refuse, hide_possible_values = true)]
    contradictions: Contradictions,
}

/// What the model file is, and what it remembers.
#[derive(Args)]
#[command(next_help_heading = "Model")]
struct KeptArgs {
    /// Count the documents without fitting a model: -m FILE becomes a partial, and tamis merge makes a model of
    /// partials. Implies --repeat and --no-names
    #[arg(long, requires = "model")]
    partial: bool,
    /// Replace a model even if it has learned since it was trained, which is then lost
    #[arg(long)]
    replace: bool,
    /// Remember the terms of each document, so that the model can be refitted when it has learned more, and documents
    /// can be forgotten without their files (the default; for text, up to 64 MB of terms)
    #[arg(long, overrides_with = "no_documents")]
    documents: bool,
    /// Remember only a digest of each document
    #[arg(long)]
    no_documents: bool,
    /// Do not remember the names of messages (their Message-IDs), now or when the model learns more
    #[arg(long)]
    no_names: bool,
}

/// Training on more documents gives memory back as soon as it can. With fewer, that would take a few hundredths longer.
const MANY: u64 = 1 << 16;

pub(crate) fn run(args: &TrainArgs) -> Result<u8> {
    let path = args.model.path()?;
    match args.kept.partial {
        true => refuse_to_replace_all_but_partials(&path)?,
        false => refuse_to_replace_taught(&path, args.kept.replace)?,
    }
    if args.table.target.is_none() {
        args.scoring.options(&args.unlabelled).check()?;
    }
    let corpus = Corpus::find_labelled(&args.sources, &args.input, args.table.target.as_deref())?;
    let corpus = corpus.labelled(args.labels.row_labels(), &Classes::default()).grouped(&args.groups);
    let mut corpus = corpus.weighted(args.copies.weight.as_deref());
    let mut options = options(args, &corpus)?;
    corpus.embed_new(&mut options.recipe)?;
    let mut learned = learn_all(args, &corpus, &options)?;
    let without_label = corpus.without_label.load(Ordering::Relaxed) as u64;
    if corpus.unite_numbers(learned.0.classes())? {
        learned = learn_all(args, &corpus, &options)?;
    }
    let (trainer, names, unreadable) = learned;
    let (documents, labels) = (trainer.n_documents(), trainer.classes().len());
    if documents > MANY {
        return_large_blocks();
    }
    if labels < 2 && !args.kept.partial {
        let got = format!("{} of {}", counted(documents, "document"), counted(labels as u64, "label"));
        bail!("expected documents of at least two labels, got {got}; name another source as LABEL=PATH");
    }
    if without_label > 0 && args.table.target.is_none() {
        let rows = counted(without_label, "row");
        note!(
            "left out {rows} without a label; in a file of its own, --unlabelled FILE learns from such rows too"
        );
    }
    columns::say_missing(trainer.recipe(), trainer.missing());
    say_truncated(trainer.n_truncated(), corpus.kind);
    if trainer.n_wrapped() > 0 {
        let wrapped = counted(trainer.n_wrapped(), "message");
        say!("tamis: {wrapped} learned without the report of another filter that wrapped them");
    }
    if trainer.n_html() > 0 {
        let pages = counted(trainer.n_html(), "document");
        note!("of {pages} of HTML, only the text is read; --raw keeps the tags");
    }
    say_equal(&trainer, options.repeat);
    check_contradictions(&trainer, &names, &corpus, args.copies.contradictions)?;
    drop(names);
    if args.kept.partial {
        write_partial(args, trainer, &path)?;
        return Ok(corpus.conclude(unreadable));
    }
    let scoring = scoring(args, &trainer)?;
    let decision = decision(args, &trainer)?;
    let trainer = trainer.with_scoring(scoring).with_decision(decision);
    let model = while_shown("fitting", || trainer.finish())?;
    args.model.make_folder(&path)?;
    let lock = Lock::wait(&path, LearnOptions::default().lock_timeout)?;
    // again, since someone may have changed it meanwhile
    refuse_to_replace_taught(&path, args.kept.replace)?;
    lock.save(&model)?;
    drop(lock);
    let filter = model.into_filter()?;
    say_chosen_terms(&filter.information());
    say_terms_left_out(&options, &filter);
    report(&path, &filter)?;
    Ok(corpus.conclude(unreadable))
}

/// Prints a note if the terms of documents are not kept because there are too many.
fn say_terms_left_out(options: &TrainOptions, filter: &Filter) {
    let information = filter.information();
    let is_fitted = matches!(information.scoring, Scoring::Weighted(_));
    let is_fitted = is_fitted && !information.recipe.has_other_columns();
    if options.keep.is_none() && information.stored.keep == Keep::Digests && is_fitted {
        note!(
            "the terms of documents would take more than 64 MB and are not kept, so what is learned later is not fitted \
            together with them; --documents keeps them"
        );
    }
}

/// The options that are known before anything is learned.
fn options(args: &TrainArgs, corpus: &Corpus<'_>) -> Result<TrainOptions> {
    let mut options = args.recipe.train_options(corpus.kind, args.labels.row_labels())?;
    columns::choose(&mut options.recipe, corpus, &args.table, &args.recipe)?;
    options.repeat |= args.copies.repeat || args.kept.partial;
    options.names &= !args.kept.no_names && !args.kept.partial;
    options.keep = match (args.kept.documents, args.kept.no_documents) {
        (true, _) => Some(Keep::Vectors),
        (_, true) => Some(Keep::Digests),
        _ => options.keep,
    };
    options.prepare(&args.scoring.options(&args.unlabelled))?;
    Ok(options)
}

/// Writes a partial with the counts and the options of the future model.
fn write_partial(args: &TrainArgs, trainer: Trainer, path: &Path) -> Result<()> {
    let is_default = args.scoring == ScoringArgs::default()
        && args.unlabelled.lambda.is_none()
        && args.unlabelled.iterations.is_none();
    if !args.unlabelled.unlabelled.is_empty() && !is_default {
        bail!("--partial --unlabelled: expected no options of scoring, which depend on all documents");
    }
    let decision = decision(args, &trainer)?;
    let mut trainer = trainer.with_decision(decision);
    if !is_default {
        let scoring = scoring(args, &trainer)?;
        trainer = trainer.with_scoring(scoring);
    }
    args.model.make_folder(path)?;
    let partial = trainer.into_partial()?;
    partial.save(path)?;
    report_counted(path, &partial)
}

/// Learns all documents. Also returns the names of the labelled ones and the number of unreadable documents.
fn learn_all(
    args: &TrainArgs,
    corpus: &Corpus<'_>,
    options: &TrainOptions,
) -> Result<(Trainer, NameHashes, usize)> {
    let more = corpus.find_unlabelled(&args.unlabelled.unlabelled, &options.recipe)?;
    let (mut trainer, names, mut unreadable) = learn(corpus, options, |trainer, given, document| {
        trainer.add_weighted(given.weight, given.label, given.group, document)
    })?;
    if !args.unlabelled.unlabelled.is_empty() {
        let (unlabelled, _, failed) =
            learn(&more, options, |trainer, _, document| trainer.add_unlabelled(document))?;
        trainer.merge(unlabelled)?;
        unreadable += failed;
    }
    Ok((trainer, names, unreadable))
}

/// The requirements on decisions.
fn decision(args: &TrainArgs, trainer: &Trainer) -> Result<DecisionOptions> {
    let mut decision = args.decision.options(trainer.classes(), args.max_fpr)?;
    decision.min_precision = args.min_precision;
    decision.check()?;
    Ok(decision)
}

/// The scoring that the arguments ask for, known once all documents are learned.
fn scoring(args: &TrainArgs, trainer: &Trainer) -> Result<Scoring> {
    let documents = trainer.n_documents() + trainer.n_unlabelled();
    let asked = args.scoring.options(&args.unlabelled);
    Ok(asked.scoring(trainer.recipe(), trainer.classes(), documents)?)
}

/// Learns a corpus with one trainer per thread. Also returns the names of the documents and the number of unreadable
/// ones.
fn learn(
    corpus: &Corpus<'_>,
    options: &TrainOptions,
    add: impl Fn(&mut Trainer, Attributes<'_>, Document<'_>) -> tamis_train::Result<()> + Sync,
) -> Result<(Trainer, NameHashes, usize)> {
    let start = || Ok((Trainer::new(options.clone())?, NameHashes::default()));
    let finished = corpus.for_each(
        &options.recipe.limits,
        start,
        |(trainer, names), item, given, document| {
            add(trainer, given, document)?;
            names.note(item, trainer.last_digest());
            Ok(())
        },
        |_, ()| Ok(()),
    )?;
    let mut states = finished.states.into_iter();
    let (mut trainer, mut names) = states.next().map_or_else(start, Ok)?;
    for (other, its_names) in states {
        trainer.merge(other)?;
        names.append(its_names);
    }
    Ok((trainer, names, finished.unreadable))
}
