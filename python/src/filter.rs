//! The class `Filter`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use tamis_filter::{Keep, Learner, MergeOptions};

use crate::classifier::kind_named;
use crate::error::{TamisError, raised};
use crate::explanation::{Explanation, Term};
use crate::input::decoding::Decoding;
use crate::input::documents::{Documents, Labels};
use crate::learner::{self, Open};
use crate::message::Message;
use crate::model::{Batch, Failure, Model, Scored};
use crate::options::Options;
use crate::progress::Progress;
use crate::score::{Score, Scores};
use crate::table::Table;
use crate::training::Training;
use crate::work::{Watch, run};

/// A trained model in use: scores and explains messages or texts, and learns from corrections.
///
/// A filter is made by ``Filter.open``, ``Filter.from_bytes`` or ``Filter.train``. Any number of threads may use one at the same
/// time. It is pickled as the bytes of its model; the copy has no file.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> ham = b"Subject: lunch\n\nSoup at noon?\n"
/// >>> spam = b"Subject: pills\n\nCheap pills, buy now!\n"
/// >>> filter = tamis.Filter.train([ham, spam], ["ham", "spam"])
/// >>> filter.score(b"Subject: offer\n\nbuy cheap pills\n").label
/// 'spam'
#[pyclass(frozen, module = "tamis", weakref)]
pub(crate) struct Filter {
    model: RwLock<Arc<Model>>,
    /// Where it learns.
    file: RwLock<Option<PathBuf>>,
    /// Held by who changes the file.
    changing: Mutex<()>,
    verdicts: Verdicts,
}

/// How an open model decides, if not by what is in its file.
#[derive(Clone, Default)]
struct Verdicts {
    unsure: Option<f64>,
    spam_label: Option<String>,
}

impl Verdicts {
    fn model(&self, mut filter: tamis_filter::Filter) -> tamis_filter::Result<Arc<Model>> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label)?;
        }
        if let Some(probability) = self.unsure {
            filter.set_unsure(probability)?;
        }
        Ok(Model::new(filter))
    }
}

impl Filter {
    /// # Errors
    /// If the model has no label that is to be spam, or the probability is none.
    fn new(filter: tamis_filter::Filter, file: Option<PathBuf>, verdicts: Verdicts) -> PyResult<Self> {
        let model = verdicts.model(filter).map_err(raised)?;
        let (model, file) = (RwLock::new(model), RwLock::new(file));
        Ok(Filter { model, file, changing: Mutex::default(), verdicts })
    }

    /// The model as it is now.
    pub(crate) fn model(&self) -> Arc<Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn file(&self) -> Option<PathBuf> {
        self.file.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn own_file(&self) -> PyResult<PathBuf> {
        let none = "expected a filter with a file to learn in, got one without: save(path) gives it one";
        self.file().ok_or_else(|| TamisError::new_err(none))
    }

    /// Opens the file again.
    fn read_again(&self, path: &Path) -> tamis_filter::Result<()> {
        let model = self.verdicts.model(tamis_filter::Filter::read(path)?)?;
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = model;
        Ok(())
    }

    /// Changes the file, alone, and takes what it then says.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        lock_timeout: f64,
        work: impl Fn(&mut Open) -> Result<T, Failure> + Sync,
    ) -> PyResult<T> {
        let path = self.own_file()?;
        let _alone = self.changing.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut open = learner::open(py, lock_timeout, |options| Learner::open(&path, options))?;
        let changed = py.detach(|| {
            let outcome = work(&mut open)?;
            open.commit()?;
            drop(open);
            self.read_again(&path)?;
            Ok(outcome)
        });
        changed.map_err(|failure: Failure| failure.into())
    }

    /// A filter that was trained just now.
    pub(crate) fn of_model(model: tamis_filter::Model) -> PyResult<Self> {
        Filter::new(model.into_filter().map_err(raised)?, None, Verdicts::default())
    }

    /// Scores documents in parallel.
    pub(crate) fn batch(
        &self,
        messages: &Bound<'_, PyAny>,
        decoding: Decoding,
        threads: usize,
        progress: bool,
    ) -> PyResult<(Arc<Model>, Batch)> {
        let (py, model) = (messages.py(), self.model());
        let documents = Documents::new(model.kind(), messages, decoding)?;
        let progress = Progress::new(py, progress, documents.len(), "documents")?;
        let asked = model.clone();
        let job = move |watch: &Watch| asked.score_all(&documents, watch);
        let batch = run(py, threads, progress.callback()?.as_ref(), job)??;
        progress.finish()?;
        Ok((model, batch))
    }
}

