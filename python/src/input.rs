//! Documents, tables and labels from Python: lists, numpy, pandas, polars and Arrow, borrowed where that is possible.

use pyo3::prelude::*;
use pyo3::types::PyList;
use tamis_train::{Document, Kind, Recipe, join_labels, split_labels};

use crate::error::{Result, ensure};
use crate::input::arrow::Chunk;
use crate::input::column::TextColumn;
use crate::input::decoding::{Decoding, Reading};
use crate::input::rows::CellRows;
use crate::input::vectors::{Embedded, VectorRows};

mod arrow;
mod column;
pub(crate) mod decoding;
pub(crate) mod rows;
pub(crate) mod vectors;

/// Documents of one kind, by row, perhaps with vectors beside them.
pub(crate) struct DocumentSet {
    rows: Rows,
    vectors: VectorRows,
}

enum Rows {
    /// Mail, or texts.
    Column(TextColumn, Kind),
    Table(CellRows),
}

/// A row that holds a document.
pub(crate) struct DocumentRow<'a> {
    own: RowContent<'a>,
    /// Empty if there is none.
    pub(crate) vector: &'a [f32],
}

enum RowContent<'a> {
    Whole(Document<'a>),
    Cells(Vec<(&'a str, &'a str)>),
}

impl DocumentRow<'_> {
    /// The document without its vector.
    pub(crate) fn bare(&self) -> Document<'_> {
        match &self.own {
            RowContent::Whole(document) => *document,
            RowContent::Cells(cells) => Document::Fields(cells),
        }
    }
}

impl DocumentSet {
    /// The documents of a recipe: a column or, for a recipe of a table, the columns that it uses of one.
    ///
    /// # Errors
    /// As [`TextColumn::new`], [`CellRows::new`] or [`Embedded::rows`].
    pub(crate) fn new(recipe: &Recipe, documents: &Bound<'_, PyAny>, decoding: Decoding) -> Result<Self> {
        if let Some(embedded) = Embedded::of(documents)? {
            let vectors = embedded.rows(recipe)?;
            return Ok(DocumentSet { vectors, ..DocumentSet::new(recipe, &embedded.documents, decoding)? });
        }
        let reading = Reading::new(recipe.kind, decoding);
        let rows = match recipe.kind {
            Kind::Table => Rows::Table(CellRows::new(documents, &names(recipe), &reading)?),
            kind => Rows::Column(TextColumn::new(documents, &reading)?, kind),
        };
        Ok(DocumentSet { rows, vectors: VectorRows::default() })
    }

    /// A single message, text or row of a table, as row 0.
    ///
    /// # Errors
    /// As [`Reading::read`], [`CellRows::one`] or [`Embedded::rows`].
    pub(crate) fn one(recipe: &Recipe, document: &Bound<'_, PyAny>) -> Result<Self> {
        if Embedded::of(document)?.is_some() {
            let documents = DocumentSet::new(recipe, document, Decoding::default())?;
            let got = documents.len();
            return ensure(got == 1, format_args!("expected one document, got {got}")).map(|()| documents);
        }
        let reading = Reading::new(recipe.kind, Decoding::default());
        let rows = match recipe.kind {
            Kind::Table => Rows::Table(CellRows::one(document, &names(recipe), &reading)?),
            kind => Rows::Column(vec![Chunk::Python(vec![reading.read(0, document)?])].into(), kind),
        };
        Ok(DocumentSet { rows, vectors: VectorRows::default() })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.rows {
            Rows::Column(column, _) => column.len(),
            Rows::Table(rows) => rows.len(),
        }
    }

    /// The document of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`TextColumn::text`].
    pub(crate) fn get(&self, row: usize) -> Result<DocumentRow<'_>> {
        let own = match &self.rows {
            Rows::Column(column, Kind::Mail) => RowContent::Whole(Document::Mail(column.bytes(row))),
            Rows::Column(column, _) => RowContent::Whole(Document::Text(column.text(row)?)),
            Rows::Table(rows) => RowContent::Cells(rows.get(row)?),
        };
        Ok(DocumentRow { own, vector: self.vectors.get(row) })
    }

    /// Works with the document of a row below [`len`](Self::len), with its vector.
    ///
    /// # Errors
    /// As [`get`](Self::get), and those of the work.
    pub(crate) fn with<T>(&self, row: usize, work: impl FnOnce(Document<'_>) -> Result<T>) -> Result<T> {
        let row = self.get(row)?;
        work(row.bare().with_vector(row.vector))
    }
}

