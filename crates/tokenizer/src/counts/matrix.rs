//! The term counts of many documents, as a sparse matrix (CSR).

use crate::counts::table::TermId;
use crate::counts::vector::CountRow;

/// The term counts of many documents, as compressed sparse rows (CSR).
///
/// Invariant: every row satisfies the invariant of [`CountRow`].
///
/// ```
/// use tamis_tokenizer::{CountMatrix, CountVector};
///
/// let mut matrix = CountMatrix::new();
/// matrix.push(CountVector::from_pairs([(0, 2), (3, 1)])?.row());
/// matrix.push(CountVector::default().row());
/// assert_eq!((matrix.n_rows(), matrix.n_nonzero()), (2, 2));
/// assert_eq!(matrix.row(0).map(|row| row.total()), Some(3));
/// # Ok::<(), tamis_tokenizer::CountError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountMatrix {
    /// Row `i` is `indptr[i]..indptr[i + 1]` of `ids` and `counts`; the first is 0.
    indptr: Vec<usize>,
    ids: Vec<TermId>,
    counts: Vec<u32>,
}

/// [`CountMatrix::new`].
impl Default for CountMatrix {
    fn default() -> Self {
        Self::new()
    }
}

impl CountMatrix {
    /// Creates a matrix without rows.
    pub fn new() -> Self {
        CountMatrix { indptr: vec![0], ids: Vec::new(), counts: Vec::new() }
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: CountRow<'_>) {
        self.ids.extend_from_slice(row.ids());
        self.counts.extend_from_slice(row.counts());
        self.indptr.push(self.ids.len());
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// The number of non-zero counts in all rows.
    pub fn n_nonzero(&self) -> usize {
        self.ids.len()
    }

    /// Row `i`, from 0.
    pub fn row(&self, i: usize) -> Option<CountRow<'_>> {
        let bounds = self.indptr.get(i..)?.get(..2)?;
        Some(self.between(bounds))
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = CountRow<'_>> {
        self.indptr.windows(2).map(|bounds| self.between(bounds))
    }

    fn between(&self, bounds: &[usize]) -> CountRow<'_> {
        let row = bounds[0]..bounds[1];
        CountRow::trusted(&self.ids[row.clone()], &self.counts[row])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::vector::CountVector;
    use proptest::prelude::*;

    #[test]
    fn rows_out_of_range() {
        assert_eq!(CountMatrix::new().row(0), None);
        assert_eq!(CountMatrix::new().row(usize::MAX), None);
        assert_eq!(CountMatrix::default().rows().len(), 0);
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec(prop::collection::vec((0..9_u32, 0..4_u32), 0..9), 0..9)) {
            let rows: Vec<_> = rows.into_iter().map(|row| CountVector::from_pairs(row).unwrap()).collect();
            let mut matrix = CountMatrix::new();
            rows.iter().for_each(|row| matrix.push(row.row()));
            prop_assert_eq!(matrix.rows().len(), rows.len());
            prop_assert!(matrix.rows().eq(rows.iter().map(CountVector::row)));
            prop_assert!((0..rows.len()).all(|i| matrix.row(i) == Some(rows[i].row())));
            prop_assert_eq!(matrix.row(rows.len()), None);
        }
    }
}
