//! `tamis learn`, `tamis forget` and `tamis retrain`

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use tamis_filter::{
    Document, ErrorKind, Filter, Keep, Kind, Known, Learned, Learner, Score, Scoring, TrainOptions,
    document_name,
};
use tamis_mail::looks_like_mail;

use crate::args::input::{GroupArgs, InputArgs};
use crate::args::model::{ChangeArgs, FallbackArg, ModelArg, open_model};
use crate::input::corpus::{Corpus, Wanted};
use crate::input::items::Item;
use crate::input::pass::Given;
use crate::model::learning::commit;
use crate::output::expected::expectation;
use crate::output::numbers::{counted, grouped};
use crate::output::shown::{named, note, say, shown, shown_path};
use crate::output::status::ERROR;
use crate::output::volume::done;

#[derive(Args)]
#[command(after_help = "\
When the program returns, what was learned is safely on the disk. A document already known under \
the label stays as it is; one known under another label moves. If there is no model, one is made, \
with the labels ham and spam or like that of --fallback.

Example:
  tamis learn spam < message.eml
  tamis learn ham \"$HOME/Maildir/.Archive\"
  tamis learn spam --if-wrong < message.eml
  grep -l casino mail/* | tamis learn spam --files-from -")]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// The label to learn the documents under
    #[arg(value_name = "LABEL")]
    pub(crate) label: String,
    /// Files, folders, mboxes, Maildirs; standard input by default
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Learn only documents that the model does not already give this label
    #[arg(long)]
    pub(crate) if_wrong: bool,
    /// Like --if-wrong, but also learn documents that the model gives this label with log-odds below X (nats)
    #[arg(long, value_name = "X")]
    pub(crate) margin: Option<f64>,
    /// Allow a label that the model does not know yet
    #[arg(long)]
    pub(crate) new_label: bool,
    /// Do not retrain when much was learned since the last time. A model with a shared one behind it is never retrained
    /// by itself
    #[arg(long)]
    pub(crate) no_retrain: bool,
    /// Labels of the model to make if there is none [default: ham,spam]
    #[arg(long, value_name = "LABEL,LABEL", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// In a new model, do not remember the names of messages (their Message-IDs)
    #[arg(long)]
    pub(crate) no_names: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// How far it is, for those who are used to sa-learn.
#[derive(Args)]
pub(crate) struct ProgressArgs {
    /// Show progress on standard error: a bar, or where that is no terminal a dot for each document. Ends with the
    /// summary line of sa-learn
    #[arg(long)]
    progress: bool,
    /// Show a dot for each document on standard error, terminal or not. Ends with the summary line of sa-learn
    #[arg(long, alias = "showdots", conflicts_with = "progress")]
    dots: bool,
}

impl ProgressArgs {
    fn has_dots(&self) -> bool {
        self.dots || self.progress && !std::io::stderr().is_terminal()
    }

    /// The last line: sa-learn's if progress was shown, else this one.
    fn print_last(&self, done: &str, n: u64, examined: u64, usual: &str) -> Result<()> {
        match self.progress || self.dots {
            true => print(&format!("{done} tokens from {n} message(s) ({examined} message(s) examined)")),
            false => print(usual),
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Forgetting removes exactly what learning added. The first argument is a label if the model knows \
it; write ./spam for a file of that name.

Example:
  tamis forget < message.eml
  tamis forget spam message.eml
  tamis forget --name '<1@example.org>'
  tamis forget --digest 0123456789abcdef0123456789abcdef")]
pub(crate) struct ForgetArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// The label that the documents must have been learned under, if any; then files, folders, mboxes, Maildirs.
    /// Standard input by default
    #[arg(value_name = "[LABEL] PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Forget the document with this digest, as `inspect --suspects` prints it; its file is not needed
    #[arg(long, value_name = "HEX", conflicts_with = "files_from")]
    pub(crate) digest: Vec<Digest>,
    /// Forget the message with this Message-ID; its file is not needed
    #[arg(long, value_name = "MESSAGE-ID", conflicts_with = "files_from", allow_hyphen_values = true)]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Fits again what learning one by one leaves as it was.
#[derive(Args)]
#[command(after_help = "\
Learning documents one by one leaves the correction, the calibration and the thresholds as they \
were. This fits them to all documents that the model remembers, as train does.")]
pub(crate) struct RetrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// A document's identity, 32 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(pub(crate) [u8; 16]);

impl std::str::FromStr for Digest {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let number = (s.len() == 32).then(|| u128::from_str_radix(s, 16).ok()).flatten();
        let number = number.ok_or_else(|| format!("expected 32 hexadecimal digits, got {s:?}"))?;
        Ok(Digest(number.to_be_bytes()))
    }
}

/// Counts what happened to the documents.
#[derive(Default)]
struct Tally {
    learned: u64,
    already: u64,
    moved: u64,
    right: u64,
}

impl Tally {
    fn examined(&self) -> u64 {
        self.learned + self.already + self.moved + self.right
    }

    /// `spam: learned 3 documents, 2 already known`
    fn line(&self, label: &str) -> String {
        let parts = [
            (self.already, "already known"),
            (self.moved, "moved from another label"),
            (self.right, "already labelled so"),
        ];
        let others =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {} {what}", grouped(*n)));
        let others: String = others.collect();
        format!("{}: learned {}{others}", shown(label), counted(self.learned, "document"))
    }
}

pub(crate) fn learn(args: &LearnArgs) -> Result<u8> {
    let path = args.model.path()?;
    check_label(args, &path)?;
    let shared = args.fallback.shared(&args.model)?.map(Arc::new);
    // standard input is read before the model is opened, so that the model is opened only once
    let is_input = args.paths.is_empty() && args.input.list.files_from.is_none();
    let mut corpus = match is_input && args.input.input_format.is_none() && path.exists() {
        true => corpus(&[], &args.input, None)?,
        false => corpus(&args.paths, &args.input, open_model(&path)?.as_ref().or(shared.as_deref()))?,
    };
    corpus = corpus.grouped(&args.groups);
    let mut learner = open_or_create(args, &path, corpus.kind, shared.as_deref())?;
    corpus.suit(learner.filter().information().recipe)?;
    if let Some(shared) = shared {
        learner.set_fallback(shared).context("--fallback")?;
    }
    if args.new_label && learner.filter().classes().index(&args.label).is_none() {
        learner.add_label(&args.label)?;
    }
    let mut tally = Tally::default();
    let unreadable =
        for_each(&mut corpus, &mut learner, &args.progress, |learner, item, group, document| {
            if is_sure(args, learner, document)? {
                tally.right += 1;
                return Ok(());
            }
            match learner.learn_in_group(&args.label, group, document) {
                Ok(Learned::Already) => tally.already += 1,
                Ok(Learned::Moved { .. }) => tally.moved += 1,
                Ok(Learned::Beside { labels }) => {
                    tally.learned += 1;
                    say_beside(item, &labels);
                }
                Ok(_) => tally.learned += 1,
                Err(error) if matches!(error.kind(), ErrorKind::UnknownLabel { .. }) => {
                    return Err(anyhow!("{error}; --new-label adds it"));
                }
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })?;
    commit(&mut learner)?;
    let usual = tally.line(&args.label);
    let (changed, examined) = (tally.learned + tally.moved, tally.examined());
    args.progress.print_last("Learned", changed, examined, &usual)?;
    Ok(unreadable)
}

/// Says that a message could not be moved.
fn say_beside(item: &Item<'_>, labels: &[String]) {
    say!(
        "tamis: {}: stays known as {} too, with the header it was learned with: this model does not remember terms, so \
         only the very same message can be moved; tamis forget takes it as it was learned",
        shown_path(&item.name()),
        shown(&labels.join(", "))
    );
}

/// Refuses a path in place of the label before anything is read; otherwise standard input would be read.
fn check_label(args: &LearnArgs, path: &Path) -> Result<()> {
    let label = &args.label;
    if args.new_label || args.labels.contains(label) || !(label.contains('/') || Path::new(label).exists()) {
        return Ok(());
    }
    let known: Vec<String> = match Filter::open(path) {
        Ok(filter) => labels(&filter),
        Err(_) if args.labels.is_empty() => vec!["ham".to_owned(), "spam".to_owned()],
        Err(_) => args.labels.clone(),
    };
    if known.contains(label) {
        return Ok(());
    }
    let path = shown(label);
    bail!(
        "expected a label ({}) before the paths, got the path {path}: tamis learn LABEL {path}",
        shown(&known.join(", "))
    )
}

fn labels(filter: &Filter) -> Vec<String> {
    filter.classes().iter().map(|(_, label)| label.to_owned()).collect()
}

/// Whether the model labels a document rightly, and surely enough that it need not be learned.
fn is_sure(args: &LearnArgs, learner: &mut Learner, document: Document<'_>) -> Result<bool> {
    if !args.if_wrong && args.margin.is_none() {
        return Ok(false);
    }
    let score: Score = learner.score(document)?;
    let is_right = learner.filter().label_of(&score) == args.label;
    Ok(is_right && score.log_odds.abs() >= args.margin.unwrap_or(0.0))
}

fn open_or_create(args: &LearnArgs, path: &Path, kind: Kind, shared: Option<&Filter>) -> Result<Learner> {
    let mut options = args.change.options();
    options.retrain = !args.no_retrain;
    if path.exists() {
        return Learner::open(path, options).map_err(named(path));
    }
    let labels: Vec<&str> = match (&args.labels[..], shared) {
        ([], Some(shared)) => shared.classes().iter().map(|(_, label)| label).collect(),
        ([], None) => vec!["ham", "spam"],
        (labels, _) => labels.iter().map(String::as_str).collect(),
    };
    if !labels.contains(&args.label.as_str()) {
        bail!(
            "{}: there is no model yet; name the labels of a new one with --labels {},OTHER",
            shown_path(path),
            args.label
        );
    }
    let mut new = shared.map_or_else(|| TrainOptions::new(kind), TrainOptions::like);
    new.names &= !args.no_names;
    // so that it can be retrained as it grows
    new.keep = Keep::Vectors;
    args.model.make_folder(path)?;
    let names = labels.join(" and ");
    let learner = Learner::create(path, new, labels, options).map_err(named(path))?;
    let alone = if args.fallback.is_left_out(&args.model) {
        "; no shared model is used, since $TAMIS_FALLBACK does not apply to a model named by -m; --fallback does"
    } else {
        ""
    };
    note!("{}: a new model of {kind} with the labels {}{alone}", shown_path(path), shown(&names));
    Ok(learner)
}

pub(crate) fn forget(args: &ForgetArgs) -> Result<u8> {
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let first = args.paths.first().and_then(|first| first.to_str());
    let label = first.filter(|first| filter.classes().index(first).is_some());
    if let (None, Some(first)) = (label, args.paths.first())
        && first != "-"
        && !Path::new(first).exists()
    {
        let known = labels(&filter).join(", ");
        bail!("{}: expected a label ({}) or a path, got neither", shown_path(first), shown(&known));
    }
    let paths = if label.is_some() { &args.paths[1..] } else { &args.paths[..] };
    let is_at_hand = args.digest.is_empty() && args.name.is_empty() || !paths.is_empty();
    let corpus = is_at_hand.then(|| corpus(paths, &args.input, Some(&filter))).transpose()?;
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let (mut forgotten, mut unknown, mut name) = (0, 0, None);
    for digest in &args.digest {
        name = learner.forget_digest(label, digest.0)?;
        forgotten += 1;
    }
    for (digest, label) in of_names(&args.name, label, learner.filter())? {
        name = learner.forget_digest(Some(&label), digest)?;
        forgotten += 1;
    }
    let mut unreadable = 0;
    if let Some(mut corpus) = corpus {
        unreadable = for_each(&mut corpus, &mut learner, &args.progress, |learner, item, _, document| {
            match learner.forget(label, document) {
                Ok(its) => (forgotten, name) = (forgotten + 1, its),
                Err(error) if matches!(error.kind(), ErrorKind::NotLearned { .. }) => {
                    say!("tamis: {}: {error}", shown_path(&item.name()));
                    unknown += 1;
                }
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })?;
    }
    commit(&mut learner)?;
    let name = name.filter(|_| forgotten == 1).map_or(String::new(), |name| format!(": {}", shown(&name)));
    let usual = format!("forgot {}{name}", counted(forgotten, "document"));
    args.progress.print_last("Forgot", forgotten, forgotten + unknown, &usual)?;
    Ok(if unknown > 0 { ERROR } else { unreadable })
}

/// The digests and labels of the documents with these names, under this label if one is given.
fn of_names(names: &[String], label: Option<&str>, filter: &Filter) -> Result<BTreeSet<([u8; 16], String)>> {
    let names: BTreeMap<_, _> = names.iter().map(|typed| (document_name(typed), typed)).collect();
    let (mut documents, mut missing) = (BTreeSet::new(), names.clone());
    for known in filter.documents().filter(|_| !names.is_empty()) {
        let Known { digest, class, name, .. } = known?;
        let own = filter.classes().label(class).unwrap_or_default();
        let name = name.filter(|name| names.contains_key(name) && label.is_none_or(|label| label == own));
        if let Some(name) = name {
            documents.insert((digest, own.to_owned()));
            missing.remove(&name);
        }
    }
    if let Some(typed) = missing.values().next() {
        let under = label.map_or(String::new(), |label| format!(" as {}", shown(label)));
        let hint = if filter.information().names { "" } else { "; this model remembers none (--no-names)" };
        bail!(
            "--name: expected the Message-ID of a message that was learned{under}, as tamis inspect --suspects prints \
            it, \
             got {}{hint}",
            shown(typed)
        );
    }
    Ok(documents)
}

pub(crate) fn retrain(args: &RetrainArgs) -> Result<u8> {
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
    let documents = information.documents as u64;
    if matches!(information.scoring, Scoring::RobinsonFisher(_)) {
        return print(
            "not retrained: it answers as bogofilter does until it has learned 100 messages of each label",
        )
        .map(|()| 0);
    }
    print(&format!("retrained on {}", counted(documents, "document")))?;
    if let Some(expectation) = expectation(learner.filter()) {
        print(&expectation)?;
    }
    Ok(0)
}

fn print(line: &str) -> Result<()> {
    writeln!(done(), "{line}").context("standard output")
}

/// The documents to learn or forget, found before the model is locked, since standard input may be slow.
fn corpus<'a>(paths: &[OsString], input: &'a InputArgs, model: Option<&Filter>) -> Result<Corpus<'a>> {
    let mut paths = input.list.add_to(paths)?;
    if paths.is_empty() && input.list.files_from.is_none() {
        paths.push("-".into());
    }
    match model {
        Some(model) => Corpus::find_for(&paths, Wanted::Documents, input, model.information().recipe),
        None => Corpus::find_for_new(&paths, input),
    }
}

/// Visits the documents one after another; returns the exit status, given the unreadable ones.
fn for_each(
    corpus: &mut Corpus<'_>,
    learner: &mut Learner,
    progress: &ProgressArgs,
    mut work: impl FnMut(&mut Learner, &Item<'_>, Option<&str>, Document<'_>) -> Result<()> + Send,
) -> Result<u8> {
    let limits = learner.filter().information().recipe.limits;
    let has_dots = progress.has_dots();
    corpus.has_bar &= !has_dots;
    // one after another: what is learned depends on what was learned before
    let state = Mutex::new((learner, &mut work));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let finished = one.context("starting a thread")?.install(|| {
        corpus.for_each(
            &limits,
            || Ok(()),
            |(), item, Given { group, .. }, document| {
                if matches!(document, Document::Mail(bytes) if item.named() && !looks_like_mail(bytes)) {
                    say!(
                        "tamis: {}: this does not look like mail, which the model is for",
                        shown_path(&item.name())
                    );
                }
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let (learner, work) = &mut *state;
                work(learner, item, group, document)
            },
            |_, ()| {
                dot(has_dots, ".");
                Ok(())
            },
        )
    })?;
    dot(has_dots, "\n");
    Ok(corpus.conclude(finished.unreadable))
}

/// Prints a sign of progress. That nobody can read it is no failure.
fn dot(has_dots: bool, sign: &str) {
    if has_dots {
        let _ = std::io::stderr().write_all(sign.as_bytes());
    }
}