/// The names of the columns that a recipe uses.
fn names(recipe: &Recipe) -> Vec<&str> {
    recipe.columns.iter().map(|column| &*column.name).collect()
}

/// Checks that there are as many of something as documents.
///
/// # Errors
/// There are not.
pub(crate) fn check_len(what: &str, got: usize, documents: usize) -> Result<()> {
    let text = format_args!("expected as many {what} as documents, {documents}, got {got}");
    ensure(got == documents, text)
}

/// The labels of documents, or the names of their groups, by row.
pub(crate) struct LabelColumn(TextColumn);

impl LabelColumn {
    /// # Errors
    /// As [`TextColumn::new`].
    pub(crate) fn new(labels: &Bound<'_, PyAny>) -> Result<Self> {
        Ok(LabelColumn(TextColumn::new(labels, &Reading::Text(Decoding::default()))?))
    }

    /// One label for each document or, if they have `many`, the name of its set of labels: a value is then the list of the
    /// labels of a document, or its only label.
    ///
    /// # Errors
    /// As [`new`](Self::new); a label of a set is empty or contains U+2063, which separates the labels in a name.
    pub(crate) fn of_labels(labels: &Bound<'_, PyAny>, are_many: bool) -> Result<Self> {
        if !are_many {
            return LabelColumn::new(labels);
        }
        let py = labels.py();
        let to_list =
            ["to_pylist", "to_list"].into_iter().find(|name| labels.hasattr(*name).unwrap_or(false));
        let sets = to_list.map_or_else(|| Ok(labels.clone()), |name| labels.call_method0(name))?;
        let names = sets
            .try_iter()?
            .enumerate()
            .map(|(row, set)| name_of_set(&set?).map_err(|error| error.named(py, format_args!("row {row}"))));
        LabelColumn::new(PyList::new(py, names.collect::<Result<Vec<_>>>()?)?.as_any())
    }

    /// Checks that there is a label for each of so many documents to evaluate, at least one.
    ///
    /// # Errors
    /// There is not.
    pub(crate) fn check_evaluates(&self, documents: usize) -> Result<()> {
        let got = self.len();
        let expected = if got == 0 { "documents".to_owned() } else { format!("{documents} labels") };
        let text = format_args!("expected {expected} to evaluate, got {got}");
        ensure(got == documents && got > 0, text)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The label, or the group's name, of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`TextColumn::text`].
    pub(crate) fn get(&self, row: usize) -> Result<&str> {
        self.0.text(row)
    }
}

/// The class under which a document is learned: a label, or a list of labels.
pub(crate) struct ClassName(pub(crate) String);

impl<'a, 'py> FromPyObject<'a, 'py> for ClassName {
    type Error = PyErr;

    fn extract(label: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name = label.extract::<String>().or_else(|_| name_of_set(&label));
        Ok(ClassName(name?))
    }
}

fn name_of_set(set: &Bound<'_, PyAny>) -> Result<String> {
    let labels = match set.extract::<String>() {
        Ok(label) => Some(vec![label]),
        Err(_) => set.try_iter().and_then(|set| set.map(|label| label?.extract()).collect()).ok(),
    };
    let are_right = |labels: &Vec<String>| labels.iter().all(|label| split_labels(label).eq([label]));
    match labels.filter(are_right) {
        Some(labels) => Ok(join_labels(labels.iter().map(String::as_str))),
        None => {
            let got: String = set.repr()?.to_cow()?.chars().take(60).collect();
            Err(format!("expected a list of labels, not empty and without U+2063, got {got}").into())
        }
    }
}

/// Returns the text of a file's bytes: of plain text in any encoding, a document (DOCX, PPTX, XLSX, ODT, ODP, ODS, EPUB, RTF, a
/// notebook or a zip archive of these), or mail that is encoded. HTML keeps its tags, which filters of text do not read.
///
/// Raises `TamisError` if it is something else, such as an image, or has no text. PDF is left to other programs.
///
/// >>> import tamis
/// >>> tamis.file_text(rb"{\rtf1 caf\'e9}").strip()
/// 'café'
#[pyfunction]
pub(crate) fn file_text(data: &[u8]) -> Result<String> {
    let text = tamis_mail::file_text(data).map_err(|unread| unread.to_string())?;
    Ok(text.into_owned())
}
