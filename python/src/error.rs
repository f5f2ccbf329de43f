//! Errors of the library as Python's exceptions.

use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuildError;
use tamis_train::{Error, ErrorKind};

create_exception!(
    tamis,
    TamisError,
    PyValueError,
    "A document, a label, an option or a model is not what it should be. What the operating system refuses is an \
     OSError, such as FileNotFoundError."
);

/// An exception, also from errors of the library.
pub(crate) struct Failure(PyErr);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl From<PyErr> for Failure {
    fn from(exception: PyErr) -> Self {
        Failure(exception)
    }
}

impl From<ThreadPoolBuildError> for Failure {
    fn from(error: ThreadPoolBuildError) -> Self {
        Failure(PyRuntimeError::new_err(error.to_string()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let of_system =
            error.io_error().and_then(|source| Some((source.raw_os_error()?, source.to_string())));
        Failure(match (error.kind(), of_system) {
            // Python picks the subclass by the number
            (ErrorKind::Io, Some((number, reason))) => {
                let reason = reason.split(" (os error").next().unwrap_or(&reason).to_owned();
                PyOSError::new_err((number, reason, error.path().map(Path::to_path_buf)))
            }
            (ErrorKind::Io | ErrorKind::Changed, _) => PyOSError::new_err(text),
            (ErrorKind::Locked, _) => PyTimeoutError::new_err(text),
            _ => TamisError::new_err(text),
        })
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

/// The exception for a row, counted from 0, that is not what it should be.
pub(crate) fn wrong_row(row: usize, what: impl std::fmt::Display) -> PyErr {
    TamisError::new_err(format!("row {row}: {what}"))
}

/// Adds the row to an error of its document.
pub(crate) fn of_row(row: usize, error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Document => wrong_row(row, error).into(),
        _ => error.into(),
    }
}

/// Names Python's option in the error that a model does not remember the terms of its documents.
pub(crate) fn needs_terms<T>(result: tamis_train::Result<T>) -> Result<T> {
    let needed =
        "expected a model that remembers the terms of its documents, which documents=True of training makes";
    result.map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => TamisError::new_err(needed).into(),
        _ => error.into(),
    })
}
