//! Explanations of scores.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tamis_report::{Page, explanation_page};
use tamis_train::{Document, Doubt, ExplainedWord, Filter, Scratch, TermContribution};

use crate::error::Result;
use crate::model::report::Report;
use crate::model::score::Score;
use crate::model::{DocumentScore, ModelLabels};

/// Why a document got its score: what each of its terms adds to the log-odds.
///
/// ``intercept`` and the contributions of all terms add up to the log-odds of ``label`` against ``against``.
///
/// Attributes
/// ----------
/// score : Score
///     The score that is explained.
/// label : str
///     The label that is explained: the one that was asked for, else spam in a spam filter or the likeliest.
/// against : str
///     The label it is compared with: the likeliest of the others; in a model of many labels, ``"the rest"``.
/// intercept : float
///     The log-odds before any term, in nats.
/// terms : tuple of Term
///     The known terms, by decreasing absolute contribution.
/// unknown : int
///     Number of occurrences of unknown terms; they add nothing.
/// part : str or None
///     The part of the document that decides, or that makes a spam filter unsure, such as ``lines 12 to 20``; None if it
///     is the whole.
/// doubt : str or None
///     Why a spam filter is unsure whatever the probability: ``unread``, ``part`` or ``header``.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> filter = tamis.Filter.train(["apples", "iron"], ["fruit", "metal"], kind="text")
/// >>> explanation = filter.explain("apples of gold")
/// >>> explanation.label, explanation.terms[0].term, explanation.unknown
/// ('fruit', 'apples', 2)
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Explanation {
    labels: Arc<ModelLabels>,
    explanation: tamis_train::Explanation,
    words: Vec<ExplainedWord>,
    #[pyo3(get)]
    score: Score,
}

impl Explanation {
    /// Explains why a document has, or has not, a label; by default the one that the score is of.
    ///
    /// # Errors
    /// As [`Filter::explain`]; or the model does not know the label.
    pub(crate) fn ask(
        labels: Arc<ModelLabels>,
        filter: &Filter,
        document: Document<'_>,
        label: Option<&str>,
        scratch: &mut Scratch,
    ) -> Result<Self> {
        let explanation = match label {
            Some(label) => filter.explain_class(document, labels.class(label)?, scratch)?,
            None => filter.explain(document, scratch)?,
        };
        let scored = DocumentScore::with_scratch(explanation.score, scratch);
        let score = Score::new(labels.clone(), &scored, scratch.probabilities());
        let words = filter.explain_words(document, &explanation);
        Ok(Explanation { labels, explanation, words, score })
    }

    fn page(&self, title: &str, terms: usize) -> Page {
        explanation_page(title, &self.labels.classes, &self.explanation, &self.words, terms)
    }
}

#[pymethods]
impl Explanation {
    #[getter]
    fn label(&self) -> &str {
        self.labels.name(Some(self.explanation.class))
    }

    #[getter]
    fn against(&self) -> &str {
        let tamis_train::Explanation { class, against, .. } = self.explanation;
        if class == against { "the rest" } else { self.labels.name(Some(against)) }
    }

    #[getter]
    fn intercept(&self) -> f64 {
        self.explanation.intercept
    }

    #[getter]
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let term = |term: &TermContribution| Term::new(self.labels.clone(), term.clone());
        PyTuple::new(py, self.explanation.terms.iter().map(term))
    }

    #[getter]
    fn part(&self) -> Option<&str> {
        self.explanation.part.as_deref()
    }

    #[getter]
    fn doubt(&self) -> Option<&str> {
        self.explanation.score.doubt.map(Doubt::name)
    }

    #[getter]
    fn unknown(&self) -> usize {
        self.explanation.unknown
    }

    fn __repr__(&self) -> String {
        let n = self.explanation.terms.len();
        format!("Explanation(label={:?}, against={:?}, {n} terms)", self.label(), self.against())
    }

    /// The five terms that add most, as a table of text.
    fn __str__(&self) -> String {
        let tamis_train::Explanation { terms, intercept, .. } = &self.explanation;
        let mut lines = vec![format!("log-odds of {} against {}, in nats:", self.label(), self.against())];
        let (shown, rest) = terms.split_at(terms.len().min(MAX_SHOWN));
        lines.extend(shown.iter().map(|term| format!("{:>+9.3}  {:?}", term.contribution, term.term)));
        let rest_adds: f64 = rest.iter().map(|term| term.contribution).sum();
        if !rest.is_empty() {
            lines.push(format!("{rest_adds:>+9.3}  {} other terms", rest.len()));
        }
        lines.push(format!("{intercept:>+9.3}  before any term"));
        lines.extend(self.explanation.because());
        lines.join("\n")
    }

    /// Makes a report with pictures of what each term adds, as ``tamis explain --html`` does.
    ///
    /// Parameters
    /// ----------
    /// terms : int, default 20
    ///     Number of terms to show, 0 for all.
    /// title : str, default "a document"
    #[pyo3(signature = (*, terms=MAX_DRAWN, title="a document"))]
    fn report(&self, terms: usize, title: &str) -> Report {
        Report(self.page(title, terms))
    }

    fn _repr_html_(&self) -> String {
        self.page("a document", MAX_DRAWN).to_fragment()
    }
}

/// How many terms a report and a notebook show.
const MAX_DRAWN: usize = 20;

/// How many terms an explanation shows as text.
const MAX_SHOWN: usize = 5;

/// What a term adds to a score.
///
/// Attributes
/// ----------
/// term : str
///     The term, with the field it was found in: ``subject:pills``.
/// count : int
///     Its occurrences in the document.
/// documents : dict of str to int
///     Number of learned documents with the term, by label.
/// contribution : float
///     What it adds to the log-odds, in nats.
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Term {
    labels: Arc<ModelLabels>,
    document_frequencies: Vec<u64>,
    #[pyo3(get)]
    term: String,
    #[pyo3(get)]
    count: u32,
    #[pyo3(get)]
    contribution: f64,
}

impl Term {
    pub(crate) fn new(labels: Arc<ModelLabels>, term: TermContribution) -> Self {
        let TermContribution { term, count, document_frequencies, contribution, .. } = term;
        Term { labels, document_frequencies, term, count, contribution }
    }
}

#[pymethods]
impl Term {
    #[getter]
    fn documents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.labels.dict(py, &self.document_frequencies)
    }

    fn __repr__(&self) -> String {
        let Term { term, count, contribution, .. } = self;
        format!("Term({term:?}, count={count}, contribution={contribution:+.3})")
    }
}
