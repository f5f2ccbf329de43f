//! Errors of the library as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use tamis_filter::{Error, ErrorKind};

create_exception!(
    tamis,
    TamisError,
    PyValueError,
    "A document, a label, an option or a model is not what it should be. What the operating system refuses is an \
     OSError, such as FileNotFoundError."
);

/// Adds the exceptions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TamisError", module.py().get_type::<TamisError>())
}

/// The exception for an error of the library, with its text.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error.into_kind() {
        // Python picks the subclass by the number
        ErrorKind::Io { path, source } => match source.raw_os_error() {
            Some(number) => {
                let reason = source.to_string();
                let reason = reason.split(" (os error").next().unwrap_or(&reason).to_owned();
                PyOSError::new_err((number, reason, path))
            }
            None => PyOSError::new_err(text),
        },
        ErrorKind::NotAFile { .. } | ErrorKind::Changed { .. } => PyOSError::new_err(text),
        ErrorKind::Locked { .. } => PyTimeoutError::new_err(text),
        _ => TamisError::new_err(text),
    }
}

/// The exception for a row, counted from 0, that is not what it should be.
pub(crate) fn wrong_row(row: usize, what: impl std::fmt::Display) -> PyErr {
    TamisError::new_err(format!("row {row}: {what}"))
}
