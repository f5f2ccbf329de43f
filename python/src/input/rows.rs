//! Rows of a table: a DataFrame of pandas or polars, a table of Arrow, or dicts.

use std::collections::HashSet;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySlice, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;

use crate::error::{Result, ensure, wrong_row};
use crate::input::arrow::{self, Chunk};
use crate::input::column::TextColumn;
use crate::input::decoding::{CellBytes, Reading};

/// Named columns of cells, read as text.
pub(crate) struct CellRows {
    columns: Vec<(String, TextColumn)>,
}

impl CellRows {
    /// The columns of these names, from a table or a list of dicts.
    ///
    /// # Errors
    /// A column is missing or cannot be read; the error names it.
    pub(crate) fn new(table: &Bound<'_, PyAny>, names: &[&str], reading: &Reading) -> Result<Self> {
        match table.cast::<PyList>() {
            Ok(rows) => CellRows::of_dicts(&rows.iter().collect::<Vec<_>>(), names, reading),
            Err(_) => CellRows::of_table(&DataFrame::new(table)?, names, reading),
        }
    }

    /// A single row: a dict, a Series of pandas whose index is the columns, or a table of one row.
    ///
    /// # Errors
    /// As [`CellRows::new`]; or there are several rows.
    pub(crate) fn one(row: &Bound<'_, PyAny>, names: &[&str], reading: &Reading) -> Result<Self> {
        let is_named = row.is_instance_of::<PyDict>() || (row.hasattr("index")? && row.hasattr("to_dict")?);
        if is_named && row.getattr_opt("columns")?.is_none() {
            return CellRows::of_dicts(std::slice::from_ref(row), names, reading);
        }
        let rows = CellRows::new(row, names, reading)?;
        ensure(rows.len() == 1, format_args!("expected one row, got {}", rows.len()))?;
        Ok(rows)
    }

    fn of_table(table: &DataFrame<'_>, names: &[&str], reading: &Reading) -> Result<Self> {
        let read = |name: &&str| Ok(((*name).to_owned(), table.read(name, reading)?));
        Ok(CellRows { columns: names.iter().map(read).collect::<Result<_>>()? })
    }

    fn of_dicts(rows: &[Bound<'_, PyAny>], names: &[&str], reading: &Reading) -> Result<Self> {
        let cell = |at: usize, name: &str| -> Result<CellBytes> {
            let Some(row) = rows.get(at).filter(|row| row.hasattr("keys").unwrap_or(false)) else {
                return Err(wrong_row(at, "expected a dict of columns"));
            };
            match row.contains(name)? {
                true => reading
                    .read(at, &row.get_item(name)?)
                    .map_err(|error| error.named(row.py(), format_args!("column {name:?}"))),
                false => Err(wrong_row(at, format!("expected a column {name:?}, got none"))),
            }
        };
        let column = |name: &&str| -> Result<_> {
            let cells = (0..rows.len()).map(|at| cell(at, name)).collect::<Result<_>>()?;
            Ok(((*name).to_owned(), vec![Chunk::Python(cells)].into()))
        };
        Ok(CellRows { columns: names.iter().map(column).collect::<Result<_>>()? })
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// Names and cells of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`TextColumn::text`].
    pub(crate) fn get(&self, row: usize) -> Result<Vec<(&str, &str)>> {
        self.columns.iter().map(|(name, cells)| Ok((&**name, cells.text(row)?))).collect()
    }
}

/// The columns of a table, unread.
pub(crate) struct DataFrame<'py> {
    py: Python<'py>,
    columns: Vec<(String, ColumnValues<'py>)>,
}

/// The values of a column, as their library has them.
enum ColumnValues<'py> {
    Pandas(Bound<'py, PyAny>),
    Arrow(Vec<ArrayRef>, FieldRef),
}

impl<'py> DataFrame<'py> {
    /// # Errors
    /// It is not a table whose columns have different names.
    pub(crate) fn new(table: &Bound<'py, PyAny>) -> Result<Self> {
        let columns = match table.getattr_opt("iloc")? {
            Some(iloc) if table.hasattr("columns")? => of_pandas(table, &iloc)?,
            _ => of_arrow(table)?,
        };
        let mut known = HashSet::new();
        if let Some((twice, _)) = columns.iter().find(|(name, _)| !known.insert(name)) {
            return Err(format!("expected columns of different names, got {twice:?} twice").into());
        }
        Ok(DataFrame { py: table.py(), columns })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| &**name)
    }

    /// Reads the cells of a column.
    ///
    /// # Errors
    /// There is no such column, or a cell is neither text nor a number nor true or false.
    pub(crate) fn read(&self, name: &str, reading: &Reading) -> Result<TextColumn> {
        let cells = match self.values(name)? {
            ColumnValues::Pandas(values) => TextColumn::new(values, reading),
            ColumnValues::Arrow(arrays, field) => {
                arrow::chunks(self.py, arrays, field.data_type(), reading).map(TextColumn::from)
            }
        };
        cells.map_err(|error| error.named(self.py, format_args!("column {name:?}")))
    }

    /// Whether the type of a column says that it is of categories.
    pub(crate) fn is_of_categories(&self, name: &str) -> Result<bool> {
        Ok(match self.values(name)? {
            ColumnValues::Pandas(values) => values.getattr("dtype")?.str()?.to_cow()? == "category",
            ColumnValues::Arrow(_, field) => matches!(field.data_type(), DataType::Dictionary(_, _)),
        })
    }

    fn values(&self, name: &str) -> Result<&ColumnValues<'py>> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, values)| values).ok_or_else(|| {
            let known = self.names().collect::<Vec<_>>().join(", ");
            format!("expected a column {name:?}, got a table of {known}").into()
        })
    }
}

fn of_pandas<'py>(
    table: &Bound<'py, PyAny>,
    iloc: &Bound<'py, PyAny>,
) -> Result<Vec<(String, ColumnValues<'py>)>> {
    let py = table.py();
    let column = |(at, name): (usize, PyResult<Bound<'py, PyAny>>)| {
        let name = name?;
        let Ok(name) = name.cast::<PyString>() else {
            return Err(format!("expected columns named by text, got {}", name.repr()?.to_cow()?).into());
        };
        let values =
            iloc.get_item(PyTuple::new(py, [PySlice::full(py).into_any(), PyInt::new(py, at).into_any()])?)?;
        Ok((name.to_cow()?.into_owned(), ColumnValues::Pandas(values)))
    };
    table.getattr("columns")?.try_iter()?.enumerate().map(column).collect()
}

fn of_arrow<'py>(table: &Bound<'py, PyAny>) -> Result<Vec<(String, ColumnValues<'py>)>> {
    let wrong =
        |what: String| format!("expected a table with named columns, such as a DataFrame, got {what}");
    let got = table.get_type().fully_qualified_name()?.to_string();
    if !(table.hasattr("__arrow_c_stream__")? || table.hasattr("__arrow_c_array__")?) {
        return Err(wrong(got).into());
    }
    let read = table.extract::<AnyRecordBatch>().map_err(|error| wrong(format!("{got}: {error}")))?;
    let (batches, schema) = read.into_table()?.into_inner();
    let arrays = |at: usize| batches.iter().map(|batch| batch.column(at).clone()).collect();
    let column = |(at, field): (usize, &FieldRef)| {
        (field.name().clone(), ColumnValues::Arrow(arrays(at), field.clone()))
    };
    Ok(schema.fields().iter().enumerate().map(column).collect())
}
