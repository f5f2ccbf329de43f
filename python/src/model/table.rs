//! Scores, or terms, as a table of Arrow.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule};
use tamis_train::TermRow;

use crate::error::Result;
use crate::model::{DocumentScore, ScoreBatch, SharedFilter};

/// A table of scores or terms. pyarrow, polars, pandas and others read it without a copy by Arrow's PyCapsule
/// interface: ``pyarrow.table(scores)``, ``polars.DataFrame(scores)``,
/// ``pandas.DataFrame.from_arrow(scores)``.
///
/// Attributes
/// ----------
/// column_names : list of str
///
/// Examples
/// --------
/// >>> import tamis
/// >>> filter = tamis.Filter.train(["apples", "iron"], ["fruit", "metal"], kind="text")
/// >>> table = filter.score_table(["two apples", "an iron gate"])
/// >>> table.column_names, len(table)
/// (['label', 'probability', 'log_odds'], 2)
/// >>> import pyarrow
/// >>> pyarrow.table(table)["label"].to_pylist()
/// ['fruit', 'metal']
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// Columns as `tamis label` prints them; with `probabilities` also that of every label.
    pub(crate) fn of_scores(model: &SharedFilter, batch: &ScoreBatch, probabilities: bool) -> Result<Self> {
        let labels = &model.labels;
        let scores = || batch.scores.iter().map(|of| of.score);
        let mut columns = vec![("label".to_owned(), texts(scores().map(|score| labels.name(score.label))))];
        if model.filter.has_many_labels() {
            let of_row = |of: &DocumentScore| of.labels().map(|class| labels.name(Some(class))).collect();
            columns.push(("labels".to_owned(), lists(batch.scores.iter().map(of_row))));
        }
        columns.push(("probability".to_owned(), numbers(scores().map(|score| score.probability))));
        columns.push(("log_odds".to_owned(), numbers(scores().map(|score| score.log_odds))));
        if probabilities {
            columns.extend(of_labels(&labels.names(), &batch.probabilities));
        }
        Table::new(columns)
    }

    /// Columns by their names.
    pub(crate) fn of_columns(columns: &Bound<'_, PyDict>) -> Result<Self> {
        let column = |(name, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let values = match values.extract()? {
                NewColumn::Numbers(values) => numbers(values.as_array().iter().copied()),
                NewColumn::Texts(values) => texts(values.iter().map(String::as_str)),
                NewColumn::Lists(rows) => {
                    lists(rows.iter().map(|row| row.iter().map(String::as_str).collect()))
                }
            };
            Ok((name.extract::<String>()?, values))
        };
        Table::new(columns.iter().map(column).collect::<PyResult<_>>()?)
    }

    /// The columns of `tamis export --format csv`.
    pub(crate) fn of_terms(labels: &[String], rows: &[TermRow]) -> Result<Self> {
        let mut columns = vec![("term".to_owned(), texts(rows.iter().map(|row| &*row.term)))];
        for (class, label) in labels.iter().enumerate() {
            let counts = |of: fn(&TermRow) -> &[u64]| -> ArrayRef {
                // fewer than 2^63 of anything
                Arc::new(rows.iter().map(|row| of(row)[class] as i64).collect::<Int64Array>())
            };
            let weight = |row: &TermRow| row.weights.as_ref().map(|weights| weights[class]);
            columns.extend([
                (format!("documents_{label}"), counts(|row| &row.documents)),
                (format!("occurrences_{label}"), counts(|row| &row.occurrences)),
                (format!("weight_{label}"), Arc::new(rows.iter().map(weight).collect::<Float64Array>())),
            ]);
        }
        Table::new(columns)
    }

    fn new(columns: Vec<(String, ArrayRef)>) -> Result<Self> {
        RecordBatch::try_from_iter(columns).map(Table).map_err(|error| error.to_string().into())
    }

    /// The type of the table as an array of rows.
    fn field(&self) -> Arc<Field> {
        Arc::new(Field::new("", DataType::Struct(self.0.schema_ref().fields().clone()), false))
    }

    fn array(&self) -> StructArray {
        StructArray::from(self.0.clone())
    }
}

/// The values of a column from Python.
#[derive(FromPyObject)]
enum NewColumn<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Texts(Vec<String>),
    Lists(Vec<Vec<String>>),
}

/// A column for every label.
fn of_labels(labels: &[String], probabilities: &[f64]) -> impl Iterator<Item = (String, ArrayRef)> {
    labels.iter().enumerate().map(|(class, label)| {
        let of_label = probabilities.iter().skip(class).step_by(labels.len()).copied();
        (format!("probability_{label}"), numbers(of_label))
    })
}

fn lists<'a>(rows: impl Iterator<Item = Vec<&'a str>>) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    rows.for_each(|row| lists.append_value(row.into_iter().map(Some)));
    Arc::new(lists.finish())
}

fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(texts.map(Some).collect::<StringArray>())
}

fn numbers(numbers: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(numbers.collect::<Float64Array>())
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.0.schema_ref().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        to_array_pycapsules(py, self.field(), &self.array(), requested_schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let rows: ArrayRef = Arc::new(self.array());
        let stream = ArrayIterator::new([Ok(rows)], self.field());
        to_stream_pycapsule(py, Box::new(stream), requested_schema)
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.0.num_rows(), self.column_names().join(", "))
    }
}
