//! `tamis score`; with `--passthrough`, the message is copied with its verdict added, or unchanged if anything fails.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use tamis_mail::not_mail;
use tamis_mail::passthrough::{self, Head, fields, head_with, label_field};
use tamis_program::{
    Contents, ERROR, LazyModel, Passthrough, Stream, json_line, say, shown, shown_path, survive_file_limits,
    told,
};
use tamis_train::{Filter, Kind, Limits, Score, Scratch};

use crate::args::{ListArgs, LogArg, ModelArgs, TextCommandArgs, VectorArgs, VerdictArgs};
use crate::input::{
    DocumentView, FileReader, HeldDocument, VectorSource, most_of_document, part, table_texts,
};
use crate::output::{DocumentVerdict, VerdictLog, message_id, say_limits};

#[derive(Args)]
#[command(after_help = "\
Prints LABEL PROBABILITY LOG-ODDS and, for files, the path:
  spam 0.9987 +6.64 message.eml
Both numbers are of spam in a spam filter, of the label in other models. Log-odds are in nats.

Exit status: 0 spam, 1 ham, 2 unsure, 3 any error. Models with other labels: 0 labelled, 2 \
unsure, 3 any error. With -e, --passthrough or several files: 0 whatever the verdicts, 3 any error.
A model with two labels is a spam filter if one is spam, junk, unwanted or phish.

Example (procmail):
  :0fw
  | tamis score --passthrough
  :0:
  * ^X-Tamis: spam
  Junk")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Messages, mboxes or documents, packed by gzip or zstd or not; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Treat files and standard input as mboxes, whatever they begin with
    #[arg(long, conflicts_with = "passthrough")]
    pub(crate) mbox: bool,
    /// Print a JSON object for each document: path, label, probability, log_odds, and truncated if only a part of it
    /// was read
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 0 whatever the verdict
    #[arg(short, long)]
    pub(crate) exit_zero: bool,
    /// Copy the message to standard output with X-Spam-Flag, X-Spam-Status, X-Spam-Level and X-Tamis added; on any error,
    /// copy it unchanged
    #[arg(short, long, conflicts_with_all = ["json", "files_from", "vector_column", "vectors", "encoder"])]
    pub(crate) passthrough: bool,
    /// With --passthrough, keep the verdicts of other filters that the message already has (X-Spam-Flag, X-Spam-Status,
    /// X-Spam-Level, X-Spam-Score and X-Bogosity)
    #[arg(long, requires = "passthrough")]
    pub(crate) keep_headers: bool,
    #[command(flatten)]
    pub(crate) text: TextCommandArgs,
    #[command(flatten)]
    pub(crate) vectors: VectorArgs,
    #[command(flatten)]
    pub(crate) log: LogArg,
    // last, since its heading applies to everything after it
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

pub(crate) fn run(args: &ScoreArgs) -> Result<u8> {
    let log = args.log.begin(&args.model.own);
    survive_file_limits();
    let open = || {
        let mut filter = args.model.open()?;
        args.decision.apply(&mut filter).map(|()| filter)
    };
    if args.passthrough {
        return Ok(pass_through(&args.files, args.keep_headers, log, open));
    }
    let mut model = LazyModel::new(open);
    let filter = model.opened()?;
    let recipe = filter.information().recipe;
    if recipe.kind == Kind::Table {
        bail!("the model is for tables: expected one for mail or text; tamis label labels rows of tables");
    }
    let (kind, most) = (recipe.kind, most_of_document(&recipe.limits));
    let mut files = args.list.add_to(&args.files)?;
    let is_one = files.len() <= 1 && args.list.files_from.is_none();
    if is_one && files.is_empty() {
        files.push("-".into());
    }
    let reader = ScoreReader { kind, mbox: args.mbox, most, files: FileReader::new(&args.text)? };
    // an encoder gets all texts before they are scored, so the documents are held meanwhile
    let mut held = Vec::new();
    let vectors = VectorSource::for_model(&args.vectors, recipe, |encoder| {
        for file in &files {
            let mut documents = Vec::new();
            let read = reader.read(Path::new(file), None, &mut |name, document, _| {
                encoder.send(&document.document().text(recipe))?;
                documents.push((name.to_owned(), HeldDocument::new(document.document())));
                Ok(())
            });
            held.push((documents, read));
        }
        Ok(())
    })?;
    let mut scorer = ScoreWriter { args, model, vectors, scratch: Scratch::default(), log, n: 0, status: 2 };
    let mut outcome = 0;
    let mut held = held.into_iter();
    for file in &files {
        let column = scorer.vectors.column().map(str::to_owned);
        let answered = match held.next() {
            Some((documents, read)) => {
                let mut documents = documents.into_iter();
                documents
                    .try_for_each(|(name, held)| scorer.answer(&name, &held.view(), Vec::new()))
                    .and(read)
            }
            None => reader.read(Path::new(file), column.as_deref(), &mut |name, document, own| {
                scorer.answer(name, document, own)
            }),
        };
        match answered {
            // without a document, its row of vectors would be taken for that of another
            Err(error) if is_one || args.vectors.vectors.is_some() => return Err(error),
            Err(error) => {
                say!("tamis: {}", told(&error));
                outcome = ERROR;
            }
            Ok(()) => (),
        }
    }
    scorer.vectors.conclude(scorer.n)?;
    Ok(if is_one && scorer.n == 1 && !args.exit_zero { scorer.status } else { outcome })
}

