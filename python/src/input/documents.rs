//! Documents and their labels.

use pyo3::prelude::*;
use pyo3::types::PyList;
use tamis_train::{Document, Kind, Recipe, join_labels, split_labels};

use crate::error::{Result, TamisError, wrong_row};
use crate::input::arrow::Chunk;
use crate::input::column::Column;
use crate::input::decoding::{Decoding, Reading};
use crate::input::rows::Rows;

/// Documents of one kind, by row.
pub(crate) enum Documents {
    Mail(Column),
    Text(Column),
    Table(Rows),
}

/// A row that holds a document.
pub(crate) enum Row<'a> {
    Whole(Document<'a>),
    Cells(Vec<(&'a str, &'a str)>),
}

impl Row<'_> {
    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            Row::Whole(document) => *document,
            Row::Cells(cells) => Document::Fields(cells),
        }
    }
}

impl Documents {
    /// The documents of a recipe: a column or, for a recipe of a table, the columns that it uses of one.
    ///
    /// # Errors
    /// As [`Column::new`] or [`Rows::new`].
    pub(crate) fn new(recipe: &Recipe, documents: &Bound<'_, PyAny>, decoding: Decoding) -> PyResult<Self> {
        let reading = Reading::new(recipe.kind, decoding);
        Ok(match recipe.kind {
            Kind::Mail => Documents::Mail(Column::new(documents, &reading)?),
            Kind::Text => Documents::Text(Column::new(documents, &reading)?),
            Kind::Table => Documents::Table(Rows::new(documents, &names(recipe), &reading)?),
        })
    }

    /// A single message, text or row of a table, as row 0.
    ///
    /// # Errors
    /// As [`Reading::read`] or [`Rows::one`].
    pub(crate) fn one(recipe: &Recipe, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reading = Reading::new(recipe.kind, Decoding::default());
        let cell = || Ok::<_, PyErr>(vec![Chunk::Python(vec![reading.read(0, document)?])].into());
        Ok(match recipe.kind {
            Kind::Mail => Documents::Mail(cell()?),
            Kind::Text => Documents::Text(cell()?),
            Kind::Table => Documents::Table(Rows::one(document, &names(recipe), &reading)?),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Documents::Mail(column) | Documents::Text(column) => column.len(),
            Documents::Table(rows) => rows.len(),
        }
    }

    /// The document of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<Row<'_>> {
        Ok(match self {
            Documents::Mail(column) => Row::Whole(Document::Mail(column.bytes(row))),
            Documents::Text(column) => Row::Whole(Document::Text(column.text(row)?)),
            Documents::Table(rows) => Row::Cells(rows.get(row)?),
        })
    }
}

/// The names of the columns that a recipe uses.
fn names(recipe: &Recipe) -> Vec<&str> {
    recipe.columns.iter().map(|column| &*column.name).collect()
}

/// The labels of documents, or the names of their groups, by row.
pub(crate) struct Labels(Column);

/// Checks that there are as many of something as documents.
///
/// # Errors
/// There are not.
pub(crate) fn check_len(what: &str, got: usize, documents: usize) -> PyResult<()> {
    match got == documents {
        true => Ok(()),
        false => {
            let message = format!("expected as many {what} as documents, {documents}, got {got}");
            Err(TamisError::new_err(message))
        }
    }
}

impl Labels {
    /// # Errors
    /// As [`Column::new`].
    pub(crate) fn new(labels: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Labels(Column::new(labels, &Reading::Text(Decoding::default()))?))
    }

    /// Checks that there are as many of `what` as documents.
    ///
    /// # Errors
    /// There are not.
    pub(crate) fn check_len(&self, what: &str, documents: usize) -> PyResult<()> {
        check_len(what, self.len(), documents)
    }

    /// Checks that there is a label for each of so many documents to evaluate, at least one.
    ///
    /// # Errors
    /// There is not.
    pub(crate) fn check_evaluates(&self, documents: usize) -> PyResult<()> {
        let got = self.len();
        if got == documents && got > 0 {
            return Ok(());
        }
        let expected = if got == 0 { "documents".to_owned() } else { format!("{documents} labels") };
        Err(TamisError::new_err(format!("expected {expected} to evaluate, got {got}")))
    }

    /// The names of sets of labels: a value is the list of the labels of a document, or its only label.
    ///
    /// # Errors
    /// A value is something else, or a label is empty or contains U+2063, which separates the labels in a name.
    pub(crate) fn of_sets(sets: &Bound<'_, PyAny>) -> PyResult<Self> {
        let to_list = ["to_pylist", "to_list"].into_iter().find(|name| sets.hasattr(*name).unwrap_or(false));
        let sets = to_list.map_or_else(|| Ok(sets.clone()), |name| sets.call_method0(name))?;
        let names = sets
            .try_iter()?
            .enumerate()
            .map(|(row, set)| name_of_set(&set?).map_err(|error| wrong_row(row, error.value(sets.py()))));
        Labels::new(PyList::new(sets.py(), names.collect::<PyResult<Vec<_>>>()?)?.as_any())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of different labels, at most `max`. Labels that cannot be read do not count.
    pub(crate) fn n_different(&self, max: usize) -> usize {
        let mut different: Vec<&str> = Vec::new();
        for label in (0..self.len()).filter_map(|row| self.get(row).ok()) {
            if !different.contains(&label) {
                different.push(label);
            }
            if different.len() == max {
                break;
            }
        }
        different.len()
    }

    /// The label, or the group's name, of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<&str> {
        self.0.text(row)
    }
}

/// The class under which a document is learned: a label, or a list of labels.
pub(crate) struct ClassName(pub(crate) String);

impl<'a, 'py> FromPyObject<'a, 'py> for ClassName {
    type Error = PyErr;

    fn extract(label: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        label.extract::<String>().or_else(|_| name_of_set(&label)).map(ClassName)
    }
}

fn name_of_set(set: &Bound<'_, PyAny>) -> PyResult<String> {
    let labels = match set.extract::<String>() {
        Ok(label) => Some(vec![label]),
        Err(_) => set.try_iter().and_then(|set| set.map(|label| label?.extract()).collect()).ok(),
    };
    let are_right = |labels: &Vec<String>| labels.iter().all(|label| split_labels(label).eq([label]));
    match labels.filter(are_right) {
        Some(labels) => Ok(join_labels(labels.iter().map(String::as_str))),
        None => {
            let got: String = set.repr()?.to_cow()?.chars().take(60).collect();
            let text = format!("expected a list of labels, not empty and without U+2063, got {got}");
            Err(TamisError::new_err(text))
        }
    }
}
