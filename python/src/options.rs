//! Options from Python: keyword arguments that are named as the program's options.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tamis_filter::{Classes, DecisionOptions, Keep, Kind, Pairs, Pieces, Scoring, TrainOptions};

use crate::error::TamisError;
use crate::options::decision::DecisionGiven;
use crate::options::recipe::recipe;
use crate::options::scoring::ScoringGiven;

mod decision;
mod recipe;
mod scoring;

/// The options of training.
pub(crate) struct Options {
    train: TrainOptions,
    scoring: ScoringGiven,
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
        let [has_ngrams, has_pieces] = recipe(&given, &mut train.recipe)?;
        if has_ngrams {
            train.pairs = Pairs::Fixed;
        }
        if has_pieces {
            train.pieces = Pieces::Fixed;
        }
        let scoring = ScoringGiven::take(&given)?;
        if scoring.asks_for_naive_bayes() {
            train.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
        }
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

    /// How counts become scores and decisions, now that the labels are known.
    ///
    /// # Errors
    /// If options do not suit each other, or these labels.
    pub(crate) fn settle(&self, classes: &Classes) -> PyResult<(Scoring, DecisionOptions)> {
        let scoring = self.scoring.scoring(classes)?;
        let decision = self.decision.options(classes)?;
        let is_of_two = matches!(scoring, Scoring::Weighted(_)) && classes.len() == 2;
        let refused = |options: &str| {
            TamisError::new_err(format!("{options}: expected two labels and weighted scoring"))
        };
        if self.train.recipe.windows.is_some() && !is_of_two {
            return Err(refused("windows"));
        }
        if decision != DecisionOptions::default() && !is_of_two {
            return Err(refused("max_fpr, cost, prior and unsure"));
        }
        Ok((scoring, decision))
    }
}

/// Keyword arguments that were not looked at yet.
pub(crate) struct Given<'py>(pub(crate) Bound<'py, PyDict>);

/// A type of options, in words.
pub(crate) trait Value {
    const EXPECTED: &'static str;
}

macro_rules! values {
    ($($type:ty => $expected:expr),* $(,)?) => {$(
        impl Value for $type {
            const EXPECTED: &'static str = $expected;
        }
    )*};
}
values!(
    bool => "True or False",
    f64 => "a number",
    i64 => "a whole number",
    u8 => "a whole number from 0 to 255",
    u16 => "a whole number from 0 to 65535",
    u32 => "a whole number of 0 or more",
    u64 => "a whole number of 0 or more",
    usize => "a whole number of 0 or more",
    String => "a name (str)",
    Vec<String> => "a list of str",
    BTreeMap<String, f64> => "a dict of label (str) to number",
);

impl<'py> Given<'py> {
    /// The value of an option, if it is given.
    ///
    /// # Errors
    /// If it is of another type, or a number that the type does not hold.
    pub(crate) fn take<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: Value + for<'a> FromPyObject<'a, 'py>,
    {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(extracted) = value.extract::<T>() {
            return Ok(Some(extracted));
        }
        let got: String = value.repr()?.to_cow()?.chars().take(60).collect();
        Err(wrong(name, format!("expected {}, got {got}", T::EXPECTED)))
    }

    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.take(name)?.unwrap_or(false))
    }

    /// The value of an option that is a name, such as that of a language.
    fn named<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let value = self.take::<String>(name)?;
        value.map(|value| value.parse().map_err(|error| wrong(name, error))).transpose()
    }

    fn expect_no_more(&self) -> PyResult<()> {
        match self.0.keys().iter().next() {
            None => Ok(()),
            Some(name) => {
                let name = name.cast_into::<PyString>()?;
                Err(TamisError::new_err(format!("expected no option {:?}: there is none", name.to_str()?)))
            }
        }
    }
}

/// The exception for an option whose value is wrong.
fn wrong(option: &str, what: impl std::fmt::Display) -> PyErr {
    TamisError::new_err(format!("{option}: {what}"))
}
