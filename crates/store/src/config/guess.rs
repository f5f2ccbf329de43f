//! A guess of what a column of a table holds.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::config::column::{ColumnKind, is_missing, parse_flag};

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
