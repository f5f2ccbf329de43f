//! `tamis evaluate`

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_mail::Message;
use tamis_program::{check_unchanged, grouped, json_line, shown_path};
use tamis_report::{EvaluationReport, Mislabel, Page};
use tamis_train::evaluate::{HeldOutScore, LearningStep, Prequential, cross_validate};
use tamis_train::options::Pairs;
use tamis_train::{
    ClassId, Classes, Decision, Document, Filter, Kind, Score, Scoring, TrainOptions, Trainer, may_judge,
    positive_class, spam_class,
};

use crate::args::{
    GroupArgs, InputArgs, LabelsArgs, ModelArgs, Order, RecipeArgs, ScoringArgs, TableArgs, UnlabelledArgs,
    VerdictArgs, at_least,
};
use crate::evaluation::report::Report;
use crate::input::{Attributes, Corpus, CorpusScorer, DocumentView, Item, Selection, columns, say_equal};
use crate::output::{Canvas, file_name, labels, page, to_text, while_shown};

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
    order: Order,
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
    pub(super) fn check_for_model(&self) -> Result<()> {
        let is_of_training = self.table.target.is_some() || !self.unlabelled.unlabelled.is_empty();
        let only_seed = ScoringArgs { seed: self.scoring.seed, ..Default::default() };
        if self.recipe != Default::default() || self.scoring != only_seed || is_of_training {
            bail!("options of training: expected --folds or --online, since an existing model has its own");
        }
        Ok(())
    }
}

pub(super) fn run(args: &EvaluateArgs) -> Result<u8> {
    let evaluated = evaluated(args, false)?;
    let Evaluated { classes, spam, named, status, .. } = &evaluated;
    if named.is_empty() {
        bail!("expected documents to evaluate, got none");
    }
    if let Some(path) = &args.written.scores {
        write_scores(path, classes, named).with_context(|| shown_path(path))?;
    }
    let outcomes: Vec<_> = named.iter().map(|(_, outcome)| *outcome).collect();
    let learning = if args.method.online { LearningStep::curve(&outcomes) } else { Vec::new() };
    let report = Report::new(classes, *spam, &outcomes, learning, args.scoring.seed);
    if let Some(path) = &args.written.html {
        page::write(path, &evaluated.page(&title(args)?, &outcomes, &report))?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.written.json {
        writeln!(out, "{}", json_line(report.json().to_string()))?;
    } else {
        report.print(&mut out, Canvas::of_stdout())?;
    }
    out.flush()?;
    Ok(*status)
}

/// A title that says what was evaluated.
pub(super) fn title(args: &EvaluateArgs) -> Result<String> {
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
pub(crate) struct Evaluated {
    pub(crate) classes: Classes,
    /// The label that counts as spam.
    pub(crate) spam: Option<ClassId>,
    /// The thresholds between two labels.
    decision: Option<Decision>,
    pub(crate) named: Vec<Named>,
    /// How many of the documents the model has learned, if that was looked up.
    pub(crate) learned: u64,
    /// The exit status.
    pub(crate) status: u8,
}

/// Maximum number of documents that a report names as contradicting their label.
const MOST_MISLABELS: usize = 20;

impl Evaluated {
    fn page(&self, title: &str, outcomes: &[HeldOutScore], report: &Report<'_>) -> Page {
        let Evaluated { classes, spam, decision, .. } = self;
        let (evaluation, learning) = (&report.evaluation, &report.learning[..]);
        let name = |place: usize| to_text(&self.named[place].0).into_owned();
        let mislabels = Mislabel::of_outcomes(classes, outcomes, MOST_MISLABELS, name);
        let (spam, decision, mislabels) = (*spam, *decision, &mislabels);
        EvaluationReport { title, classes, spam, outcomes, evaluation, decision, learning, mislabels }.page()
    }
}

type Named = (OsString, HeldOutScore);

/// Scores documents as the options ask. With `counts_learned`, looks up which of them the model has learned.
pub(crate) fn evaluated(args: &EvaluateArgs, counts_learned: bool) -> Result<Evaluated> {
    if args.groups.are_given() && args.method.folds.is_none() {
        bail!("{}: expected --folds with it, whose folds keep groups together", args.groups.option());
    }
    match args.method.folds.is_some() || args.method.online {
        true => by_learning(args),
        false => by_model(args, counts_learned),
    }
}

/// Scores documents with a model that should not have learned them.
fn by_model(args: &EvaluateArgs, counts_learned: bool) -> Result<Evaluated> {
    args.check_for_model()?;
    let mut filter = args.model.open()?;
    args.decision.apply(&mut filter)?;
    if filter.has_many_labels() {
        bail!("expected a model of one label a document, got many");
    }
    let recipe = filter.information().recipe;
    let sources = args.input.list.add_to(&args.sources)?;
    let corpus = Corpus::find_for(&sources, Selection::Labelled, &args.input, recipe)?;
    let corpus = corpus.labelled(args.labels.for_model(&filter)?);
    let known = known_documents(&filter, counts_learned)?;
    let (mut outcomes, learned) = (Vec::new(), AtomicU64::new(0));
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CorpusScorer::new(&filter)),
        |scorer, _, given, document| {
            let truth = class_of(filter.classes(), given.label)?;
            if !known.is_empty() && known.contains(&filter.digest(document)?) {
                learned.fetch_add(1, Ordering::Relaxed);
            }
            let score = scorer.score(document)?;
            Ok(HeldOutScore::new(truth, score, scorer.probabilities()[usize::from(truth)]))
        },
        |item, outcome| {
            outcomes.push((item.name().into_owned(), outcome));
            Ok(())
        },
    )?;
    check_unchanged(&filter)?;
    columns::say_missing(recipe, &CorpusScorer::missing(&finished.states));
    Ok(Evaluated {
        classes: filter.classes().clone(),
        spam: filter.spam(),
        decision: (filter.classes().len() == 2).then(|| filter.decision()),
        named: outcomes,
        learned: learned.into_inner(),
        status: corpus.conclude(finished.unreadable),
    })
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

/// A document held in memory, to be learned when its turn comes.
pub(super) struct Held {
    pub(super) name: OsString,
    pub(super) label: String,
    pub(super) group: Option<String>,
    content: HeldContent,
    key: Key,
}

enum HeldContent {
    Mail(Vec<u8>),
    Text(String),
    Row(Vec<(String, String)>),
}

/// The key that documents are ordered by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Given,
    Digest([u8; 16]),
    Date(Option<i64>),
}

