//! One document from Python.

use pyo3::prelude::*;
use tamis_filter::{Document, Kind};

use crate::input::decoding::{Cell, Decoding, Reading};
use crate::model::Failure;

/// A message or a text, borrowed from Python.
pub(crate) struct Message {
    kind: Kind,
    cell: Cell,
}

impl Message {
    /// # Errors
    /// If it is no text and no bytes, or cannot be decoded.
    pub(crate) fn new(kind: Kind, message: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reading = match kind {
            Kind::Mail => Reading::Mail,
            Kind::Text | Kind::Table => Reading::Text(Decoding::default()),
        };
        Ok(Message { kind, cell: reading.read(0, message)? })
    }

    pub(crate) fn document(&self) -> Result<Document<'_>, Failure> {
        match self.kind {
            Kind::Mail => Ok(Document::Mail(self.cell.bytes())),
            Kind::Text | Kind::Table => {
                self.cell.text().map(Document::Text).map_err(|error| Failure::Document(0, error))
            }
        }
    }
}
