//! Bayes decisions: the class of least expected loss.

use serde::{Deserialize, Serialize};
use tamis_model::ClassId;

/// Costs of decisions: row `i`, column `j` is the cost of deciding for class `j` when the truth is class `i`.
///
/// The Bayes decision minimises the expected loss (Duda, Hart and Stork, "Pattern Classification", 2nd edition, 2001,
/// 2.2). It needs calibrated probabilities, which naive Bayes does not give.
///
/// Invariant: the matrix is square, with at least one class, and all costs are finite and at least 0.
///
/// ```
/// use tamis_textbook::CostMatrix;
///
/// // ham lost costs nine times what spam missed does
/// let costs = CostMatrix::new(vec![vec![0.0, 9.0], vec![1.0, 0.0]])?;
/// assert_eq!(costs.least_expected_loss(&[0.2, 0.8]), 0);
/// assert_eq!(costs.least_expected_loss(&[0.05, 0.95]), 1);
/// // the same by log-odds: spam from a probability of 0.9 on
/// assert_eq!(costs.log_odds_threshold(), Some(9f64.ln()));
/// # Ok::<(), tamis_textbook::CostError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>")]
pub struct CostMatrix(Vec<Vec<f64>>);

impl CostMatrix {
    /// A matrix of the costs: one row per true class, one column per decision, in class order.
    ///
    /// # Errors
    /// No rows; a matrix that is not square; a cost that is negative or not finite.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, CostError> {
        let expected = rows.len();
        if expected == 0 {
            return Err(CostError::NoClasses { expected: 1, got: 0 });
        }
        for (class, row) in rows.iter().enumerate() {
            if row.len() != expected {
                return Err(CostError::RowLength { class, expected, got: row.len() });
            }
            if let Some(&got) = row.iter().find(|cost| !(cost.is_finite() && **cost >= 0.0)) {
                return Err(CostError::Cost { class, expected: 0.0, got });
            }
        }
        Ok(CostMatrix(rows))
    }

    /// A matrix in which every error costs 1: the decision of least expected loss is then the most probable class.
    ///
    /// # Errors
    /// No classes.
    pub fn zero_one(n_classes: usize) -> Result<Self, CostError> {
        let row = |truth| (0..n_classes).map(|decision| f64::from(u8::from(decision != truth))).collect();
        CostMatrix::new((0..n_classes).map(row).collect())
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.0.len()
    }

    /// The expected loss of each decision in class order, given the probability of each class.
    ///
    /// Missing probabilities count as 0; extra ones are ignored.
    pub fn expected_losses(&self, probabilities: &[f64]) -> Vec<f64> {
        let mut losses = vec![0.0; self.n_classes()];
        for (costs, p) in self.0.iter().zip(probabilities) {
            for (loss, cost) in losses.iter_mut().zip(costs) {
                *loss += p * cost;
            }
        }
        losses
    }

    /// The decision of least expected loss; ties go to the lowest id.
    pub fn least_expected_loss(&self, probabilities: &[f64]) -> ClassId {
        let mut best = (0, f64::INFINITY);
        for (class, loss) in (0..=ClassId::MAX).zip(self.expected_losses(probabilities)) {
            if loss < best.1 {
                best = (class, loss);
            }
        }
        best.0
    }

    /// For two classes, 0 negative and 1 positive: the threshold on the log-odds (nats) of the positive class above
    /// which to decide for it, `ln((c_fp - c_tn) / (c_fn - c_tp))`.
    ///
    /// `None` for another number of classes, and if an error costs no more than a right decision, since no threshold
    /// exists then.
    pub fn log_odds_threshold(&self) -> Option<f64> {
        let [negative, positive] = self.0.as_slice() else { return None };
        let [tn, fp, false_neg, tp] = [negative[0], negative[1], positive[0], positive[1]];
        (fp > tn && false_neg > tp).then(|| (fp - tn).ln() - (false_neg - tp).ln())
    }
}

impl TryFrom<Vec<Vec<f64>>> for CostMatrix {
    type Error = CostError;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self, CostError> {
        CostMatrix::new(rows)
    }
}