/// The number of threads for `n_jobs`, which joblib has so: all, as 0 says here, if it is not given or -1.
fn threads(n_jobs: Option<i64>) -> PyResult<usize> {
    match n_jobs {
        None | Some(-1) => Ok(0),
        Some(n) => usize::try_from(n).ok().filter(|n| (1..=MOST_THREADS).contains(n)).ok_or_else(|| {
            let expected = format!("n_jobs: expected 1 to {MOST_THREADS} threads, or -1 for all cores");
            TamisError::new_err(format!("{expected}, got {n}"))
        }),
    }
}

/// The most threads that can be asked for.
const MOST_THREADS: usize = 1024;

#[pymethods]
impl Filter {
    /// Opens a model file, of the program or of Python; what is done to the file later does not matter, see ``reload``.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    /// unsure : float, optional
    ///     Leave unsure what no label has this probability of (at least 0 and below 1); by default as the model was trained.
    /// spam_label : str, optional
    ///     The label that counts as spam; by default the first of spam, junk, unwanted and phish that is one.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file cannot be read.
    /// TamisError
    ///     If it is no model, is damaged, or was made by another version.
    #[classmethod]
    #[pyo3(signature = (path, *, unsure=None, spam_label=None))]
    fn open(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        unsure: Option<f64>,
        spam_label: Option<String>,
    ) -> PyResult<Self> {
        let filter = py.detach(|| tamis_filter::Filter::read(&path)).map_err(raised)?;
        Filter::new(filter, Some(path), Verdicts { unsure, spam_label })
    }

