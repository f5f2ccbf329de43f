//! Dense vectors beside documents: what Python's class `Embedded` holds.

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use tamis_train::Recipe;
use tamis_train::options::VectorSpace;

use crate::error::{Result, ensure};

/// Documents and their vectors, as Python gives them.
#[derive(FromPyObject)]
pub(crate) struct Embedded<'py> {
    pub(crate) documents: Bound<'py, PyAny>,
    vectors: PyReadonlyArray2<'py, f32>,
    encoder: String,
}

impl<'py> Embedded<'py> {
    /// `None` for documents without vectors.
    ///
    /// # Errors
    /// Its attributes were changed to others.
    pub(crate) fn of(documents: &Bound<'py, PyAny>) -> Result<Option<Self>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let class = CLASS.import(documents.py(), "tamis._embedded", "Embedded")?;
        Ok(if documents.is_instance(class)? { Some(documents.extract()?) } else { None })
    }

    /// The documents without their vectors.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn bare(documents: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Ok(Embedded::of(documents)?.map_or_else(|| documents.clone(), |of| of.documents))
    }

    /// Copies the vectors, since Python may change them while other threads read.
    ///
    /// # Errors
    /// They are not vectors of the recipe.
    pub(crate) fn rows(&self, recipe: &Recipe) -> Result<VectorRows> {
        let n = self.vectors.shape()[1];
        let Some(VectorSpace { dimensions, encoder }) = &recipe.vectors else {
            let none = "expected documents without vectors, as the model's are";
            return Err(
                format!("{none}, got vectors of {n} numbers; vectors={n} makes a model of them").into()
            );
        };
        let dimensions = *dimensions as usize;
        let text = format_args!("expected vectors of {dimensions} numbers, got {n}");
        ensure(dimensions == n, text)?;
        let got = format_args!("expected vectors by {encoder:?}, got some by {:?}", self.encoder);
        let is_same = encoder.is_empty() || self.encoder.is_empty() || *encoder == self.encoder;
        ensure(is_same, format_args!("encoder: {got}; encoder=... names what makes them"))?;
        let values = self.vectors.as_slice().map_err(|error| error.to_string())?.to_vec();
        Ok(VectorRows { values, dimensions })
    }
}

/// The options of training, with the length of the documents' vectors and their encoder if these are not given.
///
/// # Errors
/// As [`Embedded::of`].
pub(crate) fn with_vectors<'py>(
    documents: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> Result<Bound<'py, PyDict>> {
    let options = options.map_or_else(|| Ok(PyDict::new(documents.py())), |options| options.copy())?;
    if let Some(of) = Embedded::of(documents)? {
        let is_given = |name| Ok::<_, PyErr>(options.get_item(name)?.is_some_and(|value| !value.is_none()));
        if !is_given("vectors")? {
            options.set_item("vectors", of.vectors.shape()[1])?;
        }
        if !is_given("encoder")? {
            options.set_item("encoder", of.encoder)?;
        }
    }
    Ok(options)
}

/// The vectors of documents, by row; empty for documents without.
#[derive(Default)]
pub(crate) struct VectorRows {
    values: Vec<f32>,
    dimensions: usize,
}

impl VectorRows {
    /// The vector of a row.
    pub(crate) fn get(&self, row: usize) -> &[f32] {
        let start = row * self.dimensions;
        self.values.get(start..start + self.dimensions).unwrap_or_default()
    }
}