/// What is done with a document, its name, and the vector in its row.
type Visit<'v> = &'v mut dyn FnMut(&OsStr, &DocumentView<'_>, Vec<f32>) -> Result<()>;

/// Reads the documents of files.
struct ScoreReader {
    kind: Kind,
    mbox: bool,
    /// Maximum bytes to read of a message.
    most: usize,
    files: FileReader,
}

impl ScoreReader {
    /// Visits a document, the messages of an mbox, or the rows of a table, whose vectors are in this column.
    fn read(&self, path: &Path, column: Option<&str>, visit: Visit<'_>) -> Result<()> {
        if self.kind == Kind::Text
            && let Some(rows) = table_texts(path, column)?
        {
            for row in rows {
                let (name, text, vector) = row?;
                visit(&name, &DocumentView::Text(text.into()), vector)?;
            }
            return Ok(());
        }
        let name = || if path.as_os_str() == "-" { "standard input".into() } else { shown_path(&path) };
        let stream = match Stream::open(path) {
            Err(error) if error.kind() == ErrorKind::IsADirectory => {
                let path = shown_path(path);
                bail!("{path}: expected a file, got a folder; to label what is in it: tamis label {path}")
            }
            stream => stream.with_context(name)?,
        };
        match stream.contents(self.mbox, self.most).with_context(name)? {
            Contents::One(stream) => {
                let document = stream.into_document(self.kind, self.most as u64).with_context(name)?;
                let document = self.files.read(self.kind, path, &document);
                let document =
                    document.map_err(|what| anyhow!("{}: expected {}, got {what}", name(), self.kind))?;
                visit(path.as_os_str(), &document, Vec::new())
            }
            Contents::Several(mut messages) => messages.try_for_each(|message| {
                let message = message.with_context(name)?;
                let document = DocumentView::of_message(self.kind, &message.bytes);
                visit(&part(path, message.number as u64), &document, Vec::new())
            }),
        }
    }
}

/// Writes one verdict per message.
struct ScoreWriter<'a, Open> {
    args: &'a ScoreArgs,
    model: LazyModel<Open>,
    vectors: VectorSource,
    scratch: Scratch,
    log: Option<VerdictLog>,
    /// Number of verdicts written.
    n: u64,
    /// The exit status of the last verdict.
    status: u8,
}

impl<Open: Fn() -> Result<Filter>> ScoreWriter<'_, Open> {
    /// Scores a document, whose row may have a vector of its `own`.
    fn answer(&mut self, name: &OsStr, document: &DocumentView<'_>, own: Vec<f32>) -> Result<()> {
        let vector = self.vectors.beside(self.n, own)?;
        let ScoreWriter { args, model, scratch, log, .. } = self;
        let (line, status, label, log_odds) = model.ask(|filter| {
            let score = filter.score(document.document().with_vector(&vector), scratch)?;
            let line = line(args, filter, name, &score, scratch)?;
            // copy the label only if it is logged
            let label = if log.is_some() { filter.label_of(&score).to_owned() } else { String::new() };
            Ok((line, status(filter, &score), label, score.log_odds))
        })?;
        say_limits(name, scratch);
        self.n += 1;
        self.status = status;
        let mut out = std::io::stdout().lock();
        match writeln!(out, "{line}").and_then(|()| out.flush()) {
            // The verdict is also in the exit status.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => (),
            other => other.context("standard output")?,
        }
        if let Some(log) = log {
            let id = if let DocumentView::Mail(bytes) = document { message_id(bytes) } else { String::new() };
            log.verdict(&id, &label, log_odds, !scratch.limits_hit().is_empty());
        }
        Ok(())
    }
}

