//! The one-vs-rest columns of a model's classes.

use std::sync::Arc;

use crate::bayes::ParametersError;
use crate::counts::{Cell, ClassId, ClassTotals};
use crate::numbers::log_sum_exp;

/// The one-vs-rest columns of scores. A class is positive in some of them:
///
/// | classes | columns | a class is positive in |
/// | --- | --- | --- |
/// | two | one, that of the positive class | this one, or none |
/// | more | one per class | its own |
/// | sets of labels | one per label | those of its labels |
///
/// Columns of two classes and of labels are independent: each has a probability of its own. The probabilities of more
/// classes sum to 1 (softmax).
///
/// ```
/// use tamis_model::Columns;
///
/// let columns = Columns::of_sets(2, [vec![], vec![0], vec![0, 1]])?;
/// assert_eq!((columns.n_classes(), columns.len()), (3, 2));
/// assert_eq!(columns.positive_in(2).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), tamis_model::ParametersError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    n_classes: usize,
    positive: ClassId,
    sets: Option<Arc<Sets>>,
}

/// The labels of each class.
#[derive(Debug, PartialEq, Eq)]
struct Sets {
    n_labels: usize,
    labels: Vec<Vec<ClassId>>,
}

impl Columns {
    /// The columns of `n_classes` classes; `positive` matters only for two.
    ///
    /// # Errors
    /// No classes or too many; for two classes, a positive class that is neither.
    pub fn new(n_classes: usize, positive: ClassId) -> Result<Self, ParametersError> {
        match n_classes {
            0 => Err(ParametersError::NoClasses),
            2 if positive > 1 => Err(ParametersError::TwoClasses { expected: 2, got: n_classes, positive }),
            _ => Ok(Columns { n_classes, positive, sets: None }),
        }
    }

    /// The columns of `n_labels` labels, where each class is a set of them.
    ///
    /// # Errors
    /// No labels or no classes; a label that is not below `n_labels`.
    pub fn of_sets(
        n_labels: usize,
        sets: impl IntoIterator<Item = Vec<ClassId>>,
    ) -> Result<Self, ParametersError> {
        let mut labels: Vec<_> = sets.into_iter().collect();
        labels.iter_mut().for_each(|set| {
            set.sort_unstable();
            set.dedup();
        });
        if n_labels == 0 || labels.is_empty() {
            return Err(ParametersError::NoClasses);
        }
        match labels.iter().flatten().find(|label| usize::from(**label) >= n_labels) {
            Some(label) => Err(ParametersError::UnknownLabel { expected: n_labels, got: *label }),
            None => Ok(Columns {
                n_classes: labels.len(),
                positive: 0,
                sets: Some(Arc::new(Sets { n_labels, labels })),
            }),
        }
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The number of columns, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match &self.sets {
            Some(sets) => sets.n_labels,
            None if self.is_one() => 1,
            None => self.n_classes,
        }
    }

    /// Whether there are two classes, and so one column.
    pub fn is_one(&self) -> bool {
        self.n_classes == 2 && self.sets.is_none()
    }

    /// Whether each column has a probability of its own, so that those of several columns need not sum to 1.
    pub fn are_independent(&self) -> bool {
        self.is_one() || self.are_labels()
    }

    /// Whether classes are sets of labels.
    pub fn are_labels(&self) -> bool {
        self.sets.is_some()
    }

    /// The columns in which a class is positive, in increasing order.
    #[inline]
    pub fn positive_in(&self, class: ClassId) -> impl Iterator<Item = usize> + '_ {
        self.only(class).into_iter().chain(self.labels(class).iter().map(|label| usize::from(*label)))
    }

    /// Whether a class is positive in a column.
    #[inline]
    pub fn is_positive(&self, class: ClassId, column: usize) -> bool {
        match &self.sets {
            None if self.is_one() => class == self.positive,
            None => usize::from(class) == column,
            // labels are numbered by `ClassId`
            Some(_) => self.labels(class).binary_search(&(column as ClassId)).is_ok(),
        }
    }

    /// The only column in which a class is positive; `None` for the negative class of two, and for sets of labels.
    #[inline]
    pub fn only(&self, class: ClassId) -> Option<usize> {
        match &self.sets {
            None if self.is_one() => (class == self.positive).then_some(0),
            None => Some(usize::from(class)),
            Some(_) => None,
        }
    }

    /// The log-odds of each column, or of more than two classes what their softmax is, of these log-likelihoods of classes.
    /// None of none.
    pub fn log_odds(&self, of_classes: &[f64]) -> Vec<f64> {
        let side = |column: usize, is_positive: bool| {
            let is_of = |(class, _): &(ClassId, &f64)| self.is_positive(*class, column) == is_positive;
            log_sum_exp(&(0..).zip(of_classes).filter(is_of).map(|(_, log)| *log).collect::<Vec<_>>())
        };
        match of_classes.is_empty() || !self.are_independent() {
            true => of_classes.to_vec(),
            false => (0..self.len()).map(|column| side(column, true) - side(column, false)).collect(),
        }
    }

    /// The numbers of the columns.
    pub fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..=ClassId::MAX).take(self.len())
    }

    /// The totals of the positive documents of each column.
    pub fn totals(&self, of_classes: &[ClassTotals]) -> Vec<ClassTotals> {
        let mut totals = vec![ClassTotals::default(); self.len()];
        for (class, of_class) in (0..=ClassId::MAX).zip(of_classes) {
            for column in self.positive_in(class) {
                if let Some(total) = totals.get_mut(column) {
                    total.documents = total.documents.saturating_add(of_class.documents);
                    total.df = total.df.saturating_add(of_class.df);
                    total.tf = total.tf.saturating_add(of_class.tf);
                }
            }
        }
        totals
    }

    /// Calls `visit` with each column of a label that has cells, and with its summed document frequency.
    pub(crate) fn for_each_df(&self, cells: &[Cell], mut visit: impl FnMut(ClassId, u64)) {
        let labels = |cell: &Cell| self.labels(cell.class).iter().zip(std::iter::repeat(u64::from(cell.df)));
        let mut dfs: Vec<(ClassId, u64)> = cells.iter().flat_map(labels).map(|(l, df)| (*l, df)).collect();
        dfs.sort_unstable_by_key(|(label, _)| *label);
        for of_label in dfs.chunk_by(|a, b| a.0 == b.0) {
            visit(of_label[0].0, of_label.iter().map(|(_, df)| df).sum());
        }
    }

    /// The largest number of columns in which a class is positive.
    pub(crate) fn most_positive(&self) -> usize {
        self.sets.as_ref().map_or(1, |sets| sets.labels.iter().map(Vec::len).max().unwrap_or(0))
    }

    fn labels(&self, class: ClassId) -> &[ClassId] {
        let of_class = self.sets.as_ref().and_then(|sets| sets.labels.get(usize::from(class)));
        of_class.map_or(&[], Vec::as_slice)
    }

    /// The values of two classes, the positive one last. Only meaningful for two classes.
    pub(crate) fn order<T: Copy + Default>(&self, of_classes: &[T]) -> [T; 2] {
        let at = |class: usize| of_classes.get(class).copied().unwrap_or_default();
        let positive = usize::from(self.positive.min(1));
        [at(1 - positive), at(positive)]
    }
}
