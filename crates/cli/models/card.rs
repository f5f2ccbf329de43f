//! A model card: what the users of a model should know, with the metadata that Hugging Face reads.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use tamis_program::{counted, day, expectation, grouped, noun, shown};
use tamis_train::information::{HeldOutPerformance, LearnedRange};
use tamis_train::{Filter, Kind};

use crate::models::facts::{print_facts, print_terms};

/// A model card in Markdown. The metadata before it are JSON, which YAML includes.
///
/// Source: Mitchell et al., "Model Cards for Model Reporting" (2019); the keys are those of Hugging Face's model cards.
pub(crate) struct ModelCard<'a> {
    name: &'a str,
    filter: &'a Filter,
    pub(crate) metadata: Value,
}

impl<'a> ModelCard<'a> {
    pub(crate) fn new(name: &'a str, filter: &'a Filter) -> Self {
        ModelCard { name, filter, metadata: metadata(name, filter) }
    }

    /// Prints the card, with the `most` strongest terms of every label.
    pub(crate) fn print(&self, out: &mut impl Write, most: usize) -> Result<()> {
        let ModelCard { name, filter, metadata } = self;
        let information = filter.information();
        writeln!(out, "---\n{}\n---\n\n# {}\n", serde_json::to_string_pretty(metadata)?, shown(name))?;
        let labels = counted(filter.classes().len() as u64, "label");
        let many = if filter.has_many_labels() { ", any number of which a document may have" } else { "" };
        let kind = information.recipe.kind;
        writeln!(out, "A model of tamis that gives {kind} one of {labels}{many}.\n")?;
        writeln!(out, "```sh\n{}\n```\n\n## What to expect\n", usage(kind, name))?;
        let expected =
            expectation(filter).unwrap_or_else(|| "unknown: no documents were held out".to_owned());
        writeln!(out, "{}\n\n## What it has learned\n", sentence(&expected))?;
        let range = filter.learned_range()?;
        if let Some([first, last]) = range.dates {
            writeln!(out, "Documents that have a date are from {} to {}.\n", day(first), day(last))?;
        }
        writeln!(out, "```text")?;
        print_facts(out, None, filter)?;
        print_terms(out, None, filter, most)?;
        writeln!(out, "```\n\n## Limits\n")?;
        limits(kind, &range).iter().try_for_each(|limit| writeln!(out, "* {limit}"))?;
        Ok(())
    }
}

fn metadata(name: &str, filter: &Filter) -> Value {
    let information = filter.information();
    let (task, dataset) = match information.recipe.kind {
        Kind::Table => ("tabular-classification", "rows"),
        Kind::Mail => ("text-classification", "mail"),
        Kind::Text => ("text-classification", "text"),
    };
    let metrics = information.expected.map(metrics).unwrap_or_default();
    let results = json!([{
        "task": {"type": task},
        "dataset": {"type": dataset, "name": "documents held out in training"},
        "metrics": metrics,
    }]);
    let model =
        if metrics.is_empty() { json!({"name": name}) } else { json!({"name": name, "results": results}) };
    json!({
        "library_name": "tamis",
        "pipeline_tag": task,
        "tags": ["tamis", "naive-bayes", dataset],
        "model-index": [model],
    })
}

/// The held-out figures, by the names that Hugging Face knows.
fn metrics(expected: HeldOutPerformance) -> Vec<Value> {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let metric = |kind: &str, name: &str, value: f64| json!({"type": kind, "name": name, "value": value});
    match expected {
        HeldOutPerformance::Accuracy { documents, right, .. } => {
            vec![metric("accuracy", "held-out accuracy", share(right, documents))]
        }
        HeldOutPerformance::Detection { negatives, false_positives, positives, missed, .. } => {
            let name = "held-out false-positive rate";
            vec![
                metric("false_positive_rate", name, share(false_positives, negatives)),
                metric("recall", "held-out recall", share(positives - missed, positives)),
            ]
        }
        HeldOutPerformance::Labels { found, wrong, missed, .. } => vec![
            metric("f1", "held-out micro F1", share(2 * found, 2 * found + wrong + missed)),
            metric("precision", "held-out micro precision", share(found, found + wrong)),
            metric("recall", "held-out micro recall", share(found, found + missed)),
        ],
    }
}

fn usage(kind: Kind, name: &str) -> String {
    let name = shown(name);
    match kind {
        Kind::Mail => format!("tamis score -m {name} < message.eml"),
        Kind::Text => format!("tamis label -m {name} documents/"),
        Kind::Table => format!("tamis label -m {name} rows.csv"),
    }
}

fn limits(kind: Kind, range: &LearnedRange) -> Vec<String> {
    let noun = noun(kind);
    let mut limits = vec![format!(
        "It knows the languages, subjects and writers of the {noun}s it has learned. Figures hold for {noun}s drawn like \
         these; `tamis drift` tells whether new ones are."
    )];
    if let Some([few, half, many]) = range.terms.map(|terms| terms.map(|n| grouped(n as u64))) {
        limits.push(format!(
            "Nine of ten {noun}s it has learned have {few} to {many} different terms, half of them at most {half}. Shorter \
             ones are less sure."
        ));
    }
    limits.push(
        "The file has the words of its documents with their counts, and may have each document's: see docs/format.md before \
         publishing a model of private text."
            .to_owned(),
    );
    limits
}

/// A sentence of the words of a message.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}
