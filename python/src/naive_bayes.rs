//! Counting and scoring of scipy's compressed sparse rows (CSR), for the estimators of `tamis.naive_bayes`.
//!
//! Both kernels read numpy's own arrays, without a copy and without the GIL. Both add up in the order of the rows'
//! entries, as scipy's products do, so that sums have the same bits. Whatever the arrays hold, the answer is a sum or an
//! error that names the row.

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod csr;
mod kernels;

use csr::{Index, Rows};
use kernels::{Count, Kernel, Product, Weights};

/// scipy's index arrays: 32 bits where they suffice.
#[derive(FromPyObject)]
enum Indices<'py> {
    #[pyo3(transparent, annotation = "int32")]
    Narrow(PyReadonlyArray1<'py, i32>),
    #[pyo3(transparent, annotation = "int64")]
    Wide(PyReadonlyArray1<'py, i64>),
}

/// The values of the entries.
#[derive(FromPyObject)]
enum Values<'py> {
    #[pyo3(transparent, annotation = "float64")]
    Double(PyReadonlyArray1<'py, f64>),
    #[pyo3(transparent, annotation = "float32")]
    Single(PyReadonlyArray1<'py, f32>),
}

/// `(indptr, indices, data, n_features)` of a CSR matrix.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py>(Indices<'py>, Indices<'py>, Values<'py>, usize);

impl Csr<'_> {
    /// Runs a kernel over the rows, compiled for their types.
    fn run(&self, py: Python<'_>, threshold: Option<f64>, kernel: impl Kernel) -> PyResult<()> {
        let ends = match &self.0 {
            Indices::Narrow(ends) => csr::ends(slice(ends)?)?,
            Indices::Wide(ends) => csr::ends(slice(ends)?)?,
        };
        match &self.1 {
            Indices::Narrow(indices) => self.run_indexed(py, &ends, slice(indices)?, threshold, kernel),
            Indices::Wide(indices) => self.run_indexed(py, &ends, slice(indices)?, threshold, kernel),
        }
    }

    fn run_indexed<I: Index>(
        &self,
        py: Python<'_>,
        ends: &[usize],
        indices: &[I],
        threshold: Option<f64>,
        kernel: impl Kernel,
    ) -> PyResult<()> {
        match &self.2 {
            Values::Double(v) => run(py, Rows::new(ends, indices, slice(v)?, self.3)?, threshold, kernel),
            Values::Single(v) => run(py, Rows::new(ends, indices, slice(v)?, self.3)?, threshold, kernel),
        }
    }
}

/// Runs a kernel without the GIL.
fn run<I: Index, V: Copy + Into<f64> + Sync>(
    py: Python<'_>,
    rows: Rows<'_, I, V>,
    threshold: Option<f64>,
    kernel: impl Kernel,
) -> PyResult<()> {
    py.detach(|| match threshold {
        None => kernel.run(&rows, Some),
        Some(threshold) => kernel.run(&rows, move |value| (value > threshold).then_some(1.0)),
    })
}

fn slice<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err("expected a contiguous and aligned array, got another"))
}

/// Refuses a matrix that does not lie row by row in memory.
fn check_row_major(is: bool) -> PyResult<()> {
    if is { Ok(()) } else { Err(PyValueError::new_err("expected a C-contiguous matrix, got another")) }
}

/// Adds the rows of each class to its row of `counts`: `counts[codes[i], j] += weights[i] * x[i, j]`.
///
/// With `threshold`, a value above it counts 1 and any other 0. After an error `counts` holds a part of the
/// sum.
#[pyfunction]
#[pyo3(signature = (rows, codes, counts, weights=None, threshold=None))]
pub(crate) fn csr_count(
    py: Python<'_>,
    rows: Csr<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    mut counts: PyReadwriteArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threshold: Option<f64>,
) -> PyResult<()> {
    check_row_major(counts.is_c_contiguous())?;
    let n_classes = n_rows(counts.shape(), "counts", rows.3)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let counts =
        counts.as_slice_mut().map_err(|_| PyValueError::new_err("expected aligned counts, got others"))?;
    rows.run(py, threshold, Count { codes: slice(&codes)?, weights, counts, n_classes })
}

/// Writes the product of the rows and the transposed weights: `out[i, c] = sum_j x[i, j] * weights[c, j]`.
///
/// With many rows, weights in Fortran's order are faster; with few, making such a copy takes longer than the product.
/// With `threshold`, a value above it counts 1 and any other 0. After an error `out` holds a part of the
/// product.
#[pyfunction]
#[pyo3(signature = (rows, weights, out, threshold=None))]
pub(crate) fn csr_product(
    py: Python<'_>,
    rows: Csr<'_>,
    weights: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    threshold: Option<f64>,
) -> PyResult<()> {
    check_row_major(out.is_c_contiguous())?;
    let n_classes = n_rows(weights.shape(), "weights", rows.3)?;
    n_rows(out.shape(), "out", n_classes)?;
    let unaligned = |_| PyValueError::new_err("expected contiguous and aligned matrices, got others");
    let by_class = weights.is_c_contiguous();
    let weights = weights.as_slice().map_err(unaligned)?;
    let weights = if by_class { Weights::ByClass(weights) } else { Weights::ByFeature(weights) };
    let out = out.as_slice_mut().map_err(unaligned)?;
    rows.run(py, threshold, Product { weights, out, n_classes })
}

/// The number of rows of a matrix that must have `n_columns` columns.
fn n_rows(shape: &[usize], name: &str, n_columns: usize) -> PyResult<usize> {
    match *shape {
        [rows, columns] if columns == n_columns => Ok(rows),
        _ => Err(PyValueError::new_err(format!(
            "expected {name} of {n_columns} columns, got the shape {shape:?}"
        ))),
    }
}
