//! Options from Python: keyword arguments that are named as the program's options.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::options::{Labels, Pairs, ScoringOptions};
use tamis_train::{Classes, DecisionOptions, Keep, Kind, Scoring, TrainOptions};

use crate::error::{Failure, TamisError};
pub(crate) use crate::options::columns::with_columns;
use crate::options::columns::{check_terms, set_columns};
use crate::options::decision::DecisionGiven;
pub(crate) use crate::options::given::Given;
use crate::options::given::wrong;
use crate::options::recipe::set_recipe;
use crate::options::scoring::scoring;

mod columns;
mod decision;
mod given;
mod recipe;
mod scoring;

/// The options of training.
pub(crate) struct Options {
    train: TrainOptions,
    scoring: ScoringOptions,
    decision: DecisionGiven,
}

impl Options {
    /// Takes keyword arguments. What is None is not given.
    ///
    /// # Errors
    /// If an option is unknown, of another type, out of its range or not for this kind of documents.
    pub(crate) fn new(kind: Kind, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let given = Given(given.copy()?);
        let mut train = TrainOptions::new(kind);
        set_columns(&given, &mut train.recipe)?;
        set_recipe(&given, &mut train)?;
        check_terms(&train.recipe)?;
        train.labels = labels(&given)?;
        let scoring = scoring(&given)?;
        let deduplicate = given.flag("deduplicate")?;
        if deduplicate && kind != Kind::Mail {
            let text =
                format!("deduplicate: expected mail, of which equal messages can count once, got {kind}");
            return Err(TamisError::new_err(text));
        }
        train.repeat = !deduplicate;
        train.names = false;
        train.keep = match given.take::<bool>("documents")? {
            Some(true) => Some(Keep::Vectors),
            Some(false) => Some(Keep::Digests),
            None => train.keep,
        };
        train.prepare(&scoring).map_err(Failure::from)?;
        let decision = DecisionGiven::take(&given)?;
        given.expect_no_more()?;
        Ok(Options { train, scoring, decision })
    }

    /// What can be settled before all is counted.
    pub(crate) fn train(&self) -> &TrainOptions {
        &self.train
    }

    /// The same for so many labels: of more than two, pairs of words need not be counted.
    pub(crate) fn for_labels(&self, labels: usize) -> TrainOptions {
        let mut options = self.train.clone();
        if labels > 2 {
            options.pairs = Pairs::Fixed;
        }
        options
    }

    /// Whether documents have any number of labels.
    pub(crate) fn are_labels_many(&self) -> bool {
        self.train.labels == Labels::Many
    }

    /// How counts become scores and decisions, now that the labels are known.
    ///
    /// # Errors
    /// If options do not suit each other, or these labels.
    pub(crate) fn settle(&self, classes: &Classes) -> PyResult<(Scoring, DecisionOptions)> {
        let settle = || {
            let mut train = self.train.clone();
            let scoring = self.scoring.scoring(&train.recipe, classes, 0)?;
            train.decision = self.decision.options(classes)?;
            train.scoring = Some(scoring.clone());
            train.check_for(classes.len())?;
            Ok((scoring, train.decision))
        };
        settle().map_err(|error: tamis_train::Error| Failure::from(error).into())
    }
}

/// How many labels a document has.
fn labels(given: &Given<'_>) -> PyResult<Labels> {
    match given.take::<String>("labels")?.as_deref() {
        None | Some("one") => Ok(Labels::One),
        Some("many") => Ok(Labels::Many),
        Some(got) => Err(wrong("labels", format!("expected one or many, got {got}"))),
    }
}
