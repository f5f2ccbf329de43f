//! `tamis score`

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_filter::{Filter, Kind, Score, Scratch};

use crate::args::ScoreArgs;
use crate::output::{Loaded, Verdict, say, say_limits, verdict_line};
use crate::shown::{json_line, shown_path, told};
use crate::sources::{Contents, Stream, foreign, part};
use crate::{ERROR, passthrough};

pub(crate) fn run(args: &ScoreArgs) -> Result<u8> {
    if args.passthrough {
        return Ok(passthrough::run(args));
    }
    let mut filter = args.fallback.open(&args.model)?;
    args.decision.apply(&mut filter)?;
    if filter.information().recipe.kind == Kind::Table {
        bail!("a model of tables: expected mail or text to score; tamis label labels the rows of a table");
    }
    let files = args.list.add_to(&args.files)?;
    let mut scorer = Scorer { args, filter: &filter, scratch: Scratch::default(), n: 0, status: 2 };
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

/// Gives answers, one a message.
struct Scorer<'a> {
    args: &'a ScoreArgs,
    filter: &'a Filter,
    scratch: Scratch,
    /// Answers given.
    n: usize,
    /// The exit status that tells the last one.
    status: u8,
}

impl Scorer<'_> {
    /// Scores a document, or the messages of an mbox.
    fn score(&mut self, path: &Path) -> Result<()> {
        let name = || if path.as_os_str() == "-" { "standard input".into() } else { shown_path(&path) };
        let stream = match Stream::of(path) {
            Err(error) if error.kind() == ErrorKind::IsADirectory => bail!(
                "{0}: expected a file, got a folder; to label what is in it: tamis label {0}",
                shown_path(path)
            ),
            stream => stream.with_context(name)?,
        };
        let recipe = self.filter.information().recipe;
        if let Some(what) = foreign(stream.start()) {
            bail!("{}: expected {}, got {what}", name(), recipe.kind);
        }
        let most = recipe.limits.bytes.saturating_add(1);
        match stream.contents(self.args.mbox, most) {
            Contents::One(stream) => {
                let most = if recipe.kind == Kind::Mail { most as u64 } else { u64::MAX };
                self.answer(path.as_os_str(), &stream.into_document(most).with_context(name)?)
            }
            Contents::Several(mut messages) => messages.try_for_each(|message| {
                let message = message.with_context(name)?;
                self.answer(&part(path, message.number), &message.bytes)
            }),
        }
    }

    fn answer(&mut self, name: &OsStr, bytes: &[u8]) -> Result<()> {
        let document = Loaded::new(self.filter.information().recipe.kind, bytes);
        let score = self.filter.score(document.document(), &mut self.scratch)?;
        self.n += 1;
        self.status = status(self.filter, &score);
        print(&mut std::io::stdout().lock(), self.args, self.filter, name, &score, &self.scratch)
    }
}

fn print(
    out: &mut impl Write,
    args: &ScoreArgs,
    filter: &Filter,
    name: &OsStr,
    score: &Score,
    scratch: &Scratch,
) -> Result<()> {
    say_limits(name, scratch);
    let written = if args.json {
        let truncated = !scratch.limits_hit().is_empty();
        let verdict = serde_json::to_string(&Verdict::new(filter, name, score, truncated))?;
        writeln!(out, "{}", json_line(verdict))
    } else if name == "-" {
        writeln!(out, "{}", verdict_line(filter, score))
    } else {
        writeln!(out, "{} {}", verdict_line(filter, score), shown_path(name))
    };
    match written.and_then(|()| out.flush()) {
        // The verdict is in the exit status too.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output"),
    }
}

/// 0 spam, 1 ham, 2 unsure; of other labels 0 labelled, 2 unsure.
fn status(filter: &Filter, score: &Score) -> u8 {
    match score.label {
        None => 2,
        Some(class) => u8::from(filter.spam().is_some_and(|spam| spam != class)),
    }
}