    /// A filter of the bytes of a model file.
    ///
    /// Parameters
    /// ----------
    /// data : bytes
    /// unsure, spam_label
    ///     As in ``open``.
    #[classmethod]
    #[pyo3(signature = (data, *, unsure=None, spam_label=None))]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        data: PyBackedBytes,
        unsure: Option<f64>,
        spam_label: Option<String>,
    ) -> PyResult<Self> {
        let filter = py.detach(|| tamis_filter::Filter::from_bytes(data.to_vec())).map_err(raised)?;
        Filter::new(filter, None, Verdicts { unsure, spam_label })
    }

    /// Trains a model on labelled messages or texts.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     Of bytes for mail, of str for text.
    /// labels : the same, of str
    ///     As many as documents, of at least two different labels.
    /// kind : {"mail", "text"}, default "mail"
    /// n_jobs : int, optional
    ///     Threads; by default, or with -1, as many as there are cores. The model does not depend on it.
    /// progress : bool, default False
    ///     Show a bar by tqdm.
    /// **options
    ///     Those of ``tamis train``: ``likelihood``, ``alpha``, ``ngrams``, ``max_fpr`` and so on; ``deduplicate=True`` counts equal
    ///     messages once, as the program does by default.
    #[classmethod]
    #[pyo3(signature = (documents, labels, *, kind="mail", n_jobs=None, progress=false, **options))]
    fn train(
        _class: &Bound<'_, PyType>,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        kind: &str,
        n_jobs: Option<i64>,
        progress: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = documents.py();
        let kind = kind_named(kind)?;
        let options = Options::new(kind, options.unwrap_or(&PyDict::new(py)))?;
        let documents = Documents::new(kind, documents, Decoding::default())?;
        let training = Training::new(documents, Labels::new(labels)?, options, threads(n_jobs)?)?;
        Filter::of_model(training.model(py, progress)?)
    }

    /// Adds models up, as ``tamis merge`` does: counts, corrections, remembered documents.
    ///
    /// Parameters
    /// ----------
    /// filters : list of Filter
    ///     In any order.
    /// retrain : bool, default False
    ///     Insist on fitting everything anew to the documents of all; done anyway where all remember their terms.
    /// strip : bool, default False
    ///     Leave the terms and names of documents out of the result.
    /// repeat : bool, default False
    ///     Count a document that several models know as often as all of them together do.
    #[classmethod]
    #[pyo3(signature = (filters, *, retrain=false, strip=false, repeat=false))]
    fn merge(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        filters: Vec<PyRef<'_, Filter>>,
        retrain: bool,
        strip: bool,
        repeat: bool,
    ) -> PyResult<Self> {
        let models: Vec<_> = filters.iter().map(|filter| filter.model()).collect();
        let mut options = MergeOptions::default();
        (options.retrain, options.strip, options.repeat) = (retrain, strip, repeat);
        let merged = py.detach(|| {
            let filters: Vec<_> = models.iter().map(|model| &model.filter).collect();
            tamis_filter::merge(&filters, options)?.into_filter()
        });
        Filter::new(merged.map_err(raised)?, None, Verdicts::default())
    }

    /// Scores one message (bytes) or, in a model of text, one text (str).
    fn score(&self, message: &Bound<'_, PyAny>) -> PyResult<Score> {
        let model = self.model();
        let document = Message::new(model.kind(), message)?;
        let score = message.py().detach(|| {
            model.ask(|filter, scratch| {
                let (scored, probabilities) = Scored::new(filter, document.document()?, scratch)?;
                Ok(Score::new(model.labels.clone(), scored, probabilities))
            })
        });
        Ok(score?)
    }

    /// Scores many messages or texts, on several threads and without Python's lock.
    ///
    /// Parameters
    /// ----------
    /// messages : list, numpy array, pandas or polars Series, Arrow array
    ///     Of bytes for mail, of str for text.
    /// n_jobs : int, optional
    ///     Threads; by default, or with -1, as many as there are cores. The scores do not depend on it.
    /// progress : bool, default False
    ///     Show a bar by tqdm.
    ///
    /// Returns
    /// -------
    /// Scores
    #[pyo3(signature = (messages, *, n_jobs=None, progress=false))]
    fn score_many(
        &self,
        messages: &Bound<'_, PyAny>,
        n_jobs: Option<i64>,
        progress: bool,
    ) -> PyResult<Scores> {
        let (model, batch) = self.batch(messages, Decoding::default(), threads(n_jobs)?, progress)?;
        Ok(Scores::new(model.labels.clone(), batch))
    }

    /// Scores many messages or texts into a table, which pyarrow, polars and pandas take without a copy.
    ///
    /// Parameters
    /// ----------
    /// messages, n_jobs, progress
    ///     As in ``score_many``.
    /// probabilities : bool, default False
    ///     Add a column ``probability_LABEL`` for every label.
    ///
    /// Returns
    /// -------
    /// Table
    ///     With the columns ``label`` (str), ``probability`` (float64) and ``log_odds`` (float64, in nats).
    #[pyo3(signature = (messages, *, n_jobs=None, progress=false, probabilities=false))]
    fn score_table(
        &self,
        messages: &Bound<'_, PyAny>,
        n_jobs: Option<i64>,
        progress: bool,
        probabilities: bool,
    ) -> PyResult<Table> {
        let (model, batch) = self.batch(messages, Decoding::default(), threads(n_jobs)?, progress)?;
        Table::of_scores(&model.labels, &batch, probabilities)
    }

    /// Explains the score of a message or text: what each of its terms adds.
    fn explain(&self, message: &Bound<'_, PyAny>) -> PyResult<Explanation> {
        let model = self.model();
        let document = Message::new(model.kind(), message)?;
        let explanation = message.py().detach(|| {
            model.ask(|filter, scratch| {
                Ok(Explanation::new(model.labels.clone(), filter, document.document()?, scratch)?)
            })
        });
        Ok(explanation?)
    }

    /// The terms that speak most for a label against its strongest rival, each as a document of its own.
    ///
    /// Parameters
    /// ----------
    /// label : str
    /// n : int, default 20
    ///
    /// Returns
    /// -------
    /// tuple of Term
    #[pyo3(signature = (label, n=20))]
    fn strongest_terms<'py>(&self, py: Python<'py>, label: &str, n: usize) -> PyResult<Bound<'py, PyTuple>> {
        let model = self.model();
        let class = model.labels.class(label)?;
        let terms = py.detach(|| model.filter.strongest_terms(class, n)).map_err(raised)?;
        PyTuple::new(py, terms.into_iter().map(|term| Term::new(model.labels.clone(), term)))
    }

    /// Learns a message in the file that the filter was opened from or saved to; the next ``score`` knows it.
    ///
    /// What was learned is on the disk when this returns, as with ``tamis learn``. For many messages a ``Learner`` is quicker.
    ///
    /// Parameters
    /// ----------
    /// message : bytes, or str in a model of text
    /// label : str
    /// lock_timeout : float, default 60
    ///     Seconds to wait for others that are changing the file.
    ///
    /// Returns
    /// -------
    /// str
    ///     ``"new"``, ``"already"`` if it was known under the label, or ``"moved"`` if it was known under another.
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     If others were changing the file for all that time.
    #[pyo3(signature = (message, label, *, lock_timeout=60.0))]
    fn learn(&self, message: &Bound<'_, PyAny>, label: &str, lock_timeout: f64) -> PyResult<&'static str> {
        let document = Message::new(self.model().kind(), message)?;
        self.change(message.py(), lock_timeout, |open| Ok(open.learn(label, document.document()?)?))
    }

    /// Forgets a message: takes away exactly what learning it added.
    ///
    /// Parameters
    /// ----------
    /// message : bytes, or str in a model of text
    /// label : str, optional
    ///     Forget it only if it is known under this label.
    /// lock_timeout : float, default 60
    ///     Seconds to wait for others that are changing the file.
    ///
    /// Returns
    /// -------
    /// str or None
    ///     The Message-ID, where that is remembered.
    #[pyo3(signature = (message, label=None, *, lock_timeout=60.0))]
    fn forget(
        &self,
        message: &Bound<'_, PyAny>,
        label: Option<&str>,
        lock_timeout: f64,
    ) -> PyResult<Option<String>> {
        let document = Message::new(self.model().kind(), message)?;
        self.change(message.py(), lock_timeout, |open| {
            Ok(open.learner.forget(label, document.document()?)?)
        })
    }

    /// Takes the model that is in the file now: others may have learned.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        let path = self.own_file()?;
        py.detach(|| self.read_again(&path)).map_err(raised)
    }

    /// Writes the model to a file, in one step; a filter without a file learns in this one from then on.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let model = self.model();
        py.detach(|| model.filter.to_model()?.save(&path)).map_err(raised)?;
        self.file.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(path);
        Ok(())
    }

    /// The bytes of the model file, as ``save`` writes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let model = self.model().filter.to_model().map_err(raised)?;
        Ok(PyBytes::new(py, model.as_bytes()))
    }

    /// The file that the filter learns in, if it has one.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.file()
    }

    /// The labels, in the order of the columns of probabilities.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.model().labels.names().to_vec()
    }

    /// Whether there are two labels of which one is spam; probabilities and log-odds are of spam then.
    #[getter]
    fn is_spam_filter(&self) -> bool {
        self.model().filter.is_spam_filter()
    }

    /// What the model says of itself: ``kind`` of documents, ``documents`` learned of each label, ``remembered`` different
    /// ones, ``keep`` (what is remembered of them), ``terms``, ``features`` (terms in scoring), ``changes`` (documents learned or forgotten one by
    /// one), ``unfitted`` (those since the last fit), ``bytes``, ``log_bytes``, ``segments``.
    #[getter]
    fn information<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = self.model();
        let information = model.filter.information();
        let documents = PyDict::new(py);
        for (label, totals) in model.labels.names().iter().zip(information.totals) {
            documents.set_item(label, totals.documents)?;
        }
        let keep = match information.keep {
            Keep::Vectors => "terms",
            Keep::Digests => "digests",
        };
        let dict = PyDict::new(py);
        dict.set_item("kind", information.recipe.kind.to_string())?;
        dict.set_item("documents", documents)?;
        dict.set_item("remembered", information.documents)?;
        dict.set_item("keep", keep)?;
        dict.set_item("terms", information.n_terms)?;
        dict.set_item("features", information.n_features)?;
        dict.set_item("changes", information.changes)?;
        dict.set_item("unfitted", information.unfitted)?;
        dict.set_item("bytes", information.bytes)?;
        dict.set_item("log_bytes", information.log_bytes)?;
        dict.set_item("segments", information.segments)?;
        Ok(dict)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, filter) = (slf.py(), slf.get());
        let options = PyDict::new(py);
        options.set_item("unsure", filter.verdicts.unsure)?;
        options.set_item("spam_label", &filter.verdicts.spam_label)?;
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        let make = py.import("functools")?.getattr("partial")?.call((from_bytes,), Some(&options))?;
        let arguments = PyTuple::new(py, [filter.to_bytes(py)?])?;
        PyTuple::new(py, [make, arguments.into_any()])
    }

    fn __repr__(&self) -> String {
        let model = self.model();
        let information = model.filter.information();
        let documents: u64 = information.totals.iter().map(|totals| totals.documents).sum();
        let (kind, labels) = (information.recipe.kind, model.labels.names());
        format!("Filter({kind}, labels={labels:?}, documents={documents}, terms={})", information.n_terms)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tamis._html")?.call_method1("filter", (slf,))
    }
}

/// Adds the class of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Filter>()
}