/// The output line for a document.
fn line(args: &ScoreArgs, filter: &Filter, name: &OsStr, score: &Score, scratch: &Scratch) -> Result<String> {
    let truncated = !scratch.limits_hit().is_empty();
    let verdict = DocumentVerdict::new(filter, name, score, scratch.labels(), truncated);
    if args.json {
        return Ok(json_line(serde_json::to_string(&verdict)?));
    }
    let name = if name == "-" { String::new() } else { format!(" {}", shown_path(name)) };
    Ok(verdict.line() + &name)
}

/// The exit status: 0 spam, 1 ham, 2 unsure; for other labels 0 labelled, 2 unsure.
fn status(filter: &Filter, score: &Score) -> u8 {
    match score.label {
        None => 2,
        Some(class) => u8::from(filter.is_spam_filter() && filter.spam() != Some(class)),
    }
}

/// A message with its verdict.
struct Annotation {
    head: Head,
    /// The part that is logged.
    label: String,
    log_odds: f64,
    truncated: bool,
}

/// Copies the message with the verdict added, or unchanged if anything fails. Then logs it.
fn pass_through(
    files: &[OsString],
    keep_headers: bool,
    log: Option<VerdictLog>,
    open: impl Fn() -> Result<Filter>,
) -> u8 {
    let mut message = match Passthrough::open(files.first().map(Path::new)) {
        Ok(message) => message,
        Err(error) => {
            say!("tamis: {}", told(&error));
            return ERROR;
        }
    };
    // a bug must not lose a message
    let annotated = catch_unwind(AssertUnwindSafe(|| annotate(&mut message, files, keep_headers, &open)))
        .unwrap_or_else(|_| bail!("a bug in tamis stopped it; please report it"));
    let written = match &annotated {
        Ok(Annotation { head, .. }) => message.write(None, &head.bytes, head.rest),
        Err(error) => {
            say!("tamis: {}; the message is passed on unchanged", told(error));
            message.write(None, &[], 0)
        }
    };
    if let Err(error) = &written {
        say!("tamis: {}", told(error));
    }
    let done = annotated.ok().filter(|_| written.is_ok());
    if let Some(mut log) = log {
        let id = message_id(message.bytes());
        match &done {
            Some(Annotation { label, log_odds, truncated, .. }) => {
                log.verdict(&id, label, *log_odds, *truncated)
            }
            None => log.error(&id),
        }
    }
    if done.is_some() { 0 } else { ERROR }
}

/// Adds the verdict to the part of the message that is in memory.
fn annotate(
    message: &mut Passthrough,
    files: &[OsString],
    keep_headers: bool,
    open: impl Fn() -> Result<Filter>,
) -> Result<Annotation> {
    ensure!(files.len() <= 1, "--passthrough: expected one message, got {} files", files.len());
    message.read_for(&Limits::default())?;
    LazyModel::new(open).ask(|filter| {
        let recipe = filter.information().recipe;
        let is_mail = recipe.kind == Kind::Mail;
        ensure!(is_mail, "--passthrough: expected a model of mail, got one of {}", recipe.kind);
        message.read_for(&recipe.limits)?;
        let mut scratch = Scratch::default();
        let mail = message.mail(&recipe.limits)?;
        not_mail(&mail).map_or(Ok(()), |what| Err(anyhow!("expected mail, got {what}")))?;
        let score = filter.score_mail(&mail, &mut scratch)?;
        let is_of_topics = filter.classes().len() > 2 || filter.spam().is_none();
        if filter.spam().is_none() && filter.classes().len() <= 2 {
            let labels: Vec<_> = filter.classes().iter().map(|(_, label)| shown(label).to_string()).collect();
            say!(
                "tamis: none of the labels ({}) is known to mean spam, so X-Spam-Flag and X-Spam-Status are left out; \
                 name it with --spam-label",
                labels.join(", ")
            );
        }
        let verdict = filter.verdict(&score, &scratch);
        let mut fields = fields(&verdict);
        if is_of_topics && !verdict.unsure {
            fields.push(label_field(verdict.label));
        }
        let head = head_with(message.bytes(), &fields, keep_headers);
        let passthrough::Verdict { label, log_odds, truncated, .. } = verdict;
        Ok(Annotation { head, label: label.to_owned(), log_odds, truncated })
    })
}
