//! The part of a header for tables.

use serde::{Deserialize, Serialize};
use tamis_model::{ClassId, ClassTotals, GaussianStatistics, MixedChoices, Summary, Trust};

use crate::config::column::{Column, ColumnKind};
use crate::config::recipe::Recipe;
use crate::error::{Error, Result};

/// What mixed naive Bayes needs to know about all rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Statistics of the real columns, in order.
    pub reals: GaussianStatistics,
    /// Summary of the terms of each other column, in order.
    pub groups: Vec<Summary>,
    /// Missing cells of each column.
    pub missing: Vec<u64>,
    /// How the model departs from the textbook.
    pub chosen: MixedChoices,
}

impl Table {
    /// Checks that it fits the columns and the number of classes.
    pub fn check(&self, recipe: &Recipe, n_classes: usize) -> Result<()> {
        let n = recipe.columns.len();
        let n_reals = recipe.n_reals();
        let expected = (n_reals, n - n_reals, n, n_classes);
        let classes = self.reals.documents().len();
        let got = (self.reals.n_features(), self.groups.len(), self.missing.len(), classes);
        if got != expected {
            let debug = |numbers| format!("{numbers:?} numbers, groups, columns and classes");
            return Err(Error::inconsistent("header", debug(expected), debug(got)));
        }
        let MixedChoices { trust: Trust { reals, categories, texts }, .. } = self.chosen;
        match [reals, categories, texts].into_iter().find(|power| !(power.is_finite() && *power >= 0.0)) {
            Some(got) => Err(Error::inconsistent("header", "finite powers of at least 0", got)),
            None => Ok(()),
        }
    }

    /// Checks it against the counts, which are consistent. In each column, every row has a cell or misses it.
    pub fn verify(&self, columns: &[Column], totals: &[ClassTotals], groups: &[Summary]) -> Result<()> {
        let fail = |expected: String, got: String| Err(Error::inconsistent("header", expected, got));
        if self.groups != groups {
            return fail("the columns' summaries of the counts".into(), "others".into());
        }
        let documents: Vec<f64> = totals.iter().map(|t| t.documents as f64).collect();
        if self.reals.documents() != documents {
            return fail(format!("{documents:?} rows a class"), format!("{:?}", self.reals.documents()));
        }
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
            if !fits {
                return fail(
                    format!("{rows} cells of column {:?}, missing ones among them", column.name),
                    format!("{present} and {missing} missing"),
                );
            }
        }
        Ok(())
    }
}
