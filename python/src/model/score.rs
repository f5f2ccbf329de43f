//! Scores of one document and of many.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_report::score_page;
use tamis_train::{ClassId, Classes, Document, Filter, Scratch};

use crate::error::Result;
use crate::model::{DocumentScore, ModelLabels, ScoreBatch};

/// The score of one document.
///
/// Attributes
/// ----------
/// label : str
///     The verdict: a label of the model, or ``"unsure"``. In a model of many labels, the likeliest of those that the
///     document has, or ``"unsure"`` if it has none.
/// labels : list of str
///     The labels that the document has, the likeliest first: any number in a model of many labels, else the verdict.
/// probability : float
///     The probability of spam in a spam filter, else of the likeliest label; between 0 and 1.
/// log_odds : float
///     The same probability as log-odds, in nats.
/// probabilities : dict of str to float
///     The probability of every label.
/// is_spam : bool
///     Whether the verdict is spam; False if it is unsure.
/// is_unsure : bool
///     Whether there is no verdict.
/// known_terms : int
///     Number of different terms of the document that the model knows.
/// truncated : bool
///     Whether a limit truncated the message.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> texts = ["apples and pears", "iron and tin"]
/// >>> filter = tamis.Filter.train(texts, ["fruit", "metal"], kind="text")
/// >>> score = filter.score("a pound of pears")
/// >>> score.label, score.known_terms
/// ('fruit', 1)
#[pyclass(frozen, module = "tamis")]
#[derive(Clone, PartialEq)]
pub(crate) struct Score {
    labels: Arc<ModelLabels>,
    /// The labels of the document, the likeliest first; none if there is no verdict.
    classes: Vec<ClassId>,
    #[pyo3(get)]
    probability: f64,
    #[pyo3(get)]
    log_odds: f64,
    probabilities: Vec<f64>,
    #[pyo3(get)]
    known_terms: usize,
    #[pyo3(get)]
    truncated: bool,
}

/// A pickled score: labels and the class of spam, then the fields after these.
type PickledScore = (Vec<String>, Option<ClassId>, Vec<ClassId>, f64, f64, Vec<f64>, usize, bool);

impl Score {
    /// # Errors
    /// As [`Filter::score`].
    pub(crate) fn ask(
        labels: Arc<ModelLabels>,
        filter: &Filter,
        document: Document<'_>,
        scratch: &mut Scratch,
    ) -> Result<Self> {
        let score = DocumentScore::with_scratch(filter.score(document, scratch)?, scratch);
        let probabilities = scratch.probabilities();
        Ok(Score::new(labels, &score, probabilities))
    }

    pub(crate) fn new(labels: Arc<ModelLabels>, of: &DocumentScore, probabilities: &[f64]) -> Self {
        let tamis_train::Score { probability, log_odds, known_terms, .. } = of.score;
        let (classes, probabilities) = (of.labels().collect(), probabilities.to_vec());
        Score { labels, classes, probability, log_odds, probabilities, known_terms, truncated: of.truncated }
    }

    fn verdict(&self) -> Option<ClassId> {
        self.classes.first().copied()
    }
}

