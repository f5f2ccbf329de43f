//! Counting and scoring of scipy's compressed sparse rows (CSR), for the estimators of `tamis.naive_bayes`.
//!
//! Both kernels read numpy's own arrays, without a copy and without the GIL. Both add up in the order of the rows'
//! entries, as scipy's products do, so that sums have the same bits. Whatever the arrays hold, the answer is a sum or an
//! error that names the row.

use std::fmt::Display;

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// scipy's index arrays: 32 bits where they suffice.
#[derive(FromPyObject)]
enum IndexArray<'py> {
    #[pyo3(transparent, annotation = "int32")]
    Narrow(PyReadonlyArray1<'py, i32>),
    #[pyo3(transparent, annotation = "int64")]
    Wide(PyReadonlyArray1<'py, i64>),
}

/// The values of the entries.
#[derive(FromPyObject)]
enum ValueArray<'py> {
    #[pyo3(transparent, annotation = "float64")]
    Double(PyReadonlyArray1<'py, f64>),
    #[pyo3(transparent, annotation = "float32")]
    Single(PyReadonlyArray1<'py, f32>),
}

/// `(indptr, indices, data, n_features)` of a CSR matrix.
#[derive(FromPyObject)]
pub(crate) struct CsrMatrix<'py>(IndexArray<'py>, IndexArray<'py>, ValueArray<'py>, usize);

impl CsrMatrix<'_> {
    /// Runs a kernel over the rows, compiled for their types.
    fn run(&self, py: Python<'_>, threshold: Option<f64>, kernel: impl Kernel) -> PyResult<()> {
        let ends = match &self.0 {
            IndexArray::Narrow(ends) => row_ends(slice(ends)?)?,
            IndexArray::Wide(ends) => row_ends(slice(ends)?)?,
        };
        let how = (py, threshold, kernel);
        match (&self.1, &self.2) {
            (IndexArray::Narrow(i), ValueArray::Double(v)) => run(&ends, i, v, self.3, how),
            (IndexArray::Narrow(i), ValueArray::Single(v)) => run(&ends, i, v, self.3, how),
            (IndexArray::Wide(i), ValueArray::Double(v)) => run(&ends, i, v, self.3, how),
            (IndexArray::Wide(i), ValueArray::Single(v)) => run(&ends, i, v, self.3, how),
        }
    }
}

/// Runs a kernel without the GIL.
fn run<I: Index + Element, V: Copy + Into<f64> + Sync + Element>(
    ends: &[usize],
    indices: &PyReadonlyArray1<'_, I>,
    values: &PyReadonlyArray1<'_, V>,
    n_features: usize,
    (py, threshold, kernel): (Python<'_>, Option<f64>, impl Kernel),
) -> PyResult<()> {
    let rows = CsrRows::new(ends, slice(indices)?, slice(values)?, n_features)?;
    py.detach(|| match threshold {
        None => kernel.run(&rows, Some),
        Some(threshold) => kernel.run(&rows, move |value| (value > threshold).then_some(1.0)),
    })
}

/// Adds the rows of each class to its row of `counts`: `counts[codes[i], j] += weights[i] * x[i, j]`.
///
/// With `threshold`, a value above it counts 1 and any other 0. After an error `counts` holds a part of the
/// sum.
#[pyfunction]
#[pyo3(signature = (rows, codes, counts, weights=None, threshold=None))]
pub(crate) fn csr_count(
    py: Python<'_>,
    rows: CsrMatrix<'_>,
    codes: PyReadonlyArray1<'_, i64>,
    mut counts: PyReadwriteArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threshold: Option<f64>,
) -> PyResult<()> {
    check_row_major(counts.is_c_contiguous())?;
    let n_classes = n_rows(counts.shape(), "counts", rows.3)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let counts = counts.as_slice_mut().map_err(|_| unsuitable("aligned counts", "others"))?;
    rows.run(py, threshold, CountKernel { codes: slice(&codes)?, weights, counts, n_classes })
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
    rows: CsrMatrix<'_>,
    weights: PyReadonlyArray2<'_, f64>,
    mut out: PyReadwriteArray2<'_, f64>,
    threshold: Option<f64>,
) -> PyResult<()> {
    check_row_major(out.is_c_contiguous())?;
    let n_classes = n_rows(weights.shape(), "weights", rows.3)?;
    n_rows(out.shape(), "out", n_classes)?;
    let unaligned = |_| unsuitable("contiguous and aligned matrices", "others");
    let by_class = weights.is_c_contiguous();
    let weights = weights.as_slice().map_err(unaligned)?;
    let weights = if by_class { Weights::ByClass(weights) } else { Weights::ByFeature(weights) };
    let out = out.as_slice_mut().map_err(unaligned)?;
    rows.run(py, threshold, ProductKernel { weights, out, n_classes })
}

fn unsuitable(expected: impl Display, got: impl Display) -> PyErr {
    PyValueError::new_err(format!("expected {expected}, got {got}"))
}

fn slice<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| unsuitable("a contiguous and aligned array", "another"))
}

