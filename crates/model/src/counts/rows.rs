//! Term weights of documents as vectors and matrices: real-valued counterparts of the tokenizer's count rows.

use tamis_tokenizer::{CountRow, TermId};

/// The largest weight of a term or document, so that sums stay finite.
pub(crate) const MAX_WEIGHT: f64 = 1e100;

/// The term weights of one document, borrowed.
///
/// Invariant: ids strictly increase, and each has one weight, greater than 0 and at most 1e100.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WeightedRow<'a> {
    ids: &'a [TermId],
    weights: &'a [f64],
}

impl<'a> WeightedRow<'a> {
    /// A row of the terms `ids` with their `weights`.
    ///
    /// # Errors
    /// Slices of different lengths; ids that are not strictly increasing; a weight out of its range.
    pub fn new(ids: &'a [TermId], weights: &'a [f64]) -> Result<Self, WeightsError> {
        if ids.len() != weights.len() {
            return Err(WeightsError::Lengths { expected: ids.len(), got: weights.len() });
        }
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(WeightsError::Order { expected: pair[0], got: pair[1] });
        }
        match ids.iter().zip(weights).find(|(_, weight)| !in_range(**weight)) {
            Some((&id, &got)) => Err(WeightsError::Weight { id, expected: MAX_WEIGHT, got }),
            None => Ok(WeightedRow { ids, weights }),
        }
    }

    /// The ids of the terms, strictly increasing.
    pub fn ids(&self) -> &'a [TermId] {
        self.ids
    }

    /// The weights, in the order of the ids.
    pub fn weights(&self) -> &'a [f64] {
        self.weights
    }

    /// The number of distinct terms.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The terms with their weights.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TermId, f64)> + use<'a> {
        self.ids.iter().copied().zip(self.weights.iter().copied())
    }
}

/// The term weights of one document, owned.
///
/// Invariant: as for [`WeightedRow`].
///
/// ```
/// use tamis_model::WeightedVector;
///
/// let weights = WeightedVector::from_pairs([(7, 0.5), (3, 2.0), (7, 1.0)])?;
/// assert_eq!(weights.row().ids(), [3, 7]);
/// assert_eq!(weights.row().weights(), [2.0, 1.5]);
/// # Ok::<(), tamis_model::WeightsError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WeightedVector {
    ids: Vec<TermId>,
    weights: Vec<f64>,
}

impl WeightedVector {
    /// A vector from weights in any order. Weights of the same id are added up, zeros left out.
    ///
    /// # Errors
    /// A weight, or a sum of weights, outside 0 to 1e100.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (TermId, f64)>) -> Result<Self, WeightsError> {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut vector = WeightedVector::default();
        for equal in pairs.chunk_by(|a, b| a.0 == b.0) {
            let id = equal[0].0;
            // a negative weight is an error even if the sum is positive
            let got = equal.iter().map(|&(_, w)| if w < 0.0 { f64::NAN } else { w }).sum();
            if in_range(got) {
                vector.push(id, got);
            } else if got != 0.0 {
                let got = equal.iter().map(|&(_, w)| w).find(|&w| w < 0.0).unwrap_or(got);
                return Err(WeightsError::Weight { id, expected: MAX_WEIGHT, got });
            }
        }
        Ok(vector)
    }

    /// The weights, borrowed.
    pub fn row(&self) -> WeightedRow<'_> {
        WeightedRow { ids: &self.ids, weights: &self.weights }
    }

    /// Replaces the weights, reusing memory, and leaves out those out of range. The ids of `pairs` must strictly
    /// increase.
    pub(crate) fn assign(&mut self, pairs: impl Iterator<Item = (TermId, f64)>) {
        self.ids.clear();
        self.weights.clear();
        pairs.filter(|&(_, weight)| in_range(weight)).for_each(|(id, weight)| self.push(id, weight));
    }

    /// Adds a term, whose id must be the highest so far.
    fn push(&mut self, id: TermId, weight: f64) {
        self.ids.push(id);
        self.weights.push(weight);
    }
}

/// Takes the occurrences of each term as its weight.
impl From<CountRow<'_>> for WeightedVector {
    fn from(row: CountRow<'_>) -> Self {
        let weights = row.counts().iter().map(|&count| f64::from(count)).collect();
        WeightedVector { ids: row.ids().to_vec(), weights }
    }
}

