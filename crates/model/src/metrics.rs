//! Metrics of predictions: confusion matrix, ROC and ranking, calibration of probabilities, confidence intervals and
//! thresholds, bootstrap confidence intervals, a paired test, tests of two samples.

pub(crate) mod intervals;
mod scores;
mod significance;

pub use intervals::bootstrap_interval;
pub use scores::{
    RocPoint, average_precision, brier, caught_at_fpr, expected_calibration_error, lam_percent, log_loss,
    one_minus_roc_auc_percent, roc_auc, roc_curve,
};
pub use significance::{
    ChiSquare, Smirnov, chi_square_two_samples, mcnemar_exact, population_stability, signed_log_likelihood,
    smirnov_lower,
};

use std::collections::BTreeMap;

use crate::counts::ClassId;

/// A confusion matrix: documents by true and predicted class, undecided ones included.
///
/// An undecided ("unsure") document counts for its class but not as predicted for any: it lowers accuracy and recall
/// and is a miss, but not a false positive.
///
/// A share with denominator 0 is 0, as in scikit-learn with `zero_division=0`; the error rates are `None` then.
///
/// ```
/// use tamis_model::metrics::ConfusionMatrix;
///
/// let mut matrix = ConfusionMatrix::new(2);
/// for (truth, predicted) in [(0, Some(0)), (0, Some(1)), (1, Some(1)), (1, None)] {
///     matrix.record(truth, predicted);
/// }
/// assert_eq!(matrix.accuracy(), 0.5);
/// assert_eq!((matrix.precision(1), matrix.recall(1), matrix.unsure(1)), (0.5, 0.5, 1));
/// assert_eq!(matrix.false_positive_rate(1), Some(0.5));
/// assert_eq!(matrix.false_negative_rate(1), Some(0.5));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfusionMatrix {
    counts: BTreeMap<(ClassId, Option<ClassId>), u64>,
    /// For each class, the documents that it has, and those predicted for it.
    margins: Vec<[u64; 2]>,
}

impl ConfusionMatrix {
    /// An empty matrix of `n_classes` classes.
    pub fn new(n_classes: usize) -> Self {
        ConfusionMatrix { counts: BTreeMap::new(), margins: vec![[0; 2]; n_classes] }
    }

    /// Counts one document of the class `truth`; `predicted` is `None` if undecided. The matrix grows for a new class.
    pub fn record(&mut self, truth: ClassId, predicted: Option<ClassId>) {
        let n_seen = usize::from(predicted.map_or(truth, |p| p.max(truth))) + 1;
        self.margins.resize(self.margins.len().max(n_seen), [0; 2]);
        self.margins[usize::from(truth)][0] += 1;
        predicted.into_iter().for_each(|class| self.margins[usize::from(class)][1] += 1);
        *self.counts.entry((truth, predicted)).or_default() += 1;
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.margins.len()
    }

    /// The number of classes that neither a document nor a verdict has.
    pub fn n_absent(&self) -> usize {
        self.margins.iter().filter(|margin| **margin == [0; 2]).count()
    }

    /// The number of documents.
    pub fn total(&self) -> u64 {
        self.margins.iter().map(|[support, _]| support).sum()
    }

    /// The cells with documents, in class order: true class, predicted class (`None` if undecided) and number of
    /// documents.
    pub fn cells(&self) -> impl Iterator<Item = (ClassId, Option<ClassId>, u64)> {
        self.counts.iter().map(|(&(truth, predicted), &n)| (truth, predicted, n))
    }

    /// The [cells](Self::cells) of the class `truth`: predicted class and number of documents.
    pub fn row(&self, truth: ClassId) -> impl Iterator<Item = (Option<ClassId>, u64)> {
        let row = self.counts.range((truth, None)..=(truth, Some(ClassId::MAX)));
        row.map(|(&(_, predicted), &n)| (predicted, n))
    }

    /// Documents of the class `truth` predicted to be of the class `predicted`.
    pub fn get(&self, truth: ClassId, predicted: ClassId) -> u64 {
        self.counts.get(&(truth, Some(predicted))).copied().unwrap_or(0)
    }

