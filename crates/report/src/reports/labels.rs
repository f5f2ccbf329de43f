//! The page of an evaluation of many labels.

use tamis_train::Classes;
use tamis_train::evaluate::{LabelEvaluation, LabelFigures};

use crate::figure::{Figure, Table};
use crate::figures::bars::{self, Bar};
use crate::page::Page;
use crate::text::{Name, count, counted, grouped, number};

/// Maximum number of labels in the drawing.
const MOST_LABELS: usize = 60;

/// Creates the page of an evaluation of many labels, called `title`: the figures of all labels together, and those of
/// each label.
pub fn labels_page(title: &str, classes: &Classes, evaluation: &LabelEvaluation) -> Page {
    let all = evaluation.all();
    let [at_1, at_3, at_5] = evaluation.precision_at;
    let facts = vec![
        format!(
            "{} of {}: micro F1 {:.4}, macro F1 {:.4}.",
            counted(evaluation.documents as u64, "document"),
            counted(classes.len() as u64, "label"),
            evaluation.micro_f1(),
            evaluation.macro_f1()
        ),
        format!(
            "Precision {:.4}, recall {:.4}; {:.2} % of the documents have exactly the labels given.",
            all.precision().unwrap_or_default(),
            all.recall().unwrap_or_default(),
            100.0 * evaluation.exact
        ),
        format!("Precision of the likeliest label {at_1:.4}, of three {at_3:.4}, of five {at_5:.4}."),
        format!("Log loss {:.4} nats a document, summed over labels.", evaluation.log_loss),
    ];
    let figures = vec![by_label(classes, evaluation)];
    Page { title: format!("Evaluation of {}", Name(title)), facts, figures, tables: Vec::new() }
}

/// The F1 of each label, the most frequent first.
fn by_label(classes: &Classes, evaluation: &LabelEvaluation) -> Figure {
    let labels = evaluation.most_frequent_first(classes);
    let bar = |(label, of): &(&str, &LabelFigures)| Bar {
        name: bars::name(label),
        value: Some(of.f1()),
        shown: format!("{:.3}", of.f1()),
    };
    let bars: Vec<_> = labels.iter().take(MOST_LABELS).map(bar).collect();
    let row = |(label, of): &(&str, &LabelFigures)| {
        let share = |value: Option<f64>| match value {
            Some(value) => number(value, &format!("{value:.3}")),
            None => "-".to_owned(),
        };
        vec![
            Name(label).to_string(),
            count(of.found + of.missed),
            share(Some(of.f1())),
            share(of.precision()),
            share(of.recall()),
            share(of.average_precision),
            share(of.roc_auc),
        ]
    };
    let head = ["label", "documents", "F1", "precision", "recall", "average precision", "ROC AUC"];
    Figure {
        title: "F1 of each label".to_owned(),
        finding: None,
        note: match labels.len() > MOST_LABELS {
            true => format!("The {MOST_LABELS} most frequent labels of {}.", grouped(labels.len() as u64)),
            false => "The most frequent label first.".to_owned(),
        },
        description: "Bars of the F1 of each label, the most frequent label first.".to_owned(),
        drawing: bars::draw(&bars, bars::PLAIN),
        beside: None,
        tables: vec![Table::new("", &head, labels.iter().map(row).collect())],
        is_open: true,
    }
}
