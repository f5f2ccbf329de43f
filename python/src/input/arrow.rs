//! Text and bytes of Arrow's arrays, whatever their layout.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, make_array,
};
use arrow_schema::{ArrowError, DataType};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::input::AnyArray;

use crate::error::{Exception, Result, wrong_row};
use crate::input::decoding::{CellBytes, Reading};

type ArrowResult<T> = std::result::Result<T, ArrowError>;

/// Consecutive rows of a column.
pub(crate) enum Chunk {
    Python(Vec<CellBytes>),
    Arrow(ArrowBytes),
}

impl Chunk {
    pub(crate) fn len(&self) -> usize {
        match self {
            Chunk::Python(cells) => cells.len(),
            Chunk::Arrow(bytes) => bytes.len(),
        }
    }
}

/// An array of bytes, borrowed from its library. Text is bytes too, since it may not be valid UTF-8.
pub(crate) enum ArrowBytes {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    View(BinaryViewArray),
}

impl ArrowBytes {
    pub(crate) fn len(&self) -> usize {
        self.array().len()
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        match self {
            ArrowBytes::Small(array) => array.value(row),
            ArrowBytes::Large(array) => array.value(row),
            ArrowBytes::View(array) => array.value(row),
        }
    }

    /// The same with empty bytes in place of nulls.
    fn without_nulls(self) -> Self {
        if self.array().null_count() == 0 {
            return self;
        }
        let rows = (0..self.len()).map(|row| if self.array().is_null(row) { &[] } else { self.get(row) });
        ArrowBytes::Large(LargeBinaryArray::from_iter_values(rows))
    }

    fn array(&self) -> &dyn Array {
        match self {
            ArrowBytes::Small(array) => array,
            ArrowBytes::Large(array) => array,
            ArrowBytes::View(array) => array,
        }
    }

    /// The bytes of an array of text or bytes; `None` for other types.
    fn new(array: &ArrayRef) -> ArrowResult<Option<Self>> {
        let bytes = match array.data_type() {
            DataType::Utf8 => ArrowBytes::Small(array.as_string::<i32>().clone().into()),
            DataType::LargeUtf8 => ArrowBytes::Large(array.as_string::<i64>().clone().into()),
            DataType::Utf8View => ArrowBytes::View(array.as_string_view().clone().to_binary_view()),
            DataType::Binary => ArrowBytes::Small(array.as_binary::<i32>().clone()),
            DataType::LargeBinary => ArrowBytes::Large(array.as_binary::<i64>().clone()),
            DataType::BinaryView => ArrowBytes::View(array.as_binary_view().clone()),
            DataType::Dictionary(_, _) => return ArrowBytes::of_dictionary(array),
            _ => return Ok(None),
        };
        check(bytes.array())?;
        Ok(Some(bytes))
    }

    fn of_dictionary(array: &ArrayRef) -> ArrowResult<Option<Self>> {
        let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(None) };
        let Some(values) = ArrowBytes::new(dictionary.values())? else { return Ok(None) };
        check(array)?;
        let dictionary = dictionary.with_values(make_array(values.array().to_data()));
        // repeated values may need offsets of 64 bits
        ArrowBytes::new(&arrow_cast::cast(&dictionary, &DataType::LargeBinary)?)
    }
}

/// Checks that offsets and keys are within the buffers, which come from another library.
fn check(array: &dyn Array) -> ArrowResult<()> {
    let data = array.to_data();
    data.validate()?;
    data.validate_values()
}

/// The chunks of an array or a stream of arrays.
///
/// # Errors
/// As [`chunks`].
pub(crate) fn chunks_of(values: &Bound<'_, PyAny>, reading: &Reading) -> Result<Vec<Chunk>> {
    let (arrays, field) = values.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    chunks(values.py(), &arrays, field.data_type(), reading)
}

/// The chunks of arrays of this type.
///
/// # Errors
/// A row is null and not the cell of a table, or cannot be decoded; or the arrays are of a type that is not read.
pub(crate) fn chunks(
    py: Python<'_>,
    arrays: &[ArrayRef],
    data_type: &DataType,
    reading: &Reading,
) -> Result<Vec<Chunk>> {
    let refused = |error: ArrowError| Exception::from(error.to_string());
    let mut first = 0;
    let mut chunks = Vec::new();
    for array in arrays {
        let array = &match reading {
            Reading::Cells(_) => to_text(array).map_err(refused)?,
            Reading::Text(_) | Reading::Mail => array.clone(),
        };
        if array.data_type() == &DataType::Null && !array.is_empty() {
            return Err(wrong_row(first, format!("expected {}, got null", reading.expected())));
        }
        let bytes = ArrowBytes::new(array).map_err(refused)?;
        if let Some(bytes) = bytes {
            chunks.push(read(py, bytes, first, reading)?);
        } else if array.data_type() != &DataType::Null {
            let expected = reading.expected();
            return Err(format!("expected {expected}, got an Arrow array of {data_type}").into());
        }
        first += array.len();
    }
    Ok(chunks)
}

/// Cells of a table as text, if they are numbers or true and false; others as they are.
fn to_text(array: &ArrayRef) -> ArrowResult<ArrayRef> {
    check(array)?;
    match array.data_type() {
        DataType::Dictionary(_, values) => to_text(&arrow_cast::cast(array, values)?),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let numbers = arrow_cast::cast(array, &DataType::Float64)?;
            let texts = numbers.as_primitive::<Float64Type>().iter();
            let texts = texts.map(|cell| cell.map(|number| number.to_string()));
            Ok(Arc::new(texts.collect::<LargeStringArray>()))
        }
        numbers if numbers.is_integer() || numbers.is_decimal() => {
            arrow_cast::cast(array, &DataType::LargeUtf8)
        }
        DataType::Boolean | DataType::Null => arrow_cast::cast(array, &DataType::LargeUtf8),
        _ => Ok(array.clone()),
    }
}

/// The chunk that begins at row `first`: as it is, or decoded by Python.
fn read(py: Python<'_>, bytes: ArrowBytes, first: usize, reading: &Reading) -> Result<Chunk> {
    let bytes = if let Reading::Cells(_) = reading { bytes.without_nulls() } else { bytes };
    let array = bytes.array();
    if let Some(row) = (0..array.len()).filter(|_| array.null_count() > 0).find(|row| array.is_null(*row)) {
        return Err(wrong_row(first + row, format!("expected {}, got null", reading.expected())));
    }
    let (Reading::Text(decoding) | Reading::Cells(decoding)) = reading else {
        return Ok(Chunk::Arrow(bytes));
    };
    let is_text = py.detach(|| (0..bytes.len()).all(|row| decoding.is_text(bytes.get(row))));
    if is_text {
        return Ok(Chunk::Arrow(bytes));
    }
    let cells =
        (0..bytes.len()).map(|row| decoding.decode(first + row, PyBytes::new(py, bytes.get(row)).as_any()));
    Ok(Chunk::Python(cells.collect::<Result<Vec<CellBytes>>>()?))
}
