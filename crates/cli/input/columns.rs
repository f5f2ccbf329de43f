//! The kinds of a table's columns: guessed from the cells, or as the arguments say.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use tamis_program::{grouped, note, shown};
use tamis_train::options::{Column, ColumnGuess, ColumnKind};
use tamis_train::{Document, Filter, Recipe, Score, Scratch};

use crate::args::{ColumnChoice, RecipeArgs, TableArgs};
use crate::formats::record::listed;
use crate::input::corpus::Corpus;

/// Sets the columns of the recipe, if there is a target to predict.
pub(crate) fn choose(
    recipe: &mut Recipe,
    corpus: &Corpus<'_>,
    table: &TableArgs,
    terms: &RecipeArgs,
) -> Result<()> {
    let Some(target) = &table.target else { return Ok(()) };
    recipe.columns = choose_kinds(corpus, target, &table.column)?;
    if *terms != Default::default() && !recipe.columns.iter().any(|column| column.kind == ColumnKind::Text) {
        bail!("options of terms, such as --words: expected a column of text, got none");
    }
    recipe.target = Some(target.clone());
    Ok(())
}

/// The column that holds dense vectors elsewhere.
const VECTOR: &str = "vector";

/// Chooses the kinds of the columns in a corpus of tables from the first 100,000 rows, and prints them.
fn choose_kinds(corpus: &Corpus<'_>, target: &str, choices: &[ColumnChoice]) -> Result<Vec<Column>> {
    let (mut names, mut guesses): (Vec<Arc<str>>, Vec<ColumnGuess>) = (Vec::new(), Vec::new());
    let mut by_name = HashMap::new();
    let mut left = ColumnGuess::ROWS;
    for row in corpus.rows() {
        let row = row?;
        let Ok(cells) = row.named_cells() else { continue };
        if left == 0 {
            break;
        }
        left -= 1;
        for (name, cell) in cells {
            let column = by_name.get(&*name).copied().unwrap_or_else(|| {
                let name: Arc<str> = name.into();
                names.push(Arc::clone(&name));
                guesses.push(ColumnGuess::default());
                by_name.insert(name, guesses.len() - 1);
                guesses.len() - 1
            });
            guesses[column].see(&cell);
            if &*names[column] == VECTOR
                && cell.starts_with('[')
                && !choices.iter().any(|of| of.name == VECTOR)
            {
                bail!(
                    "column {VECTOR:?}: expected no vectors in a table with --target, whose columns and vectors are not weighed \
                     against each other; --column {VECTOR}=skip leaves it out"
                );
            }
        }
    }
    ensure!(!names.is_empty(), "expected a table with a header row and rows below it, got none");
    if !by_name.contains_key(target) {
        bail!("--target: expected a column of the table, {}, got {target:?}", listed(&names));
    }
    let mut kinds: Vec<_> = guesses.iter().map(ColumnGuess::kind).collect();
    // new groups have other names, and rows to be labelled no weight: nothing can be learned from these columns
    for column in [corpus.group_column(), corpus.weight].into_iter().flatten() {
        by_name.get(column).into_iter().for_each(|column| kinds[*column] = None);
    }
    for (at, ColumnChoice { name, kind }) in choices.iter().enumerate() {
        if choices[..at].iter().any(|before| before.name == *name) {
            bail!("--column: expected each column once, got {name:?} twice");
        }
        match by_name.get(&**name) {
            Some(column) if name != target => kinds[*column] = *kind,
            _ => bail!("--column: expected a column other than the target, {}, got {name:?}", listed(&names)),
        }
    }
    let columns = || names.iter().zip(&kinds).filter(|(name, _)| ***name != *target);
    let shown = columns().map(|(name, kind)| match kind {
        Some(kind) => format!("{} {kind}", shown(name)),
        None => format!("{} skipped", shown(name)),
    });
    note!("columns: {}; --column NAME=KIND changes one", shown.collect::<Vec<_>>().join(", "));
    let column = |(name, kind): (&Arc<str>, &Option<ColumnKind>)| Some(Column::new(&**name, (*kind)?));
    let columns: Vec<_> = columns().filter_map(column).collect();
    if columns.is_empty() {
        bail!("expected a column to learn from other than the target {target:?}, got none");
    }
    Ok(columns)
}

/// Scores documents and counts the missing cells in rows of a table.
pub(crate) struct CorpusScorer<'a> {
    filter: &'a Filter,
    pub(crate) scratch: Scratch,
    missing: Vec<u64>,
}

impl<'a> CorpusScorer<'a> {
    pub(crate) fn new(filter: &'a Filter) -> Self {
        let n_columns = filter.information().recipe.columns.len();
        CorpusScorer { filter, scratch: Scratch::default(), missing: vec![0; n_columns] }
    }

    pub(crate) fn score(&mut self, document: Document<'_>) -> Result<Score> {
        let score = self.filter.score(document, &mut self.scratch)?;
        self.scratch.missing().iter().for_each(|column| self.missing[*column] += 1);
        Ok(score)
    }

    /// The number of missing cells in each column, over all scorers.
    pub(crate) fn missing(scorers: &[Self]) -> Vec<u64> {
        let n_columns = scorers.first().map_or(0, |scorer| scorer.missing.len());
        (0..n_columns).map(|column| scorers.iter().map(|scorer| scorer.missing[column]).sum()).collect()
    }
}

/// Prints the number of missing cells in each column: `missing values: 3 in miles, 1 in raining`.
pub(crate) fn say_missing(recipe: &Recipe, missing: &[u64]) {
    let columns = recipe.columns.iter().zip(missing).filter(|(_, missing)| **missing > 0);
    let shown: Vec<_> =
        columns.map(|(column, n)| format!("{} in {}", grouped(*n), shown(&column.name))).collect();
    if !shown.is_empty() {
        note!("missing values: {}", shown.join(", "));
    }
}
