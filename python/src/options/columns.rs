//! The columns of a table and their kinds: as they are given, by their type, or guessed as the program does.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::options::{Column, ColumnGuess, ColumnKind};
use tamis_train::{Kind, Recipe};

use crate::error::{Result, ensure};
use crate::input::decoding::{Decoding, Reading};
use crate::input::rows::DataFrame;
use crate::input::vectors::Embedded;
use crate::options::keywords::{Keywords, wrong};

/// Kinds of columns by their names, as Python gives them.
type Kinds = BTreeMap<String, String>;

/// The kind of a column without information.
const SKIP: &str = "skip";

/// The options for a table: with the kind of every column, and the column of the labels.
///
/// # Errors
/// `columns` has a kind that there is not or a column that the table does not have; a column cannot be read, or there is
/// none to learn from.
pub(crate) fn with_columns<'py>(
    table: &Bound<'py, PyAny>,
    labels: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    decoding: &Decoding,
) -> Result<Bound<'py, PyDict>> {
    let (table, keywords) = (&Embedded::bare(table)?, Keywords(options.copy()?));
    let chosen = keywords.take("columns")?.unwrap_or_default();
    let target = match keywords.take("target")? {
        Some(target) => Some(target),
        None => labels
            .getattr_opt("name")?
            .and_then(|name| name.extract().ok())
            .filter(|name: &String| !name.is_empty()),
    };
    keywords.0.set_item("columns", column_kinds(table, &chosen, target.as_deref(), decoding)?)?;
    keywords.0.set_item("target", target)?;
    Ok(keywords.0)
}

/// The kind of every column of a table, in its order.
fn column_kinds<'py>(
    table: &Bound<'py, PyAny>,
    chosen: &Kinds,
    target: Option<&str>,
    decoding: &Decoding,
) -> Result<Bound<'py, PyDict>> {
    let py = table.py();
    // pandas, polars; pyarrow
    let first = table
        .call_method1("head", (ColumnGuess::ROWS,))
        .or_else(|_| table.call_method1("slice", (0, ColumnGuess::ROWS)));
    let table = DataFrame::new(first.as_ref().unwrap_or(table))?;
    let names = || table.names().collect::<Vec<_>>().join(", ");
    if let Some(other) = chosen.keys().find(|name| !table.names().any(|known| known == *name)) {
        return Err(wrong("columns", format!("expected columns of the table, {}, got {other:?}", names())));
    }
    let reading = Reading::Cells(decoding.clone());
    let kinds = PyDict::new(py);
    let mut is_any_used = false;
    for name in table.names() {
        let kind = match chosen.get(name) {
            Some(kind) => parse(name, kind)?,
            None => guess(&table, name, &reading)?,
        };
        let text = format_args!("expected {name:?}, which names the labels, to be left out or \"skip\"");
        ensure(kind.is_none() || target != Some(name), format_args!("columns: {text}"))?;
        is_any_used |= kind.is_some();
        kinds.set_item(name, kind.map_or(SKIP.to_owned(), |kind| kind.to_string()))?;
    }
    let text = "columns: expected one to learn from, got none but skipped ones:";
    ensure(is_any_used, format_args!("{text} {}", names()))?;
    Ok(kinds)
}

fn guess(table: &DataFrame<'_>, name: &str, reading: &Reading) -> Result<Option<ColumnKind>> {
    if table.is_of_categories(name)? {
        return Ok(Some(ColumnKind::Categorical));
    }
    let cells = table.read(name, reading)?;
    let mut guess = ColumnGuess::default();
    for row in 0..cells.len().min(ColumnGuess::ROWS) {
        guess.see(cells.text(row)?);
    }
    Ok(guess.kind())
}

fn parse(name: &str, kind: &str) -> Result<Option<ColumnKind>> {
    if kind == SKIP {
        return Ok(None);
    }
    let unknown = || {
        let expected = "expected gaussian, categorical, bernoulli, text or skip";
        wrong("columns", format!("{name:?}: {expected}, got {kind:?}"))
    };
    kind.parse().map(Some).map_err(|_| unknown())
}

/// Sets the columns of a recipe, whose kinds are all given, and the column of the labels.
///
/// # Errors
/// It is not a recipe of a table, or a kind is wrong.
pub(super) fn set_columns(keywords: &Keywords<'_>, recipe: &mut Recipe) -> Result<()> {
    let columns: Option<Kinds> = keywords.take("columns")?;
    recipe.target = keywords.take("target")?;
    for (option, is_given) in [("columns", columns.is_some()), ("target", recipe.target.is_some())] {
        let text = format_args!("{option}: expected a table, got {}", recipe.kind);
        ensure(!is_given || recipe.kind == Kind::Table, text)?;
    }
    let kinds = columns.unwrap_or_default().into_iter().map(|(name, kind)| Ok((parse(&name, &kind)?, name)));
    let column = |(kind, name): (Option<ColumnKind>, String)| Some(Column::new(name, kind?));
    recipe.columns = kinds.collect::<Result<Vec<_>>>()?.into_iter().filter_map(column).collect();
    Ok(())
}

/// Checks that options of terms are given only for tables with a column of text.
pub(super) fn check_terms(recipe: &Recipe) -> Result<()> {
    let has_texts = recipe.columns.iter().any(|column| column.kind == ColumnKind::Text);
    let is_plain = recipe.tokenizer == Recipe::new(Kind::Table).tokenizer;
    let text = "options of terms, such as words: expected a column of text, got none";
    ensure(recipe.kind != Kind::Table || has_texts || is_plain, text)
}