/// Refuses a matrix that does not lie row by row in memory.
fn check_row_major(is: bool) -> PyResult<()> {
    if is { Ok(()) } else { Err(unsuitable("a C-contiguous matrix", "another")) }
}

/// The number of rows of a matrix that must have `n_columns` columns.
fn n_rows(shape: &[usize], name: &str, n_columns: usize) -> PyResult<usize> {
    match *shape {
        [rows, columns] if columns == n_columns => Ok(rows),
        _ => Err(unsuitable(
            format_args!("{name} of {n_columns} columns"),
            format_args!("the shape {shape:?}"),
        )),
    }
}

/// An integer of an index array.
trait Index: Copy + Sync + TryInto<usize> {
    /// As an index in memory; `usize::MAX` stands for negative numbers.
    #[inline]
    fn place(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}

impl Index for i32 {}
impl Index for i64 {}

/// Where rows end, from scipy's `indptr`: it begins with 0 and never decreases.
fn row_ends<I: Index>(indptr: &[I]) -> PyResult<Vec<usize>> {
    let mut ends = Vec::new();
    let n = indptr.len();
    ends.try_reserve_exact(n)
        .map_err(|_| PyMemoryError::new_err(format!("expected memory for {n} float64, got none")))?;
    let mut last = 0;
    for (row, end) in indptr.iter().map(|i| i.place()).enumerate() {
        if end < last || end == usize::MAX || (row == 0 && end != 0) {
            let expected = if row == 0 { "0".to_owned() } else { format!("at least {last}") };
            let got = if end == usize::MAX { "a negative number".to_owned() } else { end.to_string() };
            return Err(PyValueError::new_err(format!("indptr[{row}]: expected {expected}, got {got}")));
        }
        ends.push(end);
        last = end;
    }
    Ok(ends)
}

/// Rows of entries: the features of row `i` are `indices[ends[i]..ends[i + 1]]`, their values `values` at the same
/// indices. Features may be anything.
struct CsrRows<'a, I, V> {
    ends: &'a [usize],
    indices: &'a [I],
    values: &'a [V],
    n_features: usize,
}

impl<'a, I: Index, V: Copy + Into<f64>> CsrRows<'a, I, V> {
    /// Fails if a row would lie outside the arrays. The features are not checked here.
    fn new(ends: &'a [usize], indices: &'a [I], values: &'a [V], n_features: usize) -> PyResult<Self> {
        let Some(&n_entries) = ends.last() else {
            return Err(unsuitable("an indptr of at least one number", "none"));
        };
        for (name, len) in [("indices", indices.len()), ("data", values.len())] {
            if len < n_entries {
                return Err(unsuitable(format_args!("{n_entries} {name}, as indptr says"), len));
            }
        }
        Ok(Self { ends, indices, values, n_features })
    }

    /// Number of rows.
    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// The features and the values of each row.
    fn iter(&self) -> impl Iterator<Item = (&'a [I], &'a [V])> {
        self.ends.windows(2).map(|ends| (&self.indices[ends[0]..ends[1]], &self.values[ends[0]..ends[1]]))
    }

    /// The error for a feature out of range.
    fn no_feature(&self, row: usize, feature: usize) -> PyErr {
        let got = if feature == usize::MAX { "a negative one".to_owned() } else { feature.to_string() };
        PyValueError::new_err(format!("row {row}: expected a column below {}, got {got}", self.n_features))
    }
}

/// A sum over rows of any type. `counted` says how much a value counts; `None` if it does not count.
trait Kernel: Send {
    fn run<I: Index, V: Copy + Into<f64>>(
        self,
        rows: &CsrRows<'_, I, V>,
        counted: impl Fn(f64) -> Option<f64> + Copy,
    ) -> PyResult<()>;
}

/// Adds each row, times its weight, to the row of `counts` of its class.
struct CountKernel<'a> {
    codes: &'a [i64],
    weights: Option<&'a [f64]>,
    counts: &'a mut [f64],
    n_classes: usize,
}

