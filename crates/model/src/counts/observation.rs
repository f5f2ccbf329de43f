//! Why a row of a table was refused.

use crate::counts::error::StatisticsError;

/// Why a row of a table could not be learned or forgotten. The statistics are then unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObservationError {
    /// A value that cannot be learned.
    Value {
        /// The feature, from 0; 0 if there is only one.
        feature: usize,
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// A weight that is negative or not finite.
    Weight {
        /// The weight.
        got: f64,
    },
    /// Forgetting what was never learned: more weight than was learned, or values that would make the variance
    /// negative.
    NotLearned {
        /// The feature, from 0; 0 if there is only one.
        feature: usize,
        /// The weight to forget, in documents.
        expected: f64,
        /// The weight learned.
        got: f64,
    },
    /// Forgetting an outcome (a category or term) that was never learned.
    Unseen {
        /// The feature, from 0.
        feature: usize,
        /// The outcome.
        got: u32,
    },
    /// A different number of features.
    Features {
        /// The number of features.
        expected: usize,
        /// The number of values given, or of features of the other statistics.
        got: usize,
    },
    /// A value of another kind than the feature.
    Kind {
        /// The feature, from 0.
        feature: usize,
        /// The kind of the feature.
        expected: &'static str,
        /// The kind of the value.
        got: &'static str,
    },
    /// Merging statistics whose features are of different kinds, or whose categories are declared differently.
    Schema,
    /// An error of the counts; an unknown class; a different number of classes.
    Counts(StatisticsError),
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

impl From<StatisticsError> for ObservationError {
    fn from(error: StatisticsError) -> Self {
        ObservationError::Counts(error)
    }
}

tamis_tokenizer::error_messages! {
    ObservationError {
        Value { feature, expected, got } => "feature {feature}: expected {expected}, got {got}";
        Weight { got } => "expected a finite weight of at least 0, got {got}";
        NotLearned { feature, expected, got } =>
            "not learned: expected values of feature {feature} with a weight of {expected} to forget, got \
             a weight of {got} of other values";
        Unseen { feature, got } =>
            "not learned: expected an outcome of feature {feature} that was seen, got {got}";
        Features { expected, got } => "expected {expected} features, got {got}";
        Kind { feature, expected, got } => "feature {feature}: expected a {expected}, got a {got}";
        Schema => "expected features of the same kinds, got others";
        Counts(error) => "{error}";
    }
}
