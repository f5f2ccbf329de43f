//! Rows of a CSR matrix, whose arrays may hold anything.

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// An integer of an index array.
pub(super) trait Index: Copy + Sync + TryInto<usize> {
    /// As an index in memory; `usize::MAX` stands for negative numbers.
    #[inline]
    fn place(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

impl Index for i32 {}
impl Index for i64 {}

/// Where rows end, from scipy's `indptr`: it begins with 0 and never decreases.
pub(super) fn ends<I: Index>(indptr: &[I]) -> PyResult<Vec<usize>> {
    let mut ends = Vec::new();
    let n = indptr.len();
    ends.try_reserve_exact(n)
        .map_err(|_| PyMemoryError::new_err(format!("expected memory for {n} float64, got none")))?;
    let mut last = 0;
    for (row, end) in indptr.iter().map(|i| i.place()).enumerate() {
        if end < last || end == usize::MAX || (row == 0 && end != 0) {
            let expected = if row == 0 { "0".to_owned() } else { format!("at least {last}") };
            let got = if end == usize::MAX { "a negative number".to_owned() } else { end.to_string() };
            return Err(PyValueError::new_err(format!("indptr[{row}]: expected {expected}, got {got}")));
        }
        ends.push(end);
        last = end;
    }
    Ok(ends)
}

/// The features of a row, and their values.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a, I, V> {
    pub(super) indices: &'a [I],
    pub(super) values: &'a [V],
}

/// Rows of entries: the features of row `i` are `indices[ends[i]..ends[i + 1]]`, their values `values` at the same
/// indices.
pub(super) struct Rows<'a, I, V> {
    ends: &'a [usize],
    indices: &'a [I],
    values: &'a [V],
    n_features: usize,
}

impl<'a, I: Index, V: Copy + Into<f64>> Rows<'a, I, V> {
    /// Fails if a row would lie outside the arrays. The features are not checked here.
    pub(super) fn new(
        ends: &'a [usize],
        indices: &'a [I],
        values: &'a [V],
        n_features: usize,
    ) -> PyResult<Self> {
        let Some(&n_entries) = ends.last() else {
            return Err(PyValueError::new_err("expected an indptr of at least one number, got none"));
        };
        for (name, len) in [("indices", indices.len()), ("data", values.len())] {
            if len < n_entries {
                return Err(PyValueError::new_err(format!(
                    "expected {n_entries} {name}, as indptr says, got {len}"
                )));
            }
        }
        Ok(Self { ends, indices, values, n_features })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Number of columns.
    #[inline]
    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    /// The entries of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entries<'a, I, V>> {
        self.ends.windows(2).map(|ends| {
            let (first, end) = (ends[0], ends[1]);
            Entries { indices: &self.indices[first..end], values: &self.values[first..end] }
        })
    }

    /// The error for a feature out of range.
    pub(super) fn no_feature(&self, row: usize, feature: usize) -> PyErr {
        let got = if feature == usize::MAX { "a negative one".to_owned() } else { feature.to_string() };
        PyValueError::new_err(format!("row {row}: expected a column below {}, got {got}", self.n_features))
    }
}
