//! Fits a scoring to documents, beyond counting them.

use tamis_model::{Classes, Counts, SmoothingChoice, Statistics};

use crate::config::decision::{Decision, DecisionOptions};
use crate::config::scoring::Scoring;
use crate::error::Result;
use crate::gather::ordered::Ordered;
use crate::train::fitting::{self, Fitted};

/// Fits the scoring to the documents. Thresholds meet the requirements of the decision options and otherwise stay as
/// given; `smoothing` is used if it was chosen already.
pub(crate) fn fit(
    (scoring, asked, default): (&Scoring, &DecisionOptions, Decision),
    classes: &Classes,
    statistics: &Statistics,
    documents: &mut Ordered,
    smoothing: Option<SmoothingChoice>,
) -> Result<Fitted> {
    let fitted = match scoring {
        Scoring::NaiveBayes(_) | Scoring::Mixed(_) => Fitted::NONE,
        Scoring::RobinsonFisher(_) => Fitted { decision: default, ..Fitted::NONE },
        Scoring::Weighted(options) => {
            let decide = |scores: &[(f64, bool)]| {
                fitting::decide(scores, asked, default, statistics.totals(), classes)
            };
            let smoothing = match smoothing {
                Some(smoothing) => smoothing,
                None => fitting::smoothing(options, statistics, documents, classes)?,
            };
            fitting::fit((options, smoothing), decide, statistics, documents, classes)?
        }
        Scoring::ExpectationMaximization(settings) => {
            fitting::maximize_expectation(settings, statistics, classes.len(), documents)?
        }
    };
    documents.check().map(|()| fitted)
}
