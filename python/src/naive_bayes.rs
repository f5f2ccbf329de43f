//! Counting and scoring of scipy's compressed sparse rows (CSR), for the estimators of `tamis.naive_bayes`.
//!
//! Both kernels read numpy's own arrays, without a copy and without the GIL, and both add up in the order of
//! the rows' entries, as scipy's products do, so that sums have the same bits. Arrays come from outside:
//! whatever they hold, the answer is a sum or an error that names the row.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

mod csr;
mod failure;
mod kernels;

use csr::{Index, Rows};
use failure::Result;
use kernels::{Above, AsIs, Weights};

/// Adds the functions of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(csr_count, module)?)?;
    module.add_function(wrap_pyfunction!(csr_product, module)?)
}

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
struct Csr<'py>(Indices<'py>, Indices<'py>, Values<'py>, usize);

impl Csr<'_> {
    /// Runs a kernel over the rows without the GIL, compiled for the types that they have.
    fn run<K: Kernel + Send>(&self, py: Python<'_>, kernel: K) -> PyResult<()> {
        let Csr(indptr, indices, values, n_features) = self;
        let ends = match indptr {
            Indices::Narrow(ends) => csr::ends(slice(ends)?)?,
            Indices::Wide(ends) => csr::ends(slice(ends)?)?,
        };
        match (indices, values) {
            (Indices::Narrow(i), Values::Double(v)) => {
                run(py, &ends, slice(i)?, slice(v)?, *n_features, kernel)
            }
            (Indices::Narrow(i), Values::Single(v)) => {
                run(py, &ends, slice(i)?, slice(v)?, *n_features, kernel)
            }
            (Indices::Wide(i), Values::Double(v)) => {
                run(py, &ends, slice(i)?, slice(v)?, *n_features, kernel)
            }
            (Indices::Wide(i), Values::Single(v)) => {
                run(py, &ends, slice(i)?, slice(v)?, *n_features, kernel)
            }
        }
    }
}

/// What is done with rows of any of the types.
trait Kernel {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>) -> Result<()>;
}

fn run<I: Index, V: Copy + Into<f64> + Sync, K: Kernel + Send>(
    py: Python<'_>,
    ends: &[usize],
    indices: &[I],
    values: &[V],
    n_features: usize,
    kernel: K,
) -> PyResult<()> {
    let rows = Rows::new(ends, indices, values, n_features)?;
    Ok(py.detach(|| kernel.run(&rows))?)
}

fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err("expected a contiguous and aligned array, got another"))
}

/// Refuses a matrix that does not lie row by row in memory.
fn check_row_major(is: bool) -> PyResult<()> {
    if is { Ok(()) } else { Err(PyValueError::new_err("expected a C-contiguous matrix, got another")) }
}

struct Count<'a> {
    codes: &'a [i64],
    weights: Option<&'a [f64]>,
    threshold: Option<f64>,
    counts: &'a mut [f64],
    n_classes: usize,
}

impl Kernel for Count<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>) -> Result<()> {
        let Self { codes, weights, threshold, counts, n_classes } = self;
        match threshold {
            None => kernels::count(rows, codes, weights, counts, n_classes, AsIs),
            Some(threshold) => kernels::count(rows, codes, weights, counts, n_classes, Above(threshold)),
        }
    }
}

/// Adds the rows of each class to its row of `counts`: `counts[codes[i], j] += weights[i] * x[i, j]`.
///
/// With `threshold`, a value above it counts 1 and any other 0. After an error `counts` holds a part of the
/// sum.
#[pyfunction]
#[pyo3(signature = (rows, codes, counts, weights=None, threshold=None))]
fn csr_count(
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
    rows.run(py, Count { codes: slice(&codes)?, weights, threshold, counts, n_classes })
}

struct Product<'a> {
    weights: Weights<'a>,
    threshold: Option<f64>,
    out: &'a mut [f64],
    n_classes: usize,
}

impl Kernel for Product<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>) -> Result<()> {
        let Self { weights, threshold, out, n_classes } = self;
        match threshold {
            None => kernels::product(rows, weights, out, n_classes, AsIs),
            Some(threshold) => kernels::product(rows, weights, out, n_classes, Above(threshold)),
        }
    }
}

/// Writes the product of the rows and the transposed weights: `out[i, c] = sum_j x[i, j] * weights[c, j]`.
///
/// Many rows want the weights in Fortran's order, few rows are done before such a copy would be made.
/// With `threshold`, a value above it counts 1 and any other 0. After an error `out` holds a part of the
/// product.
#[pyfunction]
#[pyo3(signature = (rows, weights, out, threshold=None))]
fn csr_product(
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
    rows.run(py, Product { weights, threshold, out, n_classes })
}

/// The number of rows of a matrix, once its columns are as many as expected.
fn n_rows(shape: &[usize], name: &str, n_columns: usize) -> PyResult<usize> {
    match *shape {
        [rows, columns] if columns == n_columns => Ok(rows),
        _ => Err(PyValueError::new_err(format!(
            "expected {name} of {n_columns} columns, got the shape {shape:?}"
        ))),
    }
}
