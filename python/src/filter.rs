//! The class `Filter`.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyTuple, PyType};
use tamis_train::{Document, Keep, Kind, MergeOptions, Scratch};

use crate::error::Result;
use crate::filter::evaluation::HeldOut;
use crate::filter::state::{FilterState, VerdictOptions};
use crate::input::{ClassName, DocumentSet, LabelColumn};
use crate::model::explanation::{Explanation, Term};
use crate::model::report::Report;
use crate::model::score::{Score, Scores};
use crate::model::table::Table;
use crate::model::{ModelLabels, ScoreBatch, SharedFilter};
use crate::options::RunOptions;
use crate::work::{Progress, Watch, run, run_shown, threads};

pub(crate) mod evaluation;
pub(crate) mod learner;
mod review;
mod state;

/// A trained model in use: scores and explains messages or texts, and learns from corrections.
///
/// A filter is made by ``Filter.open``, ``Filter.from_bytes`` or ``Filter.train``. Any number of threads may
/// use one at the same time. It is pickled as the bytes of its model; the copy has no file.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> ham = b"Subject: lunch\n\nSoup at noon?\n"
/// >>> spam = b"Subject: pills\n\nCheap pills, buy now!\n"
/// >>> filter = tamis.Filter.train([ham, spam], ["ham", "spam"], cost=1)
/// >>> filter.score(b"Subject: offer\n\nbuy cheap pills\n").label
/// 'spam'
#[pyclass(frozen, module = "tamis", weakref)]
pub(crate) struct Filter(Arc<FilterState>);

impl Filter {
    fn new(filter: tamis_train::Filter, file: Option<PathBuf>, verdicts: VerdictOptions) -> Result<Self> {
        FilterState::new(filter, file, verdicts).map(|state| Filter(Arc::new(state)))
    }

    pub(crate) fn model(&self) -> Arc<SharedFilter> {
        self.0.model()
    }

    /// A filter without a file.
    pub(crate) fn of_model(model: tamis_train::Model) -> Result<Self> {
        Filter::new(model.into_filter()?, None, VerdictOptions::default())
    }

    fn document(&self, message: &Bound<'_, PyAny>) -> Result<DocumentSet> {
        DocumentSet::one(self.model().recipe(), message)
    }

    fn ask<T: Send>(
        &self,
        message: &Bound<'_, PyAny>,
        answer: impl Fn(Arc<ModelLabels>, &tamis_train::Filter, Document<'_>, &mut Scratch) -> Result<T> + Sync,
    ) -> Result<T> {
        let document = self.document(message)?;
        message.py().detach(|| {
            self.0.ask(|model, scratch| {
                document.with(0, |document| answer(model.labels.clone(), &model.filter, document, scratch))
            })
        })
    }

    /// Asks one whole model about documents, on threads of their own.
    pub(crate) fn ask_about<T: Send + 'static>(
        &self,
        messages: &Bound<'_, PyAny>,
        how: RunOptions,
        answer: impl Fn(&Arc<SharedFilter>, &DocumentSet, &Watch) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (py, state) = (messages.py(), self.0.clone());
        let documents = DocumentSet::new(self.model().recipe(), messages, how.decoding)?;
        let progress = Progress::new(py, how.progress, documents.len())?;
        let job = move |watch: &Watch| state.ask(|model, _| answer(model, &documents, watch));
        run_shown(py, how.threads, &progress, job)
    }

    /// Scores documents in parallel.
    pub(crate) fn batch(
        &self,
        messages: &Bound<'_, PyAny>,
        how: RunOptions,
    ) -> Result<(Arc<SharedFilter>, ScoreBatch)> {
        self.ask_about(messages, how, |model, documents, watch| {
            Ok((model.clone(), model.score_all(documents, watch, None)?))
        })
    }

