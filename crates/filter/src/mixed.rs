//! Mixed naive Bayes over the columns of a table: what the header keeps for it, and running it.

use serde::{Deserialize, Serialize};
use tamis_model::{
    ClassId, ClassPrior, ClassTotals, Counts, GaussianParameters, GaussianStatistics, MixedNaiveBayes,
    NaiveBayes, Parameters, Part, Statistics, Summary,
};
use tamis_tokenizer::{CountRow, TermId};

use crate::columns::{ColumnKind, Columns};
use crate::error::{Error, Result};
use crate::extractor::Counted;
use crate::format::Header;
use crate::recipe::Recipe;
use crate::scorer::known_terms;
use crate::scoring::{Mixed, Scoring};
use crate::store::Store;

/// What mixed scoring needs to know of all rows at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Of the columns of real values, in their order.
    pub(crate) reals: GaussianStatistics,
    /// Of the terms of each other column, in their order.
    pub(crate) groups: Vec<Summary>,
    /// Missing cells of each column.
    pub(crate) missing: Vec<u64>,
}

impl Table {
    /// Checks that there is something for each column, for so many classes.
    fn check(&self, recipe: &Recipe, n_classes: usize) -> Result<()> {
        let n = recipe.columns.len();
        let n_reals = recipe.columns.iter().filter(|c| c.kind == ColumnKind::Gaussian).count();
        let expected = (n_reals, n - n_reals, n, n_classes);
        let classes = self.reals.documents().len();
        let got = (self.reals.n_features(), self.groups.len(), self.missing.len(), classes);
        if got != expected {
            let debug = |numbers| format!("{numbers:?} numbers, groups, columns and classes");
            return Err(Error::inconsistent("header", debug(expected), debug(got)));
        }
        Ok(())
    }

