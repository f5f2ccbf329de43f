//! How good the labels of documents are that have any number, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use tamis_train::evaluate::{HeldOutLabels, LabelEvaluation, LabelFigures};
use tamis_train::{Classes, Filter, Scratch, split_labels};

use crate::error::{Exception, Result};
use crate::input::{DocumentSet, LabelColumn};
use crate::work::{Watch, run};

/// All labels, and what a model says of each document.
pub(crate) type HeldOut = (Classes, Vec<HeldOutLabels>);

/// What a model says of documents, on the threads of the current pool. LabelColumn that it does not know are always missed.
///
/// # Errors
/// A document cannot be scored; there are not as many sets of labels as documents, at least one.
pub(crate) fn held_out(
    filter: &Filter,
    documents: &DocumentSet,
    sets: &LabelColumn,
    watch: &Watch,
) -> Result<HeldOut> {
    sets.check_evaluates(documents.len())?;
    let known = filter.classes();
    let sets = (0..sets.len()).map(|row| sets.get(row)).collect::<Result<Vec<_>>>()?;
    let labels = known.iter().map(|(_, label)| label).chain(sets.iter().flat_map(|set| split_labels(set)));
    let labels = Classes::new(labels).map_err(|error| error.to_string())?;
    let of_row = |scratch: &mut Scratch, (row, set): (usize, &&str)| -> Result<HeldOutLabels> {
        if watch.is_stopped() {
            return Err("stopped".into());
        }
        watch.add_done(1);
        let (has, unknown): (Vec<&str>, Vec<&str>) =
            split_labels(set).partition(|label| known.index(label).is_some());
        let has: Vec<_> = has.into_iter().filter_map(|label| known.index(label)).collect();
        let unknown: Vec<_> = unknown.into_iter().map(str::to_owned).collect();
        let document = documents.get(row)?;
        let of_model = HeldOutLabels::of(filter, scratch, known, &has, document.document())?;
        Ok(of_model.among(known, &labels, &unknown))
    };
    let of_rows = sets.par_iter().enumerate().map_init(Scratch::default, of_row);
    let of_rows = of_rows.collect::<Result<Vec<_>>>()?;
    Ok((labels, of_rows))
}

/// Measures what a model says.
///
/// # Errors
/// A signal stops it.
pub(crate) fn evaluate(
    py: Python<'_>,
    (labels, of_rows): HeldOut,
    threads: usize,
) -> Result<(Classes, LabelEvaluation)> {
    let n_labels = labels.len();
    let job = move |_: &Watch| Ok::<_, Exception>(LabelEvaluation::new(n_labels, &of_rows));
    Ok((labels, run(py, threads, job)?))
}

/// A dict with the keys of `tamis evaluate --json`.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn figures(py: Python<'_>, held_out: HeldOut, threads: usize) -> Result<Bound<'_, PyDict>> {
    let (labels, of) = evaluate(py, held_out, threads)?;
    let (dict, of_labels) = (PyDict::new(py), PyList::empty(py));
    dict.set_item("documents", of.documents)?;
    for (key, value) in of.named() {
        dict.set_item(key, value)?;
    }
    for (label, of) in of.most_frequent_first(&labels) {
        of_labels.append(of_label(py, label, of)?)?;
    }
    dict.set_item("labels", of_labels)?;
    Ok(dict)
}

fn of_label<'py>(py: Python<'py>, label: &str, of: &LabelFigures) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("label", label)?;
    dict.set_item("documents", of.found + of.missed)?;
    dict.set_item("found", of.found)?;
    dict.set_item("wrong", of.wrong)?;
    dict.set_item("missed", of.missed)?;
    dict.set_item("precision", of.precision())?;
    dict.set_item("recall", of.recall())?;
    dict.set_item("f1", of.f1())?;
    dict.set_item("average_precision", of.average_precision)?;
    dict.set_item("roc_auc", of.roc_auc)?;
    Ok(dict)
}