    /// Scores labelled documents in parallel.
    fn hold_out(
        &self,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        how: RunOptions,
    ) -> Result<(Arc<SharedFilter>, HeldOut)> {
        let labels = LabelColumn::of_labels(labels, self.model().filter.has_many_labels())?;
        let (model, batch) = self.ask_about(documents, how, |model, documents, watch| {
            let known = model.filter.known_digests()?;
            Ok((model.clone(), model.score_all(documents, watch, Some(&known))?))
        })?;
        let held_out = HeldOut::by_model(&model, batch, &labels)?;
        Ok((model, held_out))
    }
}

#[pymethods]
impl Filter {
    /// Opens a model file, written by the program or by Python. What others learn in the file later has no effect before
    /// ``reload``.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    /// unsure : float, optional
    ///     Answer "unsure" below this probability (at least 0 and below 1); by default as the model was trained.
    /// spam_label : str, optional
    ///     The label that counts as spam; by default the first of spam, junk, unwanted and phish that is a label.
    /// mapped : bool, default False
    ///     Map the file instead of reading it, so that processes share its memory; it stays mapped after ``learn`` and
    ///     ``reload``. A file that is written in place is opened again. Truncating a mapped file in place ends the process;
    ///     replacing it by renaming is safe.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     The file cannot be read.
    /// TamisError
    ///     It is not a model, is damaged, or was made by another version.
    #[classmethod]
    #[pyo3(signature = (path, *, unsure=None, spam_label=None, mapped=false))]
    fn open(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        unsure: Option<f64>,
        spam_label: Option<String>,
        mapped: bool,
    ) -> Result<Self> {
        let open = || match mapped {
            true => tamis_train::Filter::open(&path),
            false => tamis_train::Filter::read(&path),
        };
        let filter = py.detach(open)?;
        Filter::new(filter, Some(path), VerdictOptions { unsure, spam_label })
    }

