//! The class `Learner`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyType;
use tamis_train::{
    Document, ErrorKind, Filter, Keep, LearnOptions, LearnOutcome, Recipe, Scratch, TrainOptions,
};

use crate::error::Result;
use crate::input::{ClassName, DocumentSet};
use crate::model::ModelLabels;
use crate::model::explanation::Explanation;
use crate::model::score::Score;
use crate::options::vector_space;
use crate::work::{Consumable, on_own_threads};

/// A model file that is open for learning.
pub(crate) struct LearningSession {
    pub(crate) learner: tamis_train::Learner,
    scratch: Scratch,
}

/// How long a thread waits for a lock before it lets Python handle signals.
const SLICE: Duration = Duration::from_millis(100);

/// Opens a model for learning once nobody else is changing it. Python's other threads run meanwhile.
///
/// # Errors
/// Those of `attempt`, or of a signal's handler.
pub(crate) fn open(
    py: Python<'_>,
    lock_timeout: f64,
    retrain: bool,
    attempt: impl Fn(LearnOptions) -> tamis_train::Result<tamis_train::Learner> + Sync,
) -> Result<LearningSession> {
    let expected = "lock_timeout: expected seconds, at least 0";
    let waited =
        Duration::try_from_secs_f64(lock_timeout).map_err(|_| format!("{expected}, got {lock_timeout}"))?;
    let start = Instant::now();
    loop {
        let left = waited.saturating_sub(start.elapsed());
        let mut options = LearnOptions::default();
        options.lock_timeout = left.min(SLICE);
        options.retrain = retrain;
        options.learned_at = Some(LearnOptions::today());
        match py.detach(|| attempt(options)) {
            Ok(learner) => return Ok(LearningSession { learner, scratch: Scratch::default() }),
            Err(error) if error.kind() == ErrorKind::Locked && left > SLICE => py.check_signals()?,
            Err(error) => return Err(error.waited(waited).into()),
        }
    }
}

impl LearningSession {
    /// Learns a document. Returns `new`, `already` or `moved`.
    pub(crate) fn learn(&mut self, label: &str, document: Document<'_>) -> tamis_train::Result<&'static str> {
        Ok(match self.learner.learn(label, document)? {
            LearnOutcome::Already => "already",
            LearnOutcome::Moved { .. } => "moved",
            _ => "new",
        })
    }

    /// Writes what was learned to the file; fits the model again once it has grown, as `tamis learn` does.
    pub(crate) fn commit(&mut self) -> Result<()> {
        on_own_threads(|| self.learner.commit()).map(|_| ())
    }
}

/// A model file that is open for learning, locked against other writers; readers do not notice.
///
/// A learner is a context manager: after the ``with`` block everything learned is in the file, or nothing if the block
/// raised. Learning a message twice counts once, learning it under another label moves it, and forgetting removes exactly
/// what learning added.
///
/// Examples
/// --------
/// >>> import os, tamis, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "model.tamis")
/// >>> spam = b"Subject: pills\n\nCheap pills, buy now!\n"
/// >>> with tamis.Learner.create(path) as learner:
/// ...     learner.learn(b"Subject: lunch\n\nSoup at noon?\n", "ham")
/// ...     learner.learn(spam, "spam")
/// ...     learner.learn(spam, "spam")
/// 'new'
/// 'new'
/// 'already'
/// >>> tamis.Filter.open(path).score(b"Subject: cheap pills\n\n").log_odds > 0
/// True
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Learner {
    open: Consumable<LearningSession>,
    recipe: Recipe,
    path: PathBuf,
}

impl Learner {
    fn new(open: LearningSession, path: PathBuf) -> Self {
        let recipe = open.learner.filter().information().recipe.clone();
        let open = Consumable::new(open, "expected an open learner, got one that was closed");
        Learner { open, recipe, path }
    }

    /// Answers by everything learned so far, committed or not.
    fn ask<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        answer: impl Fn(Arc<ModelLabels>, &Filter, Document<'_>, &mut Scratch) -> Result<T> + Sync,
    ) -> Result<T> {
        let document = DocumentSet::one(&self.recipe, message)?;
        self.open.with(message.py(), |open| {
            let filter = open.learner.filter();
            let labels = ModelLabels::from_filter(filter);
            document.with(0, |document| answer(labels, filter, document, &mut open.scratch))
        })
    }
}

#[pymethods]
impl Learner {
    /// Opens a model file for learning, once nobody else is changing it.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    /// lock_timeout : float, default 60
    ///     Seconds to wait for others that are changing the file.
    /// retrain : bool, default True
    ///     Fit the model again after many messages learned one by one, as ``tamis learn`` does.
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     Others were changing the file all that time.
    #[classmethod]
    #[pyo3(signature = (path, *, lock_timeout=60.0, retrain=true))]
    fn open(_class: &Bound<'_, PyType>, path: PathBuf, lock_timeout: f64, retrain: bool) -> Result<Self> {
        let attempt = |options| tamis_train::Learner::open(&path, options);
        let open = open(_class.py(), lock_timeout, retrain, attempt)?;
        Ok(Learner::new(open, path))
    }

