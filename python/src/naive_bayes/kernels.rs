//! The sums over rows, compiled for each type and for values with and without a threshold.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::csr::{Entries, Index, Rows};

/// How much a value of the matrix counts; `None` if it does not count.
pub(super) trait Counts: Fn(f64) -> Option<f64> + Copy {}

impl<F: Fn(f64) -> Option<f64> + Copy> Counts for F {}

/// A sum over rows of any type.
pub(super) trait Kernel: Send {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>, counted: impl Counts) -> PyResult<()>;
}

/// Adds each row, times its weight, to the row of `counts` of its class.
pub(super) struct Count<'a> {
    pub(super) codes: &'a [i64],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) counts: &'a mut [f64],
    pub(super) n_classes: usize,
}

impl Kernel for Count<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>, counted: impl Counts) -> PyResult<()> {
        let Self { codes, weights, counts, n_classes } = self;
        for (name, len) in [("labels", codes.len()), ("weights", weights.map_or(rows.len(), <[f64]>::len))] {
            if len != rows.len() {
                let n = rows.len();
                return Err(PyValueError::new_err(format!("expected {n} {name}, one per row, got {len}")));
            }
        }
        for (row, (Entries { indices, values }, &code)) in rows.iter().zip(codes).enumerate() {
            if !usize::try_from(code).is_ok_and(|code| code < n_classes) {
                let expected = format!("row {row}: expected a class below {n_classes}");
                return Err(PyValueError::new_err(format!("{expected}, got {code}")));
            }
            let start = code.place() * rows.n_features();
            let counts = &mut counts[start..start + rows.n_features()];
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
pub(super) enum Weights<'a> {
    ByClass(&'a [f64]),
    ByFeature(&'a [f64]),
}

/// Writes the scalar products of each row with the weights of each class.
pub(super) struct Product<'a> {
    pub(super) weights: Weights<'a>,
    pub(super) out: &'a mut [f64],
    pub(super) n_classes: usize,
}

impl Kernel for Product<'_> {
    fn run<I: Index, V: Copy + Into<f64>>(self, rows: &Rows<'_, I, V>, counted: impl Counts) -> PyResult<()> {
        let Self { weights, out, n_classes } = self;
        if rows.len().checked_mul(n_classes) != Some(out.len()) {
            let expected = format!("expected an out of {} rows and {n_classes} columns", rows.len());
            return Err(PyValueError::new_err(format!("{expected}, got {} numbers", out.len())));
        }
        if n_classes == 0 {
            return Ok(());
        }
        for (row, (entries, out)) in rows.iter().zip(out.chunks_exact_mut(n_classes)).enumerate() {
            let Entries { indices, values } = entries;
            if let Some(index) = indices.iter().find(|index| index.place() >= rows.n_features()) {
                return Err(rows.no_feature(row, index.place()));
            }
            match weights {
                Weights::ByFeature(weights) => {
                    let mut done = 0;
                    while done < n_classes {
                        done += match n_classes - done {
                            24.. => block::<24, _, _>(entries, weights, counted, done, out),
                            20.. => block::<20, _, _>(entries, weights, counted, done, out),
                            16.. => block::<16, _, _>(entries, weights, counted, done, out),
                            12.. => block::<12, _, _>(entries, weights, counted, done, out),
                            8.. => block::<8, _, _>(entries, weights, counted, done, out),
                            4.. => block::<4, _, _>(entries, weights, counted, done, out),
                            2.. => block::<2, _, _>(entries, weights, counted, done, out),
                            _ => block::<1, _, _>(entries, weights, counted, done, out),
                        }
                    }
                }
                Weights::ByClass(weights) => {
                    out.fill(0.0);
                    for (index, &v) in indices.iter().zip(values) {
                        let Some(value) = counted(v.into()) else { continue };
                        let weights = weights[index.place()..].iter().step_by(rows.n_features());
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
    Entries { indices, values }: Entries<'_, I, V>,
    weights: &[f64],
    counted: impl Counts,
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
