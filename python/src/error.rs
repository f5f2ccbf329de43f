//! Errors of the library as Python's exceptions.

use std::fmt::Display;
use std::path::Path;

use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::error::PyArrowError;
use rayon::ThreadPoolBuildError;
use tamis_train::{Error, ErrorKind};

create_exception!(
    tamis,
    TamisError,
    PyValueError,
    "A document, a label, an option or a model is not what it should be. What the operating system refuses is an \
     OSError, such as FileNotFoundError."
);

/// An exception of Python. Errors of the library become one, and texts become a [`TamisError`].
pub(crate) struct Exception(PyErr);

impl Exception {
    /// Whether the exception is of this class.
    pub(crate) fn is<T: PyTypeInfo>(&self, py: Python<'_>) -> bool {
        self.0.is_instance_of::<T>(py)
    }

    /// Puts `prefix` before the text of a [`TamisError`]; leaves other exceptions as they are.
    pub(crate) fn named(self, py: Python<'_>, prefix: impl Display) -> Self {
        if self.is::<TamisError>(py) { format!("{prefix}: {}", self.0.value(py)).into() } else { self }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Exception>;

impl From<PyErr> for Exception {
    fn from(exception: PyErr) -> Self {
        Exception(exception)
    }
}

impl From<PyArrowError> for Exception {
    fn from(error: PyArrowError) -> Self {
        Exception(error.into())
    }
}

impl From<Exception> for PyErr {
    fn from(exception: Exception) -> Self {
        exception.0
    }
}

impl From<String> for Exception {
    fn from(text: String) -> Self {
        Exception(TamisError::new_err(text))
    }
}

impl From<&str> for Exception {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<ThreadPoolBuildError> for Exception {
    fn from(error: ThreadPoolBuildError) -> Self {
        Exception(PyRuntimeError::new_err(error.to_string()))
    }
}

impl From<Error> for Exception {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let of_system =
            error.io_error().and_then(|source| Some((source.raw_os_error()?, source.to_string())));
        match (error.kind(), of_system) {
            // Python picks the subclass by the number
            (ErrorKind::Io, Some((number, reason))) => {
                let reason = reason.split(" (os error").next().unwrap_or(&reason).to_owned();
                PyOSError::new_err((number, reason, error.path().map(Path::to_path_buf))).into()
            }
            (ErrorKind::Io | ErrorKind::Changed, _) => PyOSError::new_err(text).into(),
            (ErrorKind::Locked, _) => PyTimeoutError::new_err(text).into(),
            _ => text.into(),
        }
    }
}

/// An error with this text, unless all is well.
pub(crate) fn ensure(is_well: bool, text: impl Display) -> Result<()> {
    if is_well { Ok(()) } else { Err(text.to_string().into()) }
}

/// Names the row, counted from 0, in what is wrong with it.
pub(crate) fn wrong_row(row: usize, what: impl Display) -> Exception {
    format!("row {row}: {what}").into()
}

/// Names Python's option in the error that a model does not remember the terms of its documents.
pub(crate) fn needs_terms<T>(result: tamis_train::Result<T>) -> Result<T> {
    result.map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => {
            "expected a model that remembers the terms of its documents, which documents=True of training makes".into()
        }
        _ => error.into(),
    })
}
