//! A model's training and expected performance, in words.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use tamis_program::{counted, done, expectation, grouped, shown, shown_path};
use tamis_train::distributed::Partial;
use tamis_train::information::{HeldOutPerformance, Unlabelled};
use tamis_train::{Classes, Filter, Information};

pub(crate) fn report(path: &Path, filter: &Filter) -> Result<()> {
    let information = filter.information();
    let documents: Vec<_> = information.totals.iter().map(|totals| totals.documents).collect();
    let terms = counted(information.size.terms as u64, "term");
    let mut out = done();
    let learned = match filter.has_many_labels() {
        true => documents_of_labels(&information),
        false => documents_of(information.classes, &documents),
    };
    writeln!(out, "learned {learned}: {terms}")?;
    if let Some(unlabelled) = information.chosen.and_then(|chosen| chosen.unlabelled.as_ref()) {
        writeln!(out, "{}", learned_unlabelled(unlabelled))?;
    }
    say_written(&mut out, path, information.file.bytes)?;
    print_expectation(&mut out, filter)
}

/// Says what to expect of a model, if that is known.
pub(crate) fn print_expectation(out: &mut impl Write, filter: &Filter) -> Result<()> {
    Ok(expectation(filter).map_or(Ok(()), |expectation| writeln!(out, "{expectation}"))?)
}

/// Says whether unlabelled documents were learned, and why.
fn learned_unlabelled(unlabelled: &Unlabelled) -> String {
    let documents = counted(unlabelled.documents, "document");
    match (unlabelled.teacher, unlabelled.loss(None)) {
        (Some(teacher), Some(alone)) => {
            let with = unlabelled.loss(Some(teacher)).unwrap_or(alone);
            let losses = format!("held-out log loss {with:.3}, by the labels alone {alone:.3}");
            format!("of these {documents} without a label: {losses}")
        }
        (None, Some(_)) => format!(
            "left out {documents} without a label: with them held-out labelled documents are not surely predicted better"
        ),
        (Some(_), None) => format!(
            "of these {documents} without a label, sorted by expectation maximization: too few have a label to tell \
             whether they help, so no probability is far from the labels' shares"
        ),
        _ => format!(
            "left out {documents} without a label: too few have one to tell whether they help (--lambda 1 counts them)"
        ),
    }
}

/// The number of documents, of labels, and of labels a document.
fn documents_of_labels(information: &Information<'_>) -> String {
    let of_labels: u64 = information.totals.iter().map(|totals| totals.documents).sum();
    let documents = counted(information.documents, "document");
    let labels = counted(information.classes.len() as u64, "label");
    let each = of_labels as f64 / information.documents.max(1) as f64;
    format!("{documents} with {labels}, {each:.2} a document")
}

/// As [`report`], for a partial, which has no expected performance yet.
pub(crate) fn report_counted(path: &Path, partial: &Partial) -> Result<()> {
    let mut out = done();
    writeln!(out, "counted {}", documents_of(partial.classes(), partial.documents()))?;
    say_written(&mut out, path, partial.as_bytes().len())
}

/// The number of documents of each class, and after the last class of those without a label.
fn documents_of(classes: &Classes, documents: &[u64]) -> String {
    const MOST: usize = 20;
    let of_classes = classes.iter().zip(documents).take(MOST);
    let mut of_classes: Vec<_> = of_classes
        .map(|((_, label), documents)| format!("{} {}", grouped(*documents), shown(label)))
        .collect();
    if classes.len() > MOST {
        of_classes.push(format!("and {} more", counted((classes.len() - MOST) as u64, "label")));
    }
    let labelled = documents[..classes.len().min(documents.len())].iter().sum();
    let unlabelled = documents
        .get(classes.len())
        .map_or_else(String::new, |documents| format!(" and {} without a label", grouped(*documents)));
    let in_brackets =
        if of_classes.is_empty() { String::new() } else { format!(" ({})", of_classes.join(", ")) };
    format!("{}{in_brackets}{unlabelled}", counted(labelled, "document"))
}

fn say_written(out: &mut impl Write, path: &Path, bytes: usize) -> Result<()> {
    Ok(writeln!(out, "wrote {} ({} kB)", shown_path(path), grouped(bytes.div_ceil(1000) as u64))?)
}

/// Reports the expected performance before and after a change.
pub(crate) fn report_change(
    out: &mut impl Write,
    before: Option<HeldOutPerformance>,
    filter: &Filter,
) -> Result<()> {
    let wrong = match before {
        Some(HeldOutPerformance::Detection { negatives, false_positives, positives, missed, .. }) => {
            let [lost, negatives, missed, positives] =
                [false_positives, negatives, missed, positives].map(grouped);
            format!("{lost} of {negatives} and {missed} of {positives} held-out documents wrong or unsure")
        }
        Some(HeldOutPerformance::Accuracy { documents, right, .. }) => {
            format!("{} of {} labelled right", grouped(right), grouped(documents))
        }
        Some(HeldOutPerformance::Labels { found, wrong, missed, .. }) => {
            format!("{} labels right, {} wrong, {} missed", grouped(found), grouped(wrong), grouped(missed))
        }
        None => "not known".to_owned(),
    };
    writeln!(out, "before: {wrong}")?;
    print_expectation(out, filter)
}