/// The term weights of many documents as a compressed sparse matrix (CSR), twelve bytes per weight.
///
/// Weights are `f64`: sums of whole numbers are exact, like integer counts, and other sums are accurate to 1e-12.
///
/// Invariant: every row satisfies that of [`WeightedRow`].
///
/// ```
/// use tamis_model::{WeightedMatrix, WeightedVector};
///
/// let mut matrix = WeightedMatrix::new();
/// matrix.push(WeightedVector::from_pairs([(0, 0.5), (3, 1.0)])?.row());
/// matrix.push(WeightedVector::default().row());
/// assert_eq!((matrix.n_rows(), matrix.n_nonzero()), (2, 2));
/// assert_eq!(matrix.row(0).map(|row| row.ids()), Some(&[0, 3][..]));
/// # Ok::<(), tamis_model::WeightsError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct WeightedMatrix {
    /// Row `i` is `indptr[i]..indptr[i + 1]` of `ids` and `weights`; `indptr[0]` is 0.
    indptr: Vec<usize>,
    ids: Vec<TermId>,
    weights: Vec<f64>,
}

/// [`WeightedMatrix::new`].
impl Default for WeightedMatrix {
    fn default() -> Self {
        Self::new()
    }
}

impl WeightedMatrix {
    /// Creates a matrix without rows.
    pub fn new() -> Self {
        WeightedMatrix { indptr: vec![0], ids: Vec::new(), weights: Vec::new() }
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: WeightedRow<'_>) {
        self.ids.extend_from_slice(row.ids);
        self.weights.extend_from_slice(row.weights);
        self.indptr.push(self.ids.len());
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// The number of weights in all rows.
    pub fn n_nonzero(&self) -> usize {
        self.ids.len()
    }

    /// Row `i`, from 0.
    pub fn row(&self, i: usize) -> Option<WeightedRow<'_>> {
        let bounds = self.indptr.get(i..)?.get(..2)?;
        Some(self.between(bounds))
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = WeightedRow<'_>> {
        self.indptr.windows(2).map(|bounds| self.between(bounds))
    }

    fn between(&self, bounds: &[usize]) -> WeightedRow<'_> {
        let row = bounds[0]..bounds[1];
        WeightedRow { ids: &self.ids[row.clone()], weights: &self.weights[row] }
    }
}

/// Why weights were refused.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum WeightsError {
    /// Different numbers of ids and weights.
    Lengths {
        /// The number of ids.
        expected: usize,
        /// The number of weights.
        got: usize,
    },
    /// Ids that are not strictly increasing.
    Order {
        /// The preceding id, which `got` must exceed.
        expected: TermId,
        /// The id after it.
        got: TermId,
    },
    /// A weight out of range, or 0 where zeros are not stored.
    Weight {
        /// The term.
        id: TermId,
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
}

tamis_tokenizer::error_messages! {
    WeightsError {
        Lengths { expected, got } => "expected as many weights as ids, {expected}, got {got}";
        Order { expected, got } => "term ids: expected one above {expected}, got {got}";
        Weight { id, expected, got } =>
            "term {id}: expected a weight above 0 and at most {expected:e}, got {got}";
    }
}

/// Written so that NaN fails.
fn in_range(weight: f64) -> bool {
    weight > 0.0 && weight <= MAX_WEIGHT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invariant_is_checked() {
        assert!(WeightedRow::new(&[1, 5], &[0.5, MAX_WEIGHT]).is_ok());
        assert_eq!(WeightedRow::new(&[1], &[]), Err(WeightsError::Lengths { expected: 1, got: 0 }));
        let order = Err(WeightsError::Order { expected: 3, got: 3 });
        assert_eq!(WeightedRow::new(&[3, 3], &[1.0, 1.0]), order);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 2.0 * MAX_WEIGHT] {
            assert!(
                matches!(WeightedRow::new(&[1], &[bad]), Err(WeightsError::Weight { id: 1, .. })),
                "{bad}"
            );
            assert_eq!(WeightedVector::from_pairs([(1, bad), (1, 1.0)]).is_ok(), bad == 0.0, "{bad}");
        }
        assert!(WeightedVector::from_pairs([(2, MAX_WEIGHT), (2, MAX_WEIGHT)]).is_err());
        assert_eq!(WeightedVector::from_pairs([(2, 0.0)]), Ok(WeightedVector::default()));
        let error = WeightedVector::from_pairs([(2, 3.0), (2, -1.0)]).unwrap_err();
        assert_eq!(error.to_string(), "term 2: expected a weight above 0 and at most 1e100, got -1");
    }

    #[test]
    fn rows_come_back() {
        let rows = [vec![(0, 1.0), (4, 0.25)], vec![], vec![(2, 3.0)]];
        let rows = rows.map(|row| WeightedVector::from_pairs(row).unwrap());
        let mut matrix = WeightedMatrix::default();
        rows.iter().for_each(|row| matrix.push(row.row()));
        assert!(matrix.rows().eq(rows.iter().map(WeightedVector::row)));
        assert_eq!(matrix.row(2), Some(rows[2].row()));
        assert_eq!((matrix.row(3), matrix.row(usize::MAX)), (None, None));
    }
}
