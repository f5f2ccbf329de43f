//! `tamis suggest`; with `--interactive`, asks for the label of each suggested document and learns it.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, Write};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{commit, counted, named, shown, shown_path};
use tamis_train::evaluate::{CandidatePool, KnownDocuments, Suggestions};
use tamis_train::{Document, Filter, Kind, Learner, Scratch, join_labels};

use crate::args::{ChangeArgs, Format, InputArgs, ModelArg};
use crate::formats::keep::{KeepColumns, KeptCells};
use crate::input::{Corpus, HeldDocument, Item, SourceScope};
use crate::output::{DocumentVerdict, RowWriter, labels};

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
    let known = KnownDocuments::new(&filter, args.n)?;
    let recipe = filter.information().recipe;
    let keep = KeepColumns::of_names(&args.keep);
    let is_shown = args.interactive && recipe.kind != Kind::Table;
    let corpus = Corpus::find_for(&args.paths, SourceScope::WhatIsThere, &args.input, recipe)?;
    let found = |item: &Item<'_>, document: Document<'_>| -> Result<SuggestedDocument> {
        let held = is_shown.then(|| HeldDocument::new(document));
        Ok(SuggestedDocument { name: item.name().into_owned(), kept: item.kept(keep.as_ref())?, held })
    };
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CandidatePool::new(&known)),
        |unlabelled, item, _, document| unlabelled.add(document, || found(item, document)),
        |_, ()| Ok(()),
    )?;
    let (mut suggestions, unreadable) = (Suggestions::new(&known, finished.states), finished.unreadable);
    filter.check_unchanged()?;
    match args.interactive {
        true => ask_all(args.n, &args.model, &args.change, filter, &mut suggestions)?,
        false => write(args, &filter, &mut suggestions)?,
    }
    Ok(corpus.conclude(unreadable))
}

fn write(
    args: &SuggestArgs,
    filter: &Filter,
    suggestions: &mut Suggestions<SuggestedDocument>,
) -> Result<()> {
    let mut rows = RowWriter::new(args.format.delimiter(), None, !args.keep.is_empty())?;
    for _ in 0..args.n {
        let Some(next) = suggestions.next() else { break };
        let name: &OsStr = &next.place.name;
        let verdict = DocumentVerdict::new(filter, name, &next.score, next.labels, false);
        rows.write(&verdict, &[], next.place.kept.clone())?;
    }
    rows.finish()
}

/// A document without a label that may be suggested.
struct SuggestedDocument {
    name: OsString,
    kept: KeptCells,
    /// The document, if it is going to be shown.
    held: Option<HeldDocument>,
}

// of equal documents, the one with the first name is suggested
impl Ord for SuggestedDocument {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for SuggestedDocument {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SuggestedDocument {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SuggestedDocument {}

/// Maximum number of labels that are offered, and maximum lines and characters of a document that are shown.
const MOST_LABELS: usize = 9;
const MOST_LINES: usize = 24;
const MOST_CHARS: usize = 1_500;

/// The user's reply about a document.
enum Reply {
    /// The name of a class, see [`join_labels`].
    Class(String),
    Skip,
    End,
}

/// Asks for the labels of `n` documents. Each is learned into the model file of `model`.
fn ask_all(
    n: usize,
    model: &ModelArg,
    change: &ChangeArgs,
    mut filter: Filter,
    suggestions: &mut Suggestions<SuggestedDocument>,
) -> Result<()> {
    let path = model.path()?;
    let (mut input, mut scratch) = (std::io::stdin().lock(), Scratch::default());
    let mut out = std::io::stdout().lock();
    let mut n_learned = 0;
    for number in 1..=n {
        let Some(next) = suggestions.next() else {
            writeln!(out, "There are no more documents.")?;
            break;
        };
        let SuggestedDocument { name, held: Some(held), .. } = next.place else { continue };
        // this also scores it
        let view = held.view();
        let document = view.document();
        let document = document.with_vector(&held.vector);
        let text = text_of(&filter, document, &mut scratch)?;
        writeln!(out, "\n{number} of {n}: {}\n\n{text}\n", shown_path(name))?;
        let choices = choices(&filter, scratch.probabilities());
        match ask(&mut input, &mut out, &filter, &choices)? {
            Reply::End => break,
            Reply::Skip => continue,
            Reply::Class(class) => {
                // locked only now, so that others can learn while a document is being read
                let mut learner = Learner::open(&path, change.options()).map_err(named(&path))?;
                learner.learn(&class, document)?;
                commit(&mut learner)?;
                filter = learner.into_filter();
                n_learned += 1;
            }
        }
        suggestions.score_again(&filter, |found, score| match &found.held {
            Some(held) => score(held.view().document().with_vector(&held.vector)),
            None => Ok(()),
        })?;
    }
    writeln!(out, "learned {}", counted(n_learned, "document")).context("standard output")
}

/// The likeliest labels with their probabilities, the likeliest first.
fn choices(filter: &Filter, probabilities: &[f64]) -> Vec<(String, f64)> {
    let mut choices: Vec<_> =
        labels(filter.classes()).into_iter().zip(probabilities.iter().copied()).collect();
    choices.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    choices.truncate(MOST_LABELS);
    choices
}

/// Asks until the reply is valid. The end of the input ends the session.
fn ask(
    input: &mut impl BufRead,
    out: &mut impl Write,
    filter: &Filter,
    choices: &[(String, f64)],
) -> Result<Reply> {
    for (number, (label, probability)) in (1..).zip(choices) {
        writeln!(out, "  {number}  {}  {probability:.2}", shown(label))?;
    }
    loop {
        write!(out, "label (Enter skips, q ends): ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line).context("standard input")? == 0 {
            writeln!(out)?;
            return Ok(Reply::End);
        }
        match answer(filter, choices, line.trim()) {
            Ok(answer) => return Ok(answer),
            Err(wrong) => writeln!(out, "expected a number or a label, got {}", shown(&wrong))?,
        }
    }
}

/// Parses a reply. The error is the part that is neither a number nor a label.
fn answer(filter: &Filter, choices: &[(String, f64)], line: &str) -> Result<Reply, String> {
    let label = |text: &str| {
        let of_number = text.parse().ok().and_then(|n: usize| choices.get(n.checked_sub(1)?));
        let known = filter.classes().index(text).and(Some(text));
        // a label that is a number goes before the number of a label
        known.or(of_number.map(|(label, _)| label.as_str())).map(str::to_owned).ok_or_else(|| text.to_owned())
    };
    let is_label = filter.classes().index(line).is_some();
    match line {
        "" => Ok(Reply::Skip),
        "q" if !is_label => Ok(Reply::End),
        "-" if filter.has_many_labels() => Ok(Reply::Class(join_labels([]))),
        line if filter.has_many_labels() => {
            let labels = line.split(',').map(|text| label(text.trim())).collect::<Result<Vec<_>, _>>()?;
            Ok(Reply::Class(join_labels(labels.iter().map(String::as_str))))
        }
        line => label(line).map(Reply::Class),
    }
}

/// The beginning of a document's text (of mail, subject and body), escaped for a terminal.
fn text_of(filter: &Filter, document: Document<'_>, scratch: &mut Scratch) -> Result<String> {
    let explanation = filter.explain(document, scratch)?;
    let words = filter.explain_words(document, &explanation);
    let text: String = words.iter().map(|word| word.text.as_str()).collect();
    let lines: Vec<_> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(MOST_LINES).collect();
    let text: String = lines.join("\n").chars().take(MOST_CHARS).collect();
    Ok(text.lines().map(shown).collect::<Vec<_>>().join("\n"))
}
