//! What a model says of the documents that it has learned, and of new ones: suspects, drift, suggestions.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use serde_json::{Value, json};
use tamis_train::Scoring;
use tamis_train::evaluate::{CandidatePool, DriftReference, KnownDocuments, NewDocuments, Suggestions};
use tamis_train::information::Suspect;

use crate::error::{Result, ensure, needs_terms};
use crate::filter::Filter;
use crate::input::{DocumentSet, LabelColumn, check_len};
use crate::model::SharedFilter;
use crate::options::RunOptions;
use crate::work::{Watch, for_each_row};

impl Filter {
    /// The answer about documents, which is JSON, as Python's dicts and lists.
    fn review<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        how: Option<&Bound<'py, PyDict>>,
        answer: impl Fn(&SharedFilter, &DocumentSet, &Watch) -> Result<Value> + Send + 'static,
    ) -> Result<Bound<'py, PyAny>> {
        let py = documents.py();
        let how = RunOptions::from_keywords(py, how)?;
        let json =
            self.ask_about(documents, how, move |model, documents, watch| answer(model, documents, watch))?;
        Ok(py.import("json")?.call_method1("loads", (json.to_string(),))?)
    }
}

#[pymethods]
impl Filter {
    /// The learned documents whose held-out scores contradict their labels, the worst first: they are probably
    /// mislabelled.
    ///
    /// A model of two labels stores held-out scores. With more, every document is held out now, which takes longer than
    /// training; then the model must remember the terms of its documents (``documents=True`` of training).
    ///
    /// Parameters
    /// ----------
    /// documents, labels, optional
    ///     The learned documents and their labels, as in ``train``, to find suspects in: both or neither. A model does not
    ///     know in which row a document was.
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// list of dict
    ///     What ``tamis inspect --suspects --json`` prints: ``label``, which was learned, ``proposed``, the likelier one, and
    ///     its ``probability``; ``log_odds`` of the positive of two labels or, of more, of the learned one, in nats;
    ///     ``digest``; ``date`` in seconds since 1970, and ``name`` (of mail that the program learned, the Message-ID), None
    ///     if unknown. ``rows`` are the rows, counted from 0, of equal documents with that label.
    ///
    /// Raises
    /// ------
    /// TamisError
    ///     The model is naive Bayes, is of many labels a document, or does not remember what is needed.
    #[pyo3(signature = (documents=None, labels=None, **how))]
    fn suspects<'py>(
        &self,
        py: Python<'py>,
        documents: Option<Bound<'py, PyAny>>,
        labels: Option<Bound<'py, PyAny>>,
        how: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        let are_both = documents.is_some() == labels.is_some();
        ensure(are_both, "expected documents with labels, or neither")?;
        let [documents, labels] = [documents, labels].map(|of| of.unwrap_or(PyList::empty(py).into_any()));
        let labels = LabelColumn::of_labels(&labels, self.model().filter.has_many_labels())?;
        self.review(&documents, how, move |model, documents, watch| {
            suspects(model, documents, &labels, watch)
        })
    }

    /// Tells whether new documents differ from those that the model learned.
    ///
    /// Every learned document is scored by a model without it. New documents are compared with these by three tests:
    /// whether their scores are less sure, whether more of their words are unknown, and whether their labels have other
    /// shares. Any of them is enough for drift. The model must remember the terms of its documents (``documents=True`` of
    /// training).
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     New documents.
    /// level : float, default 0.01
    ///     Probability of reporting drift where there is none.
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// dict
    ///     What ``tamis drift --json`` prints: ``drift``, which is None if there are too few documents to tell (fewer than
    ///     20 new or 50 learned ones); ``learned`` and ``new``, figures of these documents; ``tests`` with their statistics
    ///     and ``p``; ``more_frequent`` and ``less_frequent``, words with their shares of documents; and others.
    ///
    /// Raises
    /// ------
    /// TamisError
    ///     The model is naive Bayes, is of many labels a document, or does not remember the terms of its documents;
    ///     ``level`` is not between 0 and 1.
    #[pyo3(signature = (documents, *, level=0.01, **how))]
    fn drift<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        level: f64,
        how: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        self.review(documents, how, move |model, documents, watch| {
            let reference = needs_terms(DriftReference::new(&model.filter))?;
            let add =
                |new: &mut NewDocuments<'_>, row| documents.with(row, |document| Ok(new.add(document)?));
            let new = for_each_row(documents.len(), watch, || Ok(NewDocuments::new(&reference)), add)?;
            Ok(reference.compare(new, level)?.to_json(model.filter.classes()))
        })
    }

    /// Names the documents without a label that would teach the model most, the first one first.
    ///
    /// A document teaches most if its label is unsure, it has many words, many others resemble it, and no labelled
    /// document does. Of more than 1,000 documents (or n), a sample is considered, another one after each change of the
    /// model. DocumentSet that the model knows are left out, and of equal ones all but one.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     DocumentSet without labels.
    /// n : int, default 20
    ///     Number of documents to suggest, at most 5,000.
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// list of dict
    ///     What ``tamis suggest --format jsonl`` prints, with ``row``, counted from 0, in place of a path: ``label``,
    ///     ``probability`` and ``log_odds`` (in nats) that the model gives the document; in a model of many labels, lists of
    ///     these.
    #[pyo3(signature = (documents, n=20, **how))]
    fn suggest<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        n: usize,
        how: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyAny>> {
        self.review(documents, how, move |model, documents, watch| suggest(model, documents, n, watch))
    }
}

