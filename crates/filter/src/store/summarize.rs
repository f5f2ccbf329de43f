//! Summaries of the columns of a table for mixed naive Bayes.

use tamis_model::{Counts, Statistics, Summary};
use tamis_tokenizer::{TermId, fingerprint};

use crate::config::column::ColumnKind;
use crate::config::columns::Columns;
use crate::config::recipe::Recipe;
use crate::config::scoring::Mixed;
use crate::error::{Error, Result};

/// Summarizes the terms of each column that has no real values. `text` returns the text of a term.
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
            let got = format!("another, of fingerprint {:016x}", fingerprint(text));
            return Err(Error::inconsistent("texts", "terms of the columns", got));
        };
        terms[column].push(id);
    }
    let groups = recipe.columns.iter().zip(terms).filter(|(c, _)| c.kind != ColumnKind::Gaussian);
    let summaries = groups.map(|(column, terms)| {
        let (parameters, least) = Mixed::default().parameters_of(column.kind);
        let Ok(summary) = parameters.summarize_terms(statistics, terms.into_iter(), least);
        summary
    });
    Ok(summaries.collect())
}
