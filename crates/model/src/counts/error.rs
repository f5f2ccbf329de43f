//! Why statistics refused a change.

use tamis_tokenizer::TermId;

use crate::counts::cell::{Cell, ClassId};

/// Why statistics refused a change. They are unchanged then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// An unknown class.
    #[error("unknown class: expected an id below {expected}, got {got}")]
    UnknownClass {
        /// The number of classes: ids are below it.
        expected: usize,
        /// The id.
        got: ClassId,
    },
    /// Statistics with a different number of classes.
    #[error("the statistics differ: expected {expected} classes, got {got}")]
    Classes {
        /// Classes here.
        expected: usize,
        /// Classes of the other statistics.
        got: usize,
    },
    /// Overflow of a sum of coefficients.
    #[error("the correction overflows: expected sums of at most {expected}")]
    Coefficients {
        /// The largest sum that can be stored.
        expected: i64,
    },
    /// A map that does not cover the terms of the other statistics.
    #[error("the map is too short: expected {expected} terms, got {got}")]
    Map {
        /// Terms of the other statistics.
        expected: usize,
        /// Length of the map.
        got: usize,
    },
    /// Overflow of a cell.
    #[error("term {term} of class {class} overflows: expected at most {expected} occurrences, got {got}")]
    Overflow {
        /// The term.
        term: TermId,
        /// The class.
        class: ClassId,
        /// The largest count of a cell.
        expected: u32,
        /// The count needed.
        got: u64,
    },
    /// Forgetting what was not learned: the cell has fewer occurrences than are to be forgotten, or would become
    /// impossible (an occurrence without a document, or a document without an occurrence).
    #[error(
        "not learned: expected {expected} occurrences of term {term} to forget in class {class}, got {got} \
         that do not belong to such a document"
    )]
    Underflow {
        /// The term.
        term: TermId,
        /// The class.
        class: ClassId,
        /// Occurrences to forget.
        expected: u32,
        /// Occurrences learned.
        got: u32,
    },
    /// Forgetting more documents than the class has.
    #[error("not learned: expected {expected} documents to forget in class {class}, got {got}")]
    NoDocuments {
        /// The class.
        class: ClassId,
        /// Documents to forget.
        expected: u64,
        /// Documents learned.
        got: u64,
    },
    /// Forgetting the last document of a class would leave terms without a document.
    #[error("not learned: expected the last document of class {class} to leave {expected} terms, got {got}")]
    Remainder {
        /// The class.
        class: ClassId,
        /// What must be left: nothing.
        expected: u64,
        /// Distinct terms that would be left.
        got: u64,
    },
    /// Impossible counts: `1 <= df <= tf` or `df <= documents` does not hold.
    #[error(
        "impossible counts of term {term} in class {}: expected 1 <= df <= tf and df <= {expected}, got df \
         {}, tf {}",
        .got.class, .got.df, .got.tf
    )]
    Impossible {
        /// The term.
        term: TermId,
        /// The documents of the class.
        expected: u64,
        /// The cell.
        got: Cell,
    },
    /// More documents than a class can count.
    #[error("class {class} overflows: expected at most {expected} documents, got {got} more")]
    TooManyDocuments {
        /// The class.
        class: ClassId,
        /// The largest number of documents.
        expected: u64,
        /// Documents to add.
        got: u64,
    },
    /// More cells than can be addressed.
    #[error("too many counts: expected at most {expected} cells, got {got}")]
    Full {
        /// The largest number of cells.
        expected: u64,
        /// The number needed.
        got: u64,
    },
}

impl StatisticsError {
    /// Checks the number of classes.
    pub(crate) fn check_classes(expected: usize, got: usize) -> Result<(), StatisticsError> {
        if expected == got { Ok(()) } else { Err(StatisticsError::Classes { expected, got }) }
    }
}

/// Why a row of a table could not be learned or forgotten. The statistics are then unchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ObservationError {
    /// A value that cannot be learned.
    #[error("feature {feature}: expected {expected}, got {got}")]
    Value {
        /// The feature, from 0; 0 if there is only one.
        feature: usize,
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// A weight that is negative or not finite.
    #[error("expected a finite weight of at least 0, got {got}")]
    Weight {
        /// The weight.
        got: f64,
    },
    /// Forgetting what was never learned: more weight than was learned, or values that would make the variance
    /// negative.
    #[error(
        "not learned: expected values of feature {feature} with a weight of {expected} to forget, got a \
         weight of {got} of other values"
    )]
    NotLearned {
        /// The feature, from 0; 0 if there is only one.
        feature: usize,
        /// The weight to forget, in documents.
        expected: f64,
        /// The weight learned.
        got: f64,
    },
    /// Forgetting an outcome (a category or term) that was never learned.
    #[error("not learned: expected an outcome of feature {feature} that was seen, got {got}")]
    Unseen {
        /// The feature, from 0.
        feature: usize,
        /// The outcome.
        got: u32,
    },
    /// A different number of features.
    #[error("expected {expected} features, got {got}")]
    Features {
        /// The number of features.
        expected: usize,
        /// The number of values given, or of features of the other statistics.
        got: usize,
    },
    /// A value of another kind than the feature.
    #[error("feature {feature}: expected a {expected}, got a {got}")]
    Kind {
        /// The feature, from 0.
        feature: usize,
        /// The kind of the feature.
        expected: &'static str,
        /// The kind of the value.
        got: &'static str,
    },
    /// Merging statistics whose features are of different kinds, or whose categories are declared differently.
    #[error("expected features of the same kinds, got others")]
    Schema,
    /// An error of the counts; an unknown class; a different number of classes.
    #[error(transparent)]
    Counts(#[from] StatisticsError),
}

impl ObservationError {
    /// The same error for another feature.
    pub fn at(mut self, at: usize) -> Self {
        if let ObservationError::Value { feature, .. } | ObservationError::NotLearned { feature, .. } =
            &mut self
        {
            *feature = at;
        }
        self
    }

    /// Checks the number of features.
    ///
    /// # Errors
    /// The numbers differ.
    pub fn check_features(expected: usize, got: usize) -> Result<(), ObservationError> {
        if expected == got { Ok(()) } else { Err(ObservationError::Features { expected, got }) }
    }

    /// Checks that two statistics have the same numbers of classes and features.
    ///
    /// # Errors
    /// They do not.
    pub fn check_shape(expected: [usize; 2], got: [usize; 2]) -> Result<(), ObservationError> {
        StatisticsError::check_classes(expected[0], got[0])?;
        ObservationError::check_features(expected[1], got[1])
    }
}
