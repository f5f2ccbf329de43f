//! `tamis evaluate`

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{check_unchanged, counted, grouped, note, shown_path};
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, HeldOutLabels, HeldOutScore, LearningStep};
use tamis_train::{ClassId, Classes, Decision, Document, Filter};

use crate::args::{
    GroupArgs, InputArgs, LabelsArgs, ModelArgs, Order, RecipeArgs, ScoringArgs, TableArgs, UnlabelledArgs,
    VerdictArgs, at_least,
};
use crate::evaluation::hold_out::by_learning;
use crate::evaluation::report::print_evaluation;
use crate::input::{Attributes, Corpus, CorpusScorer, SourceScope, columns};
use crate::output::{Canvas, file_name, labels, print_out, to_text, write_page};

#[derive(Args)]
#[command(after_help = "\
Sources are given as for `train`. Unsure counts as wrong in accuracy and as a miss in recall. \
With --folds or --online no model is used: documents are learned with the options of `train`. \
With --folds, rows of a table whose label is that of --target are dealt one by one. \
Intervals are of 95 % confidence (bootstrap).

Example:
  tamis evaluate ham=test/ham spam=test/spam --html report.html
  tamis evaluate --folds 10 ham=mail/ham spam=mail/spam
  tamis evaluate --folds 10 trips.csv --target mode
  tamis evaluate --online --order date spam=Junk.mbox ham=Inbox.mbox")]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Labelled documents, which the model must not have learned
    #[arg(required_unless_present = "files_from", value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(super) labels: LabelsArgs,
    #[command(flatten)]
    pub(super) method: MethodArgs,
    #[command(flatten)]
    pub(super) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) unlabelled: UnlabelledArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
}

/// How documents are scored without a model.
#[derive(Args)]
pub(super) struct MethodArgs {
    /// Cross-validate: split the documents into K folds and score each with a model of the others. Documents of a group
    /// (--group, --group-by), or else with the same body, stay together
    #[arg(long, value_name = "K", conflicts_with_all = ["model", "online"], value_parser = at_least::<u16>(2))]
    pub(super) folds: Option<u16>,
    /// Score each document with a model of those before it, then learn it (prequential evaluation). With --order date,
    /// this measures performance on later documents
    #[arg(long, conflicts_with = "model")]
    pub(super) online: bool,
    /// Order of documents for --online
    #[arg(long, value_enum, default_value_t = Order::Given, requires = "online")]
    pub(super) order: Order,
}