#[pymethods]
impl Score {
    #[getter]
    fn label(&self) -> &str {
        self.labels.name(self.verdict())
    }

    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.classes.iter().map(|class| self.labels.name(Some(*class))).collect()
    }

    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.labels.dict(py, &self.probabilities)
    }

    #[getter]
    fn is_spam(&self) -> bool {
        self.labels.spam.is_some() && self.verdict() == self.labels.spam
    }

    #[getter]
    fn is_unsure(&self) -> bool {
        self.classes.is_empty()
    }

    fn __eq__(&self, other: PyRef<'_, Score>) -> bool {
        *self == *other
    }

    /// The score of a pickled state.
    #[staticmethod]
    fn _restore(state: PickledScore) -> Result<Self> {
        let (names, spam, classes, probability, log_odds, probabilities, known_terms, truncated) = state;
        let labels = Classes::new(names).map_err(|error| error.to_string())?;
        let labels = Arc::new(ModelLabels { classes: labels, spam });
        Ok(Score { labels, classes, probability, log_odds, probabilities, known_terms, truncated })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (PickledScore,))> {
        let of = slf.get().clone();
        let (names, spam) = (of.labels.names(), of.labels.spam);
        let Score { classes, probability, log_odds, probabilities, known_terms, truncated, .. } = of;
        let state = (names, spam, classes, probability, log_odds, probabilities, known_terms, truncated);
        Ok((slf.get_type().getattr("_restore")?.into_any(), (state,)))
    }

    fn __repr__(&self) -> String {
        let Score { probability, log_odds, .. } = self;
        format!("Score(label={:?}, probability={probability:.4}, log_odds={log_odds:+.2})", self.label())
    }

    fn _repr_html_(&self) -> String {
        let classes = &self.labels.classes;
        let verdict = self.verdict().and_then(|class| classes.label(class));
        score_page(classes, verdict, self.log_odds, &self.probabilities).to_fragment()
    }
}

/// The scores of many documents: a sequence of scores, and their columns.
///
/// Attributes
/// ----------
/// labels : list of str
///     The verdict for each document, as in ``Score.label``.
/// probability, log_odds : numpy.ndarray of float64, shape (n_documents,)
///     As in ``Score``; log-odds in nats.
/// probabilities : numpy.ndarray of float64, shape (n_documents, n_labels)
///     The probability of every label for each document, in the order of ``Filter.labels``.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> filter = tamis.Filter.train(["apples", "iron"], ["fruit", "metal"], kind="text")
/// >>> scores = filter.score_many(["two apples", "an iron gate"])
/// >>> scores.labels
/// ['fruit', 'metal']
/// >>> scores.probabilities.shape
/// (2, 2)
/// >>> scores[0].label
/// 'fruit'
#[pyclass(frozen, sequence, module = "tamis")]
pub(crate) struct Scores {
    labels: Arc<ModelLabels>,
    batch: ScoreBatch,
}

impl Scores {
    pub(crate) fn new(labels: Arc<ModelLabels>, batch: ScoreBatch) -> Self {
        Scores { labels, batch }
    }

    fn column<'py>(&self, py: Python<'py>, of: impl Fn(&DocumentScore) -> f64) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.batch.scores.iter().map(of))
    }
}

#[pymethods]
impl Scores {
    #[getter]
    fn labels(&self) -> Vec<&str> {
        self.batch.scores.iter().map(|scored| self.labels.name(scored.score.label)).collect()
    }

    #[getter]
    fn probability<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |scored| scored.score.probability)
    }

    #[getter]
    fn log_odds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |scored| scored.score.log_odds)
    }

    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = [self.batch.scores.len(), self.labels.classes.len()];
        self.batch.probabilities.to_pyarray(py).reshape(shape)
    }

    fn __len__(&self) -> usize {
        self.batch.scores.len()
    }

    fn __getitem__(&self, at: isize) -> PyResult<Score> {
        let n = self.batch.scores.len();
        let index = if at < 0 { n.checked_add_signed(at) } else { usize::try_from(at).ok() };
        let index = index
            .filter(|index| *index < n)
            .ok_or_else(|| PyIndexError::new_err(format!("expected an index of {n} scores, got {at}")))?;
        let k = self.labels.classes.len();
        let probabilities = &self.batch.probabilities[index * k..][..k];
        Ok(Score::new(self.labels.clone(), &self.batch.scores[index], probabilities))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (builtins, n) = (slf.py().import("builtins")?, slf.get().__len__());
        let places = builtins.getattr("range")?.call1((n,))?;
        builtins.getattr("map")?.call1((slf.getattr("__getitem__")?, places))
    }

    fn __repr__(&self) -> String {
        format!("Scores({} documents)", self.batch.scores.len())
    }
}
