//! A scoring with what was fitted or derived for it.

use tamis_model::{Counts, ExpectedNaiveBayes, Parameters, RobinsonFisher, Summary, WeightedOptions};

use crate::config::scoring::{Chosen, ExpectationMaximization, Mixed, Scoring};
use crate::file::table::Table;

/// A scoring with all that it needs besides the counts of terms.
#[derive(Clone, PartialEq, Debug)]
pub enum FittedScoring {
    /// Weighted log-odds with their correction.
    Weighted {
        /// What was asked for.
        options: WeightedOptions,
        /// What was chosen.
        chosen: Chosen,
        /// The bias of each column of the correction, fixed point. Missing ones are 0.
        bias: Vec<i64>,
    },
    /// Naive Bayes.
    NaiveBayes {
        /// What was asked for.
        parameters: Parameters,
        /// Sums over its features.
        summary: Summary,
    },
    /// Naive Bayes by expectation maximization.
    ExpectationMaximization {
        /// What was asked for.
        settings: ExpectationMaximization,
        /// Its term weights are in the `terms` section.
        model: ExpectedNaiveBayes,
    },
    /// A likelihood for each column of a table.
    Mixed {
        /// What was asked for.
        settings: Mixed,
        /// Values and groups of the columns.
        table: Table,
    },
    /// Another program's, by Robinson and Fisher.
    RobinsonFisher(RobinsonFisher),
}

impl FittedScoring {
    /// Weighted scoring with default choices, except for what `options` fixes, and no correction.
    pub fn unfitted(options: WeightedOptions, n_classes: usize) -> Self {
        let chosen = Chosen::for_options(&options, n_classes);
        FittedScoring::Weighted { options, chosen, bias: Vec::new() }
    }

    /// The options alone.
    pub fn options(&self) -> Scoring {
        match self {
            FittedScoring::Weighted { options, .. } => Scoring::Weighted(*options),
            FittedScoring::NaiveBayes { parameters, .. } => Scoring::NaiveBayes(parameters.clone()),
            FittedScoring::ExpectationMaximization { settings, .. } => {
                Scoring::ExpectationMaximization(settings.clone())
            }
            FittedScoring::Mixed { settings, .. } => Scoring::Mixed(settings.clone()),
            FittedScoring::RobinsonFisher(parameters) => Scoring::RobinsonFisher(*parameters),
        }
    }

    /// The choices of weighted scoring.
    pub fn chosen(&self) -> Option<&Chosen> {
        match self {
            FittedScoring::Weighted { chosen, .. } => Some(chosen),
            _ => None,
        }
    }

    /// Whether held-out documents calibrate it.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.chosen().is_some()
            || matches!(self, FittedScoring::Mixed { settings, .. } if settings.correction)
    }

    /// The bias of each column of the correction; empty without one.
    pub fn bias(&self) -> &[i64] {
        match self {
            FittedScoring::Weighted { bias, .. } => bias,
            _ => &[],
        }
    }

    /// The statistics of a table's columns, for mixed naive Bayes.
    pub fn table(&self) -> Option<&Table> {
        match self {
            FittedScoring::Mixed { table, .. } => Some(table),
            _ => None,
        }
    }

    /// Whether documents have coefficients: only with a correction.
    pub fn has_coefficients(&self) -> bool {
        matches!(self, FittedScoring::Weighted { options, .. } if options.correction)
    }

    /// Whether the weights of terms are expected counts, as floating-point numbers.
    pub fn has_expected_counts(&self) -> bool {
        matches!(self, FittedScoring::ExpectationMaximization { .. })
    }

    /// Derives again what depends on the counts of all terms.
    pub fn summarize<C: Counts>(&mut self, counts: &C) -> Result<(), C::Error> {
        if let FittedScoring::NaiveBayes { parameters, summary } = self {
            *summary = parameters.summarize(counts)?;
        }
        Ok(())
    }
}
