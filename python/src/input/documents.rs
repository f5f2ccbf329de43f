//! Documents and their labels.

use pyo3::prelude::*;
use tamis_filter::{Document, Kind};

use crate::error::Result;
use crate::input::column::Column;
use crate::input::decoding::{Decoding, Reading};

/// Documents of one kind, by row.
pub(crate) struct Documents {
    kind: Kind,
    column: Column,
}

impl Documents {
    /// # Errors
    /// As [`Column::new`].
    pub(crate) fn new(kind: Kind, documents: &Bound<'_, PyAny>, decoding: Decoding) -> PyResult<Self> {
        Ok(Documents { kind, column: Column::new(documents, &Reading::new(kind, decoding))? })
    }

    /// A single message or text, as row 0.
    ///
    /// # Errors
    /// As [`Reading::read`].
    pub(crate) fn one(kind: Kind, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let cell = Reading::new(kind, Decoding::default()).read(0, document)?;
        Ok(Documents { kind, column: cell.into() })
    }

    pub(crate) fn len(&self) -> usize {
        self.column.len()
    }

    /// The document of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<Document<'_>> {
        match self.kind {
            Kind::Mail => Ok(Document::Mail(self.column.bytes(row))),
            Kind::Text | Kind::Table => self.column.text(row).map(Document::Text),
        }
    }
}

/// The labels of documents, or the names of their groups, by row.
pub(crate) struct Labels(Column);

impl Labels {
    /// # Errors
    /// As [`Column::new`].
    pub(crate) fn new(labels: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Labels(Column::new(labels, &Reading::Text(Decoding::default()))?))
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