    /// Checks it against the counts, which are consistent: every row has a cell in each column or misses it.
    pub(crate) fn verify(&self, header: &Header, groups: &[Summary]) -> Result<()> {
        let fail = |expected: String, got: String| Err(Error::inconsistent("header", expected, got));
        if self.groups != groups {
            return fail("the columns' summaries of the counts".into(), "others".into());
        }
        let documents: Vec<f64> = header.totals.iter().map(|t| t.documents as f64).collect();
        if self.reals.documents() != documents {
            return fail(format!("{documents:?} rows a class"), format!("{:?}", self.reals.documents()));
        }
        let (mut reals, mut groups) = (0.., self.groups.iter());
        let rows: f64 = documents.iter().sum();
        for (column, &missing) in header.recipe.columns.iter().zip(&self.missing) {
            let present = match column.kind {
                ColumnKind::Gaussian => {
                    let feature = reals.next().unwrap_or_default();
                    let classes = 0..documents.len() as ClassId;
                    classes.filter_map(|c| self.reals.moments(feature, c)).map(|m| m.n()).sum()
                }
                _ => groups.next().map_or(0, |group| group.totals().iter().map(|t| t.df).sum()) as f64,
            };
            // of a text only how many words it has is known
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

/// Summaries of the terms of each column that is not of real values. `text` gives the text of a term.
pub(crate) fn summarize_columns<'a>(
    recipe: &Recipe,
    statistics: &Statistics,
    text: impl Fn(TermId) -> Result<&'a str>,
) -> Result<Vec<Summary>> {
    let mut recipe = recipe.clone();
    let columns = Columns::new(&mut recipe)?;
    let mut terms = vec![Vec::new(); recipe.columns.len()];
    for id in 0..statistics.n_terms() as TermId {
        let text = text(id)?;
        let Some(column) = columns.of_term(text) else {
            return Err(Error::inconsistent("texts", "terms of the columns", text.escape_debug()));
        };
        terms[column].push(id);
    }
    let groups = recipe.columns.iter().zip(terms).filter(|(c, _)| c.kind != ColumnKind::Gaussian);
    let summaries = groups.map(|(column, terms)| {
        let (parameters, least) = group_parameters(column.kind, &Mixed::default());
        let Ok(summary) = parameters.summarize_terms(statistics, terms.into_iter(), least);
        summary
    });
    Ok(summaries.collect())
}

/// The likelihood of the terms of a column, and how many of them there are at least.
fn group_parameters(kind: ColumnKind, mixed: &Mixed) -> (Parameters, u64) {
    let (alpha, least) = match kind {
        ColumnKind::Text => (mixed.text_alpha, 0),
        ColumnKind::Bernoulli => (mixed.alpha, 2),
        ColumnKind::Categorical | ColumnKind::Gaussian => (mixed.alpha, 0),
    };
    (Parameters { alpha, prior: ClassPrior::Uniform, ..Scoring::parameters() }, least)
}

/// Mixed naive Bayes, made ready to run.
pub(crate) struct MixedScorer {
    model: MixedNaiveBayes,
    recipe: Recipe,
    columns: Columns,
}

/// What a column says about a row.
pub(crate) enum Reason {
    /// A real value: how people see it, and how many rows of each class have one in its column.
    Real { term: String, rows: Vec<u64> },
    /// A term.
    Term(TermId),
}

impl MixedScorer {
    pub(crate) fn new(
        settings: &Mixed,
        recipe: &Recipe,
        table: &Table,
        totals: &[ClassTotals],
    ) -> Result<Self> {
        let mut recipe = recipe.clone();
        let columns = Columns::new(&mut recipe)?;
        table.check(&recipe, totals.len())?;
        let gaussian =
            GaussianParameters { prior: ClassPrior::Uniform, var_smoothing: settings.var_smoothing };
        let mut reals = gaussian.features(&table.reals)?.into_iter();
        let mut groups = table.groups.iter();
        let mut parts = Vec::with_capacity(recipe.columns.len());
        for column in &recipe.columns {
            let mut terms = || {
                let (parameters, _) = group_parameters(column.kind, settings);
                groups.next().map(|summary| NaiveBayes::new(&parameters, summary)).transpose()
            };
            // as many as there are columns
            parts.extend(match column.kind {
                ColumnKind::Gaussian => reals.next().map(Part::Gaussian),
                ColumnKind::Text => terms()?.map(Part::Terms),
                ColumnKind::Categorical | ColumnKind::Bernoulli => terms()?.map(Part::Category),
            });
        }
        Ok(MixedScorer { model: MixedNaiveBayes::new(&settings.prior, totals, parts)?, recipe, columns })
    }

    /// The logarithm of each class's prior probability.
    pub(crate) fn class_log_prior(&self) -> &[f64] {
        self.model.class_log_prior()
    }

    /// Writes the joint log-likelihood of a row and each class to `out`; returns how many columns took part. A
    /// category that was never learned is as good as missing, and so is a text without any known word.
    pub(crate) fn joint_log_likelihood(
        &self,
        store: &Store,
        counted: &Counted,
        out: &mut Vec<f64>,
    ) -> Result<usize> {
        let rows: Vec<_> = counted.groups().map(|row| known(store, row)).collect();
        self.model.joint_log_likelihood(store, counted.reals(), &rows, out)
    }

    /// What each value and term of a row adds to the joint log-likelihood of a class over that of another.
    pub(crate) fn reasons(
        &self,
        store: &Store,
        counted: &Counted,
        [class, against]: [ClassId; 2],
    ) -> Result<Vec<(Reason, f64)>> {
        let difference = |weights: &[f64]| weights[usize::from(class)] - weights[usize::from(against)];
        let (mut reals, mut rows) = (counted.reals().iter(), counted.groups());
        let (mut reasons, mut weights, mut n_reals) = (Vec::new(), Vec::new(), 0);
        for (i, part) in self.model.parts().iter().enumerate() {
            match part {
                Part::Gaussian(feature) => {
                    let value = reals.next().copied().flatten();
                    weights.clear();
                    weights.resize(self.class_log_prior().len(), 0.0);
                    if let Some(value) = value.filter(|v| feature.add_log_density(Some(*v), &mut weights)) {
                        let term = format!("{}={value}", self.recipe.columns[i].name);
                        let moments = |class| store.header.table.as_ref()?.reals.moments(n_reals, class);
                        let classes = 0..weights.len() as ClassId;
                        let rows = classes.map(|class| moments(class).map_or(0, |m| m.n() as u64)).collect();
                        reasons.push((Reason::Real { term, rows }, difference(&weights)));
                    }
                    n_reals += 1;
                }
                Part::Category(terms) | Part::Terms(terms) => {
                    for (id, count) in rows.next().into_iter().flat_map(|row| row.iter()) {
                        if terms.term_weights(store, id, count, &mut weights)? {
                            reasons.push((Reason::Term(id), difference(&weights)));
                        }
                    }
                }
            }
        }
        Ok(reasons)
    }

    /// What a term says of each class, in `out`; `false` if it is of no column.
    pub(crate) fn term_weights(&self, store: &Store, id: TermId, out: &mut Vec<f64>) -> Result<bool> {
        let column = self.columns.of_term(store.text(id)?);
        match column.and_then(|column| self.model.parts().get(column)) {
            Some(Part::Category(terms) | Part::Terms(terms)) => terms.term_weights(store, id, 1, out),
            Some(Part::Gaussian(_)) | None => Ok(false),
        }
    }
}

/// The row of a column, if any of its terms is known.
fn known<'a>(store: &Store, row: CountRow<'a>) -> Option<CountRow<'a>> {
    Some(row).filter(|row| known_terms(store, *row) > 0)
}
