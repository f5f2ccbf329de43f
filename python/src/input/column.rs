//! A column of text or bytes.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PySet, PySlice, PyString};

use crate::error::{Result, wrong_row};
use crate::input::arrow::{self, Chunk};
use crate::input::decoding::Reading;

/// Text or bytes by row, borrowed from Python's objects or from Arrow's buffers.
pub(crate) struct TextColumn {
    chunks: Vec<Chunk>,
    /// The row after the last of each chunk.
    ends: Vec<usize>,
}

impl TextColumn {
    /// The values of a list, a numpy array, a Series, an Arrow array or any other iterable, or of the only column of a table
    /// or an array.
    ///
    /// # Errors
    /// There are several columns; or a value is missing, of another type or cannot be decoded: the error names the row.
    pub(crate) fn new(values: &Bound<'_, PyAny>, reading: &Reading) -> Result<Self> {
        let values = only_column(values, reading)?;
        let chunks = match is_of_arrow(&values)?.then(|| arrow::chunks_of(&values, reading)) {
            // pandas without pyarrow
            Some(Err(error)) if error.is::<PyImportError>(values.py()) => iterate(&values, reading)?,
            Some(chunks) => chunks?,
            None => iterate(&values, reading)?,
        };
        Ok(chunks.into())
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The bytes of a row below [`len`](Self::len).
    pub(crate) fn bytes(&self, row: usize) -> &[u8] {
        match self.find(row) {
            (Chunk::Python(cells), row) => cells[row].bytes(),
            (Chunk::Arrow(bytes), row) => bytes.get(row),
        }
    }

    /// The text of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// It is no longer UTF-8: shared buffers can change. The error names the row.
    pub(crate) fn text(&self, row: usize) -> Result<&str> {
        match self.find(row) {
            (Chunk::Python(cells), row) => cells[row].text(),
            (Chunk::Arrow(bytes), row) => std::str::from_utf8(bytes.get(row)),
        }
        .map_err(|error| wrong_row(row, error))
    }

    /// The chunk that has a row, and where.
    fn find(&self, row: usize) -> (&Chunk, usize) {
        let chunk = self.ends.partition_point(|end| *end <= row);
        (&self.chunks[chunk], row - chunk.checked_sub(1).map_or(0, |before| self.ends[before]))
    }
}

impl From<Vec<Chunk>> for TextColumn {
    fn from(chunks: Vec<Chunk>) -> Self {
        let ends = chunks.iter().scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end)
        });
        TextColumn { ends: ends.collect(), chunks }
    }
}

/// The only column of a table or a two-dimensional array; other values as they are.
fn only_column<'py>(values: &Bound<'py, PyAny>, reading: &Reading) -> Result<Bound<'py, PyAny>> {
    let shape = values.getattr_opt("shape")?.and_then(|shape| shape.extract::<(usize, usize)>().ok());
    let Some((n_rows, n_columns)) = shape else { return Ok(values.clone()) };
    if n_columns != 1 {
        let got = format!("got an array of shape ({n_rows}, {n_columns})");
        let table = "to learn a table, give its columns names, as in pandas.DataFrame(X, columns=[...])";
        let vectors = "to learn texts with vectors beside them, tamis.Embedded(texts, X)";
        return Err(
            format!("expected one column of {}, {got}; {table}; {vectors}", reading.expected()).into()
        );
    }
    // pandas, polars, pyarrow, numpy
    if let Some(by_place) = values.getattr_opt("iloc")? {
        return Ok(by_place.get_item((PySlice::full(values.py()), 0))?);
    }
    Ok(match ["to_series", "column"].into_iter().find(|name| values.hasattr(*name).unwrap_or(false)) {
        Some(name) => values.call_method1(name, (0,))?,
        None => values.call_method1("reshape", (-1,))?,
    })
}

/// Whether to take values by Arrow's interface. It would copy Python's objects.
fn is_of_arrow(values: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Some(dtype) = values.getattr_opt("dtype")?
        && let Some(has_object) = dtype.getattr_opt("hasobject")?
        && has_object.is_truthy()?
    {
        return Ok(false);
    }
    Ok(values.hasattr("__arrow_c_array__")? || values.hasattr("__arrow_c_stream__")?)
}

fn iterate(values: &Bound<'_, PyAny>, reading: &Reading) -> Result<Vec<Chunk>> {
    let is_one = values.is_instance_of::<PyString>()
        || values.is_instance_of::<PyBytes>()
        || values.is_instance_of::<PyByteArray>();
    let is_unordered = values.is_instance_of::<PyDict>()
        || values.is_instance_of::<PySet>()
        || values.is_instance_of::<PyFrozenSet>();
    let Some(rows) = values.try_iter().ok().filter(|_| !is_one && !is_unordered) else {
        let (expected, got) = (reading.expected(), values.get_type().fully_qualified_name()?);
        let shapes = "a list, numpy array, Series or Arrow array";
        return Err(format!("expected {shapes} of {expected}, got one {got}").into());
    };
    let cells = rows.enumerate().map(|(row, value)| reading.read(row, &value?));
    Ok(vec![Chunk::Python(cells.collect::<Result<_>>()?)])
}
