//! How good scores are, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tamis_filter::{ClassId, Classes, Evaluation, Figure, HeldOutScore, Interval};

use crate::error::{TamisError, wrong_row};
use crate::input::documents::Labels;
use crate::model::{Batch, Failure, Model, Scored};
use crate::work::run;

/// The scores of documents beside the labels that they have.
///
/// # Errors
/// If the model does not know a label, or there are not as many as documents, at least one.
pub(crate) fn outcomes(model: &Model, batch: &Batch, labels: &Labels) -> PyResult<Vec<HeldOutScore>> {
    let (expected, got) = (batch.scores.len(), labels.len());
    if expected != got || got == 0 {
        let expected = if got == 0 { "documents".to_owned() } else { format!("{expected} labels") };
        return Err(TamisError::new_err(format!("expected {expected} to evaluate, got {got}")));
    }
    let rows = batch.scores.iter().zip(batch.probabilities.chunks(model.labels.names().len()));
    let outcome = |(row, (scored, probabilities)): (usize, (&Scored, &[f64]))| {
        let label = labels.get(row).map_err(|error| Failure::Document(row, error))?;
        let class = model.labels.class(label).map_err(|error| wrong_row(row, error))?;
        Ok(HeldOutScore::new(class, scored.score, probabilities[usize::from(class)]))
    };
    rows.enumerate().map(outcome).collect()
}

/// A dictionary with the keys that `tamis evaluate --json` has.
pub(crate) fn figures<'py>(
    py: Python<'py>,
    classes: &Classes,
    spam: Option<ClassId>,
    outcomes: Vec<HeldOutScore>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let own = classes.clone();
    let dict = PyDict::new(py);
    dict.set_item("documents", outcomes.len())?;
    let evaluation = run(py, threads, None, move |_| Evaluation::new(&own, spam, &outcomes))?;
    dict.set_item("accuracy", evaluation.confusion.accuracy())?;
    dict.set_item("macro_f1", evaluation.confusion.macro_f1())?;
    let of_classes = PyList::empty(py);
    for (class, label) in classes.iter() {
        of_classes.append(of_class(py, classes, &evaluation, (class, label))?)?;
    }
    dict.set_item("classes", of_classes)?;
    for Figure { key, value, interval, .. } in &evaluation.figures {
        dict.set_item(key, value)?;
        if let Some(Interval { low, high }) = interval {
            dict.set_item(format!("{key}_interval"), [low, high])?;
        }
    }
    add_curves(&dict, classes, &evaluation)?;
    Ok(dict)
}

/// What the figures of a report are drawn from.
fn add_curves(dict: &Bound<'_, PyDict>, classes: &Classes, evaluation: &Evaluation) -> PyResult<()> {
    let py = dict.py();
    let (points, reliability, log_odds) = (PyList::empty(py), PyList::empty(py), PyList::empty(py));
    for point in &evaluation.operating_points {
        let of_point = PyDict::new(py);
        of_point.set_item("max_fpr", point.max_fpr)?;
        of_point.set_item("threshold", point.threshold)?;
        of_point.set_item("false_positives", point.false_positives)?;
        of_point.set_item("false_positive_limit", point.false_positive_limit)?;
        of_point.set_item("missed", point.missed)?;
        points.append(of_point)?;
    }
    for bin in &evaluation.reliability {
        let of_bin = PyDict::new(py);
        of_bin.set_item("low", bin.low)?;
        of_bin.set_item("high", bin.high)?;
        of_bin.set_item("documents", bin.documents)?;
        of_bin.set_item("positives", bin.positives)?;
        of_bin.set_item("mean", bin.mean)?;
        of_bin.set_item("interval", [bin.interval.low, bin.interval.high])?;
        reliability.append(of_bin)?;
    }
    for bin in &evaluation.log_odds {
        let of_bin = PyDict::new(py);
        // the ends that JSON has no number for
        of_bin.set_item("low", bin.low.is_finite().then_some(bin.low))?;
        of_bin.set_item("high", bin.high.is_finite().then_some(bin.high))?;
        of_bin.set_item("negatives", bin.negatives)?;
        of_bin.set_item("positives", bin.positives)?;
        log_odds.append(of_bin)?;
    }
    if classes.len() == 2 {
        dict.set_item("operating_points", points)?;
    }
    dict.set_item("reliability", reliability)?;
    dict.set_item("log_odds", log_odds)
}

fn of_class<'py>(
    py: Python<'py>,
    classes: &Classes,
    Evaluation { confusion, .. }: &Evaluation,
    (class, label): (ClassId, &str),
) -> PyResult<Bound<'py, PyDict>> {
    let verdicts = PyDict::new(py);
    for (verdict, label) in classes.iter() {
        verdicts.set_item(label, confusion.get(class, verdict))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("label", label)?;
    dict.set_item("documents", confusion.support(class))?;
    dict.set_item("precision", confusion.precision(class))?;
    dict.set_item("recall", confusion.recall(class))?;
    dict.set_item("f1", confusion.f1(class))?;
    dict.set_item("verdicts", verdicts)?;
    dict.set_item("unsure", confusion.unsure(class))?;
    Ok(dict)
}