    /// As ``open``; if there is no file, makes one with these labels and no documents.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    /// labels : list of str, default ("ham", "spam")
    /// kind : {"mail", "text"}, default "mail"
    /// vectors : int, optional
    ///     The length of the vectors that documents may have beside them: see ``tamis.Embedded``.
    /// encoder : str, optional
    ///     What makes them.
    /// lock_timeout, retrain
    ///     As in ``open``.
    #[classmethod]
    #[pyo3(signature = (path, labels=None, *, kind="mail", vectors=None, encoder=None, lock_timeout=60.0, retrain=true))]
    fn create(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        labels: Option<Vec<String>>,
        kind: &str,
        vectors: Option<u32>,
        encoder: Option<String>,
        lock_timeout: f64,
        retrain: bool,
    ) -> Result<Self> {
        let kind = kind.parse().map_err(|error| format!("kind: {error}"))?;
        let mut train = TrainOptions::new(kind);
        // so that the model can be fitted again as it grows
        train.keep = Some(Keep::Vectors);
        train.recipe.vectors = vector_space(vectors, encoder)?;
        let labels = labels.unwrap_or_else(|| vec!["ham".to_owned(), "spam".to_owned()]);
        let attempt = |options| {
            let labels = labels.iter().map(String::as_str);
            tamis_train::Learner::create(&path, train.clone(), labels, options)
        };
        let open = open(_class.py(), lock_timeout, retrain, attempt)?;
        Ok(Learner::new(open, path))
    }

    /// Learns a message under a label that the model knows; in a model of many labels, under a list of labels.
    ///
    /// Returns
    /// -------
    /// str
    ///     ``"new"``, ``"already"`` if it was known under the label, or ``"moved"`` if it was known under
    ///     another.
    fn learn(&self, message: &Bound<'_, PyAny>, label: ClassName) -> Result<&'static str> {
        let document = DocumentSet::one(&self.recipe, message)?;
        self.open.with(message.py(), |open| document.with(0, |of| Ok(open.learn(&label.0, of)?)))
    }

    /// Forgets all copies of a message; with a label, only if it is known under that label.
    ///
    /// Returns
    /// -------
    /// str or None
    ///     The Message-ID, if the model remembers it.
    #[pyo3(signature = (message, label=None))]
    fn forget(&self, message: &Bound<'_, PyAny>, label: Option<ClassName>) -> Result<Option<String>> {
        let document = DocumentSet::one(&self.recipe, message)?;
        let label = label.as_ref().map(|label| &*label.0);
        self.open.with(message.py(), |open| document.with(0, |of| Ok(open.learner.forget(label, of)?)))
    }

    /// Scores a message with everything learned so far, committed or not.
    fn score(&self, message: &Bound<'_, PyAny>) -> Result<Score> {
        self.ask(message, Score::ask)
    }

    /// Explains the score of a message, with everything learned so far; ``label`` is as in ``Filter.explain``.
    #[pyo3(signature = (message, label=None))]
    fn explain(&self, message: &Bound<'_, PyAny>, label: Option<&str>) -> Result<Explanation> {
        self.ask(message, |labels, filter, document, scratch| {
            Explanation::ask(labels, filter, document, label, scratch)
        })
    }

    /// Writes what was learned and forgotten to the file, and waits until it is on disk.
    fn commit(&self, py: Python<'_>) -> Result<()> {
        self.open.with(py, LearningSession::commit)
    }

    /// Fits everything again to all remembered documents, and writes the file, as ``tamis retrain`` does.
    fn retrain(&self, py: Python<'_>) -> Result<()> {
        self.open.with(py, |open| on_own_threads(|| open.learner.retrain()))
    }

    /// Adds a label that the model does not know yet, and writes the file.
    fn add_label(&self, py: Python<'_>, label: &str) -> Result<()> {
        self.open.with(py, |open| on_own_threads(|| open.learner.add_label(label)))
    }

    /// Closes the file without committing. Closing a closed learner does nothing.
    fn close(&self, py: Python<'_>) {
        let open = self.open.take(py);
        py.detach(|| drop(open));
    }

    /// The labels of the model.
    #[getter]
    fn labels(&self, py: Python<'_>) -> Result<Vec<String>> {
        self.open.with(py, |open| Ok(ModelLabels::from_filter(open.learner.filter()).names()))
    }

    /// The file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let outcome = if kind.is_none() { self.commit(py) } else { Ok(()) };
        self.close(py);
        outcome
    }

    fn __repr__(&self) -> String {
        format!("Learner({:?})", self.path)
    }
}
