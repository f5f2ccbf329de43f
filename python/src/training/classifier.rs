//! What the estimator `TamisClassifier` needs besides `Filter`.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use tamis_train::options::{Column, ColumnKind};
use tamis_train::{Document, Recipe};

use crate::error::Result;
use crate::filter::Filter;
use crate::input::DocumentSet;
use crate::input::decoding::Decoding;
use crate::input::vectors::Embedded;
use crate::model::table::Table;
use crate::options::{RunOptions, TrainingOptions, kind_named, with_columns};
use crate::training::{self, Examples, Training};
use crate::work::threads;

/// The probability of every label by document, and the log-odds of every document or label.
type ScoreArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArrayDyn<f64>>);

/// A model, the share of the documents that has each label, and the bytes of a partial.
type FitResult<'py> = (Option<Filter>, BTreeMap<String, f64>, Bound<'py, PyBytes>);

/// Trains a model. `options` are named as those of `tamis train`.
#[pyfunction]
#[pyo3(signature = (examples, options, *, kind, **how))]
pub(crate) fn train(
    py: Python<'_>,
    examples: Examples<'_>,
    options: &Bound<'_, PyDict>,
    kind: &str,
    how: Option<&Bound<'_, PyDict>>,
) -> Result<Filter> {
    let how = RunOptions::from_keywords(py, how)?;
    Filter::of_model(Training::new(&examples, kind, options, how)?.model(py)?)
}

/// Counts documents without fitting: the bytes of a partial, and the number of documents.
#[pyfunction]
#[pyo3(signature = (examples, options, *, kind, **how))]
pub(crate) fn count<'py>(
    py: Python<'py>,
    examples: Examples<'py>,
    options: &Bound<'py, PyDict>,
    kind: &str,
    how: Option<&Bound<'py, PyDict>>,
) -> Result<(Bound<'py, PyBytes>, u64)> {
    let how = RunOptions::from_keywords(py, how)?;
    let partial = Training::new(&examples, kind, options, how)?.partial(py)?;
    Ok((PyBytes::new(py, partial.as_bytes()), partial.documents().iter().sum()))
}

/// Merges partials: the model if there are at least two labels, the share of the documents that has each label, and the
/// bytes of the merged partial.
#[pyfunction]
#[pyo3(signature = (partials, options, *, kind, n_jobs))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    partials: Vec<PyBackedBytes>,
    options: &Bound<'py, PyDict>,
    kind: &str,
    n_jobs: Option<i64>,
) -> Result<FitResult<'py>> {
    let options = TrainingOptions::new(kind_named(kind)?, options, false)?;
    let (partial, model) = training::fit(py, partials, &options, threads(n_jobs)?)?;
    let shares = training::shares(&partial);
    Ok((model.map(Filter::of_model).transpose()?, shares, PyBytes::new(py, partial.as_bytes())))
}

/// The probability of every label, shape (n_documents, n_labels), and the log-odds of the likeliest or of spam, in nats. In
/// a model of many labels, instead of these the log-odds of every label, less the label's threshold.
#[pyfunction]
#[pyo3(signature = (filter, documents, **how))]
pub(crate) fn scores<'py>(
    filter: &Bound<'py, Filter>,
    documents: &Bound<'py, PyAny>,
    how: Option<&Bound<'py, PyDict>>,
) -> Result<ScoreArrays<'py>> {
    let py = filter.py();
    let (model, batch) = filter.get().batch(documents, RunOptions::from_keywords(py, how)?)?;
    let shape = [batch.scores.len(), model.labels.classes.len()];
    let probabilities = batch.probabilities.to_pyarray(py).reshape(shape)?;
    if model.filter.has_many_labels() {
        return Ok((probabilities, batch.margins.to_pyarray(py).reshape(shape)?.to_dyn().clone()));
    }
    let log_odds = PyArray1::from_iter(py, batch.scores.iter().map(|scored| scored.score.log_odds));
    Ok((probabilities, log_odds.to_dyn().clone()))
}

/// The kind of every column of a table, in its order: as `columns` of the options says, by its type, or guessed from the
/// cells.
#[pyfunction]
#[pyo3(signature = (table, options, *, encoding, decode_error))]
pub(crate) fn column_kinds<'py>(
    table: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    encoding: &str,
    decode_error: &str,
) -> Result<Bound<'py, PyAny>> {
    let py = table.py();
    let decoding = Decoding::new(py, encoding, decode_error)?;
    Ok(with_columns(table, py.None().bind(py), options, &decoding)?.as_any().get_item("columns")?)
}

/// The documents as text, without their vectors. Of a table, `columns` are read, each a line; mail is as received.
#[pyfunction]
#[pyo3(signature = (documents, *, kind, encoding, decode_error, columns))]
pub(crate) fn texts(
    documents: &Bound<'_, PyAny>,
    kind: &str,
    encoding: &str,
    decode_error: &str,
    columns: Vec<String>,
) -> Result<Vec<String>> {
    let decoding = Decoding::new(documents.py(), encoding, decode_error)?;
    let mut recipe = Recipe::new(kind_named(kind)?);
    recipe.columns = columns.into_iter().map(|name| Column::new(name, ColumnKind::Text)).collect();
    let documents = DocumentSet::new(&recipe, &Embedded::bare(documents)?, decoding)?;
    let text = |document: Document<'_>| match document {
        Document::Text(text) => text.to_owned(),
        Document::Mail(raw) => String::from_utf8_lossy(raw).into_owned(),
        Document::Fields(cells) => cells.iter().map(|(_, cell)| *cell).collect::<Vec<_>>().join("\n"),
        Document::Counted(_) | Document::Embedded { .. } => String::new(),
    };
    (0..documents.len()).map(|row| documents.with(row, |document| Ok(text(document)))).collect()
}

/// A table of columns by their names: of float64, of text, or of lists of text.
#[pyfunction]
pub(crate) fn table(columns: &Bound<'_, PyDict>) -> Result<Table> {
    Table::of_columns(columns)
}
