//! The class `Learner`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyType;
use tamis_filter::{Document, ErrorKind, Keep, Kind, LearnOptions, Learned, Scratch, TrainOptions};

use crate::error::{TamisError, raised};
use crate::explanation::Explanation;
use crate::message::Message;
use crate::model::{Failure, Labels, Scored};
use crate::score::Score;
use crate::work::on_own_threads;

/// A model file that is open for learning, and what was done to it.
pub(crate) struct Open {
    pub(crate) learner: tamis_filter::Learner,
    scratch: Scratch,
}

/// How long a thread waits for a lock before it looks whether Python wants to stop.
const SLICE: Duration = Duration::from_millis(100);

/// Opens a model for learning once nobody else is changing it; Python's other threads go on meanwhile.
///
/// # Errors
/// Those of the attempt; a signal's handler raised something.
pub(crate) fn open(
    py: Python<'_>,
    lock_timeout: f64,
    retrain: bool,
    attempt: impl Fn(LearnOptions) -> tamis_filter::Result<tamis_filter::Learner> + Sync,
) -> PyResult<Open> {
    let expected = "lock_timeout: expected seconds, at least 0";
    let waited = Duration::try_from_secs_f64(lock_timeout)
        .map_err(|_| TamisError::new_err(format!("{expected}, got {lock_timeout}")))?;
    let start = Instant::now();
    loop {
        let left = waited.saturating_sub(start.elapsed());
        let mut options = LearnOptions::default();
        options.lock_timeout = left.min(SLICE);
        options.retrain = retrain;
        match py.detach(|| attempt(options)).map_err(tamis_filter::Error::into_kind) {
            Ok(learner) => return Ok(Open { learner, scratch: Scratch::default() }),
            Err(ErrorKind::Locked { .. }) if left > SLICE => py.check_signals()?,
            Err(ErrorKind::Locked { path, .. }) => {
                return Err(raised(ErrorKind::Locked { path, waited }.into()));
            }
            Err(kind) => return Err(raised(kind.into())),
        }
    }
}

impl Open {
    /// Learns a document; what it was is told as Python's classes tell it.
    pub(crate) fn learn(
        &mut self,
        label: &str,
        document: Document<'_>,
    ) -> tamis_filter::Result<&'static str> {
        Ok(match self.learner.learn(label, document)? {
            Learned::Already => "already",
            Learned::Moved { .. } => "moved",
            _ => "new",
        })
    }

    /// Writes what was learned to the file; fits the model again once it has grown, as `tamis learn` does.
    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        on_own_threads(|| self.learner.commit())??;
        Ok(())
    }
}

/// A model file that is open for learning, locked against other writers; readers do not notice.
///
/// A learner is a context manager: what was learned is in the file after the ``with`` block, and nothing of
/// it if the block raised. Learning a message twice is learning it once, learning it under another label
/// moves it, and forgetting takes away exactly what learning added.
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
    open: Mutex<Option<Open>>,
    kind: Kind,
    path: PathBuf,
}

/// What `work` fails with when the learner was closed.
enum Refusal {
    Closed,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Failed(error.into())
    }
}

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => TamisError::new_err("expected an open learner, got one that was closed"),
            Refusal::Failed(failure) => failure.into(),
        }
    }
}

impl Learner {
    fn new(open: Open, path: PathBuf) -> Self {
        let kind = open.learner.filter().information().recipe.kind;
        Learner { open: Mutex::new(Some(open)), kind, path }
    }

