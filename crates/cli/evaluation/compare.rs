//! `tamis compare`

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, FromArgMatches};
use tamis_program::{counted, grouped, say, shown_path};
use tamis_train::{ClassId, Classes, Document, Kind, Limits, spam_class};

use crate::args::InputArgs;
use crate::evaluation::arguments::{EvaluateArgs, EvaluationRun, Outcomes};
use crate::evaluation::comparison::{ComparedVerdict, Comparison, Side};
use crate::evaluation::evaluate::evaluated;
use crate::input::{Corpus, SourceScope};
use crate::output::print_out;

#[derive(Args)]
#[command(after_help = "\
Sources are given as for `train`; none of the models should have learned them. A folder or word \
list of bogofilter counts as a model if bogofilter is installed, which then scores every document \
with its own configuration. Each --with adds what `tamis evaluate` measures with these options, \
such as another training with --folds; then one model or none is enough.

All models score the same documents. They are compared by the documents that only one of them has \
right (McNemar's exact test) and by the difference of their rankings (95 % confidence interval, \
paired bootstrap). The first model is the one in use; with more than two, p is multiplied by the \
number of comparisons (Bonferroni).

Example:
  tamis compare old.tamis new.tamis ham=test/ham spam=test/spam
  tamis compare ~/.bogofilter new.tamis ham=test/ham spam=test/spam
  tamis compare --with '--folds 10' --with '--folds 10 --content-only' ham=mail/ham spam=mail/spam")]
pub(crate) struct CompareArgs {
    /// Models, the one in use first, then labelled documents
    #[arg(required = true, value_name = "MODEL... SOURCE")]
    arguments: Vec<OsString>,
    /// Also compare what `tamis evaluate` measures with these options
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    with: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A way to score the documents.
enum Contender {
    /// Measured by `tamis evaluate` with these arguments.
    Evaluated(String, Box<EvaluateArgs>),
    /// bogofilter with the word list in this folder.
    Bogofilter(PathBuf),
}

pub(crate) fn run(args: &CompareArgs) -> Result<u8> {
    let n_models = args.arguments.iter().take_while(|path| is_model(Path::new(path))).count();
    let (models, sources) = args.arguments.split_at(n_models);
    let sources = args.input.list.add_to(sources)?;
    let contenders = contenders(args, models, &sources)?;
    if sources.iter().any(|source| source == "-") {
        bail!("standard input: expected files, since they are read once for each model");
    }
    let mut status = 0;
    let mut sides = Vec::new();
    for (contender, name) in contenders.iter().zip('A'..='Z') {
        let (side, its) = score(contender, name, args, &sources)?;
        status = status.max(its);
        sides.push(side);
    }
    keep_common(&mut sides)?;
    let comparison = Comparison::new(&sides);
    print_out(args.json.then(|| comparison.json()), |out| comparison.print(out))?;
    Ok(status)
}

/// Maximum number of contenders.
const MOST: usize = 26;

fn contenders(args: &CompareArgs, models: &[OsString], sources: &[OsString]) -> Result<Vec<Contender>> {
    let mut contenders = Vec::new();
    for model in models {
        let path = Path::new(model);
        contenders.push(match word_list(path) {
            Some(folder) => Contender::Bogofilter(folder),
            None => {
                let own = evaluation(["-m".into(), model.clone()], args, sources)?;
                Contender::Evaluated(shown_path(path), Box::new(own))
            }
        });
    }
    for options in &args.with {
        let words = options.split_whitespace().map(OsString::from);
        let own = evaluation(words, args, sources).with_context(|| format!("--with {options:?}"))?;
        contenders.push(Contender::Evaluated(options.clone(), Box::new(own)));
    }
    if !(2..=MOST).contains(&contenders.len()) {
        let n = contenders.len();
        bail!("expected 2 to {MOST} models before the sources (or --with for each), got {n}");
    }
    Ok(contenders)
}

/// Builds the arguments of `tamis evaluate`.
fn evaluation(
    options: impl IntoIterator<Item = OsString>,
    args: &CompareArgs,
    sources: &[OsString],
) -> Result<EvaluateArgs> {
    let command = EvaluateArgs::augment_args(clap::Command::new("evaluate"));
    // a source is required, and replaced below
    let words = ["evaluate".into()].into_iter().chain(options).chain(["source".into()]);
    let first_line = |error: clap::Error| {
        let text = error.to_string();
        anyhow!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    };
    let matches = command.try_get_matches_from(words).map_err(first_line)?;
    let mut own = EvaluateArgs::from_arg_matches(&matches)?;
    own.input = args.input.clone();
    own.input.list.files_from = None;
    own.input.list.null = false;
    own.sources = sources.to_vec();
    Ok(own)
}

/// Whether a path is a model, judged by the beginning of the file, or a word list of bogofilter.
fn is_model(path: &Path) -> bool {
    let mut start = [0; 5];
    let is_ours =
        File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"TAMIS";
    is_ours || word_list(path).is_some()
}

/// The folder of bogofilter's word list, if the path is that folder or the list itself.
fn word_list(path: &Path) -> Option<PathBuf> {
    let is_list = |path: &Path| path.is_file() && path.file_stem().is_some_and(|stem| stem == "wordlist");
    if is_list(path) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        return Some(folder.unwrap_or(Path::new(".")).into());
    }
    let names = ["db", "qdbm", "lmdb", "kct", "tch"].map(|end| path.join(format!("wordlist.{end}")));
    names.iter().any(|name| is_list(name)).then(|| path.to_owned())
}

/// Scores all documents. Returns their outcomes by name, and the exit status.
fn score(contender: &Contender, name: char, args: &CompareArgs, sources: &[OsString]) -> Result<(Side, u8)> {
    match contender {
        Contender::Evaluated(what, own) => {
            let EvaluationRun { classes, spam, outcomes, learned, status, .. } =
                evaluated(own, true).with_context(|| what.clone())?;
            let Outcomes::One(named) = outcomes else {
                bail!("{what}: expected a model of one label a document, got many")
            };
            let learned = learned.iter().flatten().filter(|is_learned| **is_learned).count() as u64;
            if learned > 0 {
                let (learned, all) = (grouped(learned), counted(named.len() as u64, "document"));
                say!("tamis: {what} has learned {learned} of these {all}, so it is not measured fairly");
            }
            let spam = spam.filter(|_| classes.len() == 2);
            let label = |class: ClassId| classes.label(class).unwrap_or_default().to_owned();
            let outcome = |held_out: tamis_train::evaluate::HeldOutScore| {
                let ranking = |spam| (held_out.log_odds_of(spam), held_out.class == spam);
                ComparedVerdict {
                    truth: label(held_out.class),
                    verdict: held_out.score.label.map(label),
                    ranking: spam.map(ranking),
                }
            };
            let outcomes = named.into_iter().map(|(name, held_out)| (name, outcome(held_out))).collect();
            Ok((Side { name, what: what.clone(), spam: spam.map(label), outcomes }, status))
        }
        Contender::Bogofilter(folder) => by_bogofilter(folder, name, args, sources),
    }
}

/// Scores every document with bogofilter.
fn by_bogofilter(folder: &Path, name: char, args: &CompareArgs, sources: &[OsString]) -> Result<(Side, u8)> {
    let mail = Some((Kind::Mail, "bogofilter"));
    let corpus = Corpus::find(sources, SourceScope::Labelled, &args.input, mail)?;
    let mut asked = Vec::new();
    let finished = corpus.for_each(
        &Limits::default(),
        || Ok(()),
        |(), _, given, document| {
            let Document::Mail(mail) = document else { bail!("expected mail") };
            Ok((given.label.to_owned(), ask_bogofilter(folder, mail)?))
        },
        |item, (label, answer)| {
            asked.push((item.name().into_owned(), label, answer));
            Ok(())
        },
    )?;
    let classes = Classes::new(asked.iter().map(|(_, label, _)| label.as_str()))?;
    let spam = spam_class(&classes).filter(|_| classes.len() == 2);
    let spam = spam.context("bogofilter: expected documents of two labels, one of them spam")?;
    let label = |class: ClassId| classes.label(class).unwrap_or_default().to_owned();
    let outcome = |(path, truth, (status, probability)): (OsString, String, (u8, f64))| {
        let verdict = match status {
            0 => Some(label(spam)),
            1 => Some(label(1 - spam)),
            _ => None,
        };
        let is_spam = truth == label(spam);
        (path, ComparedVerdict { truth, verdict, ranking: Some((probability, is_spam)) })
    };
    let outcomes = asked.into_iter().map(outcome).collect();
    let side =
        Side { name, what: format!("bogofilter {}", shown_path(folder)), spam: Some(label(spam)), outcomes };
    Ok((side, corpus.conclude(finished.unreadable)))
}

/// The exit status of bogofilter and its score, which ranks documents as log-odds do.
fn ask_bogofilter(folder: &Path, mail: &[u8]) -> Result<(u8, f64)> {
    let mut command = Command::new("bogofilter");
    command.arg("-TT").arg("-d").arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child =
        command.spawn().context("bogofilter, which reads its word list: expected it to be installed")?;
    let mut input = child.stdin.take().context("bogofilter: no input")?;
    // it reads all input before it answers; if it fails, its status says so
    let _ = input.write_all(mail);
    drop(input);
    let output = child.wait_with_output().context("bogofilter")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match (output.status.code(), text.trim().parse()) {
        (Some(status @ 0..=2), Ok(score)) => Ok((status as u8, score)),
        (status, _) => bail!("bogofilter: expected a score, got {:?} and status {status:?}", text.trim()),
    }
}

/// Keeps only the documents that all contenders scored.
fn keep_common(sides: &mut [Side]) -> Result<()> {
    let key = |(name, outcome): (&OsString, &ComparedVerdict)| (name.clone(), outcome.truth.clone());
    let keys = |side: &Side| side.outcomes.iter().map(key).collect::<BTreeSet<_>>();
    let common = sides.iter().map(keys).reduce(|a, b| &a & &b).unwrap_or_default();
    for side in sides {
        let before = side.outcomes.len();
        side.outcomes.retain(|name, outcome| common.contains(&key((name, outcome))));
        if before > common.len() {
            let n = counted((before - common.len()) as u64, "document");
            say!("tamis: {n} that only {} scored left out", side.what);
        }
    }
    ensure!(!common.is_empty(), "expected documents that all have scored, got none");
    Ok(())
}