/// The suspects of a model, and where they are among labelled documents.
fn suspects(
    model: &SharedFilter,
    documents: &DocumentSet,
    labels: &LabelColumn,
    watch: &Watch,
) -> Result<Value> {
    let (filter, classes) = (&model.filter, model.filter.classes());
    let is_weighted = matches!(filter.information().scoring, Scoring::Weighted(_));
    ensure(is_weighted, "suspects: expected a model with weighted scoring, got naive Bayes")?;
    check_len("labels", labels.len(), documents.len())?;
    let suspects = needs_terms(tamis_train::evaluate::suspects(filter))?;
    let identity = |row: usize| -> Result<_> {
        watch.add_done(1);
        let digest = documents.with(row, |document| Ok(filter.digest(document)?))?;
        Ok(((digest, classes.index(labels.get(row)?)), row))
    };
    let identities = (0..documents.len()).into_par_iter().take_any_while(|_| !watch.is_stopped());
    let identities = identities.map(identity).collect::<Result<Vec<_>>>()?;
    let mut rows: HashMap<_, Vec<usize>> = HashMap::new();
    for (identity, row) in identities {
        rows.entry(identity).or_default().push(row);
    }
    let suspect = |of: &Suspect| {
        json!({
            "digest": of.digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "label": classes.label(of.class),
            "proposed": classes.label(of.proposed),
            "probability": of.probability,
            "log_odds": of.log_odds,
            "date": of.date,
            "name": of.name,
            "rows": rows.get(&(of.digest, Some(of.class))).unwrap_or(&Vec::new()),
        })
    };
    Ok(suspects.iter().map(suspect).collect())
}

/// The documents to label next. Of one label, what the model says is of it; of many, lists of these.
fn suggest(model: &SharedFilter, documents: &DocumentSet, n: usize, watch: &Watch) -> Result<Value> {
    let known = KnownDocuments::new(&model.filter, n)?;
    let add = |unlabelled: &mut CandidatePool<'_, usize>, row| {
        documents.with(row, |document| unlabelled.add(document, || Ok(row)))
    };
    let unlabelled = for_each_row(documents.len(), watch, || Ok(CandidatePool::new(&known)), add)?;
    let mut suggestions = Suggestions::new(&known, unlabelled);
    let label = |class| model.labels.name(class);
    let mut suggested = Vec::new();
    while suggested.len() < n
        && !watch.is_stopped()
        && let Some(next) = suggestions.next()
    {
        let (row, score, labels) = (*next.place, &next.score, next.labels);
        suggested.push(match model.filter.has_many_labels() {
            true => json!({
                "row": row,
                "label": labels.iter().map(|of| label(Some(of.label))).collect::<Vec<_>>(),
                "probability": labels.iter().map(|of| of.probability).collect::<Vec<_>>(),
                "log_odds": labels.iter().map(|of| of.log_odds).collect::<Vec<_>>(),
            }),
            false => json!({
                "row": row,
                "label": label(score.label),
                "probability": score.probability,
                "log_odds": score.log_odds,
            }),
        });
    }
    Ok(suggested.into())
}