/// Why costs were refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// No classes.
    #[error("costs: expected at least {expected} class, got {got}")]
    NoClasses {
        /// The smallest number allowed.
        expected: usize,
        /// The number of rows.
        got: usize,
    },
    /// A matrix that is not square.
    #[error("costs of class {class}: expected {expected}, one a class, got {got}")]
    RowLength {
        /// The row.
        class: usize,
        /// The number of rows.
        expected: usize,
        /// The length of the row.
        got: usize,
    },
    /// A cost that is negative or not finite.
    #[error("cost of class {class}: expected a finite number of at least {expected}, got {got}")]
    Cost {
        /// The row.
        class: usize,
        /// The smallest cost allowed.
        expected: f64,
        /// The cost.
        got: f64,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn costs_are_checked() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = CostMatrix::new(vec![vec![0.0, 1.0], vec![bad, 0.0]]).unwrap_err();
            assert!(matches!(error, CostError::Cost { class: 1, .. }), "{error}");
        }
        assert!(matches!(CostMatrix::new(vec![]), Err(CostError::NoClasses { .. })));
        assert!(CostMatrix::zero_one(0).is_err());
        let oblong = CostMatrix::new(vec![vec![0.0, 1.0], vec![1.0]]);
        assert_eq!(oblong, Err(CostError::RowLength { class: 1, expected: 2, got: 1 }));
        assert!(serde_json::from_str::<CostMatrix>("[[0, -1], [1, 0]]").is_err());
        let costs = CostMatrix::zero_one(3).unwrap();
        let json = serde_json::to_string(&costs).unwrap();
        assert_eq!(serde_json::from_str::<CostMatrix>(&json).unwrap(), costs);
    }

    #[test]
    fn probabilities_that_are_none_still_give_a_class() {
        let costs = CostMatrix::zero_one(3).unwrap();
        assert_eq!(costs.least_expected_loss(&[f64::NAN; 3]), 0);
        assert_eq!(costs.least_expected_loss(&[]), 0);
        assert_eq!(costs.least_expected_loss(&[0.0, 0.2, 0.7, 0.1]), 2);
        assert_eq!(costs.log_odds_threshold(), None);
    }

    #[test]
    fn no_threshold_where_errors_are_cheap() {
        for rows in [[[1.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]]] {
            let costs = CostMatrix::new(rows.map(|row| row.to_vec()).to_vec()).unwrap();
            assert_eq!(costs.log_odds_threshold(), None);
        }
    }

    proptest! {
        #[test]
        fn the_threshold_is_the_decision(right in [0.0..5.0, 0.0..5.0], wrong in [0.01..9.0, 0.01..9.0], log_odds in -9.0..9.0f64) {
            let [tn, tp]: [f64; 2] = right;
            let [fp, false_neg]: [f64; 2] = wrong;
            let costs = CostMatrix::new(vec![vec![tn, tn + fp], vec![tp + false_neg, tp]]).unwrap();
            let threshold = costs.log_odds_threshold().unwrap();
            prop_assume!((threshold - log_odds).abs() > 1e-9);
            let p = 1.0 / (1.0 + (-log_odds).exp());
            let decision = costs.least_expected_loss(&[1.0 - p, p]);
            prop_assert_eq!(decision == 1, log_odds > threshold);
        }

        #[test]
        fn zero_one_takes_the_most_probable(weights in proptest::collection::vec(0.0..1.0, 1..6)) {
            let sum: f64 = weights.iter().sum();
            prop_assume!(sum > 0.1);
            let p: Vec<f64> = weights.iter().map(|w: &f64| w / sum).collect();
            let costs = CostMatrix::zero_one(p.len()).unwrap();
            let got = usize::from(costs.least_expected_loss(&p));
            prop_assert!(p.iter().all(|q| *q <= p[got] + 1e-12));
        }

        #[test]
        fn no_decision_is_cheaper(
            (rows, p) in (1..5usize).prop_flat_map(|k| {
                let row = || proptest::collection::vec(0.0..9.0, k);
                (proptest::collection::vec(row(), k), row())
            })
        ) {
            let costs = CostMatrix::new(rows.clone()).unwrap();
            let loss = |j: usize| (0..p.len()).map(|i| p[i] * rows[i][j]).sum::<f64>();
            let best = loss(usize::from(costs.least_expected_loss(&p)));
            prop_assert!((0..p.len()).all(|j| best <= loss(j) + 1e-9));
        }
    }
}
