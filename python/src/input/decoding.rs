//! How Python's values become bytes: text in UTF-8, or mail as it is.

use std::str::Utf8Error;

use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyFloat, PyString};
use tamis_train::Kind;

use crate::error::{Exception, Result, ensure, wrong_row};

/// One value, borrowed from Python or made by it.
pub(crate) enum CellBytes {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
    /// A number, true or false of a table, as text.
    Written(Box<str>),
}

/// What the values of a column are.
pub(crate) enum Reading {
    /// Text; bytes are decoded.
    Text(Decoding),
    /// Mail: bytes as they are, and text as UTF-8, whose lone surrogates become the bytes they stand for.
    Mail,
    /// Cells of a table: text, numbers, true and false; an empty text if missing. Bytes are decoded.
    Cells(Decoding),
}

/// How bytes become text: Python's name of an encoding, and how errors are handled (`strict`, `ignore` or `replace`).
#[derive(Clone)]
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
    /// Python knows no such encoding, or no such handling of errors.
    pub(crate) fn new(py: Python<'_>, encoding: &str, errors: &str) -> Result<Self> {
        let expected = "decode_error: expected 'strict', 'ignore' or 'replace'";
        let is_known = ["strict", "ignore", "replace"].contains(&errors);
        ensure(is_known, format_args!("{expected}, got {errors:?}"))?;
        let codec = py.import("codecs")?.call_method1("lookup", (encoding,));
        let codec =
            codec.map_err(|_| format!("encoding: expected one that Python knows, got {encoding:?}"))?;
        Ok(Decoding { encoding: codec.getattr("name")?.extract()?, errors: errors.to_owned() })
    }

    /// Whether these bytes are the text already.
    pub(crate) fn is_text(&self, bytes: &[u8]) -> bool {
        self.encoding == "utf-8" && std::str::from_utf8(bytes).is_ok()
    }

    /// The text that the bytes of a row are.
    pub(crate) fn decode(&self, row: usize, bytes: &Bound<'_, PyAny>) -> Result<CellBytes> {
        let codecs = bytes.py().import("codecs")?;
        let text = codecs.call_method1("decode", (bytes, &self.encoding, &self.errors));
        let text = text.map_err(|error| with_row(bytes.py(), row, error))?;
        match text.cast::<PyString>() {
            Ok(text) => encode(row, text, &self.errors),
            Err(_) => Err(wrong_row(row, format!("expected text from {}, got other", self.encoding))),
        }
    }
}

impl Reading {
    pub(crate) fn new(kind: Kind, decoding: Decoding) -> Self {
        match kind {
            Kind::Mail => Reading::Mail,
            Kind::Text => Reading::Text(decoding),
            Kind::Table => Reading::Cells(decoding),
        }
    }

    /// The bytes of a value.
    ///
    /// # Errors
    /// It is missing, neither text nor bytes, or cannot be decoded.
    pub(crate) fn read(&self, row: usize, value: &Bound<'_, PyAny>) -> Result<CellBytes> {
        if let Ok(text) = value.cast::<PyString>() {
            return match self {
                Reading::Text(decoding) | Reading::Cells(decoding) => encode(row, text, &decoding.errors),
                Reading::Mail => encode(row, text, "surrogateescape"),
            };
        }
        if let Ok(bytes) = value.extract::<PyBackedBytes>() {
            return match self {
                Reading::Text(decoding) | Reading::Cells(decoding) if !decoding.is_text(&bytes) => {
                    decoding.decode(row, value)
                }
                _ => Ok(CellBytes::Bytes(bytes)),
            };
        }
        if let Reading::Cells(_) = self
            && let Some(text) = to_text(value)?
        {
            return Ok(CellBytes::Written(text.into()));
        }
        let got = if is_missing(value)? { value.repr()? } else { value.get_type().fully_qualified_name()? };
        Err(wrong_row(row, format!("expected {}, got {got}", self.expected())))
    }

    /// What values should be.
    pub(crate) fn expected(&self) -> &'static str {
        match self {
            Reading::Text(_) => "text",
            Reading::Cells(_) => "text, a number, or true or false",
            Reading::Mail => "the bytes of a message",
        }
    }
}

/// The text in UTF-8. Lone surrogates, which UTF-8 cannot hold, are handled as Python's `errors` says.
fn encode(row: usize, text: &Bound<'_, PyString>, errors: &str) -> Result<CellBytes> {
    if let Ok(text) = PyBackedStr::try_from(text.clone()) {
        return Ok(CellBytes::Text(text));
    }
    let bytes = text.call_method1("encode", ("utf-8", errors));
    let bytes = bytes.map_err(|error| with_row(text.py(), row, error))?;
    Ok(CellBytes::Bytes(bytes.cast_into::<PyBytes>().map_err(PyErr::from)?.into()))
}

/// A number, true or false as text, and what is missing as an empty one; `None` for others.
fn to_text(value: &Bound<'_, PyAny>) -> Result<Option<String>> {
    if is_missing(value)? {
        return Ok(Some(String::new()));
    }
    let flag = value.extract::<bool>().map(|flag| flag.to_string());
    let whole = || value.extract::<i64>().map(|number| number.to_string());
    let number = || value.extract::<f64>().map(|number| number.to_string());
    Ok(flag.or_else(|_| whole()).or_else(|_| number()).ok())
}

/// Whether a value is None, NaN, or what pandas has for them.
fn is_missing(value: &Bound<'_, PyAny>) -> Result<bool> {
    if value.is_none() {
        return Ok(true);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.extract::<f64>()?.is_nan());
    }
    let name = value.get_type().name()?;
    Ok(["NAType", "NaTType"].contains(&&*name.to_cow()?))
}

/// Adds the row to an error of Python's codecs; leaves other errors as they are.
fn with_row(py: Python<'_>, row: usize, error: PyErr) -> Exception {
    if error.is_instance_of::<PyUnicodeError>(py) { wrong_row(row, error.value(py)) } else { error.into() }
}

impl CellBytes {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            CellBytes::Text(text) => text.as_bytes(),
            CellBytes::Bytes(bytes) => bytes,
            CellBytes::Written(text) => text.as_bytes(),
        }
    }

    pub(crate) fn text(&self) -> std::result::Result<&str, Utf8Error> {
        match self {
            CellBytes::Text(text) => Ok(text),
            CellBytes::Bytes(bytes) => std::str::from_utf8(bytes),
            CellBytes::Written(text) => Ok(text),
        }
    }
}