    /// Makes a filter from the bytes of a model file.
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
    ) -> Result<Self> {
        let filter = py.detach(|| tamis_train::Filter::from_bytes(data))?;
        Filter::new(filter, None, VerdictOptions { unsure, spam_label })
    }

    /// Merges models, as ``tamis merge`` does: counts, corrections, remembered documents.
    ///
    /// Parameters
    /// ----------
    /// filters : list of Filter
    ///     In any order.
    /// retrain : bool, default False
    ///     Raise an error unless the merged model can be fitted again to all documents. It is fitted again anyway if
    ///     all models remember their documents' terms.
    /// strip : bool, default False
    ///     Leave the terms and names of documents out of the result.
    /// repeat : bool, default False
    ///     Count all copies of a document that several models know.
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one per core.
    #[classmethod]
    #[pyo3(signature = (filters, *, retrain=false, strip=false, repeat=false, n_jobs=None))]
    fn merge(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        filters: Vec<PyRef<'_, Filter>>,
        retrain: bool,
        strip: bool,
        repeat: bool,
        n_jobs: Option<i64>,
    ) -> Result<Self> {
        let models: Vec<_> = filters.iter().map(|filter| filter.model()).collect();
        let mut options = MergeOptions::default();
        (options.retrain, options.strip, options.repeat) = (retrain, strip, repeat);
        let job = move |_: &Watch| {
            let filters: Vec<_> = models.iter().map(|model| &*model.filter).collect();
            tamis_train::merge(&filters, options)
        };
        Filter::of_model(run(py, threads(n_jobs)?, job)?)
    }

    /// Scores one message (bytes); in a model of text, one text (str); in a model of a table, one row: a dict of column to
    /// value, a Series of pandas or a table of one row. With a vector beside it, a ``tamis.Embedded`` of one document.
    fn score(&self, message: &Bound<'_, PyAny>) -> Result<Score> {
        self.ask(message, Score::ask)
    }

    /// Scores many messages or texts, on several threads and without the GIL.
    ///
    /// Parameters
    /// ----------
    /// messages : list, numpy array, pandas or polars Series, Arrow array
    ///     Of bytes for mail, of str for text. Rows of a table are a table or a list of dicts; columns that the model does
    ///     not know are ignored. With vectors beside them, a ``tamis.Embedded``; without, they are scored by words.
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one per core. The scores do not depend on it.
    /// progress : bool, default False
    ///     Show a bar by tqdm.
    ///
    /// Returns
    /// -------
    /// Scores
    #[pyo3(signature = (messages, *, n_jobs=None, progress=false))]
    fn score_many(&self, messages: &Bound<'_, PyAny>, n_jobs: Option<i64>, progress: bool) -> Result<Scores> {
        let (model, batch) = self.batch(messages, RunOptions::new(n_jobs, progress)?)?;
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
    ///     With the columns ``label`` (str), ``probability`` (float64) and ``log_odds`` (float64, in nats); of a model of
    ///     many labels also ``labels`` (lists of str).
    #[pyo3(signature = (messages, *, n_jobs=None, progress=false, probabilities=false))]
    fn score_table(
        &self,
        messages: &Bound<'_, PyAny>,
        n_jobs: Option<i64>,
        progress: bool,
        probabilities: bool,
    ) -> Result<Table> {
        let (model, batch) = self.batch(messages, RunOptions::new(n_jobs, progress)?)?;
        Table::of_scores(&model, &batch, probabilities)
    }

    /// Explains the score of a message, a text or a row: what each of its terms adds.
    ///
    /// Parameters
    /// ----------
    /// message : as in ``score``
    /// label : str, optional
    ///     The label to explain; by default spam in a spam filter, else the likeliest.
    #[pyo3(signature = (message, label=None))]
    fn explain(&self, message: &Bound<'_, PyAny>, label: Option<&str>) -> Result<Explanation> {
        self.ask(message, |labels, filter, document, scratch| {
            Explanation::ask(labels, filter, document, label, scratch)
        })
    }

    /// Measures how good the scores of labelled documents are. The model must not have learned them.
    ///
    /// Parameters
    /// ----------
    /// documents, labels
    ///     As in ``train``.
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// dict
    ///     What ``tamis evaluate --json`` prints: ``accuracy`` (unsure counts as wrong),
    ///     ``macro_f1``, ``log_loss`` in nats, ``classes`` with precision, recall and verdicts; of a spam
    ///     filter also ``false_positive_rate``, ``false_negative_rate``, ``one_minus_roc_auc_percent`` and
    ///     others, with 95 % intervals (``..._interval``). Of a model of many labels, ``micro_f1``, ``macro_f1``,
    ///     ``exact`` and others, and ``labels`` with those of each label. ``learned`` counts the
    ///     documents that the model has learned; ``others``, where there are both, has the figures of the rest.
    #[pyo3(signature = (documents, labels, **how))]
    fn evaluate<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        labels: &Bound<'py, PyAny>,
        how: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyDict>> {
        let how = RunOptions::from_keywords(documents.py(), how)?;
        let threads = how.threads;
        self.hold_out(documents, labels, how)?.1.figures(documents.py(), threads)
    }

    /// Makes a report with pictures: of the model or, given labelled documents that it has not learned, of how good it
    /// is, as measured by ``evaluate``.
    ///
    /// Parameters
    /// ----------
    /// documents, labels, optional
    ///     As in ``train``; both or neither.
    /// title : str, optional
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// Report
    #[pyo3(signature = (documents=None, labels=None, *, title=None, **how))]
    fn report(
        &self,
        documents: Option<&Bound<'_, PyAny>>,
        labels: Option<&Bound<'_, PyAny>>,
        title: Option<&str>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Result<Report> {
        match (documents, labels) {
            (None, None) => Report::of_model(title.unwrap_or("of tamis"), &self.model().filter),
            (Some(documents), Some(labels)) => {
                let title = title.unwrap_or("a model of tamis");
                let how = RunOptions::from_keywords(documents.py(), how)?;
                let threads = how.threads;
                let (model, held_out) = self.hold_out(documents, labels, how)?;
                let decision = (model.filter.classes().len() == 2).then(|| model.filter.decision());
                held_out.report(documents.py(), title, decision, threads)
            }
            _ => Err("expected documents with labels, or neither".into()),
        }
    }

    /// The terms that speak most for a label against its strongest rival, each scored as a document of its own.
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
    fn strongest_terms<'py>(&self, py: Python<'py>, label: &str, n: usize) -> Result<Bound<'py, PyTuple>> {
        let model = self.model();
        let class = model.labels.class(label)?;
        let terms = py.detach(|| model.filter.strongest_terms(class, n))?;
        Ok(PyTuple::new(py, terms.into_iter().map(|term| Term::new(model.labels.clone(), term)))?)
    }

    /// All terms of the model, with their counts and weights. Reads the whole model.
    ///
    /// Returns
    /// -------
    /// Table
    ///     What ``tamis export --format csv`` prints, sorted by term: ``term`` (str) and for every label
    ///     ``documents_LABEL``, the number of its documents with the term, ``occurrences_LABEL`` in them (int64), and
    ///     ``weight_LABEL`` (float64): what the term adds to the label's log-odds against its strongest rival, in nats, in
    ///     a document of its own; null if the term is not used in scoring.
    fn term_table(&self, py: Python<'_>) -> Result<Table> {
        let model = self.model();
        let mut rows = py.detach(|| model.filter.terms().collect::<tamis_train::Result<Vec<_>>>())?;
        rows.sort_by(|a, b| a.term.cmp(&b.term));
        Table::of_terms(&model.labels.names(), &rows)
    }

    /// Learns a message in the file that the filter was opened from or saved to. The next ``score`` uses it.
    ///
    /// The message is on disk when this returns, as with ``tamis learn``. For many messages a ``Learner`` is faster.
    ///
    /// Parameters
    /// ----------
    /// message : bytes, or str in a model of text
    /// label : str or, in a model of many labels, list of str
    /// lock_timeout : float, default 60
    ///     Seconds to wait for others that are changing the file.
    ///
    /// Returns
    /// -------
    /// str
    ///     ``"new"``, ``"already"`` if it was known under the label, or ``"moved"`` if it was known under
    ///     another.
    ///
    /// Raises
    /// ------
    /// TimeoutError
    ///     Others were changing the file all that time.
    #[pyo3(signature = (message, label, *, lock_timeout=60.0))]
    fn learn(&self, message: &Bound<'_, PyAny>, label: ClassName, lock_timeout: f64) -> Result<&'static str> {
        let document = self.document(message)?;
        self.0.change(message.py(), lock_timeout, |open| document.with(0, |of| Ok(open.learn(&label.0, of)?)))
    }

    /// Forgets a message: removes exactly what learning it added.
    ///
    /// Parameters
    /// ----------
    /// message : bytes, or str in a model of text
    /// label : as in ``learn``, optional
    ///     Forget it only if it is known under this label.
    /// lock_timeout : float, default 60
    ///     Seconds to wait for others that are changing the file.
    ///
    /// Returns
    /// -------
    /// str or None
    ///     The Message-ID, if the model remembers it.
    #[pyo3(signature = (message, label=None, *, lock_timeout=60.0))]
    fn forget(
        &self,
        message: &Bound<'_, PyAny>,
        label: Option<ClassName>,
        lock_timeout: f64,
    ) -> Result<Option<String>> {
        let document = self.document(message)?;
        let label = label.as_ref().map(|label| &*label.0);
        self.0.change(message.py(), lock_timeout, |open| {
            document.with(0, |document| Ok(open.learner.forget(label, document)?))
        })
    }

    /// Loads the model that is in the file now: others may have learned in it.
    fn reload(&self, py: Python<'_>) -> Result<()> {
        self.0.reload(py)
    }

    /// Writes the model to a file in one step. A filter without a file learns in this one from then on.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        let model = self.model();
        py.detach(|| {
            tamis_train::Model::copy(&model.filter)?.save(&path)?;
            self.0.adopt(&path)
        })
    }

    /// The bytes of the model file, as ``save`` writes them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, tamis_train::Model::copy(&self.model().filter)?.as_bytes()))
    }

    /// The file that the filter learns in, if any.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.0.file()
    }

    /// The labels, in the order of the columns of probabilities.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.model().labels.names()
    }

    /// Whether there are two labels and one of them is spam. If so, probabilities and log-odds are of spam.
    #[getter]
    fn is_spam_filter(&self) -> bool {
        self.model().filter.is_spam_filter()
    }

    /// Whether documents have any number of labels.
    #[getter]
    fn has_many_labels(&self) -> bool {
        self.model().filter.has_many_labels()
    }

    /// Figures of the model: ``kind`` of documents; ``vectors``, the length of those beside documents and the name of what
    /// makes them, or None; ``documents`` learned by label, ``learned`` documents in all,
    /// ``remembered`` different documents, ``keep`` (what is remembered of them), ``terms``, ``features`` (terms used in
    /// scoring), ``changes`` (documents learned or forgotten one by one), ``unfitted`` (changes since the last fit),
    /// ``bytes``, ``log_bytes``, ``segments``; ``chosen``, what held-out documents decided, and ``expected``, how good the
    /// model was on them, with the keys of ``tamis inspect --json``, or None.
    #[getter]
    fn information<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        information(py, &self.model())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyTuple>> {
        let (py, filter) = (slf.py(), slf.get());
        let options = PyDict::new(py);
        options.set_item("unsure", filter.0.verdicts.unsure)?;
        options.set_item("spam_label", &filter.0.verdicts.spam_label)?;
        let from_bytes = slf.get_type().getattr("from_bytes")?;
        let make = py.import("functools")?.getattr("partial")?.call((from_bytes,), Some(&options))?;
        let arguments = PyTuple::new(py, [filter.to_bytes(py)?])?;
        Ok(PyTuple::new(py, [make, arguments.into_any()])?)
    }

    fn __repr__(&self) -> String {
        let model = self.model();
        let information = model.filter.information();
        let (kind, labels) = (information.recipe.kind, model.labels.names());
        format!(
            "Filter({kind}, labels={labels:?}, documents={}, terms={})",
            information.documents, information.size.terms
        )
    }

    fn _repr_html_(&self) -> Result<String> {
        Ok(Report::of_model("of tamis", &self.model().filter)?.0.to_fragment())
    }
}