impl Held {
    pub(super) fn loaded(&self) -> DocumentView<'_> {
        match &self.content {
            HeldContent::Mail(bytes) => DocumentView::Mail(bytes),
            HeldContent::Text(text) => DocumentView::Text(text.into()),
            HeldContent::Row(cells) => {
                DocumentView::Row(cells.iter().map(|(name, cell)| (&**name, &**cell)).collect())
            }
        }
    }
}

/// Alternates learning and scoring.
fn by_learning(args: &EvaluateArgs) -> Result<Evaluated> {
    let is_table = args.table.target.is_some();
    let asked = args.scoring.options(&args.unlabelled);
    if !is_table {
        asked.check()?;
    }
    if args.method.online && (is_table || !args.unlabelled.unlabelled.is_empty()) {
        bail!("--online: expected no --target and no --unlabelled with it, which need all documents at once");
    }
    let sources = args.input.list.add_to(&args.sources)?;
    let corpus = Corpus::find_labelled(&sources, &args.input, args.table.target.as_deref())?;
    let corpus = corpus.labelled(args.labels.row_labels()).grouped(&args.groups);
    let mut options = args.recipe.train_options(corpus.kind, args.labels.row_labels())?;
    columns::choose(&mut options.recipe, &corpus, &args.table, &args.recipe)?;
    options.prepare(&asked)?;
    if args.method.order == Order::Date && corpus.kind != Kind::Mail {
        bail!("--order date: expected mail, got {}", corpus.kind);
    }
    let (mut documents, unreadable) = hold_all(&corpus, &options, args.method.order)?;
    // A stable sort: documents with equal keys stay in the given order.
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    let classes = Classes::new(documents.iter().map(|d| d.label.as_str()))?;
    let expected = Some((corpus.kind, "the labelled source"));
    let more = Corpus::find(&args.unlabelled.unlabelled, Selection::Documents, &args.input, expected)?
        .without(&corpus);
    let (unlabelled, unread) = hold_all(&more, &options, Order::Given)?;
    let n = documents.len() + unlabelled.len();
    let scoring = asked.scoring(&options.recipe, &classes, n as u64)?;
    if !args.decision.is_for_held_out() {
        bail!("--prior and --cost: expected a model, got --folds or --online");
    }
    let has_thresholds = classes.len() == 2 && matches!(scoring, Scoring::Weighted(_));
    options.scoring = Some(scoring);
    options.check_for(classes.len())?;
    let spam = spam_of(args, &classes)?;
    let decision = thresholds(args, spam, &classes)?;
    let held_out =
        while_shown("validating", || hold_out(args, options, &classes, &mut documents, &unlabelled))?;
    let outcome = |(held, mut outcome): (Held, HeldOutScore)| {
        outcome.score.label = match args.decision.decision.unsure {
            _ if has_thresholds => decided(&decision, spam, &outcome, &classes),
            Some(least) => likelier_than(least, spam, &outcome.score, classes.len()),
            None => outcome.score.label,
        };
        (held.name, outcome)
    };
    let named = documents.into_iter().zip(held_out).map(outcome).collect();
    let decision = (classes.len() == 2).then_some(decision);
    let status = corpus.conclude(unreadable + unread);
    Ok(Evaluated { classes, spam, decision, named, learned: 0, status })
}

