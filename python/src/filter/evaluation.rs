//! How good scores are, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList};
use tamis_train::evaluate::{Evaluation, Figure, HeldOutScore};
use tamis_train::information::Interval;
use tamis_train::{ClassId, Classes};

use crate::error::{Exception, Result, wrong_row};
use crate::input::LabelColumn;
use crate::model::{DocumentScore, ScoreBatch, SharedFilter};
use crate::work::run;

/// The scores of documents with their labels.
///
/// # Errors
/// The model does not know a label, or there are not as many labels as documents, at least one.
pub(crate) fn outcomes(
    model: &SharedFilter,
    batch: &ScoreBatch,
    labels: &LabelColumn,
) -> Result<Vec<HeldOutScore>> {
    labels.check_evaluates(batch.scores.len())?;
    let rows = batch.scores.iter().zip(batch.probabilities.chunks(model.labels.classes.len()));
    let outcome = |(row, (scored, probabilities)): (usize, (&DocumentScore, &[f64]))| {
        let class = model.labels.class(labels.get(row)?).map_err(|error| wrong_row(row, error))?;
        Ok(HeldOutScore::new(class, scored.score, probabilities[usize::from(class)]))
    };
    rows.enumerate().map(outcome).collect()
}

/// A dict of some fields of a struct, by their names.
macro_rules! fields {
    ($py:expr, $of:expr, [$($field:ident),*]) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($field), &$of.$field)?;)*
        dict
    }};
}

/// A dict with the keys of `tamis evaluate --json`.
pub(crate) fn figures<'py>(
    py: Python<'py>,
    classes: &Classes,
    spam: Option<ClassId>,
    outcomes: Vec<HeldOutScore>,
    threads: usize,
) -> Result<Bound<'py, PyDict>> {
    let own = classes.clone();
    let dict = PyDict::new(py);
    dict.set_item("documents", outcomes.len())?;
    let job = move |_: &_| Ok::<_, Exception>(Evaluation::new(&own, spam, &outcomes));
    let evaluation = run(py, threads, job)?;
    let confusion = &evaluation.confusion;
    let of_classes = PyList::empty(py);
    for (class, label) in classes.iter() {
        let verdicts = classes.iter().map(|(verdict, label)| (label, confusion.get(class, verdict)));
        let of_class = PyDict::new(py);
        of_class.set_item("label", label)?;
        of_class.set_item("documents", confusion.support(class))?;
        of_class.set_item("precision", confusion.precision(class))?;
        of_class.set_item("recall", confusion.recall(class))?;
        of_class.set_item("f1", confusion.f1(class))?;
        of_class.set_item("verdicts", verdicts.into_py_dict(py)?)?;
        of_class.set_item("unsure", confusion.unsure(class))?;
        of_classes.append(of_class)?;
    }
    for Figure { measure, value, interval, .. } in &evaluation.figures {
        let key = measure.key;
        dict.set_item(key, value)?;
        if let Some(Interval { low, high }) = interval {
            dict.set_item(format!("{key}_interval"), [low, high])?;
        }
    }
    dict.set_item("classes", of_classes)?;
    add_curves(&dict, classes, &evaluation)?;
    Ok(dict)
}

/// Adds what the figures of a report are drawn from.
fn add_curves(dict: &Bound<'_, PyDict>, classes: &Classes, evaluation: &Evaluation) -> PyResult<()> {
    let py = dict.py();
    let (points, reliability, log_odds) = (PyList::empty(py), PyList::empty(py), PyList::empty(py));
    for point in &evaluation.operating_points {
        let keys = fields!(py, point, [max_fpr, threshold, false_positives, false_positive_limit, missed]);
        points.append(keys)?;
    }
    for bin in &evaluation.reliability {
        let of_bin = fields!(py, bin, [low, high, documents, positives, mean]);
        of_bin.set_item("interval", [bin.interval.low, bin.interval.high])?;
        reliability.append(of_bin)?;
    }
    for bin in &evaluation.log_odds {
        let of_bin = fields!(py, bin, [low, high, negatives, positives]);
        // JSON has no infinite numbers
        for (key, end) in [("low", bin.low), ("high", bin.high)] {
            of_bin.set_item(key, end.is_finite().then_some(end))?;
        }
        log_odds.append(of_bin)?;
    }
    if classes.len() == 2 {
        dict.set_item("operating_points", points)?;
    }
    dict.set_item("reliability", reliability)?;
    dict.set_item("log_odds", log_odds)
}