/// The figures of a model.
fn information<'py>(py: Python<'py>, model: &SharedFilter) -> Result<Bound<'py, PyDict>> {
    let information = model.filter.information();
    let documents = information.totals.iter().map(|totals| totals.documents);
    let keep = match information.stored.keep {
        Keep::Vectors => "terms",
        Keep::Digests => "digests",
    };
    let dict = PyDict::new(py);
    dict.set_item("kind", information.recipe.kind.to_string())?;
    if information.recipe.kind == Kind::Table {
        let columns = information.recipe.columns.iter();
        let kinds = columns.map(|column| (&column.name, column.kind.to_string()));
        dict.set_item("columns", kinds.into_py_dict(py)?)?;
        dict.set_item("target", &information.recipe.target)?;
    }
    let vectors = information.recipe.vectors.as_ref().map(|of| (of.dimensions, of.encoder.clone()));
    dict.set_item("vectors", vectors)?;
    dict.set_item("documents", model.labels.dict(py, documents)?)?;
    dict.set_item("learned", information.documents)?;
    dict.set_item("remembered", information.size.documents)?;
    dict.set_item("keep", keep)?;
    dict.set_item("terms", information.size.terms)?;
    dict.set_item("features", information.size.features)?;
    dict.set_item("changes", information.changes.since_training)?;
    dict.set_item("unfitted", information.changes.since_fit)?;
    dict.set_item("bytes", information.file.bytes)?;
    dict.set_item("log_bytes", information.file.log_bytes)?;
    dict.set_item("segments", information.file.segments)?;
    let chosen = match information.table {
        Some(table) => serde_json::to_string(&table.chosen),
        None => serde_json::to_string(&information.chosen),
    };
    let loads = py.import("json")?.getattr("loads")?;
    for (key, json) in [("chosen", chosen), ("expected", serde_json::to_string(&information.expected))] {
        dict.set_item(key, loads.call1((json.map_err(|error| error.to_string())?,))?)?;
    }
    Ok(dict)
}
