//! `tamis score`

use std::io::Write;

use anyhow::{Context, Result, bail};
use tamis_filter::{Filter, Kind, Score, Scratch};

use crate::args::ScoreArgs;
use crate::output::{Loaded, Verdict, say, say_limits, verdict_line};
use crate::shown::{json_line, shown, told};
use crate::{ERROR, passthrough, read_input};

pub(crate) fn run(args: &ScoreArgs) -> Result<u8> {
    if args.passthrough {
        return Ok(passthrough::run(args));
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
                say!("tamis: {}", told(&error));
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
        let verdict = serde_json::to_string(&Verdict::new(filter, name, score, truncated))?;
        writeln!(out, "{}", json_line(verdict))
    } else if name == "-" {
        writeln!(out, "{}", verdict_line(filter, score))
    } else {
        writeln!(out, "{} {}", verdict_line(filter, score), shown(name))
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
