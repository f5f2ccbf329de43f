//! How Python's values become bytes: text in UTF-8, or mail as it is.

use std::str::Utf8Error;

use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyFloat, PyString};

use crate::error::{TamisError, wrong_row};

/// One value, borrowed from Python or made by it.
pub(crate) enum Cell {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

/// What the values of a column are.
pub(crate) enum Reading {
    /// Text; bytes are decoded.
    Text(Decoding),
    /// Mail: bytes as they are; of text its UTF-8, in which lone surrogates stand for the bytes they were.
    Mail,
}

/// How bytes become text: Python's name of an encoding, and what becomes of what is not in it (`strict`, `ignore` or
/// `replace`).
pub(crate) struct Decoding {
    pub(crate) encoding: String,
    pub(crate) errors: String,
}

impl Default for Decoding {
    fn default() -> Self {
        Decoding { encoding: "utf-8".to_owned(), errors: "strict".to_owned() }
    }
}

impl Decoding {
    /// # Errors
    /// If there is no such encoding, or no such way with errors.
    pub(crate) fn new(py: Python<'_>, encoding: &str, errors: &str) -> PyResult<Self> {
        if !["strict", "ignore", "replace"].contains(&errors) {
            let expected = "decode_error: expected 'strict', 'ignore' or 'replace'";
            return Err(TamisError::new_err(format!("{expected}, got {errors:?}")));
        }
        let codec = py.import("codecs")?.call_method1("lookup", (encoding,));
        let codec = codec.map_err(|_| {
            TamisError::new_err(format!("encoding: expected one that Python knows, got {encoding:?}"))
        })?;
        Ok(Decoding { encoding: codec.getattr("name")?.extract()?, errors: errors.to_owned() })
    }

    /// Whether these bytes are the text already.
    pub(crate) fn is_text(&self, bytes: &[u8]) -> bool {
        self.encoding == "utf-8" && std::str::from_utf8(bytes).is_ok()
    }

    /// The text that the bytes of a row are.
    pub(crate) fn decode(&self, row: usize, bytes: &Bound<'_, PyAny>) -> PyResult<Cell> {
        let codecs = bytes.py().import("codecs")?;
        let text = codecs.call_method1("decode", (bytes, &self.encoding, &self.errors));
        let text = text.map_err(|error| named(bytes.py(), row, error))?;
        match text.cast::<PyString>() {
            Ok(text) => self.encode(row, text),
            Err(_) => Err(wrong_row(row, format!("expected text from {}, got other", self.encoding))),
        }
    }

    /// The text in UTF-8; lone surrogates, which it cannot hold, are errors of decoding.
    fn encode(&self, row: usize, text: &Bound<'_, PyString>) -> PyResult<Cell> {
        let strict = PyBackedStr::try_from(text.clone());
        match strict {
            Ok(text) => Ok(Cell::Text(text)),
            Err(error) if self.errors == "strict" => Err(named(text.py(), row, error)),
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", &self.errors))?;
                Ok(Cell::Bytes(bytes.cast_into::<PyBytes>()?.into()))
            }
        }
    }
}

impl Reading {
    /// The bytes of a value.
    ///
    /// # Errors
    /// If it is missing, no text and no bytes, or cannot be decoded.
    pub(crate) fn read(&self, row: usize, value: &Bound<'_, PyAny>) -> PyResult<Cell> {
        if let Ok(text) = value.cast::<PyString>() {
            return match self {
                Reading::Text(decoding) => decoding.encode(row, text),
                Reading::Mail => mail(row, text),
            };
        }
        if let Ok(bytes) = value.extract::<PyBackedBytes>() {
            return match self {
                Reading::Text(decoding) if !decoding.is_text(&bytes) => decoding.decode(row, value),
                _ => Ok(Cell::Bytes(bytes)),
            };
        }
        Err(self.refuse(row, value)?)
    }

    fn refuse(&self, row: usize, value: &Bound<'_, PyAny>) -> PyResult<PyErr> {
        let expected = self.expected();
        if is_missing(value)? {
            return Ok(wrong_row(row, format!("expected {expected}, got {}", value.repr()?)));
        }
        let name = value.get_type().fully_qualified_name()?;
        Ok(wrong_row(row, format!("expected {expected}, got {name}")))
    }

    /// What values should be.
    pub(crate) fn expected(&self) -> &'static str {
        match self {
            Reading::Text(_) => "text",
            Reading::Mail => "the bytes of a message",
        }
    }
}

/// The bytes of a mail that is given as text.
fn mail(row: usize, text: &Bound<'_, PyString>) -> PyResult<Cell> {
    if let Ok(text) = PyBackedStr::try_from(text.clone()) {
        return Ok(Cell::Text(text));
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogateescape"));
    let bytes = bytes.map_err(|error| named(text.py(), row, error))?;
    Ok(Cell::Bytes(bytes.cast_into::<PyBytes>()?.into()))
}

/// Whether a value is None, NaN, or what pandas has for them.
fn is_missing(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_none() {
        return Ok(true);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.extract::<f64>()?.is_nan());
    }
    let name = value.get_type().name()?;
    Ok(["NAType", "NaTType"].contains(&&*name.to_cow()?))
}

/// An error of Python's codecs with the row; other errors as they are.
fn named(py: Python<'_>, row: usize, error: PyErr) -> PyErr {
    match error.is_instance_of::<PyUnicodeError>(py) {
        true => wrong_row(row, error.value(py)),
        false => error,
    }
}

impl Cell {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Cell::Text(text) => text.as_bytes(),
            Cell::Bytes(bytes) => bytes,
        }
    }

    pub(crate) fn text(&self) -> Result<&str, Utf8Error> {
        match self {
            Cell::Text(text) => Ok(text),
            Cell::Bytes(bytes) => std::str::from_utf8(bytes),
        }
    }
}

/// Bytes of a foreign buffer as Python's.
pub(crate) fn copied<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    PyBytes::new(py, bytes).into_any()
}
