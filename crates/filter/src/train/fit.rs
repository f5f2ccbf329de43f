//! Fits a scoring to documents, beyond counting them.

use tamis_model::{Classes, Counts, Statistics};

use crate::config::decision::{Decision, DecisionOptions};
use crate::config::scoring::{Chosen, Scoring};
use crate::error::Result;
use crate::gather::ordered::Ordered;
use crate::train::fitting::{self, Fitted};
use crate::train::self_training::Taught;

/// Fits the scoring to the documents. Thresholds are chosen to meet the requirements of the decision options and
/// otherwise stay as given. `taught` says which of the documents had no label.
pub(crate) fn fit(
    (scoring, asked, default): (&Scoring, &DecisionOptions, Decision),
    classes: &Classes,
    statistics: &Statistics,
    documents: &mut Ordered,
    taught: Option<Taught>,
) -> Result<Fitted> {
    let fitted = match scoring {
        Scoring::NaiveBayes(_) | Scoring::Mixed(_) => Fitted::NONE,
        Scoring::RobinsonFisher(_) => Fitted { decision: default, ..Fitted::NONE },
        Scoring::Weighted(options) => {
            let decide = |scores: &[(f64, bool)]| {
                fitting::decide(scores, asked, default, statistics.totals(), classes)
            };
            let smoothing = fitting::smoothing(options, statistics, documents, classes)?;
            let fitted = fitting::weights((options, smoothing), statistics, documents, classes)?;
            let fitted = match taught.as_ref().filter(|taught| taught.record.teacher.is_some()) {
                Some(taught) => taught.calibrate(fitted, documents, classes)?,
                None => fitted,
            };
            fitting::conclude((options, fitted), decide, documents, classes)?
        }
        Scoring::ExpectationMaximization(settings) => {
            fitting::maximize_expectation(settings, statistics, classes.len(), documents)?
        }
    };
    let record = taught.map(|taught| taught.record);
    let chosen = fitted.chosen.map(|chosen| Chosen { unlabelled: record, ..chosen });
    documents.check().map(|()| Fitted { chosen, ..fitted })
}
