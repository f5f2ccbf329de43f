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
    /// The weights, in the order of the ids.
    pub fn weights(&self) -> &'a [f64] {
        self.weights
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
/// assert_eq!(weights.row().iter().collect::<Vec<_>>(), [(3, 2.0), (7, 1.5)]);
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

/// Why weights were refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A weight out of range, or 0 where zeros are not stored.
    #[error("term {id}: expected a weight above 0 and at most {expected:e}, got {got}")]
    Weight {
        /// The term.
        id: TermId,
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
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
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 2.0 * MAX_WEIGHT] {
            assert_eq!(WeightedVector::from_pairs([(1, bad), (1, 1.0)]).is_ok(), bad == 0.0, "{bad}");
        }
        assert!(WeightedVector::from_pairs([(2, MAX_WEIGHT), (2, MAX_WEIGHT)]).is_err());
        assert_eq!(WeightedVector::from_pairs([(2, 0.0)]), Ok(WeightedVector::default()));
        let error = WeightedVector::from_pairs([(2, 3.0), (2, -1.0)]).unwrap_err();
        assert_eq!(error.to_string(), "term 2: expected a weight above 0 and at most 1e100, got -1");
    }
}