impl Kernel for CountKernel<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(
        self,
        rows: &CsrRows<'_, I, V>,
        counted: impl Fn(f64) -> Option<f64> + Copy,
    ) -> PyResult<()> {
        let Self { codes, weights, counts, n_classes } = self;
        for (name, len) in [("labels", codes.len()), ("weights", weights.map_or(rows.len(), <[f64]>::len))] {
            if len != rows.len() {
                return Err(unsuitable(format_args!("{} {name}, one per row", rows.len()), len));
            }
        }
        for (row, ((indices, values), &code)) in rows.iter().zip(codes).enumerate() {
            if !usize::try_from(code).is_ok_and(|code| code < n_classes) {
                let expected = format!("row {row}: expected a class below {n_classes}");
                return Err(PyValueError::new_err(format!("{expected}, got {code}")));
            }
            let start = code.place() * rows.n_features;
            let counts = &mut counts[start..start + rows.n_features];
            let weight = weights.map_or(1.0, |weights| weights[row]);
            for (index, &v) in indices.iter().zip(values) {
                let Some(value) = counted(v.into()) else { continue };
                let feature = index.place();
                *counts.get_mut(feature).ok_or_else(|| rows.no_feature(row, feature))? += value * weight;
            }
        }
        Ok(())
    }
}

/// The weights of all classes; those of a class, or of a feature, lie together.
#[derive(Clone, Copy)]
enum Weights<'a> {
    ByClass(&'a [f64]),
    ByFeature(&'a [f64]),
}

/// Writes the scalar products of each row with the weights of each class.
struct ProductKernel<'a> {
    weights: Weights<'a>,
    out: &'a mut [f64],
    n_classes: usize,
}

impl Kernel for ProductKernel<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(
        self,
        rows: &CsrRows<'_, I, V>,
        counted: impl Fn(f64) -> Option<f64> + Copy,
    ) -> PyResult<()> {
        let Self { weights, out, n_classes } = self;
        if rows.len().checked_mul(n_classes) != Some(out.len()) {
            let expected = format!("an out of {} rows and {n_classes} columns", rows.len());
            return Err(unsuitable(expected, format_args!("{} numbers", out.len())));
        }
        if n_classes == 0 {
            return Ok(());
        }
        for (row, ((indices, values), out)) in rows.iter().zip(out.chunks_exact_mut(n_classes)).enumerate() {
            if let Some(index) = indices.iter().find(|index| index.place() >= rows.n_features) {
                return Err(rows.no_feature(row, index.place()));
            }
            match weights {
                Weights::ByFeature(weights) => {
                    let mut done = 0;
                    while done < n_classes {
                        done += match n_classes - done {
                            24.. => block::<24, _, _>(indices, values, weights, counted, done, out),
                            20.. => block::<20, _, _>(indices, values, weights, counted, done, out),
                            16.. => block::<16, _, _>(indices, values, weights, counted, done, out),
                            12.. => block::<12, _, _>(indices, values, weights, counted, done, out),
                            8.. => block::<8, _, _>(indices, values, weights, counted, done, out),
                            4.. => block::<4, _, _>(indices, values, weights, counted, done, out),
                            2.. => block::<2, _, _>(indices, values, weights, counted, done, out),
                            _ => block::<1, _, _>(indices, values, weights, counted, done, out),
                        }
                    }
                }
                Weights::ByClass(weights) => {
                    out.fill(0.0);
                    for (index, &v) in indices.iter().zip(values) {
                        let Some(value) = counted(v.into()) else { continue };
                        let weights = weights[index.place()..].iter().step_by(rows.n_features);
                        out.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A row's products with `N` classes, starting at `first`; returns `N`. Not inlined, so that the sums stay in registers.
#[inline(never)]
fn block<const N: usize, I: Index, V: Copy + Into<f64>>(
    indices: &[I],
    values: &[V],
    weights: &[f64],
    counted: impl Fn(f64) -> Option<f64> + Copy,
    first: usize,
    out: &mut [f64],
) -> usize {
    let mut sums = [0.0; N];
    for (index, &v) in indices.iter().zip(values) {
        let Some(value) = counted(v.into()) else { continue };
        let Some(weights) = weights[index.place() * out.len() + first..].first_chunk::<N>() else { continue };
        for c in 0..N {
            sums[c] += value * weights[c];
        }
    }
    out[first..first + N].copy_from_slice(&sums);
    N
}
