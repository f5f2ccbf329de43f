//! A column of a table: its kind, a guess of it, and the terms of its cells.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Reason, Result};

/// The kind of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ColumnKind {
    /// A number, normally distributed within a class.
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

/// A column that a model of a table learns from. Its cells are the fields of the same name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its name, 1 to 1,024 bytes. Names must be unique, even after `=` and `:` are replaced by `_`.
    pub name: String,
    /// The kind of its cells.
    pub kind: ColumnKind,
}

impl Column {
    /// Creates a column.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Column { name: name.into(), kind }
    }
}

/// Maximum length of a column's name and of a category, in bytes.
pub(crate) const LONGEST: usize = 1024;

/// The largest magnitude of a number, so that its square is finite.
const GREATEST: f64 = 1e150;

/// Whether a cell is missing: blank, `\N`, or `NA`, `N/A`, `NaN`, `null` or `?` in any case.
///
/// ```
/// assert!(tamis_train::is_missing(" n/a ") && !tamis_train::is_missing("0"));
/// ```
#[doc(hidden)]
pub fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty()
        || ["na", "n/a", "nan", "null", "?", "\\N"].iter().any(|known| cell.eq_ignore_ascii_case(known))
}

/// Parses a cell of a yes-or-no column; `None` if neither.
fn parse_flag(cell: &str) -> Option<bool> {
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
    /// Parses the number in a cell.
    pub fn number(&self, cell: &str) -> Result<f64> {
        match cell.parse::<f64>() {
            // adding zero turns -0 into 0
            Ok(number) if number.abs() <= GREATEST => Ok(number + 0.0),
            Ok(_) => Err(self.error("a number of magnitude at most 1e150", cell)),
            Err(_) => Err(self.error("a number", cell)),
        }
    }

    /// Writes the term of a category or flag to `term`.
    pub fn write_term(&self, prefix: &str, cell: &str, term: &mut String) -> Result<()> {
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
        Reason::Cell { column: self.name.clone(), expected, got }.into()
    }
}

/// With more rows than this, a column without repeated values is an identifier.
const FEW: u64 = 20;

/// Guesses the kind of a column from its cells.
///
/// ```
/// use tamis_train::options::{ColumnGuess, ColumnKind};
///
/// let guessed = |cells: &[&str]| {
///     let mut guess = ColumnGuess::default();
///     cells.iter().for_each(|cell| guess.see(cell));
///     guess.kind()
/// };
/// assert_eq!(guessed(&["1.5", "NA", "2"]), Some(ColumnKind::Gaussian));
/// assert_eq!(guessed(&["yes", "no"]), Some(ColumnKind::Bernoulli));
/// assert_eq!(guessed(&["07", "12"]), Some(ColumnKind::Categorical));
/// assert_eq!(guessed(&["", "?"]), None);
/// ```
#[derive(Default, Debug)]
pub struct ColumnGuess {
    present: u64,
    numbers: u64,
    flags: u64,
    words: u64,
    /// Numbers with leading zeros. These are codes, not quantities.
    codes: u64,
    /// Hashes of the values, until one repeats or contains a space.
    different: HashSet<u64>,
    common: bool,
}

impl ColumnGuess {
    /// Number of rows that the program and the Python package look at.
    pub const ROWS: usize = 100_000;

    /// Looks at a cell.
    pub fn see(&mut self, cell: &str) {
        if is_missing(cell) {
            return;
        }
        let cell = cell.trim();
        self.present += 1;
        // infinity counts as a number here, and is refused when the row is read
        let is_number = cell.parse::<f64>().is_ok();
        self.numbers += u64::from(is_number);
        let is_code =
            cell.len() > 1 && cell.starts_with('0') && cell.bytes().all(|byte| byte.is_ascii_digit());
        self.codes += u64::from(is_code);
        self.flags += u64::from(parse_flag(cell).is_some());
        let words = cell.split_whitespace().count() as u64;
        self.words += words;
        self.common |= words > 1;
        // numbers are not stored, since a column of numbers is never taken for an identifier
        if !is_number && !self.common {
            let mut hasher = DefaultHasher::new();
            cell.hash(&mut hasher);
            self.common = !self.different.insert(hasher.finish());
        }
        if self.common {
            self.different = HashSet::new();
        }
    }

    /// The kind, or `None` for a column without information: an empty one or an identifier.
    pub fn kind(&self) -> Option<ColumnKind> {
        match self {
            ColumnGuess { present: 0, .. } => None,
            ColumnGuess { present, flags, .. } if flags == present => Some(ColumnKind::Bernoulli),
            ColumnGuess { present, numbers, codes: 0, .. } if numbers == present => {
                Some(ColumnKind::Gaussian)
            }
            ColumnGuess { present, numbers, .. } if numbers == present => Some(ColumnKind::Categorical),
            ColumnGuess { present, words, .. } if *words > 3 * present => Some(ColumnKind::Text),
            ColumnGuess { present, common: false, .. } if *present > FEW => None,
            _ => Some(ColumnKind::Categorical),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_words_or_numbers() {
        assert_eq!(parse_flag("Yes"), Some(true));
        assert_eq!(parse_flag("0.0"), Some(false));
        assert_eq!(parse_flag("2"), None);
    }
}
