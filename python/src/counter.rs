//! Counting documents as they come, to be merged with what others count.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use tamis_filter::{Partial, Trainer};

use crate::arguments::kind_named;
use crate::arguments::threads;
use crate::error::{TamisError, raised};
use crate::filter::Filter;
use crate::input::decoding::Decoding;
use crate::input::documents::{Documents, Labels};
use crate::options::Options;
use crate::training::{self, Labelled};
use crate::work::run;

/// Counts labelled documents, batch by batch, on one thread, and merges what others counted: in another process, on
/// another machine, or before.
///
/// Partials merge in any order, also in a tree, and the model has the bytes of one training over all documents. This is all
/// that an engine such as Spark, Ray or Dask needs. Documents count as given.
///
/// Parameters
/// ----------
/// kind : {"text", "mail"}, default "text"
/// **options
///     Those of ``tamis train``, see ``Filter.train``. All that merge need the same.
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
    options: Options,
    /// None once it was used up.
    trainer: Mutex<Option<Trainer>>,
}

impl Counter {
    fn trainer(&self) -> MutexGuard<'_, Option<Trainer>> {
        self.trainer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<Trainer> {
        self.trainer().take().ok_or_else(used_up)
    }

    /// What was counted, with options settled by its labels, or by those of a trainer that has all. This ends the counter.
    ///
    /// # Errors
    /// If options do not suit the labels.
    pub(crate) fn settled(&self, all: Option<&Trainer>) -> PyResult<Trainer> {
        let trainer = self.take()?;
        let (scoring, decision) = self.options.settle(all.unwrap_or(&trainer).classes())?;
        Ok(trainer.with_scoring(scoring).with_decision(decision))
    }
}

fn used_up() -> PyErr {
    TamisError::new_err("this counter was used up, by partial, finish or an error; make another")
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (*, kind = "text", **options))]
    fn new(py: Python<'_>, kind: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = Options::new(kind_named(kind)?, options.unwrap_or(&PyDict::new(py)))?;
        let trainer = Trainer::new(options.train().clone()).map_err(raised)?;
        Ok(Counter { options, trainer: Mutex::new(Some(trainer)) })
    }

    /// Counts documents. An error names the row; those before it are counted.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     Of str or bytes.
    /// labels : the same, of str
    ///     As many as documents.
    /// groups : the same, optional
    ///     The group of each document, such as its author: see ``Filter.train``.
    /// encoding : str, default "utf-8"
    ///     Of texts that are bytes.
    /// decode_error : {"strict", "ignore", "replace"}, default "strict"
    ///     What becomes of bytes that are not in the encoding.
    #[pyo3(signature = (documents, labels, *, groups = None, encoding = "utf-8", decode_error = "strict"))]
    fn add(
        &self,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        groups: Option<&Bound<'_, PyAny>>,
        encoding: &str,
        decode_error: &str,
    ) -> PyResult<()> {
        let py = documents.py();
        let decoding = Decoding::new(py, encoding, decode_error)?;
        let documents = Documents::new(self.options.train().recipe.kind, documents, decoding)?;
        let groups = groups.map(Labels::new).transpose()?;
        let labelled = Labelled::new(documents, Labels::new(labels)?, groups)?;
        py.detach(|| {
            let mut trainer = self.trainer();
            let trainer = trainer.as_mut().ok_or_else(used_up)?;
            Ok(training::learn(trainer, &labelled, 0..labelled.len())?)
        })
    }

    /// Adds what another counter counted.
    ///
    /// Parameters
    /// ----------
    /// partial : bytes
    ///     What ``partial`` returned there.
    fn merge(&self, py: Python<'_>, partial: PyBackedBytes) -> PyResult<()> {
        py.detach(|| {
            let partial = Partial::from_bytes(partial).map_err(raised)?;
            let mut trainer = self.trainer();
            let merged = trainer.take().ok_or_else(used_up)?.merge_partial(&partial).map_err(raised)?;
            *trainer = Some(merged);
            Ok(())
        })
    }

    /// The bytes of what was counted; this ends the counter. The same documents give the same bytes.
    fn partial<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let trainer = self.take()?;
        // executors have one thread a task
        let partial = run(py, 1, None, move |_| trainer.into_partial())?.map_err(raised)?;
        Ok(PyBytes::new(py, partial.as_bytes()))
    }

    /// The model of what was counted; this ends the counter.
    ///
    /// Parameters
    /// ----------
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one a core. The model does not depend on it.
    ///
    /// Raises
    /// ------
    /// TamisError
    ///     If there are fewer than two labels, or the options do not suit the labels.
    #[pyo3(signature = (*, n_jobs = None))]
    fn finish(&self, py: Python<'_>, n_jobs: Option<i64>) -> PyResult<Filter> {
        let threads = threads(n_jobs)?;
        let trainer = self.take()?;
        Filter::of_model(training::finish(py, trainer, &self.options, threads)?)
    }

    /// Whether pairs and pieces of words are to be terms, as far as what was counted tells: this ends the counter. False where
    /// that is not open: for mail, for naive Bayes, where an option says it, and pairs with more than two labels.
    fn choose_terms(&self, py: Python<'_>) -> PyResult<(bool, bool)> {
        let trainer = self.take()?;
        let before = trainer.recipe().clone();
        let chosen = run(py, 1, None, move |_| trainer.choose_terms())?.map_err(raised)?;
        let after = chosen.recipe();
        Ok((after.tokenizer.terms != before.tokenizer.terms, after.pieces != before.pieces))
    }

    #[getter]
    fn n_documents(&self) -> PyResult<u64> {
        self.trainer().as_ref().map(Trainer::n_documents).ok_or_else(used_up)
    }

    #[getter]
    fn labels(&self) -> PyResult<Vec<String>> {
        let trainer = self.trainer();
        let trainer = trainer.as_ref().ok_or_else(used_up)?;
        Ok(trainer.classes().iter().map(|(_, label)| label.to_owned()).collect())
    }
}

/// Adds the class to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Counter>()
}