/// What is written.
#[derive(Args)]
pub(super) struct WrittenArgs {
    /// Write path, true label, log-odds, verdict and probability of every document to this file (TSV); with many labels
    /// path, true labels, labels and the probability of each label
    #[arg(long, value_name = "FILE")]
    pub(super) scores: Option<PathBuf>,
    /// Also write a report with pictures to this file (HTML)
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl EvaluateArgs {
    /// Refuses the options that an existing model does not need.
    fn check_for_model(&self) -> Result<()> {
        let is_of_training = self.table.target.is_some() || !self.unlabelled.unlabelled.is_empty();
        let only_seed = ScoringArgs { seed: self.scoring.seed, ..Default::default() };
        if self.recipe != Default::default() || self.scoring != only_seed || is_of_training {
            bail!("options of training: expected --folds or --online, since an existing model has its own");
        }
        Ok(())
    }
}

pub(crate) fn run(args: &EvaluateArgs) -> Result<u8> {
    let EvaluationRun { classes, spam, decision, outcomes, status, .. } = evaluated(args, false)?;
    let (evaluation, mislabels) = match outcomes {
        Outcomes::One(named) => {
            check_some(named.len())?;
            write_scores(args, &classes, &named)?;
            let (names, outcomes): (Vec<_>, Vec<_>) = named.into_iter().unzip();
            let mut evaluation = match args.scoring.seed {
                Some(seed) => Evaluation::with_seed(&classes, spam, &outcomes, seed),
                None => Evaluation::new(&classes, spam, &outcomes),
            };
            if args.method.online {
                evaluation.learning = LearningStep::curve(&outcomes);
            }
            let name = |place: usize| to_text(&names[place]).into_owned();
            (evaluation, Mislabel::of_outcomes(&classes, &outcomes, MOST_MISLABELS, name))
        }
        Outcomes::Many(named) => {
            check_some(named.len())?;
            write_label_scores(args, &classes, &named)?;
            let outcomes: Vec<_> = named.into_iter().map(|(_, outcome)| outcome).collect();
            (Evaluation::of_labels(&classes, &outcomes), Vec::new())
        }
    };
    if let Some(path) = &args.written.html {
        let (title, evaluation, mislabels) = (&title(args)?, &evaluation, &mislabels[..]);
        write_page(path, &EvaluationReport { title, evaluation, decision, mislabels }.page())?;
    }
    // through a value, which sorts the keys
    let json = args.written.json.then(|| serde_json::to_value(&evaluation)).transpose()?;
    print_out(json, |out| print_evaluation(out, &evaluation, Canvas::of_stdout()))?;
    Ok(status)
}

fn check_some(n_documents: usize) -> Result<()> {
    if n_documents == 0 {
        bail!("expected documents to evaluate, got none");
    }
    Ok(())
}

/// A title that says what was evaluated.
fn title(args: &EvaluateArgs) -> Result<String> {
    const MOST: usize = 4;
    let sources = args.input.list.add_to(&args.sources)?;
    let mut names: Vec<_> = sources.iter().take(MOST).map(|source| file_name(source).into_owned()).collect();
    if sources.len() > MOST {
        names.push(format!("and {} more", grouped((sources.len() - MOST) as u64)));
    }
    let how = match args.method.folds {
        Some(folds) => format!("in {folds} folds"),
        None if args.method.online => "learned online".to_owned(),
        None => format!("by {}", file_name(args.model.own.path()?.as_os_str())),
    };
    Ok(format!("{} {how}", names.join(" ")))
}

/// Scores of documents, with the labels and thresholds that they are judged by.
pub(crate) struct EvaluationRun {
    pub(crate) classes: Classes,
    /// The label that counts as spam.
    pub(crate) spam: Option<ClassId>,
    /// The thresholds between two labels.
    pub(super) decision: Option<Decision>,
    pub(crate) outcomes: Outcomes,
    /// How many of the documents the model has learned, if that was looked up.
    pub(crate) learned: u64,
    /// The exit status.
    pub(crate) status: u8,
}

/// Held-out documents of one label or of many, by name.
pub(crate) enum Outcomes {
    One(Vec<(OsString, HeldOutScore)>),
    Many(Vec<(OsString, HeldOutLabels)>),
}

/// Maximum number of documents that a report names as contradicting their label.
const MOST_MISLABELS: usize = 20;

/// Scores documents as the options ask. With `counts_learned`, looks up which of them the model has learned.
pub(crate) fn evaluated(args: &EvaluateArgs, counts_learned: bool) -> Result<EvaluationRun> {
    if args.groups.are_given() && args.method.folds.is_none() {
        bail!("{}: expected --folds with it, whose folds keep groups together", args.groups.option());
    }
    if args.method.folds.is_some() || args.method.online {
        return by_learning(args);
    }
    args.check_for_model()?;
    let mut filter = args.model.open()?;
    args.decision.apply(&mut filter)?;
    let classes = filter.classes();
    if filter.has_many_labels() {
        let (named, _, status) = by_model(args, &filter, false, |scorer, given, document| {
            scorer.score(document)?;
            let labels = scorer.scratch.labels().iter().map(|of| of.label);
            Ok(HeldOutLabels::new(classes, given.label, labels, scorer.scratch.probabilities()))
        })?;
        let (names, outcomes): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let (all, outcomes) = HeldOutLabels::with_unknown(classes, outcomes)?;
        let n_unknown = (all.len() - classes.len()) as u64;
        if n_unknown > 0 {
            note!("the model does not know {}, which are always missed", counted(n_unknown, "label"));
        }
        let outcomes = Outcomes::Many(names.into_iter().zip(outcomes).collect());
        return Ok(EvaluationRun { classes: all, spam: None, decision: None, outcomes, learned: 0, status });
    }
    let (named, learned, status) = by_model(args, &filter, counts_learned, |scorer, given, document| {
        let truth = class_of(classes, given.label)?;
        let score = scorer.score(document)?;
        Ok(HeldOutScore::new(truth, score, scorer.scratch.probabilities()[usize::from(truth)]))
    })?;
    Ok(EvaluationRun {
        classes: classes.clone(),
        spam: filter.spam(),
        decision: (classes.len() == 2).then(|| filter.decision()),
        outcomes: Outcomes::One(named),
        learned,
        status,
    })
}

/// Scores documents with a model that should not have learned them. Returns what `hold_out` makes of each by its name,
/// how many of them the model has learned, and the exit status.
fn by_model<T: Send>(
    args: &EvaluateArgs,
    filter: &Filter,
    counts_learned: bool,
    hold_out: impl Fn(&mut CorpusScorer<'_>, Attributes<'_>, Document<'_>) -> Result<T> + Sync,
) -> Result<(Vec<(OsString, T)>, u64, u8)> {
    let recipe = filter.information().recipe;
    let corpus = Corpus::find_for(&args.sources, SourceScope::Labelled, &args.input, recipe)?;
    let corpus = corpus.labelled(args.labels.for_model(filter)?);
    let known = known_documents(filter, counts_learned)?;
    let (mut outcomes, learned) = (Vec::new(), AtomicU64::new(0));
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CorpusScorer::new(filter)),
        |scorer, _, given, document| {
            if !known.is_empty() && known.contains(&filter.digest(document)?) {
                learned.fetch_add(1, Ordering::Relaxed);
            }
            hold_out(scorer, given, document)
        },
        |item, outcome| {
            outcomes.push((item.name().into_owned(), outcome));
            Ok(())
        },
    )?;
    check_unchanged(filter)?;
    columns::say_missing(recipe, &CorpusScorer::missing(&finished.states));
    Ok((outcomes, learned.into_inner(), corpus.conclude(finished.unreadable)))
}