    /// Undecided documents of the class.
    pub fn unsure(&self, truth: ClassId) -> u64 {
        self.counts.get(&(truth, None)).copied().unwrap_or(0)
    }

    /// Documents of the class, undecided ones included.
    pub fn support(&self, class: ClassId) -> u64 {
        self.margin(class)[0]
    }

    /// The share of documents predicted correctly; 0 without documents.
    pub fn accuracy(&self) -> f64 {
        share(self.cells().filter(|(t, p, _)| *p == Some(*t)).map(|(.., n)| n).sum(), self.total())
    }

    /// The share of the documents predicted for the class that belong to it; 0 if none was predicted.
    pub fn precision(&self, class: ClassId) -> f64 {
        share(self.get(class, class), self.margin(class)[1])
    }

    /// The share of the class's documents predicted for it; 0 if it has none.
    pub fn recall(&self, class: ClassId) -> f64 {
        share(self.get(class, class), self.support(class))
    }

    /// The harmonic mean of precision and recall, `2 tp / (predicted + support)`; 0 if the denominator is 0.
    pub fn f1(&self, class: ClassId) -> f64 {
        share(2 * self.get(class, class), self.margin(class).iter().sum())
    }

    /// The mean of [`f1`](Self::f1) over the classes that a document or a verdict has, as in scikit-learn; 0 without any.
    pub fn macro_f1(&self) -> f64 {
        let sum: f64 = (0..=ClassId::MAX).take(self.n_classes()).map(|class| self.f1(class)).sum();
        sum / (self.n_classes() - self.n_absent()).max(1) as f64
    }

    /// The share of the other classes' documents predicted for the `positive` class; `None` if there are none.
    pub fn false_positive_rate(&self, positive: ClassId) -> Option<f64> {
        let negatives = self.total() - self.support(positive);
        let wrong = self.margin(positive)[1] - self.get(positive, positive);
        (negatives > 0).then(|| share(wrong, negatives))
    }

    /// The share of the `positive` class's documents that were missed: predicted for another class or undecided. `None`
    /// if there are none.
    pub fn false_negative_rate(&self, positive: ClassId) -> Option<f64> {
        let positives = self.support(positive);
        (positives > 0).then(|| share(positives - self.get(positive, positive), positives))
    }

    fn margin(&self, class: ClassId) -> [u64; 2] {
        self.margins.get(usize::from(class)).copied().unwrap_or_default()
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_nothing() {
        let matrix = ConfusionMatrix::new(2);
        assert_eq!((matrix.accuracy(), matrix.precision(0), matrix.recall(0)), (0.0, 0.0, 0.0));
        assert_eq!((matrix.f1(0), matrix.macro_f1(), ConfusionMatrix::default().macro_f1()), (0.0, 0.0, 0.0));
        assert_eq!((matrix.false_positive_rate(0), matrix.false_negative_rate(0)), (None, None));
    }

    #[test]
    fn three_classes() {
        let mut matrix = ConfusionMatrix::new(3);
        let (truth, predicted) = ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]);
        truth.into_iter().zip(predicted).for_each(|(t, p)| matrix.record(t, Some(p)));
        assert_eq!(matrix.accuracy(), 4.0 / 6.0);
        assert_eq!(matrix.f1(0), 0.8);
        assert_eq!(matrix.f1(1), 2.0 / 3.0);
        assert_eq!(matrix.macro_f1(), (0.8 + 2.0 / 3.0) / 3.0);
        assert_eq!((matrix.support(0), matrix.get(2, 1), matrix.total()), (3, 1, 6));
        assert_eq!(matrix.cells().map(|(truth, p, n)| (truth, p.unwrap(), n)).last(), Some((2, 1, 1)));
        matrix.record(7, None);
        assert_eq!((matrix.n_classes(), matrix.unsure(7), matrix.support(7)), (8, 1, 1));
        // of the classes 0 to 2 and 7: a class that nothing has does not count
        assert_eq!((matrix.macro_f1(), matrix.n_absent()), ((0.8 + 2.0 / 3.0) / 4.0, 4));
    }
}
