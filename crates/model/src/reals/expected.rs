//! Expected counts: statistics of weighted documents that may belong to several classes in part.

use std::convert::Infallible;

use tamis_tokenizer::TermId;

use crate::bayes::{Counting, ParametersError};
use crate::counts::{
    CellArena, ClassCell, ClassId, ClassWeights, Classes, MAX_WEIGHT, StatisticsError, WeightedRow,
};

/// Posterior probabilities below this are set to 0.
const NEGLIGIBLE: f64 = 1e-10;

/// Expected counts: the counterpart of [`Statistics`](crate::Statistics) for weighted documents that may belong to
/// several classes in part. They hold the weight of the documents of each class, and of each term in each class.
///
/// Sums are `f64`, so order and sharding change results by at most 1e-12. There is no forgetting: subtracting from a
/// rounded sum does not restore the earlier one.
///
/// A document of weight 0 adds nothing, but its terms become known and thus features.
///
/// Takes eight bytes per term id up to the highest one seen, plus sixteen to thirty-two per term and class that has it.
///
/// ```
/// use tamis_model::{Counting, ExpectedStatistics, WeightedVector};
///
/// let document = WeightedVector::from_pairs([(7, 3.0)])?;
/// let mut statistics = ExpectedStatistics::new(2, Counting::Occurrences);
/// statistics.observe(1, document.row(), 0.5)?;
/// statistics.observe(0, document.row(), 0.25)?;
/// assert_eq!(statistics.class_weights(), [0.25, 0.5]);
/// assert_eq!(statistics.weights(7).collect::<Vec<_>>(), [(0, 0.75), (1, 1.5)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExpectedStatistics {
    counting: Counting,
    class_weights: Vec<f64>,
    totals: Vec<f64>,
    cells: CellArena<Share>,
}

/// The weight of a term in a class.
#[derive(Clone, Copy, Debug)]
struct Share {
    class: ClassId,
    weight: f64,
}

impl ClassCell for Share {
    fn class(&self) -> ClassId {
        self.class
    }

    fn plus(self, _: TermId, other: Share) -> Result<Share, StatisticsError> {
        Ok(Share { weight: self.weight + other.weight, ..self })
    }
}

impl ExpectedStatistics {
    /// Empty statistics of `n_classes` classes (at most [`Classes::MAX`]). With [`Counting::Presence`], which Bernoulli
    /// needs, each term of a document weighs 1, whatever its weight in the row.
    pub fn new(n_classes: usize, counting: Counting) -> Self {
        let zeros = vec![0.0; n_classes.min(Classes::MAX)];
        ExpectedStatistics {
            counting,
            class_weights: zeros.clone(),
            totals: zeros,
            cells: CellArena::default(),
        }
    }

    /// Learns a document that counts as `weight` documents (0 to 1e100) of one class.
    ///
    /// # Errors
    /// An unknown class, or a weight out of its range: nothing changes then. More than `u32::MAX` cells: the document
    /// stays partly added.
    pub fn observe(
        &mut self,
        class: ClassId,
        row: WeightedRow<'_>,
        weight: f64,
    ) -> Result<(), ExpectedError> {
        let expected = self.class_weights.len();
        if usize::from(class) >= expected {
            return Err(StatisticsError::UnknownClass { expected, got: class }.into());
        }
        self.observe_classes(&[(class, 1.0)], row, weight)
    }

    /// Learns a document that belongs to several known classes, each with its share of the weight.
    pub(crate) fn observe_classes(
        &mut self,
        parts: &[(ClassId, f64)],
        row: WeightedRow<'_>,
        weight: f64,
    ) -> Result<(), ExpectedError> {
        if !(0.0..=MAX_WEIGHT).contains(&weight) {
            return Err(ExpectedError::Weight { expected: MAX_WEIGHT, got: weight });
        }
        let amount = |w: f64| if self.counting == Counting::Presence { 1.0 } else { w };
        let total: f64 = row.weights().iter().copied().map(amount).sum();
        for &(class, part) in parts {
            self.class_weights[usize::from(class)] += weight * part;
            self.totals[usize::from(class)] += weight * part * total;
        }
        for (term, w) in row.iter() {
            for &(class, part) in parts {
                self.cells.add(term, Share { class, weight: weight * part * amount(w) })?;
            }
        }
        Ok(())
    }

