//! Rows of Parquet and Arrow files. A cell is the text that it would be in CSV, and a list is an array of JSON.

use std::fs::File;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use serde_json::Value;

use super::arrow_stream;
use super::names::Names;
use super::parquet_footer::has_shallow_schema;

/// Number of rows that are converted at a time.
const ROWS: usize = 1024;

/// A file whose columns are known.
pub(crate) struct Table {
    names: Names,
    batches: Batches,
}

enum Batches {
    Parquet(ParquetRecordBatchReaderBuilder<File>),
    Arrow(Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>),
}

impl Table {
    pub(crate) fn parquet(mut file: File) -> Result<Self> {
        if !has_shallow_schema(&mut file)? {
            bail!("expected an intact file of Parquet, with groups in groups to a depth of 60 at most");
        }
        // the types of Parquet say enough
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let open = || ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
        let builder = unless_it_panics(open).map_err(anyhow::Error::msg)?.with_batch_size(ROWS);
        Ok(Table { names: names(builder.schema()), batches: Batches::Parquet(builder) })
    }

    /// A file of Arrow, or a stream.
    pub(crate) fn arrow(reader: impl BufRead + 'static) -> Result<Self> {
        let batches = unless_it_panics(|| arrow_stream::Batches::new(reader)).map_err(anyhow::Error::msg)?;
        Ok(Table { names: names(batches.schema()), batches: Batches::Arrow(Box::new(batches)) })
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The rows of these columns, in ascending order.
    pub(crate) fn rows(self, columns: Vec<usize>) -> Result<impl Iterator<Item = Result<Row, String>>> {
        let mut batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> = match self.batches {
            Batches::Parquet(builder) => {
                check_compression(&builder, &columns)?;
                let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
                Box::new(builder.with_projection(mask).build()?)
            }
            Batches::Arrow(batches) => Box::new(batches.map(move |batch| batch?.project(&columns))),
        };
        let mut has_failed = false;
        let batches = std::iter::from_fn(move || {
            let next = || batches.next().transpose();
            let next = if has_failed { Ok(None) } else { unless_it_panics(next) };
            has_failed |= next.is_err();
            next.transpose()
        });
        Ok(batches.flat_map(of_batch))
    }
}

fn names(schema: &Schema) -> Names {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// Checks that the columns are compressed in ways that are read.
fn check_compression(builder: &ParquetRecordBatchReaderBuilder<File>, columns: &[usize]) -> Result<()> {
    for chunk in builder.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let how = chunk.compression();
        let path = chunk.column_path().parts();
        let is_wanted = columns.iter().any(|at| path.first() == Some(builder.schema().field(*at).name()));
        if is_wanted && matches!(how, Compression::ZSTD(_) | Compression::BROTLI(_) | Compression::LZO) {
            let how = format!("{how:?}");
            let how = how.split('(').next().unwrap_or_default();
            bail!("expected columns that are compressed with snappy, gzip or lz4, or not at all, got {how}");
        }
    }
    Ok(())
}

/// Damaged files may make the reader panic.
fn unless_it_panics<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => Err(format!("expected an intact file: {error}")),
        Err(_) => Err("expected an intact file, got one that cannot be decoded".to_owned()),
    }
}

/// The rows of a batch, or the reason that there are none.
fn of_batch(batch: Result<RecordBatch, String>) -> Box<dyn Iterator<Item = Result<Row, String>>> {
    let batch = match batch {
        Ok(batch) => batch,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    let n_rows = batch.num_rows();
    let slices = (0..n_rows).step_by(ROWS).map(move |at| batch.slice(at, ROWS.min(n_rows - at)));
    Box::new(slices.flat_map(|slice| -> Box<dyn Iterator<Item = Result<Row, String>>> {
        match unless_it_panics(|| converted(&slice)) {
            Ok(columns) => {
                let columns = Arc::new(columns);
                let row = move |at| Ok(Row { columns: Arc::clone(&columns), at });
                Box::new((0..slice.num_rows()).map(row))
            }
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }))
}

/// A row: its place in a batch.
pub(crate) struct Row {
    columns: Arc<Vec<Column>>,
    at: usize,
}

struct Column {
    texts: LargeStringArray,
    /// Whether a text is a value of JSON.
    is_json: bool,
}

impl Row {
    pub(crate) fn n_bytes(&self) -> usize {
        self.cells().map(str::len).sum()
    }

    /// The cells as text; one without a value is empty.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| match column.texts.is_null(self.at) {
            true => "",
            false => column.texts.value(self.at),
        })
    }

    /// The value in a column, if it is not a text.
    pub(crate) fn value(&self, column: usize) -> Option<Value> {
        let Column { texts, is_json } = self.columns.get(column)?;
        match texts.is_null(self.at) {
            true => Some(Value::Null),
            false => is_json.then(|| value(texts.value(self.at))),
        }
    }
}

/// A number or list as JSON. Infinite numbers stay text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn converted(batch: &RecordBatch) -> Result<Vec<Column>, ArrowError> {
    let columns = batch.columns().iter().zip(batch.schema_ref().fields());
    let column = |(column, field): (&ArrayRef, &Arc<Field>)| {
        converted_column(column)?.ok_or_else(|| {
            let (name, kind) = (field.name(), field.data_type());
            ArrowError::SchemaError(format!(
                "column {name:?}: expected text, numbers, true or false, dates, or lists of them, got {kind}"
            ))
        })
    };
    columns.map(column).collect()
}

/// A column as text, unless it has other values.
fn converted_column(column: &ArrayRef) -> Result<Option<Column>, ArrowError> {
    let is_json = match column.data_type() {
        DataType::Dictionary(_, values) => {
            return converted_column(&cast_with_options(column, values, &STRICT)?);
        }
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            // names of zones would need a table of them; the instant is the same
            let kind = DataType::Timestamp(*unit, Some("+00:00".into()));
            return converted_column(&make_array(column.to_data().into_builder().data_type(kind).build()?));
        }
        DataType::List(_) => return lists(column.as_list::<i32>().iter()),
        DataType::LargeList(_) => return lists(column.as_list::<i64>().iter()),
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => return Ok(None),
        kind => kind.is_integer() || kind.is_floating() || *kind == DataType::Boolean,
    };
    let texts = cast_with_options(column, &DataType::LargeUtf8, &STRICT)?;
    Ok(Some(Column { texts: texts.as_string().clone(), is_json }))
}

/// A value that cannot be text is an error.
const STRICT: CastOptions<'static> =
    CastOptions { safe: false, format_options: arrow_cast::display::FormatOptions::new() };

/// Lists as arrays of JSON.
fn lists(lists: impl Iterator<Item = Option<ArrayRef>>) -> Result<Option<Column>, ArrowError> {
    let mut texts = LargeStringBuilder::new();
    for list in lists {
        let Some(list) = list else {
            texts.append_null();
            continue;
        };
        let Some(Column { texts: elements, is_json }) = converted_column(&list)? else { return Ok(None) };
        let element = |text: Option<&str>| match text {
            None => Value::Null,
            Some(text) if is_json => value(text),
            Some(text) => text.into(),
        };
        texts.append_value(Value::from_iter(elements.iter().map(element)).to_string());
    }
    Ok(Some(Column { texts: texts.finish(), is_json: true }))
}