/// The digests of the documents that a model has learned; empty unless `are_wanted`.
fn known_documents(filter: &Filter, are_wanted: bool) -> Result<HashSet<[u8; 16]>> {
    let documents = filter.documents().take(if are_wanted { usize::MAX } else { 0 });
    documents.map(|known| Ok(known?.digest)).collect()
}

fn class_of(classes: &Classes, label: &str) -> Result<ClassId> {
    classes.index(label).with_context(|| {
        format!("expected one of the model's labels ({}), got {label:?}", labels(classes).join(", "))
    })
}

fn write_scores(args: &EvaluateArgs, classes: &Classes, named: &[(OsString, HeldOutScore)]) -> Result<()> {
    let head = ["path", "true_label", "log_odds", "verdict", "probability"].map(str::to_owned);
    write_table(args, head.into(), named, |HeldOutScore { class, score, .. }| {
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let verdict = score.label.map_or("unsure", label);
        let [log_odds, probability] = [score.log_odds, score.probability].map(|n| n.to_string());
        vec![label(*class).to_owned(), log_odds, verdict.to_owned(), probability]
    })
}

/// Writes path, labels and given labels of each document, and the probability of each label.
fn write_label_scores(
    args: &EvaluateArgs,
    classes: &Classes,
    named: &[(OsString, HeldOutLabels)],
) -> Result<()> {
    let head = ["path", "true_labels", "labels"].map(str::to_owned);
    let probabilities = classes.iter().map(|(_, label)| format!("probability_{label}"));
    let joined = |labels: &[ClassId]| {
        let names: Vec<_> = labels.iter().filter_map(|label| classes.label(*label)).collect();
        names.join(",")
    };
    let head = head.into_iter().chain(probabilities).collect();
    write_table(args, head, named, |HeldOutLabels { has, given, probabilities, .. }| {
        [joined(has), joined(given)].into_iter().chain(probabilities.iter().map(f64::to_string)).collect()
    })
}

/// Writes the table of `--scores`: a row of `cells` for each document, after its name.
fn write_table<T>(
    args: &EvaluateArgs,
    head: Vec<String>,
    named: &[(OsString, T)],
    cells: impl Fn(&T) -> Vec<String>,
) -> Result<()> {
    let Some(path) = &args.written.scores else { return Ok(()) };
    let write = || -> Result<()> {
        let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(File::create(path)?);
        table.write_record(head)?;
        for (name, outcome) in named {
            table.write_field(OsStr::as_encoded_bytes(name))?;
            table.write_record(cells(outcome))?;
        }
        Ok(table.flush()?)
    };
    write().with_context(|| shown_path(path))
}
