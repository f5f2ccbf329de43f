//! Why expectation maximization failed.

use crate::bayes::ParametersError;
use crate::em::expected_error::ExpectedError;

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
