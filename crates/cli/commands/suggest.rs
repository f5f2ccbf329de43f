//! `tamis suggest`

use std::ffi::{OsStr, OsString};

use anyhow::{Result, bail};
use clap::Args;
use tamis_program::check_unchanged;
use tamis_train::evaluate::{Known, Suggestions, Unlabelled};
use tamis_train::{Document, Filter};

use crate::args::{ChangeArgs, Format, InputArgs, ModelArg};
use crate::commands::ask::{self, Found, Held};
use crate::formats::keep::Keep;
use crate::input::{Corpus, Item, Wanted};
use crate::output::{Rows, Verdict};

/// Names the documents without a label that would teach the model most, the first one first. Give them labels and
/// learn them, then ask again.
#[derive(Args)]
#[command(after_help = "\
A document teaches most if its label is unsure, it has many words, many others resemble it, and no \
labelled document does. Of more than 1,000 documents (or N), a sample is considered, another one after \
each change of the model. Documents that the model knows are left out, and of equal ones all but one.

With --interactive, each document is shown with its likeliest labels. Answer with a number or a label; \
with several between commas, or - for none, if documents have many labels; Enter skips a document, and q \
ends. Each answer is learned at once, and the next document is chosen by the model that knows it.

Example:
  tamis suggest -m topics.tamis unlabelled/ -n 50 > next.csv
  tamis suggest tickets.csv --keep id,text --format jsonl
  tamis suggest --interactive unlabelled/")]
pub(crate) struct SuggestArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Documents without labels: files, folders, mboxes, Maildirs, CSV, TSV, JSONL or a JSON array
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Number of documents to suggest
    #[arg(short, value_name = "N", default_value_t = 20)]
    pub(crate) n: usize,
    /// Show each document, ask for its label and learn it
    #[arg(long, short, conflicts_with_all = ["format", "keep", "files_from"])]
    interactive: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// Write these columns of each row before its verdict: their names, or all
    #[arg(long, value_name = "COLUMN,COLUMN|all", value_delimiter = ',')]
    keep: Vec<String>,
    // last, since its heading applies to everything after it
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

pub(crate) fn run(args: &SuggestArgs) -> Result<u8> {
    if args.interactive && args.paths.iter().any(|path| path == "-") {
        bail!("--interactive: answers are read from standard input: expected no documents on it");
    }
    let filter = args.model.open()?;
    let known = Known::new(&filter, args.n)?;
    let recipe = filter.information().recipe;
    let paths = args.input.list.add_to(&args.paths)?;
    let keep = Keep::of_names(&args.keep);
    let corpus = Corpus::find_for(&paths, Wanted::WhatIsThere, &args.input, recipe)?;
    let found = |item: &Item<'_>, document: Document<'_>| -> Result<Found> {
        let held = if args.interactive { Held::new(document) } else { None };
        Ok(Found { name: item.name().into_owned(), kept: item.kept(keep.as_ref())?, held })
    };
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(Unlabelled::new(&known)),
        |unlabelled, item, _, document| unlabelled.add(document, || found(item, document)),
        |_, ()| Ok(()),
    )?;
    let (mut suggestions, unreadable) = (Suggestions::new(&known, finished.states), finished.unreadable);
    check_unchanged(&filter)?;
    match args.interactive {
        true => ask::run(args.n, &args.model, &args.change, filter, &mut suggestions)?,
        false => write(args, &filter, &mut suggestions)?,
    }
    Ok(corpus.conclude(unreadable))
}

fn write(args: &SuggestArgs, filter: &Filter, suggestions: &mut Suggestions<Found>) -> Result<()> {
    let mut rows = Rows::new(args.format.delimiter(), None, !args.keep.is_empty())?;
    for _ in 0..args.n {
        let Some(next) = suggestions.next() else { break };
        let name: &OsStr = &next.place.name;
        let verdict = Verdict::new(filter, name, &next.score, next.labels, false);
        rows.write(&verdict, &[], next.place.kept.clone())?;
    }
    rows.finish()
}
