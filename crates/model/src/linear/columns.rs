//! The one-vs-rest columns of a model's classes.

use crate::bayes::ParametersError;
use crate::counts::ClassId;

/// The one-vs-rest columns of scores: one per class, or a single one (that of the positive class) for two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    n_classes: usize,
    positive: ClassId,
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
            _ => Ok(Columns { n_classes, positive }),
        }
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The number of columns, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        if self.is_one() { 1 } else { self.n_classes }
    }

    /// Whether there are two classes, and so one column.
    pub fn is_one(&self) -> bool {
        self.n_classes == 2
    }

    /// The column of a class; `None` for the negative class of two.
    #[inline]
    pub fn of(&self, class: ClassId) -> Option<usize> {
        if self.is_one() { (class == self.positive).then_some(0) } else { Some(usize::from(class)) }
    }

    /// The class of each column.
    pub fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        let first = if self.is_one() { self.positive } else { 0 };
        (first..=ClassId::MAX).take(self.len())
    }

    /// The values of two classes, the positive one last. Only meaningful for two classes.
    pub(crate) fn order<T: Copy + Default>(&self, of_classes: &[T]) -> [T; 2] {
        let at = |class: usize| of_classes.get(class).copied().unwrap_or_default();
        let positive = usize::from(self.positive.min(1));
        [at(1 - positive), at(positive)]
    }
}
