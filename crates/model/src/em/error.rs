//! Why expectation maximization failed, or expected statistics refused a change.

use crate::bayes::{Counting, ParametersError};
use crate::counts::StatisticsError;

/// Why expectation maximization failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EmError {
    /// A weight `lambda` of unlabelled documents that is out of its range.
    Lambda {
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
    /// A tolerance that is NaN or negative.
    Tolerance {
        /// The smallest tolerance allowed.
        expected: f64,
        /// The tolerance.
        got: f64,
    },
    /// No classes; a class prior that does not fit them; a likelihood that gives no probabilities of documents.
    Parameters(ParametersError),
    /// A document that cannot be counted, for example with an unknown label.
    Statistics(ExpectedError),
}

impl From<ParametersError> for EmError {
    fn from(error: ParametersError) -> Self {
        EmError::Parameters(error)
    }
}

impl From<ExpectedError> for EmError {
    fn from(error: ExpectedError) -> Self {
        EmError::Statistics(error)
    }
}

tamis_tokenizer::error_messages! {
    EmError {
        Lambda { expected, got } => "lambda: expected a number from 0 to {expected:e}, got {got}";
        Tolerance { expected, got } => "tolerance: expected a number not below {expected}, got {got}";
        Parameters(error) => "{error}";
        Statistics(error) => "{error}";
    }
}

/// Why expected statistics refused a change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExpectedError {
    /// An error that integer statistics have, too: an unknown class, a different number of classes, too many cells.
    Statistics(StatisticsError),
    /// A weight of a document that is out of its range.
    Weight {
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
    /// Not one probability per class.
    PosteriorLength {
        /// The number of classes.
        expected: usize,
        /// The number of probabilities.
        got: usize,
    },
    /// Class probabilities that are negative, NaN, or do not sum to 1.
    PosteriorSum {
        /// 1.
        expected: f64,
        /// The sum, or the value that is not a probability.
        got: f64,
    },
    /// Merging statistics with another [`Counting`].
    Counting {
        /// What the statistics count.
        expected: Counting,
        /// What the other statistics count.
        got: Counting,
    },
}

impl From<StatisticsError> for ExpectedError {
    fn from(error: StatisticsError) -> Self {
        ExpectedError::Statistics(error)
    }
}

tamis_tokenizer::error_messages! {
    ExpectedError {
        Statistics(error) => "{error}";
        Weight { expected, got } =>
            "weight of a document: expected a number from 0 to {expected:e}, got {got}";
        PosteriorLength { expected, got } => "posterior: expected {expected} probabilities, got {got}";
        PosteriorSum { expected, got } =>
            "posterior: expected probabilities with a sum of {expected}, got {got}";
        Counting { expected, got } => "expected statistics of {expected}, got those of {got}";
    }
}
