//! Documents and their labels.

use std::str::Utf8Error;

use pyo3::prelude::*;
use tamis_filter::{Document, Kind};

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
        let reading = match kind {
            Kind::Mail => Reading::Mail,
            Kind::Text | Kind::Table => Reading::Text(decoding),
        };
        Ok(Documents { kind, column: Column::new(documents, &reading)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.column.len()
    }

    /// The document of a row below [`len`](Self::len).
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<Document<'_>, Utf8Error> {
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

    /// How many labels are different, up to `most`; what cannot be read is none.
    pub(crate) fn n_different(&self, most: usize) -> usize {
        let mut different: Vec<&str> = Vec::new();
        for label in (0..self.len()).filter_map(|row| self.get(row).ok()) {
            if !different.contains(&label) {
                different.push(label);
            }
            if different.len() == most {
                break;
            }
        }
        different.len()
    }

    /// The label of a row below [`len`](Self::len), or the name of its group.
    ///
    /// # Errors
    /// As [`Column::text`].
    pub(crate) fn get(&self, row: usize) -> Result<&str, Utf8Error> {
        self.0.text(row)
    }
}
