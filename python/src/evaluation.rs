//! How good scores are, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tamis_filter::{ClassId, Classes, Evaluation, Figure, HeldOutScore, Interval, spam_class};

use crate::error::wrong_row;
use crate::input::documents::Labels;
use crate::model::{Batch, Failure, Model, Scored};
use crate::work::run;

/// The figures of scores against the labels that documents have.
///
/// # Errors
/// If the model does not know a label.
pub(crate) fn of_scores<'py>(
    py: Python<'py>,
    model: &Model,
    batch: &Batch,
    labels: &Labels,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = batch.scores.iter().zip(batch.probabilities.chunks(model.labels.names().len()));
    let outcome = |(row, (scored, probabilities)): (usize, (&Scored, &[f64]))| {
        let label = labels.get(row).map_err(|error| Failure::Document(row, error))?;
        let class = model.labels.class(label).map_err(|error| wrong_row(row, error))?;
        Ok(HeldOutScore::new(class, scored.score, probabilities[usize::from(class)]))
    };
    let outcomes = rows.enumerate().map(outcome).collect::<PyResult<Vec<_>>>()?;
    figures(py, model.filter.classes(), model.filter.spam(), outcomes, threads)
}

/// The figures of held-out scores.
pub(crate) fn of_folds<'py>(
    py: Python<'py>,
    classes: &Classes,
    outcomes: Vec<HeldOutScore>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    figures(py, classes, spam_class(classes), outcomes, threads)
}

/// A dictionary with the keys that `tamis evaluate --json` has.
fn figures<'py>(
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
    Ok(dict)
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
