//! The output of `tamis evaluate`: the quality of verdicts, rankings and probabilities.

use std::io::Write;

use anyhow::Result;
use tamis_model::metrics::ConfusionMatrix;
use tamis_program::{counted, grouped, shown};
use tamis_train::ClassId;
use tamis_train::evaluate::{Evaluation, Figure, LearnedDocuments, Measure};
use tamis_train::information::Interval;

use crate::evaluation::confusion::{self, cut};
use crate::evaluation::pictures::{print_curve, print_reliability};
use crate::output::{Canvas, bar};

/// Maximum characters of a label in the table of labels, which then fits 80 columns; of many labels a document, whose
/// table is wider.
const LABEL: usize = 40;
const LABEL_OF_MANY: usize = 32;

const UNDEFINED: &str = "undefined (needs documents of both labels)";

/// Prints the figures of an evaluation, with pictures if there is a canvas.
pub(crate) fn print_evaluation(
    out: &mut impl Write,
    evaluation: &Evaluation,
    canvas: Option<Canvas>,
) -> Result<()> {
    if let Some(sentence) = evaluation.learned.as_ref().and_then(LearnedDocuments::sentence) {
        writeln!(out, "{sentence}\n")?;
    }
    match &evaluation.confusion {
        Some(matrix) => print_verdicts(out, evaluation, matrix, canvas),
        None => print_labels(out, evaluation),
    }
}

fn print_verdicts(
    out: &mut impl Write,
    evaluation: &Evaluation,
    matrix: &ConfusionMatrix,
    canvas: Option<Canvas>,
) -> Result<()> {
    let Evaluation { classes, spam, figures, .. } = evaluation;
    let unsure: u64 = classes.iter().map(|(class, _)| matrix.unsure(class)).sum();
    writeln!(out, "{}, {} unsure", counted(evaluation.documents as u64, "document"), grouped(unsure))?;
    for figure in figures.iter().filter(|figure| figure.class.is_none()) {
        let Measure { name, key, .. } = figure.measure;
        let n_absent = if key == "macro_f1" { matrix.n_absent() as u64 } else { 0 };
        let absent = format!("  (without {} that no document or verdict has)", counted(n_absent, "label"));
        let absent = if n_absent > 0 { &absent } else { "" };
        let value = figure.value.map_or(UNDEFINED.to_owned(), |value| format!("{value:.4}{absent}"));
        writeln!(out, "{name:<8}  {value}")?;
    }
    let label = |class: ClassId| classes.label(class).unwrap_or_default();
    if let Some(spam) = *spam {
        writeln!(out, "\nfinding {}", shown(label(spam)))?;
        let mut of_spam = figures.iter().filter(|figure| figure.class.is_some());
        of_spam.try_for_each(|figure| print_figure(out, figure))?;
    }
    if let Some(canvas) = canvas {
        // the curve needs documents of both labels, as operating points do
        if let Some(spam) = spam.filter(|_| !evaluation.operating_points.is_empty()) {
            print_curve(out, canvas, [label(spam), label(1 - spam)], &evaluation.roc)?;
        }
        print_reliability(out, canvas, spam.map(label), &evaluation.reliability)?;
    }
    print_classes(out, evaluation, matrix, canvas)?;
    confusion::print(out, classes, matrix)
}

/// Prints a figure of how well spam was found.
fn print_figure(out: &mut impl Write, figure: &Figure) -> Result<()> {
    let Measure { name, unit, .. } = figure.measure;
    let number = |value| figure.measure.number(value);
    let ends = |Interval { low, high }| format!("  ({} to {})", number(low), number(high));
    let ends = figure.interval.map_or(String::new(), ends);
    let value = figure.value.map_or(UNDEFINED.to_owned(), |value| format!("{}{unit}{ends}", number(value)));
    Ok(writeln!(out, "{name:<19}  {value}")?)
}

fn print_classes(
    out: &mut impl Write,
    evaluation: &Evaluation,
    matrix: &ConfusionMatrix,
    canvas: Option<Canvas>,
) -> Result<()> {
    let labels = || evaluation.classes.iter().map(|(class, label)| (class, cut(label, LABEL)));
    let width = labels().map(|(_, label)| label.chars().count()).max().unwrap_or(0).max("label".len());
    // after the columns of numbers
    let beside = canvas.and_then(|canvas| canvas.beside(width + 38, 20));
    writeln!(out, "\n{:<width$}  precision  recall      F1  documents", "label")?;
    for (class, label) in labels() {
        let (precision, recall, f1) = (matrix.precision(class), matrix.recall(class), matrix.f1(class));
        let support = grouped(matrix.support(class));
        let bar = beside.map_or(String::new(), |columns| format!("  {}", bar(f1, columns)));
        writeln!(out, "{label:<width$}  {precision:>9.4}  {recall:.4}  {f1:.4}  {support:>9}{bar}")?;
    }
    Ok(())
}

/// Prints the figures of all labels together, then a line for each label, the most frequent first.
fn print_labels(out: &mut impl Write, evaluation: &Evaluation) -> Result<()> {
    let Evaluation { documents, classes, figures, labels, .. } = evaluation;
    writeln!(out, "{}, {}", counted(*documents as u64, "document"), counted(classes.len() as u64, "label"))?;
    for Figure { measure, value, .. } in figures {
        writeln!(out, "{:<16}{:.4}", measure.key.replace('_', " "), value.unwrap_or_default())?;
    }
    let width = labels.iter().map(|of| shown(&of.label).chars().count().min(LABEL_OF_MANY)).max();
    let width = width.unwrap_or_default().max("label".len());
    writeln!(out, "\n{:<width$}  documents    F1  precision  recall  average precision", "label")?;
    for of in labels {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let [precision, recall, average] = [of.precision, of.recall, of.average_precision].map(number);
        let (label, documents, f1) = (cut(&of.label, LABEL_OF_MANY), grouped(of.documents), of.f1);
        write!(out, "{label:<width$}  {documents:>9}  {f1:.3}  ")?;
        writeln!(out, "{precision:>8}  {recall:>6}  {average:>16}")?;
    }
    Ok(())
}
