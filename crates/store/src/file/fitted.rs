//! A scoring with what was fitted or derived for it, and the statistics of a table's columns.

use serde::{Deserialize, Serialize};
use tamis_model::{
    ClassId, ClassTotals, Counts, ExpectedNaiveBayes, GaussianStatistics, MixedChoices, Parameters,
    RobinsonFisher, Statistics, Summary, Trust, WeightedOptions,
};
use tamis_tokenizer::{TermId, fingerprint};

use crate::config::column::{Column, ColumnKind};
use crate::config::columns::TableColumns;
use crate::config::recipe::Recipe;
use crate::config::scoring::{ExpectationMaximization, Mixed, ModelSelection, Scoring};
use crate::error::{Error, Result};

/// A scoring with all that it needs besides the counts of terms.
#[derive(Clone, PartialEq, Debug)]
pub enum FittedScoring {
    /// Weighted log-odds with their correction.
    Weighted {
        /// What was asked for.
        options: WeightedOptions,
        /// What was chosen.
        chosen: ModelSelection,
        /// The bias of each column of the correction, fixed point. Missing ones are 0.
        bias: Vec<i64>,
        /// Of a table with columns that are not text, their statistics.
        table: Option<Box<TableStatistics>>,
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
        table: TableStatistics,
    },
    /// Another program's, by Robinson and Fisher.
    RobinsonFisher(RobinsonFisher),
}

impl FittedScoring {
    /// Weighted scoring with default choices, except for what `options` fixes, and no correction.
    pub fn unfitted(options: WeightedOptions, n_classes: usize) -> Self {
        let chosen = ModelSelection::for_options(&options, n_classes);
        FittedScoring::Weighted { options, chosen, bias: Vec::new(), table: None }
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
    pub fn chosen(&self) -> Option<&ModelSelection> {
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
    pub fn table(&self) -> Option<&TableStatistics> {
        match self {
            FittedScoring::Weighted { table, .. } => table.as_deref(),
            FittedScoring::Mixed { table, .. } => Some(table),
            _ => None,
        }
    }

    /// Whether documents have coefficients: only with a correction.
    pub(crate) fn has_coefficients(&self) -> bool {
        matches!(self, FittedScoring::Weighted { options, .. } if options.correction)
    }

    /// Whether the weights of terms are expected counts, as floating-point numbers.
    pub fn has_expected_counts(&self) -> bool {
        matches!(self, FittedScoring::ExpectationMaximization { .. })
    }

    /// Derives again what depends on the counts of all terms.
    pub fn summarize<C: Counts>(&mut self, counts: &C) -> std::result::Result<(), C::Error> {
        if let FittedScoring::NaiveBayes { parameters, summary } = self {
            *summary = parameters.summarize(counts)?;
        }
        Ok(())
    }
}

/// Statistics of a table's columns, for mixed naive Bayes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Statistics of the real columns, in order.
    pub reals: GaussianStatistics,
    /// Summary of the terms of each other column, in order.
    pub groups: Vec<Summary>,
    /// Missing cells of each column.
    pub missing: Vec<u64>,
    /// How the model departs from the textbook.
    pub chosen: MixedChoices,
}

impl TableStatistics {
    /// Checks that it fits the columns and the number of classes.
    pub fn check(&self, recipe: &Recipe, n_classes: usize) -> Result<()> {
        let n = recipe.columns.len();
        let n_reals = recipe.n_reals();
        let expected = (n_reals, n - n_reals, n, n_classes);
        let classes = self.reals.documents().len();
        let got = (self.reals.n_features(), self.groups.len(), self.missing.len(), classes);
        let of = "numbers, groups, columns and classes";
        let (shown, shown_got) = (format_args!("{expected:?} {of}"), format_args!("{got:?} {of}"));
        Error::ensure(got == expected, "header", shown, shown_got)?;
        let MixedChoices { trust: Trust { reals, categories, texts }, .. } = self.chosen;
        [reals, categories, texts].into_iter().try_for_each(|power| {
            let is_well = power.is_finite() && power >= 0.0;
            Error::ensure(is_well, "header", "finite powers of at least 0", power)
        })
    }

    /// Checks it against the counts, which are consistent. In each column, every row has a cell or misses it.
    pub fn verify(&self, columns: &[Column], totals: &[ClassTotals], groups: &[Summary]) -> Result<()> {
        Error::ensure(self.groups == groups, "header", "the columns' summaries of the counts", "others")?;
        let documents: Vec<f64> = totals.iter().map(|t| t.documents as f64).collect();
        let (expected, got) = (format_args!("{documents:?} rows a class"), self.reals.documents());
        Error::ensure(got == documents, "header", expected, format_args!("{got:?}"))?;
        let (mut reals, mut groups) = (0.., self.groups.iter());
        let rows: f64 = documents.iter().sum();
        for (column, &missing) in columns.iter().zip(&self.missing) {
            let present = match column.kind {
                ColumnKind::Gaussian => {
                    let feature = reals.next().unwrap_or_default();
                    let classes = 0..documents.len() as ClassId;
                    classes.filter_map(|c| self.reals.moments(feature, c)).map(|m| m.n()).sum()
                }
                _ => groups.next().map_or(0, |group| group.totals().iter().map(|t| t.df).sum()) as f64,
            };
            // for a text, only the number of words is known
            let fits = match column.kind {
                ColumnKind::Text => missing as f64 <= rows,
                _ => present + missing as f64 == rows,
            };
            let expected = format_args!("{rows} cells of column {:?}, missing ones among them", column.name);
            Error::ensure(fits, "header", expected, format_args!("{present} and {missing} missing"))?;
        }
        Ok(())
    }
}

/// The column of each term. `text` returns the text of a term.
pub fn columns_of_terms<'a>(
    recipe: &Recipe,
    statistics: &Statistics,
    text: impl Fn(TermId) -> Result<&'a str>,
) -> Result<Vec<usize>> {
    let columns = TableColumns::new(&mut recipe.clone())?;
    let column = |id| {
        let text = text(id)?;
        columns.of_term(text).ok_or_else(|| {
            let got = format!("another, of fingerprint {:016x}", fingerprint(text));
            Error::inconsistent("texts", "terms of the columns", got)
        })
    };
    (0..statistics.n_terms() as TermId).map(column).collect()
}

/// Summarizes the terms of each column that has no real values. `columns` has the column of each term.
pub fn summarize_columns(recipe: &Recipe, statistics: &Statistics, columns: &[usize]) -> Vec<Summary> {
    let mut terms = vec![Vec::new(); recipe.columns.len()];
    for (id, column) in (0..).zip(columns) {
        terms[*column].push(id);
    }
    let groups = recipe.columns.iter().zip(terms).filter(|(c, _)| c.kind != ColumnKind::Gaussian);
    let summaries = groups.map(|(column, terms)| {
        let (parameters, least) = Mixed::default().parameters_of(column.kind);
        let Ok(summary) = parameters.summarize_terms(statistics, terms.into_iter(), least);
        summary
    });
    summaries.collect()
}
