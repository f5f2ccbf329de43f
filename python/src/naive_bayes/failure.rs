//! Why a kernel failed.

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// What a kernel could not do.
pub(super) enum Failure {
    /// The arrays do not make sense.
    Input(String),
    /// The memory for so many values is not to be had.
    Memory(usize),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Input(text) => PyValueError::new_err(text),
            Failure::Memory(n) => {
                PyMemoryError::new_err(format!("expected memory for {n} float64, got none"))
            }
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;
