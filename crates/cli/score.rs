//! `tamis score`

use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result, bail};
use tamis_filter::{Filter, Kind, Score, Scratch};
use tamis_mail::passthrough;

use crate::args::ScoreArgs;
use crate::output::{Loaded, Verdict, say, say_limits, verdict_line};
use crate::{ERROR, read_input};

pub(crate) fn run(args: &ScoreArgs) -> Result<u8> {
    if args.passthrough {
        return Ok(pass_through(args));
    }
    let mut filter = args.fallback.open(&args.model)?;
    args.decision.apply(&mut filter)?;
    if filter.information().recipe.kind == Kind::Table {
        bail!("a model of tables: expected mail or text to score; tamis label labels the rows of a table");
    }
    let mut scratch = Scratch::default();
    let mut out = std::io::stdout().lock();
    if args.files.len() <= 1 {
        let (name, bytes) = read_input(args.files.first())?;
        let score = score(&filter, &bytes, &mut scratch)?;
        print(&mut out, args, &filter, &name, &score, &scratch)?;
        return Ok(if args.exit_zero { 0 } else { status(&filter, &score) });
    }
    let mut outcome = 0;
    for file in &args.files {
        let scored = read_input(Some(file))
            .and_then(|(name, bytes)| Ok((name, score(&filter, &bytes, &mut scratch)?)));
        match scored {
            Ok((name, score)) => print(&mut out, args, &filter, &name, &score, &scratch)?,
            Err(error) => {
                say!("tamis: {error:#}");
                outcome = ERROR;
            }
        }
    }
    Ok(outcome)
}

fn score(filter: &Filter, bytes: &[u8], scratch: &mut Scratch) -> Result<Score> {
    Ok(filter.score(Loaded::new(filter.information().recipe.kind, bytes).document(), scratch)?)
}

fn print(
    out: &mut impl Write,
    args: &ScoreArgs,
    filter: &Filter,
    name: &str,
    score: &Score,
    scratch: &Scratch,
) -> Result<()> {
    say_limits(name, scratch);
    let written = if args.json {
        let truncated = !scratch.limits_hit().is_empty();
        serde_json::to_writer(&mut *out, &Verdict::new(filter, name, score, truncated))?;
        writeln!(out)
    } else if name == "-" {
        writeln!(out, "{}", verdict_line(filter, score))
    } else {
        writeln!(out, "{} {name}", verdict_line(filter, score))
    };
    match written.and_then(|()| out.flush()) {
        // The verdict is in the exit status too.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
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

/// Copies the message with the verdict added; if anything fails, without.
fn pass_through(args: &ScoreArgs) -> u8 {
    let (raw, read) = read_message(args);
    // A defect of ours must not cost a message.
    let annotated = read.and_then(|()| {
        catch_unwind(AssertUnwindSafe(|| annotate(args, &raw))).unwrap_or_else(|_| bail!("an internal error"))
    });
    let (bytes, status) = match &annotated {
        Ok(bytes) => (bytes, 0),
        Err(error) => {
            say!("tamis: {error:#}; the message is passed on unchanged");
            (&raw, ERROR)
        }
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => status,
        Err(error) => {
            say!("tamis: standard output: {error}");
            ERROR
        }
    }
}

/// The message, or what could be read of it before an error.
fn read_message(args: &ScoreArgs) -> (Vec<u8>, Result<()>) {
    // room for most messages, so that reading takes two calls
    let mut raw = Vec::with_capacity(64 << 10);
    let read = match args.files.first().filter(|path| path.as_os_str() != "-") {
        Some(path) => File::open(path)
            .and_then(|mut file| file.read_to_end(&mut raw))
            .with_context(|| path.display().to_string()),
        None => std::io::stdin().lock().read_to_end(&mut raw).context("standard input"),
    };
    (raw, read.map(|_| ()))
}

fn annotate(args: &ScoreArgs, raw: &[u8]) -> Result<Vec<u8>> {
    if args.files.len() > 1 {
        bail!("--passthrough: expected one message, got {} files", args.files.len());
    }
    let mut filter = args.fallback.open(&args.model)?;
    args.decision.apply(&mut filter)?;
    let kind = filter.information().recipe.kind;
    if kind != Kind::Mail {
        bail!("--passthrough: expected a model of mail, got one of {kind}");
    }
    let mut scratch = Scratch::default();
    let score = filter.score_mail(raw, &mut scratch)?;
    say_limits("the message", &scratch);
    let verdict = passthrough::Verdict {
        label: filter.label_of(&score),
        is_spam: score.label.is_some() && score.label == filter.spam(),
        unsure: score.label.is_none(),
        probability: score.probability,
        log_odds: score.log_odds,
        threshold: filter.decision().upper,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(passthrough::annotate(raw, &verdict, args.keep_headers))
}

/// Lets a message through when not even the arguments could be understood.
pub(crate) fn copy_input() {
    let mut raw = Vec::new();
    // Whatever could be read is passed on.
    let _ = std::io::stdin().lock().read_to_end(&mut raw);
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&raw).and_then(|()| out.flush());
}
