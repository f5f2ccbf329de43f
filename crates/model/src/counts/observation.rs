use std::fmt;

use crate::counts::statistics::error::StatisticsError;

/// Why a row of a table was refused, learned or forgotten. What has learned is then as it was before.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObservationError {
    /// A value that cannot be learned.
    Value {
        /// The feature, from 0; 0 where there is but one.
        feature: usize,
        /// What it may be.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// A weight that is no finite number of at least 0.
    Weight {
        /// The weight.
        got: f64,
    },
    /// Forgetting what was not learned: more than there is, or values that differ more from those learned
    /// than those differ from each other.
    NotLearned {
        /// The feature, from 0; 0 where there is but one.
        feature: usize,
        /// The weight (documents) to forget.
        expected: f64,
        /// The weight learned.
        got: f64,
    },
    /// Forgetting an outcome, a category or term, that was never learned.
    Unseen {
        /// The feature, from 0.
        feature: usize,
        /// The outcome.
        got: u32,
    },
    /// Another number of features.
    Features {
        /// The number of features.
        expected: usize,
        /// The number of values given, or of features of the other.
        got: usize,
    },
    /// A value of another kind than the feature's.
    Kind {
        /// The feature, from 0.
        feature: usize,
        /// The kind of the feature.
        expected: &'static str,
        /// The kind of the value.
        got: &'static str,
    },
    /// Features of different kinds, or categories declared differently, cannot be merged.
    Schema,
    /// The counts refused it; also for an unknown class and another number of classes.
    Counts(StatisticsError),
}

impl ObservationError {
    /// The same, of this feature.
    pub(crate) fn at(mut self, at: usize) -> Self {
        if let ObservationError::Value { feature, .. } | ObservationError::NotLearned { feature, .. } =
            &mut self
        {
            *feature = at;
        }
        self
    }
}

impl ObservationError {
    /// Whether statistics have as many classes and features as others, here first; else the first difference.
    pub(crate) fn check_shape(
        classes: (usize, usize),
        features: (usize, usize),
    ) -> Result<(), ObservationError> {
        match (classes, features) {
            ((expected, got), _) if expected != got => Err(StatisticsError::Classes { expected, got }.into()),
            (_, (expected, got)) if expected != got => Err(ObservationError::Features { expected, got }),
            _ => Ok(()),
        }
    }
}

impl From<StatisticsError> for ObservationError {
    fn from(error: StatisticsError) -> Self {
        ObservationError::Counts(error)
    }
}

impl fmt::Display for ObservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ObservationError::*;
        match self {
            Value { feature, expected, got } => {
                write!(f, "feature {feature}: expected {expected}, got {got}")
            }
            Weight { got } => write!(f, "expected a finite weight of at least 0, got {got}"),
            NotLearned { feature, expected, got } => write!(
                f,
                "not learned: expected values of feature {feature} with a weight of {expected} to forget, \
                 got a weight of {got} of other values"
            ),
            Unseen { feature, got } => {
                write!(f, "not learned: expected an outcome of feature {feature} that was seen, got {got}")
            }
            Features { expected, got } => write!(f, "expected {expected} features, got {got}"),
            Kind { feature, expected, got } => {
                write!(f, "feature {feature}: expected a {expected}, got a {got}")
            }
            Schema => write!(f, "expected features of the same kinds, got others"),
            Counts(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ObservationError {}