    /// Does something to the file, one thread after the other, and without Python's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Open) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let outcome = py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().ok_or(Refusal::Closed).and_then(|open| Ok(work(open)?))
        });
        Ok(outcome?)
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
    ///     Fit everything anew when much was learned one by one, as ``tamis learn`` does.
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     If others were changing the file for all that time.
    #[classmethod]
    #[pyo3(signature = (path, *, lock_timeout=60.0, retrain=true))]
    fn open(_class: &Bound<'_, PyType>, path: PathBuf, lock_timeout: f64, retrain: bool) -> PyResult<Self> {
        let attempt = |options| tamis_filter::Learner::open(&path, options);
        let open = open(_class.py(), lock_timeout, retrain, attempt)?;
        Ok(Learner::new(open, path))
    }

    /// As ``open``; if there is no file, makes one that knows the labels and nothing else.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    /// labels : list of str, default ("ham", "spam")
    /// kind : {"mail", "text"}, default "mail"
    /// lock_timeout, retrain
    ///     As in ``open``.
    #[classmethod]
    #[pyo3(signature = (path, labels=None, *, kind="mail", lock_timeout=60.0, retrain=true))]
    fn create(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        labels: Option<Vec<String>>,
        kind: &str,
        lock_timeout: f64,
        retrain: bool,
    ) -> PyResult<Self> {
        let kind = kind.parse().map_err(|error| TamisError::new_err(format!("kind: {error}")))?;
        let mut train = TrainOptions::new(kind);
        // so that the model can be fitted again as it grows
        train.keep = Some(Keep::Vectors);
        let labels = labels.unwrap_or_else(|| vec!["ham".to_owned(), "spam".to_owned()]);
        let attempt = |options| {
            let labels = labels.iter().map(String::as_str);
            tamis_filter::Learner::create(&path, train.clone(), labels, options)
        };
        let open = open(_class.py(), lock_timeout, retrain, attempt)?;
        Ok(Learner::new(open, path))
    }

    /// Learns a message under a label that the model knows.
    ///
    /// Returns
    /// -------
    /// str
    ///     ``"new"``, ``"already"`` if it was known under the label, or ``"moved"`` if it was known under
    ///     another.
    fn learn(&self, message: &Bound<'_, PyAny>, label: &str) -> PyResult<&'static str> {
        let document = Message::new(self.kind, message)?;
        self.with(message.py(), |open| Ok(open.learn(label, document.document()?)?))
    }

    /// Forgets a message, all copies of it; with a label, only if it is known under that one.
    ///
    /// Returns
    /// -------
    /// str or None
    ///     The Message-ID, where that is remembered.
    #[pyo3(signature = (message, label=None))]
    fn forget(&self, message: &Bound<'_, PyAny>, label: Option<&str>) -> PyResult<Option<String>> {
        let document = Message::new(self.kind, message)?;
        self.with(message.py(), |open| Ok(open.learner.forget(label, document.document()?)?))
    }

    /// Scores a message with everything learned so far, committed or not.
    fn score(&self, message: &Bound<'_, PyAny>) -> PyResult<Score> {
        let document = Message::new(self.kind, message)?;
        self.with(message.py(), |open| {
            let filter = open.learner.filter();
            let (scored, probabilities) = Scored::new(filter, document.document()?, &mut open.scratch)?;
            Ok(Score::new(Labels::of(filter), scored, probabilities))
        })
    }

    /// Explains the score of a message, with everything learned so far.
    fn explain(&self, message: &Bound<'_, PyAny>) -> PyResult<Explanation> {
        let document = Message::new(self.kind, message)?;
        self.with(message.py(), |open| {
            let filter = open.learner.filter();
            Ok(Explanation::new(Labels::of(filter), filter, document.document()?, &mut open.scratch)?)
        })
    }

    /// Writes what was learned and forgotten to the file, and waits until it is on the disk.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Open::commit)
    }

    /// Chooses and fits everything anew by all remembered documents, and writes the file, as ``tamis
    /// retrain`` does.
    fn retrain(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |open| Ok(on_own_threads(|| open.learner.retrain())??))
    }

    /// Teaches the model a label that it does not know yet, and writes the file anew with it.
    fn add_label(&self, py: Python<'_>, label: &str) -> PyResult<()> {
        self.with(py, |open| Ok(on_own_threads(|| open.learner.add_label(label))??))
    }

    /// Lets go of the file; what was not committed is not learned. Closing twice is closing once.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The labels of the model.
    #[getter]
    fn labels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |open| Ok(Labels::of(open.learner.filter()).names().to_vec()))
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
    ) -> PyResult<()> {
        let outcome = if kind.is_none() { self.commit(py) } else { Ok(()) };
        self.close(py);
        outcome
    }

    fn __repr__(&self) -> String {
        format!("Learner({:?})", self.path)
    }
}

/// Adds the class of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Learner>()
}
