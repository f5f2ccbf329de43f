//! `tamis score`

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{Contents, ERROR, Model, Stream, json_line, say, shown_path, survive_file_limits, told};
use tamis_train::{Filter, Kind, Score, Scratch};

use crate::args::{ListArgs, LogArg, ModelArgs, VerdictArgs};
use crate::commands::passthrough;
use crate::input::{Loaded, foreign, part};
use crate::output::{Log, Verdict, message_id, say_limits};

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
    #[arg(short, long, conflicts_with_all = ["json", "files_from"])]
    pub(crate) passthrough: bool,
    /// With --passthrough, keep the verdicts of other filters that the message already has (X-Spam-Flag, X-Spam-Status,
    /// X-Spam-Level, X-Spam-Score and X-Bogosity)
    #[arg(long, requires = "passthrough")]
    pub(crate) keep_headers: bool,
    #[command(flatten)]
    pub(crate) log: LogArg,
    // last, since its heading applies to everything after it
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

impl ScoreArgs {
    /// Opens the model and applies the arguments on decisions.
    pub(crate) fn open(&self) -> Result<Filter> {
        let mut filter = self.model.open()?;
        self.decision.apply(&mut filter)?;
        Ok(filter)
    }
}

pub(crate) fn run(args: &ScoreArgs) -> Result<u8> {
    let log = args.log.begin(&args.model.own);
    survive_file_limits();
    if args.passthrough {
        return Ok(passthrough::run(&args.files, args.keep_headers, log, || args.open()));
    }
    let mut model = Model::new(|| args.open());
    let filter = model.opened()?.filter();
    let recipe = filter.information().recipe;
    if recipe.kind == Kind::Table {
        bail!("the model is for tables: expected one for mail or text; tamis label labels rows of tables");
    }
    let (kind, most) = (recipe.kind, recipe.limits.bytes.saturating_add(1));
    let files = args.list.add_to(&args.files)?;
    let mut scorer = Scorer { args, model, kind, most, scratch: Scratch::default(), log, n: 0, status: 2 };
    if files.len() <= 1 && args.list.files_from.is_none() {
        let input = OsString::from("-");
        scorer.score(Path::new(files.first().unwrap_or(&input)))?;
        return Ok(if args.exit_zero || scorer.n > 1 { 0 } else { scorer.status });
    }
    let mut outcome = 0;
    for file in &files {
        if let Err(error) = scorer.score(Path::new(file)) {
            say!("tamis: {}", told(&error));
            outcome = ERROR;
        }
    }
    Ok(outcome)
}

/// Writes one verdict per message.
struct Scorer<'a, Open> {
    args: &'a ScoreArgs,
    model: Model<Open>,
    kind: Kind,
    /// Maximum bytes to read of a message.
    most: usize,
    scratch: Scratch,
    log: Option<Log>,
    /// Number of verdicts written.
    n: usize,
    /// The exit status of the last verdict.
    status: u8,
}

impl<Open: Fn() -> Result<Filter>> Scorer<'_, Open> {
    /// Scores a document, or the messages of an mbox.
    fn score(&mut self, path: &Path) -> Result<()> {
        let name = || if path.as_os_str() == "-" { "standard input".into() } else { shown_path(&path) };
        let stream = match Stream::of(path) {
            Err(error) if error.kind() == ErrorKind::IsADirectory => {
                let path = shown_path(path);
                bail!("{path}: expected a file, got a folder; to label what is in it: tamis label {path}")
            }
            stream => stream.with_context(name)?,
        };
        // a message can begin with any bytes
        if let Some(what) = foreign(stream.start()).filter(|_| self.kind != Kind::Mail) {
            bail!("{}: expected {}, got {what}", name(), self.kind);
        }
        match stream.contents(self.args.mbox, self.most).with_context(name)? {
            Contents::One(stream) => {
                let most = if self.kind == Kind::Mail { self.most as u64 } else { u64::MAX };
                self.answer(path.as_os_str(), &stream.into_document(self.kind, most).with_context(name)?)
            }
            Contents::Several(mut messages) => messages.try_for_each(|message| {
                let message = message.with_context(name)?;
                self.answer(&part(path, message.number as u64), &message.bytes)
            }),
        }
    }

    fn answer(&mut self, name: &OsStr, bytes: &[u8]) -> Result<()> {
        let Scorer { args, model, scratch, log, .. } = self;
        let (line, status, label, log_odds) = model.ask(|filter| {
            let document = Loaded::new(filter.information().recipe.kind, bytes);
            let score = filter.score(document.document(), scratch)?;
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
            let id = if self.kind == Kind::Mail { message_id(bytes) } else { String::new() };
            log.verdict(&id, &label, log_odds, !scratch.limits_hit().is_empty());
        }
        Ok(())
    }
}

/// The output line for a document.
fn line(args: &ScoreArgs, filter: &Filter, name: &OsStr, score: &Score, scratch: &Scratch) -> Result<String> {
    let truncated = !scratch.limits_hit().is_empty();
    let verdict = Verdict::new(filter, name, score, scratch.labels(), truncated);
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
