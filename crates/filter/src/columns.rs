//! Columns of a table: what their cells mean, and the terms that stand for them.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::recipe::{Kind, Recipe};

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ColumnKind {
    /// A number, within a class normally distributed.
    Gaussian,
    /// One of several categories.
    Categorical,
    /// Yes or no, also written true or false, y or n, t or f, 1 or 0.
    Bernoulli,
    /// Words.
    Text,
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnKind::Gaussian => "gaussian",
            ColumnKind::Categorical => "categorical",
            ColumnKind::Bernoulli => "bernoulli",
            ColumnKind::Text => "text",
        })
    }
}

impl FromStr for ColumnKind {
    type Err = String;

    fn from_str(s: &str) -> std::result::Result<Self, String> {
        use ColumnKind::*;
        let known = [Gaussian, Categorical, Bernoulli, Text].into_iter().find(|kind| kind.to_string() == s);
        known.ok_or_else(|| format!("expected gaussian, categorical, bernoulli or text, got {s:?}"))
    }
}

/// A column that a model of a table learns from. What it reads is the field of that name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its name, 1 to 1,024 bytes; of all columns they must differ, also when `=` and `:` are read as `_`.
    pub name: String,
    /// What its cells are.
    pub kind: ColumnKind,
}

/// The most columns of a table.
const MOST: usize = 65_536;

/// The most bytes of a column's name, and of a category.
const LONGEST: usize = 1024;

/// The greatest magnitude of a number, so that its square is finite.
const GREATEST: f64 = 1e150;

/// Whether a cell is missing: empty but for white space, or `NA`, `N/A`, `NaN`, `null` or `?` in any case.
///
/// ```
/// assert!(tamis_filter::is_missing(" n/a ") && !tamis_filter::is_missing("0"));
/// ```
pub fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || ["na", "n/a", "nan", "null", "?"].iter().any(|known| cell.eq_ignore_ascii_case(known))
}

/// What a cell says of a yes-or-no column; `None` if neither.
///
/// ```
/// assert_eq!(tamis_filter::parse_flag("Yes"), Some(true));
/// assert_eq!(tamis_filter::parse_flag("0.0"), Some(false));
/// assert_eq!(tamis_filter::parse_flag("2"), None);
/// ```
pub fn parse_flag(cell: &str) -> Option<bool> {
    let cell = cell.trim();
    let is = |words: [&str; 4], number: f64| {
        words.iter().any(|word| cell.eq_ignore_ascii_case(word)) || cell.parse() == Ok(number)
    };
    match (is(["yes", "true", "y", "t"], 1.0), is(["no", "false", "n", "f"], 0.0)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

impl Column {
    /// The number in a cell.
    pub(crate) fn number(&self, cell: &str) -> Result<f64> {
        match cell.parse::<f64>() {
            // adding zero makes one number of both zeros
            Ok(number) if number.abs() <= GREATEST => Ok(number + 0.0),
            Ok(_) => Err(self.error("a number of magnitude at most 1e150", cell)),
            Err(_) => Err(self.error("a number", cell)),
        }
    }

    /// Writes the term that stands for a category, or for yes or no.
    pub(crate) fn write_term(&self, prefix: &str, cell: &str, term: &mut String) -> Result<()> {
        let value = match self.kind {
            ColumnKind::Bernoulli => match parse_flag(cell) {
                Some(true) => "yes",
                Some(false) => "no",
                None => return Err(self.error("yes or no, true or false, 1 or 0", cell)),
            },
            _ if cell.len() > LONGEST => {
                return Err(self.error("a category of at most 1024 bytes", cell));
            }
            _ => cell,
        };
        term.clear();
        term.extend([prefix, value]);
        Ok(())
    }

    fn error(&self, expected: &'static str, got: &str) -> Error {
        let shown: String = got.chars().take(40).collect();
        let got = if shown.len() < got.len() { format!("{shown}...") } else { shown };
        Error::Cell { column: self.name.clone(), expected, got }
    }
}

/// The columns of a recipe, found by name and by term.
#[derive(Default)]
pub(crate) struct Columns {
    by_name: HashMap<String, usize>,
    /// What begins the terms of each column: its name with `=` for one term a cell, with `:` for words.
    prefixes: Vec<String>,
    /// By prefix without that sign.
    by_term: HashMap<String, usize>,
}

impl Columns {
    /// Checks the columns of a recipe and puts them in the order of their names, so that no order of a table's
    /// columns leaves a trace in a model.
    pub(crate) fn new(recipe: &mut Recipe) -> Result<Self> {
        let fail = |expected: &str, got: String| Err(Error::Columns { expected: expected.into(), got });
        recipe.columns.sort_by(|a, b| a.name.cmp(&b.name));
        let n = recipe.columns.len();
        if n > MOST {
            return Err(Error::TooLarge { what: "columns", limit: MOST as u64, got: n as u64 });
        }
        match (recipe.kind, n) {
            (Kind::Table, 0) => return fail("at least one of a table", "none".to_owned()),
            (Kind::Mail | Kind::Text, 1..) => {
                return fail("none of mail and text", recipe.columns[0].name.clone());
            }
            _ => (),
        }
        let mut columns = Columns::default();
        for (i, Column { name, kind }) in recipe.columns.iter().enumerate() {
            if !(1..=LONGEST).contains(&name.len()) {
                return fail("a name of 1 to 1024 bytes", format!("{} bytes", name.len()));
            }
            let plain = name.replace(['=', ':'], "_");
            let sign = if *kind == ColumnKind::Text { ':' } else { '=' };
            columns.prefixes.push(format!("{plain}{sign}"));
            columns.by_name.insert(name.clone(), i);
            if let Some(other) = columns.by_term.insert(plain, i) {
                let got = format!("{:?} and {name:?}", recipe.columns[other].name);
                return fail("names that differ, also with _ for = and :", got);
            }
        }
        Ok(columns)
    }

    /// What begins the terms of a column.
    pub(crate) fn prefix(&self, column: usize) -> &str {
        &self.prefixes[column]
    }

    /// The column that a term is of.
    pub(crate) fn of_term(&self, term: &str) -> Option<usize> {
        let (plain, _) = term.split_once(['=', ':'])?;
        self.by_term.get(plain).copied()
    }

    /// The cell of each column, trimmed; `None` if it is missing. Fields of other names are passed over.
    pub(crate) fn cells<'a>(&self, fields: &[(&str, &'a str)]) -> Vec<Option<&'a str>> {
        let mut cells = vec![None; self.prefixes.len()];
        for (name, cell) in fields {
            if let Some(column) = self.by_name.get(*name).filter(|_| !is_missing(cell)) {
                cells[*column] = Some(cell.trim());
            }
        }
        cells
    }
}
