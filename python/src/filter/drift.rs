//! RunOptions new documents differ from those that a model learned.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::Classes;
use tamis_train::evaluate::{DriftReference, DriftSample, MovedTerm, NewDocuments};

use crate::error::{Result, needs_terms};
use crate::filter::Filter;
use crate::input::DocumentSet;
use crate::model::SharedFilter;
use crate::options::RunOptions;
use crate::work::{Watch, for_each_row};

/// What is found, with the keys of `tamis drift --json`.
#[derive(IntoPyObject)]
struct Drift {
    drift: Option<bool>,
    level: f64,
    learned: Sample,
    new: Sample,
    log_odds_bounds: Vec<f64>,
    tests: Tests,
    population_stability_index: Stability,
    more_frequent: Vec<Moved>,
    less_frequent: Vec<Moved>,
}

#[derive(IntoPyObject)]
struct Sample {
    documents: u64,
    log_odds: f64,
    unknown_words: Option<f64>,
    unsure: f64,
    labels: BTreeMap<String, u64>,
    log_odds_ranges: Vec<u64>,
}

#[derive(IntoPyObject)]
struct Tests {
    log_odds: Smirnov,
    unknown_words: Smirnov,
    labels: ChiSquare,
}

#[derive(IntoPyObject)]
struct Smirnov {
    d: f64,
    p: f64,
}

#[derive(IntoPyObject)]
struct ChiSquare {
    chi_square: f64,
    degrees: usize,
    p: f64,
}

#[derive(IntoPyObject)]
struct Stability {
    log_odds: f64,
    labels: f64,
}

#[derive(IntoPyObject)]
struct Moved {
    term: String,
    learned: f64,
    new: f64,
    strength: f64,
}

#[pymethods]
impl Filter {
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
    fn drift(
        &self,
        documents: &Bound<'_, PyAny>,
        level: f64,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Result<Drift> {
        self.ask_about(
            documents,
            RunOptions::from_keywords(documents.py(), how)?,
            move |model, documents, watch| drift(model, documents, level, watch),
        )
    }
}

fn drift(model: &SharedFilter, documents: &DocumentSet, level: f64, watch: &Watch) -> Result<Drift> {
    let (filter, classes) = (&model.filter, model.filter.classes());
    let reference = needs_terms(DriftReference::new(filter))?;
    let add = |new: &mut NewDocuments<'_>, row| Ok(new.add(documents.get(row)?.document())?);
    let new = for_each_row(documents.len(), watch, || Ok(NewDocuments::new(&reference)), add)?;
    let of = reference.compare(new, level)?;
    Ok(Drift {
        drift: of.is_found(),
        level: of.level,
        learned: Sample::new(&of.learned, classes),
        new: Sample::new(&of.new, classes),
        log_odds_bounds: of.bounds,
        tests: Tests {
            log_odds: Smirnov { d: of.log_odds.d, p: of.log_odds.p },
            unknown_words: Smirnov { d: of.unknown.d, p: of.unknown.p },
            labels: ChiSquare { chi_square: of.labels.statistic, degrees: of.labels.degrees, p: of.labels.p },
        },
        population_stability_index: Stability { log_odds: of.log_odds_psi, labels: of.labels_psi },
        more_frequent: of.risen.into_iter().map(Moved::from).collect(),
        less_frequent: of.fallen.into_iter().map(Moved::from).collect(),
    })
}

impl Sample {
    fn new(of: &DriftSample, classes: &Classes) -> Self {
        let labels = classes.iter().zip(&of.labels).map(|((_, label), n)| (label.to_owned(), *n));
        Sample {
            documents: of.documents,
            log_odds: of.log_odds,
            unknown_words: of.unknown,
            unsure: of.unsure,
            labels: labels.collect(),
            log_odds_ranges: of.ranges.clone(),
        }
    }
}

impl From<MovedTerm> for Moved {
    fn from(MovedTerm { term, learned, new, strength, .. }: MovedTerm) -> Self {
        Moved { term, learned, new, strength }
    }
}
