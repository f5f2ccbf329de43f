//! Fits a scoring to documents, beyond counting them.

use tamis_model::{Classes, Counts, Statistics};
use tamis_store::config::decision::{Decision, DecisionOptions};
use tamis_store::config::scoring::Scoring;
use tamis_store::error::{Error, Result};
use tamis_store::file::fitted::FittedScoring;

use crate::gather::ordered::Ordered;
use crate::train::fitting::{self, Fitted, Thresholds};
use crate::train::self_training::Taught;
use crate::train::table::Rows;

/// What a scoring is fitted to.
pub(crate) struct Learned<'a> {
    pub(crate) classes: &'a Classes,
    pub(crate) statistics: &'a Statistics,
    pub(crate) documents: &'a mut Ordered,
    /// Which of the documents had no label.
    pub(crate) taught: Option<Taught>,
    /// What mixed naive Bayes needs of a table.
    pub(crate) table: Option<Rows<'a>>,
}

/// Fits the scoring to the documents. Thresholds are chosen to meet the requirements `asked`, and otherwise stay at
/// `default`.
pub(crate) fn fit(
    scoring: Scoring,
    asked: &DecisionOptions,
    default: Decision,
    learned: Learned<'_>,
) -> Result<Fitted> {
    let Learned { classes, statistics, documents, taught, table } = learned;
    let mut fitted = match scoring {
        Scoring::NaiveBayes(parameters) => {
            let Ok(summary) = parameters.summarize(statistics);
            Fitted::by_counts(FittedScoring::NaiveBayes { parameters, summary }, Decision::PLAIN)
        }
        Scoring::Mixed(settings) => {
            let table = table.ok_or_else(|| Error::inconsistent("header", "a table", "none"))?;
            table.fit(settings, classes, statistics, documents)?
        }
        Scoring::RobinsonFisher(parameters) => {
            Fitted::by_counts(FittedScoring::RobinsonFisher(parameters), default)
        }
        Scoring::Weighted(options) => {
            let thresholds = Thresholds { asked, default, totals: statistics.totals() };
            let smoothing = fitting::smoothing(&options, statistics, documents, classes)?;
            let fitted = fitting::weights(&options, smoothing, statistics, documents, classes)?;
            let fitted = match taught.as_ref().filter(|taught| taught.record.teacher.is_some()) {
                Some(taught) => taught.calibrate(fitted, documents, classes)?,
                None => fitted,
            };
            fitting::conclude(&options, fitted, &thresholds, documents, classes)?
        }
        Scoring::ExpectationMaximization(settings) => {
            fitting::maximize_expectation(settings, statistics, classes.len(), documents)?
        }
    };
    if let FittedScoring::Weighted { chosen, .. } = &mut fitted.scoring {
        chosen.unlabelled = taught.map(|taught| taught.record);
    }
    documents.check().map(|()| fitted)
}
