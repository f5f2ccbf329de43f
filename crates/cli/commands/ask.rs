//! `tamis suggest --interactive`: asks for the label of each suggested document, and learns it.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use tamis_program::{commit, counted, named, shown, shown_path};
use tamis_train::evaluate::Suggestions;
use tamis_train::{Document, Filter, Learner, Scratch, join_labels};

use crate::args::{ChangeArgs, ModelArg};
use crate::formats::keep::Kept;
use crate::output::labels;

/// A document without a label: its name, and what is needed of it later.
pub(crate) struct Found {
    pub(crate) name: OsString,
    pub(crate) kept: Kept,
    /// The document, if it is going to be shown.
    pub(crate) held: Option<Held>,
}

/// A document as it was read.
pub(crate) enum Held {
    Mail(Vec<u8>),
    Text(String),
}

impl Held {
    pub(crate) fn new(document: Document<'_>) -> Option<Self> {
        match document {
            Document::Mail(raw) => Some(Held::Mail(raw.to_vec())),
            Document::Text(text) => Some(Held::Text(text.to_owned())),
            _ => None,
        }
    }

    fn document(&self) -> Document<'_> {
        match self {
            Held::Mail(raw) => Document::Mail(raw),
            Held::Text(text) => Document::Text(text),
        }
    }
}

// of equal documents, the one with the first name is suggested
impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Found {}

/// Most labels that have numbers, the likeliest ones; most lines and characters that are shown of a document.
const MOST_LABELS: usize = 9;
const MOST_LINES: usize = 24;
const MOST_CHARS: usize = 1_500;

/// What the user says of a document.
enum Answer {
    /// The name of a class, see [`join_labels`].
    Class(String),
    Skip,
    End,
}

/// Asks for the labels of `n` documents. Each is learned into the model file of `model`.
pub(crate) fn run(
    n: usize,
    model: &ModelArg,
    change: &ChangeArgs,
    mut filter: Filter,
    suggestions: &mut Suggestions<Found>,
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
        let Found { name, held: Some(held), .. } = next.place else { continue };
        // this also scores it
        let text = text_of(&filter, held.document(), &mut scratch)?;
        writeln!(out, "\n{number} of {n}: {}\n\n{text}\n", shown_path(name))?;
        let choices = choices(&filter, scratch.probabilities());
        match ask(&mut input, &mut out, &filter, &choices)? {
            Answer::End => break,
            Answer::Skip => continue,
            Answer::Class(class) => {
                // locked only now, so that others can learn while a document is being read
                let mut learner = Learner::open(&path, change.options()).map_err(named(&path))?;
                learner.learn(&class, held.document())?;
                commit(&mut learner)?;
                filter = learner.into_filter();
                n_learned += 1;
            }
        }
        suggestions.score_again(&filter, |found| found.held.as_ref().map(Held::document))?;
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

/// Asks until the answer is one of those that are possible. The end of the input ends.
fn ask(
    input: &mut impl BufRead,
    out: &mut impl Write,
    filter: &Filter,
    choices: &[(String, f64)],
) -> Result<Answer> {
    for (number, (label, probability)) in (1..).zip(choices) {
        writeln!(out, "  {number}  {}  {probability:.2}", shown(label))?;
    }
    loop {
        write!(out, "label (Enter skips, q ends): ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line).context("standard input")? == 0 {
            writeln!(out)?;
            return Ok(Answer::End);
        }
        match answer(filter, choices, line.trim()) {
            Ok(answer) => return Ok(answer),
            Err(wrong) => writeln!(out, "expected a number or a label, got {}", shown(&wrong))?,
        }
    }
}

/// What a line means, or the part of it that means nothing.
fn answer(filter: &Filter, choices: &[(String, f64)], line: &str) -> Result<Answer, String> {
    let label = |text: &str| {
        let of_number = text.parse().ok().and_then(|n: usize| choices.get(n.checked_sub(1)?));
        let known = filter.classes().index(text).and(Some(text));
        // a label that is a number goes before the number of a label
        known.or(of_number.map(|(label, _)| label.as_str())).map(str::to_owned).ok_or_else(|| text.to_owned())
    };
    let is_label = filter.classes().index(line).is_some();
    match line {
        "" => Ok(Answer::Skip),
        "q" if !is_label => Ok(Answer::End),
        "-" if filter.has_many_labels() => Ok(Answer::Class(join_labels([]))),
        line if filter.has_many_labels() => {
            let labels = line.split(',').map(|text| label(text.trim())).collect::<Result<Vec<_>, _>>()?;
            Ok(Answer::Class(join_labels(labels.iter().map(String::as_str))))
        }
        line => label(line).map(Answer::Class),
    }
}

/// The beginning of a document, without what a terminal would obey; of mail, of subject and body.
fn text_of(filter: &Filter, document: Document<'_>, scratch: &mut Scratch) -> Result<String> {
    let explanation = filter.explain(document, scratch)?;
    let words = filter.explain_words(document, &explanation);
    let text: String = words.iter().map(|word| word.text.as_str()).collect();
    let lines: Vec<_> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(MOST_LINES).collect();
    let text: String = lines.join("\n").chars().take(MOST_CHARS).collect();
    Ok(text.lines().map(shown).collect::<Vec<_>>().join("\n"))
}
