//! What the estimator `TamisClassifier` asks of a model besides what a `Filter` offers.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{kind_named, threads};
use crate::error::TamisError;
use crate::filter::Filter;
use crate::input::decoding::Decoding;
use crate::input::documents::{Documents, Labels};
use crate::options::{Given, Options};
use crate::table::Table;
use crate::training::{self, Labelled, Training};

/// Probabilities by document and label, and the log-odds of what a model says of each document.
type Scores<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A model of labelled documents, which may have groups. `options` are named as those of `tamis train`.
#[pyfunction]
#[pyo3(signature = (documents, labels, groups, options, *, kind, **how))]
fn train(
    documents: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    groups: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
    kind: &str,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<Filter> {
    let (training, progress) = training((documents, labels, groups), (kind, options), how)?;
    Filter::of_model(training.model(documents.py(), progress)?)
}

/// What was counted of labelled documents, unfitted: the bytes of a partial, and the number of documents.
#[pyfunction]
#[pyo3(signature = (documents, labels, groups, options, *, kind, **how))]
fn count<'py>(
    documents: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    groups: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
    kind: &str,
    how: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let py = documents.py();
    let (training, progress) = training((documents, labels, groups), (kind, options), how)?;
    let partial = training.partial(py, progress)?;
    Ok((PyBytes::new(py, partial.as_bytes()), partial.documents().iter().sum()))
}

/// The model of partials if there are two labels or more, their labels, and the bytes of the partial that they are together.
#[pyfunction]
#[pyo3(signature = (partials, options, *, kind, n_jobs))]
fn fit<'py>(
    py: Python<'py>,
    partials: Vec<PyBackedBytes>,
    options: &Bound<'py, PyDict>,
    kind: &str,
    n_jobs: Option<i64>,
) -> PyResult<(Option<Filter>, Vec<String>, Bound<'py, PyBytes>)> {
    let options = Options::new(kind_named(kind)?, options)?;
    let (partial, model) = training::fit(py, partials, &options, threads(n_jobs)?)?;
    let labels = partial.classes().iter().map(|(_, label)| label.to_owned()).collect();
    Ok((model.map(Filter::of_model).transpose()?, labels, PyBytes::new(py, partial.as_bytes())))
}

/// How documents are read and gone through.
struct How {
    threads: usize,
    progress: bool,
    decoding: Decoding,
}

impl How {
    fn new(py: Python<'_>, how: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = Given(how.map_or_else(|| Ok(PyDict::new(py)), |how| how.copy())?);
        let text = |name, default: &str| Ok::<_, PyErr>(given.take(name)?.unwrap_or(default.to_owned()));
        Ok(How {
            threads: threads(given.take("n_jobs")?)?,
            progress: given.flag("progress")?,
            decoding: Decoding::new(py, &text("encoding", "utf-8")?, &text("decode_error", "strict")?)?,
        })
    }
}

/// What is to be trained, and whether to show how far it is.
fn training(
    (documents, labels, groups): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
    (kind, options): (&str, &Bound<'_, PyDict>),
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Training, bool)> {
    let py = documents.py();
    let How { threads, progress, decoding } = How::new(py, how)?;
    let kind = kind_named(kind)?;
    let options = Options::new(kind, options)?;
    let (documents, labels) = (Documents::new(kind, documents, decoding)?, Labels::new(labels)?);
    let labelled = Labelled::new(documents, labels, groups.map(Labels::new).transpose()?)?;
    Ok((Training::new(labelled, options, threads), progress))
}

/// The probability of every label, shape (n_documents, n_labels), and the log-odds of the likeliest or of spam, in nats.
#[pyfunction]
#[pyo3(signature = (filter, documents, **how))]
fn scores<'py>(
    filter: &Bound<'py, Filter>,
    documents: &Bound<'py, PyAny>,
    how: Option<&Bound<'py, PyDict>>,
) -> PyResult<Scores<'py>> {
    let py = filter.py();
    let How { threads, progress, decoding } = How::new(py, how)?;
    let (model, batch) = filter.get().batch(documents, decoding, threads, progress)?;
    let shape = [batch.scores.len(), model.labels.names().len()];
    let probabilities = batch.probabilities.to_pyarray(py).reshape(shape)?;
    Ok((probabilities, PyArray1::from_iter(py, batch.scores.iter().map(|scored| scored.score.log_odds))))
}

/// How many documents there are, all of which can be read.
#[pyfunction]
#[pyo3(signature = (documents, *, kind, encoding, decode_error))]
fn count_documents(
    documents: &Bound<'_, PyAny>,
    kind: &str,
    encoding: &str,
    decode_error: &str,
) -> PyResult<usize> {
    let decoding = Decoding::new(documents.py(), encoding, decode_error)?;
    Ok(Documents::new(kind_named(kind)?, documents, decoding)?.len())
}

/// A table of the likeliest label of each document with probabilities of shape (n_documents, n_labels).
#[pyfunction]
fn label_table(labels: Vec<String>, probabilities: PyReadonlyArray2<'_, f64>) -> PyResult<Table> {
    if probabilities.as_array().ncols() != labels.len() {
        return Err(TamisError::new_err("expected a column of probabilities for every label"));
    }
    let rows: Vec<f64> = probabilities.as_array().iter().copied().collect();
    Table::of_probabilities(&labels, &rows)
}

/// Adds the functions of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(count, module)?)?;
    module.add_function(wrap_pyfunction!(fit, module)?)?;
    module.add_function(wrap_pyfunction!(scores, module)?)?;
    module.add_function(wrap_pyfunction!(count_documents, module)?)?;
    module.add_function(wrap_pyfunction!(label_table, module)?)
}
