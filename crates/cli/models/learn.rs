//! `tamis learn`

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use tamis_mail::{forwarded_messages, looks_like_mail};
use tamis_program::{
    ERROR, commit, counted, done, grouped, named, note, open_model, say, shown, shown_path,
    survive_file_limits, told,
};
use tamis_train::{
    Classes, Document, ErrorKind, Filter, Keep, LearnOptions, LearnOutcome, Learner, Limits, Recipe,
    TrainOptions, join_labels, split_labels,
};

use crate::args::{ChangeArgs, GroupArgs, InputArgs, LogArg, ModelArgs};
use crate::formats::labels::{RowLabels, learned_as};
use crate::input::{Attributes, Corpus, Item, SourceScope, holds_of};
use crate::output::{labels, message_id};

#[derive(Args)]
#[command(after_help = "\
When the program returns, what was learned is safely on disk. A document already known under the \
label is left alone; one known under another label moves. If there is no model, a new one is made, \
with the labels ham and spam or those of --fallback.

Example:
  tamis learn spam < message.eml
  tamis learn ham \"$HOME/Maildir/.Archive\"
  tamis learn spam --if-wrong < message.eml
  tamis learn corrected.csv
  tamis learn spam --forwarded < message.eml
  tamis learn spam --spool ~/.local/share/tamis/spool < message.eml
  grep -l casino mail/* | tamis learn spam --files-from -")]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The label to learn the documents under, or a table, each of whose rows is learned under its own label. Optional
    /// with --spool
    #[arg(value_name = "LABEL", required_unless_present = "spool")]
    pub(crate) label: Option<String>,
    /// Files, folders, mboxes, Maildirs; standard input by default
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Follow links that lead out of the named folders
    #[arg(long)]
    follow: bool,
    /// Put the message on standard input into this private folder first, then learn what waits there, the oldest first.
    /// If the model is busy or cannot be written, the message stays there for the next call, and this one succeeds.
    /// Without a label, only learn what waits. A message that can never be learned is kept as FILE.refused. For mail,
    /// one folder for each model
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "follow", "files_from", "kind", "mbox",
        "input_format", "vector_column", "vectors", "encoder", "group", "group_by", "progress", "dots"])]
    pub(crate) spool: Option<PathBuf>,
    /// Learn the messages that a message forwards as attachments (message/rfc822, or mail in files named *.eml) instead of
    /// the message itself, for an address such as spam@example.org. A message that forwards none is an error
    #[arg(long, conflicts_with_all = ["vectors", "vector_column", "encoder"])]
    pub(crate) forwarded: bool,
    /// Learn only documents that the model does not already give this label
    #[arg(long)]
    if_wrong: bool,
    /// Like --if-wrong, but also learn documents that the model gives this label with log-odds below X (nats)
    #[arg(long, value_name = "X")]
    margin: Option<f64>,
    /// Allow a label that the model does not know yet
    #[arg(long)]
    pub(crate) new_label: bool,
    /// Do not retrain, even if much was learned since the last time. A model with a shared one is never retrained
    /// automatically
    #[arg(long)]
    pub(crate) no_retrain: bool,
    /// Labels of the model to make if there is none [default: ham,spam]
    #[arg(long, value_name = "LABEL,LABEL", value_delimiter = ',')]
    labels: Vec<String>,
    /// In a new model, do not remember the names of messages (their Message-IDs)
    #[arg(long)]
    no_names: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) log: LogArg,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Progress as sa-learn shows it.
#[derive(Args)]
pub(crate) struct ProgressArgs {
    /// Show progress on standard error: a bar on a terminal, otherwise a dot for each document. Ends with the summary
    /// line of sa-learn
    #[arg(long)]
    progress: bool,
    /// Show a dot for each document on standard error, even on a terminal. Ends with the summary line of sa-learn
    #[arg(long, alias = "showdots", conflicts_with = "progress")]
    dots: bool,
}

impl ProgressArgs {
    fn has_dots(&self) -> bool {
        self.dots || self.progress && !std::io::stderr().is_terminal()
    }

    /// Prints the last line: sa-learn's if progress was shown, else `usual`.
    pub(crate) fn print_last(&self, done: &str, n: u64, examined: u64, usual: &str) -> Result<()> {
        match self.progress || self.dots {
            true => print(&format!("{done} tokens from {n} message(s) ({examined} message(s) examined)")),
            false => print(usual),
        }
    }
}

/// Counts what happened to the documents.
#[derive(Default)]
pub(crate) struct LearnCounts {
    learned: u64,
    already: u64,
    moved: u64,
    right: u64,
    /// Whether it was said of a message that it forwards others.
    has_forwards: bool,
}

impl LearnCounts {
    /// Learns a document, unless the model is sure of its label already, and counts it. Returns whether the model changed.
    pub(crate) fn learn(
        &mut self,
        args: &LearnArgs,
        learner: &mut Learner,
        given: Attributes<'_>,
        document: Document<'_>,
        name: impl Fn() -> String,
    ) -> tamis_train::Result<bool> {
        if args.is_sure(given.label, learner, document)? {
            self.right += 1;
            return Ok(false);
        }
        match learner.learn_in_group(given.label, given.group, document)? {
            LearnOutcome::Already => {
                self.already += 1;
                return Ok(false);
            }
            LearnOutcome::Moved { .. } => self.moved += 1,
            LearnOutcome::Beside { labels } => {
                self.learned += 1;
                say!(
                    "tamis: {}: still known as {} too, with the header it was learned with: this model does not remember \
                     terms, so only an identical message can be moved; tamis forget removes the message as it was learned",
                    name(),
                    shown(&labels.join(", "))
                );
            }
            _ => self.learned += 1,
        }
        let limits = &learner.filter().information().recipe.limits;
        if !self.has_forwards && !forwarded_messages(mail(document), limits).0.is_empty() {
            self.has_forwards = true;
            let advice = "to learn those instead: tamis forget, then tamis learn --forwarded";
            say!("tamis: {}: learned itself, not the messages that it forwards; {advice}", name());
        }
        Ok(true)
    }

    pub(crate) fn examined(&self) -> u64 {
        self.learned + self.already + self.moved + self.right
    }

    /// `spam: learned 3 documents, 2 already known`
    pub(crate) fn line(&self, label: &str) -> String {
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

impl LearnArgs {
    /// Refuses a path in place of the label before anything is read. Otherwise standard input would be read.
    pub(crate) fn check_label(&self, label: &str, path: &Path) -> Result<()> {
        if self.new_label
            || self.labels.iter().any(|known| known == label)
            || !(label.contains('/') || Path::new(label).exists())
        {
            return Ok(());
        }
        let known = self.known_labels(path)?;
        if known.index(label).is_some() {
            return Ok(());
        }
        let (path, known) = (shown(label), known.to_string());
        let known = shown(&known);
        bail!("expected a label ({known}) before the paths, got the path {path}: tamis learn LABEL {path}")
    }

    /// The labels of the model, or of the one that would be made.
    fn known_labels(&self, path: &Path) -> Result<Classes> {
        Ok(match Filter::open(path) {
            Ok(filter) => filter.classes().clone(),
            Err(_) if self.labels.is_empty() => Classes::new(["ham", "spam"])?,
            Err(_) => Classes::new(self.labels.iter().map(String::as_str))?,
        })
    }

    /// Whether a table is named in place of the label: each of its rows is then learned under its own label.
    fn is_table(&self, label: &str, path: &Path) -> Result<bool> {
        let file = Path::new(label);
        let is_table =
            file.is_file() && (self.input.input_format.is_some() || holds_of(file, false)?.is_table());
        Ok(is_table && self.known_labels(path)?.index(label).is_none())
    }

    /// Whether the model already gives a document the right label, surely enough that it need not be learned.
    fn is_sure(
        &self,
        label: &str,
        learner: &mut Learner,
        document: Document<'_>,
    ) -> tamis_train::Result<bool> {
        if !self.if_wrong && self.margin.is_none() {
            return Ok(false);
        }
        let score = learner.score(document)?;
        let filter = learner.filter();
        let given = learner.labels().iter().filter_map(|of| filter.classes().label(of.label));
        let is_right = join_labels(given) == join_labels(split_labels(label));
        Ok(is_right && score.log_odds.abs() >= self.margin.unwrap_or(0.0))
    }

    /// Opens the model for learning, with the shared one behind it. If the model is missing, creates it; `label`, if given,
    /// must be one of its labels. `new` is the recipe of a missing one.
    pub(crate) fn open(&self, label: Option<&str>, new: Recipe, shared: Option<Filter>) -> Result<Learner> {
        let path = &self.model.own.path()?;
        let mut options = self.change.options();
        options.retrain = !self.no_retrain;
        let mut learner = match path.exists() {
            true => Learner::open(path, options).map_err(named(path))?,
            false => self.create(path, label, new, shared.as_ref(), options)?,
        };
        if let Some(shared) = shared {
            learner.set_fallback(Arc::new(shared)).context("--fallback")?;
        }
        Ok(learner)
    }

    fn create(
        &self,
        path: &Path,
        label: Option<&str>,
        recipe: Recipe,
        shared: Option<&Filter>,
        options: LearnOptions,
    ) -> Result<Learner> {
        let labels: Vec<&str> = match (&self.labels[..], shared) {
            ([], Some(shared)) => shared.classes().iter().map(|(_, label)| label).collect(),
            ([], None) => vec!["ham", "spam"],
            (labels, _) => labels.iter().map(String::as_str).collect(),
        };
        if let Some(label) = label.filter(|label| !labels.contains(label)) {
            let path = shown_path(path);
            bail!("{path}: there is no model yet; name the labels of a new one with --labels {label},OTHER");
        }
        if let Some(shared) = shared
            && Classes::new(labels.iter().copied())? != *shared.classes()
        {
            let (known, got) = (self::labels(shared.classes()).join(","), labels.join(","));
            bail!("--labels: expected those of the shared model, {}, got {}", shown(&known), shown(&got));
        }
        let mut new = shared.map_or_else(|| TrainOptions::new(recipe.kind), Filter::options_behind);
        if shared.is_none() {
            new.recipe = recipe;
        }
        new.names &= !self.no_names;
        // so that the model can be retrained as it grows
        new.keep = Some(Keep::Vectors);
        self.model.own.make_folder(path)?;
        let (names, kind) = (labels.join(" and "), new.recipe.kind);
        let learner = Learner::create(path, new, labels, options).map_err(named(path))?;
        let alone = if self.model.is_fallback_ignored() {
            "; no shared model is used, since $TAMIS_FALLBACK does not apply to a model named by -m; --fallback does"
        } else {
            ""
        };
        note!("{}: a new model of {kind} with the labels {}{alone}", shown_path(path), shown(&names));
        Ok(learner)
    }
}

pub(crate) fn run(args: &LearnArgs) -> Result<u8> {
    let Some(label) = &args.label else { bail!("expected a label") };
    let path = args.model.own.path()?;
    let log = args.log.begin(&args.model.own);
    if log.is_some() {
        survive_file_limits();
    }
    let has_own_labels = args.is_table(label, &path)?;
    let mut paths = args.paths.clone();
    let mut wanted = if args.follow { SourceScope::Documents } else { SourceScope::Inside };
    if has_own_labels {
        paths.insert(0, label.into());
        wanted = SourceScope::Labelled;
    } else {
        args.check_label(label, &path)?;
    }
    let shared = args.model.shared()?;
    // read standard input first, so that the model is opened only once; but an encoder must not be waited for with its lock
    let is_input =
        paths.is_empty() && args.input.list.files_from.is_none() && args.input.vectors.encoder.is_none();
    let mut corpus = match is_input && args.input.input_format.is_none() && path.exists() {
        true => corpus(&[], wanted, &args.input, None)?,
        false => corpus(&paths, wanted, &args.input, open_model(&path)?.as_ref().or(shared.as_ref()))?,
    };
    corpus = corpus.grouped(&args.groups);
    if !path.exists() && corpus.is_an_empty_message() {
        bail!("expected a message to learn, got nothing; no model was made");
    }
    let given = Some(label.as_str()).filter(|_| !has_own_labels);
    let mut new = Recipe::new(corpus.kind);
    if !path.exists() && shared.is_none() {
        corpus.embed_new(&mut new)?;
    }
    let mut learner = args.open(given, new, shared)?;
    corpus = corpus.labelled(RowLabels::of_model(learner.filter()), learner.filter().classes());
    if let Some(label) = given {
        corpus = corpus.under(label);
    }
    corpus.suit(learner.filter().information().recipe)?;
    let learned = given.map(|label| learned_as(learner.filter(), label).into_owned());
    let add = |learner: &mut Learner, label: &str| -> Result<()> {
        let is_known = |label: &str| learner.filter().classes().index(label).is_some();
        if args.new_label && !split_labels(label).all(is_known) {
            learner.add_label(label)?;
        }
        Ok(())
    };
    learned.iter().try_for_each(|label| add(&mut learner, label))?;
    let (mut counts, mut logged) = (LearnCounts::default(), Vec::new());
    let (progress, forwards) = (&args.progress, args.forwarded);
    let unreadable =
        for_each(&mut corpus, &mut learner, progress, forwards, |learner, item, given, document| {
            let name = || shown_path(&item.name());
            let label = learned.as_deref().unwrap_or(given.label);
            add(learner, label)?;
            match counts.learn(args, learner, Attributes { label, ..given }, document, name) {
                Ok(true) if log.is_some() => {
                    logged.push((message_id(mail(document)), label.to_owned()));
                }
                Err(error) if error.kind() == ErrorKind::Label => bail!("{error}; --new-label adds it"),
                result => _ = result?,
            }
            Ok(())
        })?;
    commit(&mut learner)?;
    if let Some(mut log) = log {
        log.learned(&logged);
    }
    let usual = counts.line(label);
    let (changed, examined) = (counts.learned + counts.moved, counts.examined());
    args.progress.print_last("Learned", changed, examined, &usual)?;
    Ok(unreadable)
}

pub(crate) fn print(line: &str) -> Result<()> {
    writeln!(done(), "{line}").context("standard output")
}

/// The documents to learn or forget. They are found before the model is locked, since standard input may be slow.
pub(crate) fn corpus<'a>(
    paths: &[OsString],
    wanted: SourceScope,
    input: &'a InputArgs,
    model: Option<&Filter>,
) -> Result<Corpus<'a>> {
    let standard_input = ["-".into()];
    let is_input = paths.is_empty() && input.list.files_from.is_none();
    let paths = if is_input { &standard_input[..] } else { paths };
    match model {
        Some(model) => Corpus::find_for(paths, wanted, input, model.information().recipe),
        None => Corpus::find_for_new(paths, wanted, input),
    }
}

/// The bytes of a message; none of another document.
fn mail(document: Document<'_>) -> &[u8] {
    if let Document::Mail(raw) = document.apart().0 { raw } else { &[] }
}

/// The messages that a message forwards as attachments.
///
/// # Errors
/// If there are none.
pub(crate) fn forwarded(raw: &[u8], limits: &Limits, name: &str) -> Result<Vec<Vec<u8>>> {
    let (messages, hit) = forwarded_messages(raw, limits);
    if !hit.is_empty() {
        say!("tamis: {name}: messages may be left out that it forwards beyond the limits ({hit})");
    }
    ensure!(!messages.is_empty(), "expected a message that forwards others as attachments, got one without");
    Ok(messages)
}

/// Visits the documents one after another; with `forwards`, the messages that they forward instead. Returns the exit status,
/// which depends on unreadable documents.
pub(crate) fn for_each(
    corpus: &mut Corpus<'_>,
    learner: &mut Learner,
    progress: &ProgressArgs,
    forwards: bool,
    mut work: impl FnMut(&mut Learner, &Item<'_>, Attributes<'_>, Document<'_>) -> Result<()> + Send,
) -> Result<u8> {
    let limits = learner.filter().information().recipe.limits;
    let has_dots = progress.has_dots();
    corpus.has_bar &= !has_dots;
    let (has_refused, is_strict) = (AtomicBool::new(false), corpus.input.strict);
    // one after another, since whether a document is learned can depend on those before it
    let state = Mutex::new((learner, &mut work));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let finished = one.context("starting a thread")?.install(|| {
        corpus.for_each(
            &limits,
            || Ok(()),
            |(), item, given, document| {
                let name = || shown_path(&item.name());
                let refuse = |why: &str| {
                    say!("tamis: {}: {why}", name());
                    has_refused.fetch_or(item.named() || is_strict, Ordering::Relaxed);
                    Ok(())
                };
                if matches!(document.apart().0, Document::Mail([])) {
                    return refuse("expected a message, got nothing");
                }
                if matches!(document.apart().0, Document::Mail(bytes) if item.named() && !looks_like_mail(bytes)) {
                    say!("tamis: {}: this does not look like mail, which the model is for", name());
                }
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let (learner, work) = &mut *state;
                match forwards.then(|| forwarded(mail(document), &limits, &name())) {
                    None => work(learner, item, given, document),
                    Some(Ok(inside)) => {
                        inside.iter().try_for_each(|raw| work(learner, item, given, Document::Mail(raw)))
                    }
                    Some(Err(why)) => refuse(&told(&why)),
                }
            },
            |_, ()| {
                dot(has_dots, ".");
                Ok(())
            },
        )
    })?;
    dot(has_dots, "\n");
    let status = corpus.conclude(finished.unreadable);
    Ok(if has_refused.into_inner() { ERROR } else { status })
}

/// Prints a sign of progress. A failure to write it is ignored.
fn dot(has_dots: bool, sign: &str) {
    if has_dots {
        let _ = std::io::stderr().write_all(sign.as_bytes());
    }
}
