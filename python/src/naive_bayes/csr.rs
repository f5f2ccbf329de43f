//! Rows of a CSR matrix whose arrays anybody may have made.

use super::failure::{Failure, Result};

/// An integer of an index array.
pub(super) trait Index: Copy + Sync {
    /// As a place in memory; none has `usize::MAX`, which stands for a negative one.
    fn place(self) -> usize;
}

impl Index for i32 {
    #[inline]
    fn place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

impl Index for i64 {
    #[inline]
    fn place(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

/// Where rows end, from scipy's `indptr`: it begins with 0 and never falls.
pub(super) fn ends<I: Index>(indptr: &[I]) -> Result<Vec<usize>> {
    let mut ends = Vec::new();
    ends.try_reserve_exact(indptr.len()).map_err(|_| Failure::Memory(indptr.len()))?;
    let mut last = 0;
    for (row, end) in indptr.iter().map(|i| i.place()).enumerate() {
        if end < last || end == usize::MAX || (row == 0 && end != 0) {
            let expected = if row == 0 { "0".to_owned() } else { format!("at least {last}") };
            let got = if end == usize::MAX { "a negative number".to_owned() } else { end.to_string() };
            return Err(Failure::Input(format!("indptr[{row}]: expected {expected}, got {got}")));
        }
        ends.push(end);
        last = end;
    }
    Ok(ends)
}

/// Rows of entries: the features of row `i` are `indices[ends[i]..ends[i + 1]]`, their values lie at the same
/// places.
pub(super) struct Rows<'a, I, V> {
    ends: &'a [usize],
    indices: &'a [I],
    values: &'a [V],
    n_features: usize,
}

impl<'a, I: Index, V: Copy + Into<f64>> Rows<'a, I, V> {
    /// Fails if a row would lie outside the arrays. Features are looked at where they are used.
    pub(super) fn new(
        ends: &'a [usize],
        indices: &'a [I],
        values: &'a [V],
        n_features: usize,
    ) -> Result<Self> {
        let Some(&n_entries) = ends.last() else {
            return Err(Failure::Input("expected an indptr of at least one number, got none".to_owned()));
        };
        for (name, len) in [("indices", indices.len()), ("data", values.len())] {
            if len < n_entries {
                return Err(Failure::Input(format!(
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

    /// The features and values of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a [I], &'a [V])> {
        self.ends.windows(2).map(|ends| (&self.indices[ends[0]..ends[1]], &self.values[ends[0]..ends[1]]))
    }

    /// The error for a feature that is not there.
    pub(super) fn no_feature(&self, row: usize, feature: usize) -> Failure {
        let got = if feature == usize::MAX { "a negative one".to_owned() } else { feature.to_string() };
        Failure::Input(format!("row {row}: expected a column below {}, got {got}", self.n_features))
    }
}
