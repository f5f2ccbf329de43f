//! Counting documents in batches, and merging the counts of others.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use tamis_train::distributed::Partial;
use tamis_train::options::Ngrams;
use tamis_train::{Recipe, Trainer};

use crate::error::Result;
use crate::filter::Filter;
use crate::input::decoding::Decoding;
use crate::options::{TrainingOptions, kind_named};
use crate::training::{self, Examples, LabelledDocuments};
use crate::work::{Consumable, run, threads};

/// Counts labelled documents, batch by batch, on one thread, and merges the counts of other processes, machines or
/// earlier runs.
///
/// Partials can be merged in any order, also in a tree. The model has the bytes of one training on all documents. An engine
/// such as Spark, Ray or Dask needs nothing else. Every document counts, also one that equals another.
///
/// Parameters
/// ----------
/// kind : {"text", "mail", "table"}, default "text"
/// **options
///     Those of ``tamis train``, see ``Filter.train``. Counters that are merged need the same options. Of a table,
///     ``columns`` names all columns to learn from, each with its kind. ``vectors`` is the length of the vectors that
///     documents may have beside them, and ``encoder`` the name of what makes them.
///
/// Attributes
/// ----------
/// n_documents : int
///     Documents counted.
/// labels : list of str
///     The labels seen.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> def count(texts, labels):
/// ...     counter = tamis.Counter()
/// ...     counter.add(texts, labels)
/// ...     return counter.partial()
/// >>> partials = [count(["apples", "pears"], ["fruit", "fruit"]), count(["iron"], ["metal"])]
/// >>> counter = tamis.Counter()
/// >>> for partial in partials:
/// ...     counter.merge(partial)
/// >>> counter.finish().score("apples").label
/// 'fruit'
#[pyclass(module = "tamis", frozen)]
pub(crate) struct Counter {
    options: TrainingOptions,
    trainer: Consumable<Trainer>,
}

impl Counter {
    /// Uses the counter up: the trainer with options settled for its labels, or for those of `all`.
    ///
    /// # Errors
    /// The options do not suit the labels.
    pub(crate) fn settled(&self, py: Python<'_>, all: Option<&Trainer>) -> Result<Trainer> {
        let trainer = self.trainer.take(py)?;
        let (scoring, decision) = self.options.settle(all.unwrap_or(&trainer))?;
        Ok(trainer.with_scoring(scoring).with_decision(decision))
    }
}

const USED_UP: &str = "this counter was used up, by partial, finish or an error; make another";

/// The options that fix the terms, as a dict.
#[derive(IntoPyObject)]
struct FixedTerms {
    ngrams: (u8, u8),
    ends: bool,
    pieces: FixedPieces,
    signs: bool,
    /// `None` if scoring has none.
    regularisation: Option<f64>,
}

#[derive(IntoPyObject)]
enum FixedPieces {
    None(bool),
    Lengths((u8, u8)),
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (*, kind = "text", **options))]
    fn new(py: Python<'_>, kind: &str, options: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let options = TrainingOptions::new(kind_named(kind)?, options.unwrap_or(&PyDict::new(py)), false)?;
        let trainer = Trainer::new(options.train.clone())?;
        Ok(Counter { options, trainer: Consumable::new(trainer, USED_UP) })
    }

    /// Counts documents. An error names the row; the rows before it are counted.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     Of str or bytes; or a ``tamis.Embedded``.
    /// labels : the same, of str
    ///     As many as documents. With the option ``labels="many"``, lists of str.
    /// groups : the same, optional
    ///     The group of each document, such as its author: see ``Filter.train``.
    /// weights : list or array of float, optional
    ///     The weight of each document: see ``Filter.train``.
    /// encoding : str, default "utf-8"
    ///     The encoding of texts given as bytes.
    /// decode_error : {"strict", "ignore", "replace"}, default "strict"
    ///     How to handle bytes that are not valid in the encoding.
    #[pyo3(signature = (documents, labels, *, groups = None, weights = None, encoding = "utf-8", decode_error = "strict"))]
    fn add(
        &self,
        documents: Bound<'_, PyAny>,
        labels: Bound<'_, PyAny>,
        groups: Option<Bound<'_, PyAny>>,
        weights: Option<Vec<f64>>,
        encoding: &str,
        decode_error: &str,
    ) -> Result<()> {
        let py = documents.py();
        let decoding = Decoding::new(py, encoding, decode_error)?;
        let examples = Examples { documents, labels, groups, weights, unlabelled: None };
        let labelled = LabelledDocuments::new(&self.options, &examples, decoding)?;
        self.trainer.with(py, |trainer| training::learn(trainer, &labelled, 0..labelled.len()))
    }

    /// Adds the counts of another counter.
    ///
    /// Parameters
    /// ----------
    /// partial : bytes
    ///     What ``partial`` returned there.
    fn merge(&self, py: Python<'_>, partial: PyBackedBytes) -> Result<()> {
        let partial = py.detach(|| Partial::from_bytes(partial))?;
        self.trainer.replace(py, |trainer| Ok(trainer.merge_partial(&partial)?))
    }

    /// Returns the counts as bytes and ends the counter. The same documents give the same bytes.
    fn partial<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        let trainer = self.trainer.take(py)?;
        // executors have one thread a task
        let partial = run(py, 1, move |_| trainer.into_partial())?;
        Ok(PyBytes::new(py, partial.as_bytes()))
    }

    /// Returns the model of the counted documents and ends the counter.
    ///
    /// Parameters
    /// ----------
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one per core. The model does not depend on it.
    ///
    /// Raises
    /// ------
    /// TamisError
    ///     There are fewer than two labels, or the options do not suit the labels.
    #[pyo3(signature = (*, n_jobs = None))]
    fn finish(&self, py: Python<'_>, n_jobs: Option<i64>) -> Result<Filter> {
        let threads = threads(n_jobs)?;
        let trainer = self.trainer.take(py)?;
        Filter::of_model(training::finish(py, trainer, &self.options, threads)?)
    }

    /// Chooses by the counted documents which terms there are and how the correction is regularised, and ends the counter.
    /// Returns the options that fix them, for text that is not cut into characters.
    fn choose_terms(&self, py: Python<'_>) -> Result<FixedTerms> {
        let trainer = self.trainer.take(py)?;
        let chosen = run(py, 1, move |_| trainer.choose_terms())?;
        let (scoring, Recipe { tokenizer, pieces, .. }) = (chosen.scoring(), chosen.recipe());
        let (Ngrams::Words { min, max } | Ngrams::Characters { min, max }) = tokenizer.terms;
        Ok(FixedTerms {
            ngrams: (min, max),
            ends: tokenizer.ends,
            pieces: pieces.map_or(FixedPieces::None(false), |of| FixedPieces::Lengths((of.min, of.max))),
            signs: tokenizer.signs,
            regularisation: scoring.weighted().filter(|of| of.correction).map(|of| of.regularisation),
        })
    }

    #[getter]
    fn n_documents(&self, py: Python<'_>) -> Result<u64> {
        self.trainer.with(py, |trainer| Ok(trainer.n_documents()))
    }

    #[getter]
    fn labels(&self, py: Python<'_>) -> Result<Vec<String>> {
        self.trainer
            .with(py, |trainer| Ok(trainer.classes().iter().map(|(_, label)| label.to_owned()).collect()))
    }
}
