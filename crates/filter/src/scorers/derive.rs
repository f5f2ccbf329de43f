//! Derives the scorer of a model from its header.

use tamis_model::{ClassPrior, ClassTotals, NaiveBayes, WeightedLogOdds};
use tamis_store::config::labels::{columns_of, positive_class};
use tamis_store::config::scoring::Mixed;
use tamis_store::error::{Error, Result};
use tamis_store::file::fitted::{FittedScoring, TableStatistics};
use tamis_store::file::header::ModelHeader;

use crate::scorers::expected::ExpectedScorer;
use crate::scorers::mixed::MixedScorer;
use crate::scorers::scorer::Scorer;
use crate::scorers::weighted::WeightedScorer;

/// Checks that a model has a scorer: that its prior and smoothing suit its counts.
///
/// # Errors
/// If they do not.
pub fn check(header: &ModelHeader) -> Result<()> {
    derive(header, &header.totals, header.size.terms, header.scoring.bias()).map(drop)
}

/// Derives the scorer of a model. `totals`, `n_features` and `bias` include changes since the header was written, and
/// those of a shared model.
pub(crate) fn derive(
    header: &ModelHeader,
    totals: &[ClassTotals],
    n_features: u64,
    bias: &[i64],
) -> Result<Box<dyn Scorer>> {
    header.check()?;
    let positive = positive_class(&header.classes);
    Ok(match &header.scoring {
        FittedScoring::Weighted { options, chosen, table, .. } => {
            options.check()?;
            let columns = columns_of(&header.classes)?;
            let log_odds = WeightedLogOdds::new(chosen.in_use(), bias, totals, n_features, &columns)?;
            let lines = chosen.labels.iter().map(|label| label.line).collect();
            let uniform = Mixed { prior: ClassPrior::Uniform, ..Mixed::default() };
            let columns =
                |table: &TableStatistics| MixedScorer::new(&uniform, &header.recipe, table, &header.totals);
            let table = table.as_deref().map(columns).transpose()?;
            Box::new(WeightedScorer::new(log_odds.with_lines(lines), positive, table))
        }
        FittedScoring::NaiveBayes { parameters, summary } => {
            let (bayes, expected) = (NaiveBayes::new(parameters, summary)?, header.classes.len());
            Error::ensure(bayes.n_classes() == expected, "header", expected, bayes.n_classes())?;
            Box::new(bayes)
        }
        FittedScoring::ExpectationMaximization { settings, model } => {
            let (expected, got) = (header.classes.len(), model.n_classes());
            Error::ensure(expected == got && model.is_consistent(), "header", expected, got)?;
            Box::new(ExpectedScorer::new(model.clone(), settings.transform, &header.totals))
        }
        FittedScoring::Mixed { settings, table } => {
            Box::new(MixedScorer::new(settings, &header.recipe, table, &header.totals)?)
        }
        FittedScoring::RobinsonFisher(parameters) => Box::new(parameters.scorer(totals, positive)?),
    })
}
