use std::fmt;

use crate::bayes::likelihood::Counting;
use crate::counts::statistics::error::StatisticsError;

/// Why expected statistics refused a change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExpectedError {
    /// As of integer statistics: an unknown class, another number of classes, more cells than there can be.
    Statistics(StatisticsError),
    /// The weight of a document that is no number from 0 to the largest.
    Weight {
        /// The largest weight.
        expected: f64,
        /// The weight.
        got: f64,
    },
    /// Not one probability a class.
    PosteriorLength {
        /// The number of classes.
        expected: usize,
        /// The number of probabilities.
        got: usize,
    },
    /// Probabilities of the classes that are negative or no numbers, or do not add up to 1.
    PosteriorSum {
        /// 1.
        expected: f64,
        /// The sum, or the value that is no probability.
        got: f64,
    },
    /// Statistics that count something else.
    Counting {
        /// What these count.
        expected: Counting,
        /// What the others count.
        got: Counting,
    },
}

impl From<StatisticsError> for ExpectedError {
    fn from(error: StatisticsError) -> Self {
        ExpectedError::Statistics(error)
    }
}

impl fmt::Display for ExpectedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpectedError::Statistics(error) => error.fmt(f),
            ExpectedError::Weight { expected, got } => {
                write!(f, "weight of a document: expected a number from 0 to {expected:e}, got {got}")
            }
            ExpectedError::PosteriorLength { expected, got } => {
                write!(f, "posterior: expected {expected} probabilities, got {got}")
            }
            ExpectedError::PosteriorSum { expected, got } => {
                write!(f, "posterior: expected probabilities with a sum of {expected}, got {got}")
            }
            ExpectedError::Counting { expected, got } => {
                write!(f, "expected statistics of {expected}, got those of {got}")
            }
        }
    }
}

impl std::error::Error for ExpectedError {}
