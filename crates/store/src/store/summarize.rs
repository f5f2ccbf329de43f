//! Summaries of the columns of a table for mixed naive Bayes.

use tamis_model::{Counts, Statistics, Summary};
use tamis_tokenizer::{TermId, fingerprint};

use crate::config::column::ColumnKind;
use crate::config::columns::Columns;
use crate::config::recipe::Recipe;
use crate::config::scoring::Mixed;
use crate::error::{Error, Result};

/// The column of each term. `text` returns the text of a term.
pub fn columns_of_terms<'a>(
    recipe: &Recipe,
    statistics: &Statistics,
    text: impl Fn(TermId) -> Result<&'a str>,
) -> Result<Vec<usize>> {
    let columns = Columns::new(&mut recipe.clone())?;
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