/// The label that counts as spam: that of --spam-label, else one with a name that means spam.
fn spam_of(args: &EvaluateArgs, classes: &Classes) -> Result<Option<ClassId>> {
    let Some(label) = &args.decision.spam_label else { return Ok(spam_class(classes)) };
    let expected = || format!("--spam-label: expected one of {}, got {label:?}", labels(classes).join(", "));
    classes.index(label).map(Some).with_context(expected)
}

/// Reads all documents. Also returns how many could not be read. Rows are checked by learning them.
pub(super) fn hold_all(
    corpus: &Corpus<'_>,
    options: &TrainOptions,
    order: Order,
) -> Result<(Vec<Held>, usize)> {
    let mut documents = Vec::new();
    let finished = corpus.for_each(
        &options.recipe.limits,
        || Ok((corpus.kind == Kind::Table).then(|| Trainer::new(options.clone())).transpose()?),
        |checked: &mut Option<Trainer>, item, given, document| {
            checked.as_mut().map_or(Ok(()), |trainer| trainer.add(given.label, document))?;
            Ok(hold(item, given, document, order))
        },
        |_, held| {
            documents.push(held);
            Ok(())
        },
    )?;
    let missing = finished.states.iter().flatten().map(|trainer| trainer.missing().to_vec());
    let sum = |sums: Vec<u64>, more: Vec<u64>| sums.iter().zip(more).map(|(a, b)| a + b).collect();
    if let (Some(missing), Some(trainer)) = (missing.reduce(sum), finished.states.iter().flatten().next()) {
        columns::say_missing(trainer.recipe(), &missing);
    }
    Ok((documents, finished.unreadable))
}

/// The likeliest label, if it has at least the probability `least` and the document may be judged.
fn likelier_than(least: f64, spam: Option<ClassId>, score: &Score, n_classes: usize) -> Option<ClassId> {
    let is_likely = score.probability > 0.5 || n_classes > 2;
    let (class, probability) = (score.scored_class, score.probability);
    let (class, probability) = if is_likely { (class, probability) } else { (1 - class, 1.0 - probability) };
    (may_judge(spam, score.known_terms) && probability >= least).then_some(class)
}

/// The thresholds used without a model.
fn thresholds(args: &EvaluateArgs, spam: Option<ClassId>, classes: &Classes) -> Result<Decision> {
    let (default, unsure) = (Decision::for_spam(spam, classes), args.decision.decision.unsure);
    Ok(unsure.map_or(Ok(default), |least| default.with_unsure_below(least))?)
}