    /// Adds other statistics over the same terms and classes.
    ///
    /// # Errors
    /// A different number of classes or another [`Counting`]: nothing changes then. More than `u32::MAX` cells: the
    /// other statistics stay partly added.
    pub fn merge(&mut self, other: &ExpectedStatistics) -> Result<(), ExpectedError> {
        StatisticsError::check_classes(self.n_classes(), other.n_classes())?;
        if self.counting != other.counting {
            return Err(ExpectedError::Counting { expected: self.counting, got: other.counting });
        }
        let add = |here: &mut [f64], there: &[f64]| here.iter_mut().zip(there).for_each(|(a, b)| *a += b);
        add(&mut self.class_weights, &other.class_weights);
        add(&mut self.totals, &other.totals);
        for term in term_ids(other) {
            for &share in other.cells.get(term) {
                self.cells.add(term, share)?;
            }
        }
        Ok(())
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.class_weights.len()
    }

    /// The summed weight of the documents of each class, in class order.
    pub fn class_weights(&self) -> &[f64] {
        &self.class_weights
    }

    /// The term weights of each class, summed over all terms, in class order.
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// Whether occurrences or presence are counted.
    pub fn counting(&self) -> Counting {
        self.counting
    }

    /// The classes that have a term, with its weight in each, in increasing class order; none for an unknown term.
    pub fn weights(&self, term: TermId) -> impl Iterator<Item = (ClassId, f64)> + '_ {
        self.cells.get(term).iter().map(|share| (share.class, share.weight))
    }
}

impl ClassWeights for ExpectedStatistics {
    type Error = Infallible;

    /// A term that is visited at least once is known and thus a feature, even if its weights are 0.
    fn for_each_weight(&self, term: TermId, mut visit: impl FnMut(ClassId, f64)) -> Result<(), Infallible> {
        self.weights(term).for_each(|(class, weight)| visit(class, weight));
        Ok(())
    }
}

/// All term ids of `weights`, in order.
pub(crate) fn term_ids(weights: &ExpectedStatistics) -> impl Iterator<Item = TermId> + use<> {
    (0..=TermId::MAX).take(weights.cells.n_terms())
}

/// The classes of non-negligible probability, with probabilities rescaled to sum to 1.
pub(crate) fn probable(posterior: &[f64]) -> Vec<(ClassId, f64)> {
    let kept = || (0..).zip(posterior.iter().copied()).filter(|&(_, p)| p >= NEGLIGIBLE);
    let sum: f64 = kept().map(|(_, p)| p).sum();
    kept().map(|(class, p)| (class, p / sum)).collect()
}

/// Why expectation maximization failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmError {
    /// A weight `lambda` of unlabelled documents that is out of its range.
    #[error("lambda: expected a number from 0 to {expected:e}, got {got}")]
    Lambda {
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
    /// A tolerance that is NaN or negative.
    #[error("tolerance: expected a number not below {expected}, got {got}")]
    Tolerance {
        /// The smallest tolerance allowed.
        expected: f64,
        /// The tolerance.
        got: f64,
    },
    /// No classes; a class prior that does not fit them; a likelihood that gives no probabilities of documents.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// A document that cannot be counted, for example with an unknown label.
    #[error(transparent)]
    Statistics(#[from] ExpectedError),
}

/// Why expected statistics refused a change.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpectedError {
    /// An error that integer statistics have, too: an unknown class, a different number of classes, too many cells.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// A weight of a document that is out of its range.
    #[error("weight of a document: expected a number from 0 to {expected:e}, got {got}")]
    Weight {
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
    /// Merging statistics with another [`Counting`].
    #[error("expected statistics of {expected}, got those of {got}")]
    Counting {
        /// What the statistics count.
        expected: Counting,
        /// What the other statistics count.
        got: Counting,
    },
}
