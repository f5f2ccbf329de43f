//! The columns of a recipe, found by name and by term.

use std::collections::HashMap;

use crate::config::column::{Column, ColumnKind, LONGEST, is_missing};
use crate::config::recipe::Recipe;
use crate::error::{Reason, Result};
use crate::kind::Kind;

/// Maximum number of columns.
const MOST: usize = 65_536;

/// The columns of a recipe, found by name and by term.
#[derive(Default)]
pub struct TableColumns {
    by_name: HashMap<String, usize>,
    /// The prefix of each column's terms: its name followed by `=` (one term per cell) or `:` (words).
    prefixes: Vec<String>,
    /// Column by prefix without its last character.
    by_term: HashMap<String, usize>,
}

impl TableColumns {
    /// Checks the columns of a recipe and sorts them by name, so that the model does not depend on their order in the
    /// table.
    pub fn new(recipe: &mut Recipe) -> Result<Self> {
        let fail =
            |expected: &str, got: String| Err(Reason::Columns { expected: expected.into(), got }.into());
        recipe.columns.sort_by(|a, b| a.name.cmp(&b.name));
        let n = recipe.columns.len();
        Reason::TooLarge { what: "columns", limit: MOST as u64, got: n as u64 }.unless(n <= MOST)?;
        match (recipe.kind, n) {
            (Kind::Table, 0) => return fail("at least one of a table", "none".to_owned()),
            (Kind::Mail | Kind::Text, 1..) => {
                return fail("none of mail and text", recipe.columns[0].name.clone());
            }
            _ => (),
        }
        let mut columns = TableColumns::default();
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

    /// The prefix of a column's terms.
    pub fn prefix(&self, column: usize) -> &str {
        &self.prefixes[column]
    }

    /// The column that a term belongs to.
    pub fn of_term(&self, term: &str) -> Option<usize> {
        let (plain, _) = term.split_once(['=', ':'])?;
        self.by_term.get(plain).copied()
    }

    /// The cell of each column, trimmed; `None` if missing. Other fields are ignored.
    ///
    /// # Errors
    /// If a column has two cells.
    pub fn cells<'a>(&self, fields: &[(&str, &'a str)]) -> Result<Vec<Option<&'a str>>> {
        let mut cells = vec![None; self.prefixes.len()];
        for (name, cell) in fields {
            let Some(column) = self.by_name.get(*name).filter(|_| !is_missing(cell)) else { continue };
            if cells[*column].replace(cell.trim()).is_some() {
                let got = format!("{name:?} twice in a row");
                return Err(Reason::Columns { expected: "each column once".into(), got }.into());
            }
        }
        Ok(cells)
    }
}
