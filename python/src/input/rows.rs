//! Rows of a table: a DataFrame of pandas or polars, a table of Arrow, or dicts.

use std::collections::HashSet;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;

use crate::error::{Result, TamisError, wrong_row};
use crate::input::arrow::{self, Chunk};
use crate::input::column::Column;
use crate::input::decoding::{Cell, Reading};

/// Named columns of cells, read as text.
pub(crate) struct Rows {
    columns: Vec<(String, Column)>,
}

impl Rows {
    /// The columns of these names, from a table or a list of dicts.
    ///
    /// # Errors
    /// A column is missing or cannot be read; the error names it.
    pub(crate) fn new(table: &Bound<'_, PyAny>, names: &[&str], reading: &Reading) -> PyResult<Self> {
        match table.cast::<PyList>() {
            Ok(rows) => Rows::of_dicts(&rows.iter().collect::<Vec<_>>(), names, reading),
            Err(_) => Rows::of_table(&Table::new(table)?, names, reading),
        }
    }

    /// A single row: a dict, a Series of pandas whose index is the columns, or a table of one row.
    ///
    /// # Errors
    /// As [`Rows::new`]; or there are several rows.
    pub(crate) fn one(row: &Bound<'_, PyAny>, names: &[&str], reading: &Reading) -> PyResult<Self> {
        let is_named = row.is_instance_of::<PyDict>() || (row.hasattr("index")? && row.hasattr("to_dict")?);
        if is_named && row.getattr_opt("columns")?.is_none() {
            return Rows::of_dicts(std::slice::from_ref(row), names, reading);
        }
        let rows = Rows::new(row, names, reading)?;
        match rows.len() {
            1 => Ok(rows),
            got => Err(TamisError::new_err(format!("expected one row, got {got}"))),
        }
    }

    fn of_table(table: &Table<'_>, names: &[&str], reading: &Reading) -> PyResult<Self> {
        let read = |name: &&str| Ok(((*name).to_owned(), table.read(name, reading)?));
        Ok(Rows { columns: names.iter().map(read).collect::<PyResult<_>>()? })
    }

    fn of_dicts(rows: &[Bound<'_, PyAny>], names: &[&str], reading: &Reading) -> PyResult<Self> {
        let cell = |at: usize, name: &str| -> PyResult<Cell> {
            let Some(row) = rows.get(at).filter(|row| row.hasattr("keys").unwrap_or(false)) else {
                return Err(TamisError::new_err(format!("row {at}: expected a dict of columns")));
            };
            match row.contains(name)? {
                true => {
                    reading.read(at, &row.get_item(name)?).map_err(|error| of_column(row.py(), name, error))
                }
                false => Err(wrong_row(at, format!("expected a column {name:?}, got none"))),
            }
        };
        let column = |name: &&str| -> PyResult<_> {
            let cells = (0..rows.len()).map(|at| cell(at, name)).collect::<PyResult<_>>()?;
            Ok(((*name).to_owned(), vec![Chunk::Python(cells)].into()))
        };
        Ok(Rows { columns: names.iter().map(column).collect::<PyResult<_>>()? })
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// Names and cells of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<Vec<(&str, &str)>> {
        self.columns.iter().map(|(name, cells)| Ok((&**name, cells.text(row)?))).collect()
    }
}

/// The columns of a table, unread.
pub(crate) struct Table<'py> {
    py: Python<'py>,
    columns: Vec<(String, Values<'py>)>,
}

/// The values of a column, as their library has them.
enum Values<'py> {
    Pandas(Bound<'py, PyAny>),
    Arrow(Vec<ArrayRef>, FieldRef),
}

impl<'py> Table<'py> {
    /// # Errors
    /// It is not a table whose columns have different names.
    pub(crate) fn new(table: &Bound<'py, PyAny>) -> PyResult<Self> {
        let columns = match table.getattr_opt("iloc")? {
            Some(iloc) if table.hasattr("columns")? => of_pandas(table, &iloc)?,
            _ => of_arrow(table)?,
        };
        let mut known = HashSet::new();
        if let Some((twice, _)) = columns.iter().find(|(name, _)| !known.insert(name)) {
            return Err(TamisError::new_err(format!(
                "expected columns of different names, got {twice:?} twice"
            )));
        }
        Ok(Table { py: table.py(), columns })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| &**name)
    }

    /// Reads the cells of a column.
    ///
    /// # Errors
    /// There is no such column, or a cell is neither text nor a number nor true or false.
    pub(crate) fn read(&self, name: &str, reading: &Reading) -> PyResult<Column> {
        let cells = match self.values(name)? {
            Values::Pandas(values) => Column::new(values, reading),
            Values::Arrow(arrays, field) => {
                arrow::chunks(self.py, arrays, field.data_type(), reading).map(Column::from)
            }
        };
        cells.map_err(|error| of_column(self.py, name, error))
    }

    /// Whether the type of a column says that it is of categories.
    pub(crate) fn is_of_categories(&self, name: &str) -> PyResult<bool> {
        Ok(match self.values(name)? {
            Values::Pandas(values) => values.getattr("dtype")?.str()?.to_cow()? == "category",
            Values::Arrow(_, field) => matches!(field.data_type(), DataType::Dictionary(_, _)),
        })
    }

    fn values(&self, name: &str) -> PyResult<&Values<'py>> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, values)| values).ok_or_else(|| {
            let known = self.names().collect::<Vec<_>>().join(", ");
            TamisError::new_err(format!("expected a column {name:?}, got a table of {known}"))
        })
    }
}

fn of_pandas<'py>(
    table: &Bound<'py, PyAny>,
    iloc: &Bound<'py, PyAny>,
) -> PyResult<Vec<(String, Values<'py>)>> {
    let py = table.py();
    let column = |(at, name): (usize, PyResult<Bound<'py, PyAny>>)| {
        let name = name?;
        let Ok(name) = name.cast::<PyString>() else {
            let text = format!("expected columns named by text, got {}", name.repr()?.to_cow()?);
            return Err(TamisError::new_err(text));
        };
        let values = iloc
            .get_item(PyTuple::new(py, [PySlice::full(py).into_any(), at.into_pyobject(py)?.into_any()])?)?;
        Ok((name.to_cow()?.into_owned(), Values::Pandas(values)))
    };
    table.getattr("columns")?.try_iter()?.enumerate().map(column).collect()
}

fn of_arrow<'py>(table: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Values<'py>)>> {
    let wrong = |what: String| {
        TamisError::new_err(format!("expected a table with named columns, such as a DataFrame, got {what}"))
    };
    let got = table.get_type().fully_qualified_name()?.to_string();
    if !(table.hasattr("__arrow_c_stream__")? || table.hasattr("__arrow_c_array__")?) {
        return Err(wrong(got));
    }
    let read = table.extract::<AnyRecordBatch>().map_err(|error| wrong(format!("{got}: {error}")))?;
    let (batches, schema) = read.into_table()?.into_inner();
    let arrays = |at: usize| batches.iter().map(|batch| batch.column(at).clone()).collect();
    let column =
        |(at, field): (usize, &FieldRef)| (field.name().clone(), Values::Arrow(arrays(at), field.clone()));
    Ok(schema.fields().iter().enumerate().map(column).collect())
}

/// Names the column in an error about its cells.
fn of_column(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    match error.is_instance_of::<TamisError>(py) {
        true => TamisError::new_err(format!("column {name:?}: {}", error.value(py))),
        false => error,
    }
}