/// The label that the thresholds give, if the document may be judged.
fn decided(
    decision: &Decision,
    spam: Option<ClassId>,
    held_out: &HeldOutScore,
    classes: &Classes,
) -> Option<ClassId> {
    let positive = positive_class(classes);
    let is_positive = decision.is_positive(held_out.log_odds_of(positive))?;
    may_judge(spam, held_out.score.known_terms).then_some(if is_positive { positive } else { 1 - positive })
}

/// Scores every document by a model of the other documents (in folds) or of those before it. In folds, only documents
/// that count.
fn hold_out(
    args: &EvaluateArgs,
    options: TrainOptions,
    classes: &Classes,
    documents: &mut Vec<Held>,
    unlabelled: &[Held],
) -> Result<Vec<HeldOutScore>> {
    let seed = args.scoring.seed.unwrap_or_default();
    let Some(folds) = args.method.folds else {
        let mut online = Prequential::new(options, classes.iter().map(|(_, label)| label))?;
        let held_out = |held: &Held| Ok(online.next(&held.label, held.loaded().document())?);
        return documents.iter().map(held_out).collect();
    };
    if options.recipe.kind != Kind::Table {
        take_copies_out(&options, documents)?;
    }
    let own: Vec<_> = documents.iter().map(Held::loaded).collect();
    let others: Vec<_> = unlabelled.iter().map(Held::loaded).collect();
    let labelled = documents.iter().zip(&own);
    let labelled: Vec<_> =
        labelled.map(|(held, own)| (&*held.label, held.group.as_deref(), own.document())).collect();
    let others: Vec<_> = others.iter().map(DocumentView::document).collect();
    Ok(cross_validate(&options, &labelled, &others, folds.into(), seed)?.1)
}

/// Keeps only the documents that count.
pub(super) fn take_copies_out(options: &TrainOptions, documents: &mut Vec<Held>) -> Result<()> {
    let mut of_words = options.clone();
    of_words.pairs = Pairs::Fixed;
    let mut trainer = Trainer::new(of_words)?;
    let mut counts = Vec::with_capacity(documents.len());
    for held in &*documents {
        let before = trainer.n_documents();
        let added = trainer.add_in_group(&held.label, held.group.as_deref(), held.loaded().document());
        added.with_context(|| shown_path(&held.name))?;
        counts.push(trainer.n_documents() > before);
    }
    say_equal(&trainer, false);
    let mut counts = counts.into_iter();
    documents.retain(|_| counts.next().unwrap_or(true));
    Ok(())
}

fn hold(item: &Item<'_>, given: Attributes<'_>, document: Document<'_>, order: Order) -> Held {
    let content = match document {
        Document::Mail(bytes) => HeldContent::Mail(bytes.to_vec()),
        Document::Text(text) => HeldContent::Text(text.to_owned()),
        Document::Fields(cells) => HeldContent::Row(
            cells.iter().map(|(name, cell)| ((*name).to_owned(), (*cell).to_owned())).collect(),
        ),
    };
    let path = &item.file.path;
    let file_name = path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes();
    let key = match (order, &content) {
        (Order::Md5, _) => Key::Digest(md5::compute(file_name).0),
        (Order::Date, HeldContent::Mail(bytes)) => {
            Key::Date(Message::parse(bytes, &Default::default()).date())
        }
        _ => Key::Given,
    };
    let Attributes { label, group, .. } = given;
    let (label, group) = (label.to_owned(), group.map(str::to_owned));
    Held { name: item.name().into_owned(), label, group, content, key }
}

fn write_scores(path: &Path, classes: &Classes, outcomes: &[Named]) -> Result<()> {
    let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(File::create(path)?);
    table.write_record(["path", "true_label", "log_odds", "verdict", "probability"])?;
    for (name, HeldOutScore { class, score, .. }) in outcomes {
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let verdict = score.label.map_or("unsure", label);
        let [log_odds, probability] = [score.log_odds, score.probability].map(|n| n.to_string());
        let cells = [label(*class), &log_odds, verdict, &probability].map(str::as_bytes);
        table.write_record([&[name.as_encoded_bytes()], &cells[..]].concat())?;
    }
    Ok(table.flush()?)
}
