//! DocumentSet that were probably learned under a wrong label.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use tamis_train::Scoring;

use crate::error::{Result, needs_terms};
use crate::filter::Filter;
use crate::input::{DocumentSet, LabelColumn, check_len};
use crate::model::SharedFilter;
use crate::options::RunOptions;
use crate::work::Watch;

/// A suspect, with the keys of `tamis inspect --suspects --json`; its rows take the place of a path.
#[derive(IntoPyObject)]
struct Suspect {
    digest: String,
    label: String,
    proposed: String,
    probability: f64,
    log_odds: f64,
    date: Option<i64>,
    name: Option<String>,
    rows: Vec<usize>,
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
    fn suspects(
        &self,
        py: Python<'_>,
        documents: Option<Bound<'_, PyAny>>,
        labels: Option<Bound<'_, PyAny>>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<Suspect>> {
        if documents.is_some() != labels.is_some() {
            return Err("expected documents with labels, or neither".into());
        }
        let [documents, labels] = [documents, labels].map(|of| of.unwrap_or(PyList::empty(py).into_any()));
        let labels = LabelColumn::of_labels(&labels, self.model().filter.has_many_labels())?;
        self.ask_about(&documents, RunOptions::from_keywords(py, how)?, move |model, documents, watch| {
            suspects(model, documents, &labels, watch)
        })
    }
}

/// The suspects of a model, and where they are among labelled documents.
fn suspects(
    model: &SharedFilter,
    documents: &DocumentSet,
    labels: &LabelColumn,
    watch: &Watch,
) -> Result<Vec<Suspect>> {
    let (filter, classes) = (&model.filter, model.filter.classes());
    if !matches!(filter.information().scoring, Scoring::Weighted(_)) {
        return Err("suspects: expected a model with weighted scoring, got naive Bayes".into());
    }
    check_len("labels", labels.len(), documents.len())?;
    let suspects = needs_terms(tamis_train::evaluate::suspects(filter))?;
    let identity = |row: usize| -> Result<_> {
        watch.add_done(1);
        Ok(((filter.digest(documents.get(row)?.document())?, classes.index(labels.get(row)?)), row))
    };
    let identities = (0..documents.len()).into_par_iter().take_any_while(|_| !watch.is_stopped());
    let identities = identities.map(identity).collect::<Result<Vec<_>>>()?;
    let mut rows: HashMap<_, Vec<usize>> = HashMap::new();
    for (identity, row) in identities {
        rows.entry(identity).or_default().push(row);
    }
    let label = |class| classes.label(class).unwrap_or_default().to_owned();
    let suspect = |of: tamis_train::information::Suspect| Suspect {
        digest: of.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        label: label(of.class),
        proposed: label(of.proposed),
        probability: of.probability,
        log_odds: of.log_odds,
        date: of.date,
        rows: rows.get(&(of.digest, Some(of.class))).cloned().unwrap_or_default(),
        name: of.name,
    };
    Ok(suspects.into_iter().map(suspect).collect())
}
