//! The sums over rows, compiled for each type and for values with and without a threshold.

use super::csr::{Index, Rows};
use super::failure::{Failure, Result};

/// How much a value of the matrix counts.
pub(super) trait Counted: Copy {
    /// `None` if it does not count at all.
    fn counted(self, value: f64) -> Option<f64>;
}

/// Values count as they are.
#[derive(Clone, Copy)]
pub(super) struct AsIs;

impl Counted for AsIs {
    #[inline]
    fn counted(self, value: f64) -> Option<f64> {
        Some(value)
    }
}

/// Values above a threshold count 1, others not at all.
#[derive(Clone, Copy)]
pub(super) struct Above(pub(super) f64);

impl Counted for Above {
    #[inline]
    fn counted(self, value: f64) -> Option<f64> {
        (value > self.0).then_some(1.0)
    }
}

/// Adds each row, times its weight, to the row of `counts` that its class has.
pub(super) fn count<I: Index, V: Copy + Into<f64>>(
    rows: &Rows<'_, I, V>,
    codes: &[i64],
    weights: Option<&[f64]>,
    counts: &mut [f64],
    n_classes: usize,
    counted: impl Counted,
) -> Result<()> {
    for (name, len) in [("labels", codes.len()), ("weights", weights.map_or(rows.len(), <[f64]>::len))] {
        if len != rows.len() {
            return Err(Failure::Input(format!("expected {} {name}, one a row, got {len}", rows.len())));
        }
    }
    for (row, ((indices, values), &code)) in rows.iter().zip(codes).enumerate() {
        if !usize::try_from(code).is_ok_and(|code| code < n_classes) {
            return Err(Failure::Input(format!("row {row}: expected a class below {n_classes}, got {code}")));
        }
        let start = code.place() * rows.n_features();
        let counts = &mut counts[start..start + rows.n_features()];
        let weight = weights.map_or(1.0, |weights| weights[row]);
        for (index, &v) in indices.iter().zip(values) {
            let Some(value) = counted.counted(v.into()) else { continue };
            let feature = index.place();
            *counts.get_mut(feature).ok_or_else(|| rows.no_feature(row, feature))? += value * weight;
        }
    }
    Ok(())
}

/// The weights of all classes, the numbers of a class or of a feature beside each other.
#[derive(Clone, Copy)]
pub(super) enum Weights<'a> {
    ByClass(&'a [f64]),
    ByFeature(&'a [f64]),
}

/// Writes the scalar products of each row with the weights of each class.
pub(super) fn product<I: Index, V: Copy + Into<f64>>(
    rows: &Rows<'_, I, V>,
    weights: Weights<'_>,
    out: &mut [f64],
    n_classes: usize,
    counted: impl Counted,
) -> Result<()> {
    if rows.len().checked_mul(n_classes) != Some(out.len()) {
        let (n, got) = (rows.len(), out.len());
        return Err(Failure::Input(format!(
            "expected an out of {n} rows and {n_classes} columns, got {got} numbers"
        )));
    }
    if n_classes == 0 {
        return Ok(());
    }
    for (row, ((indices, values), out)) in rows.iter().zip(out.chunks_exact_mut(n_classes)).enumerate() {
        if let Some(index) = indices.iter().find(|index| index.place() >= rows.n_features()) {
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
                    let Some(value) = counted.counted(v.into()) else { continue };
                    let weights = weights[index.place()..].iter().step_by(rows.n_features());
                    out.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                }
            }
        }
    }
    Ok(())
}

/// A row's products with `N` classes from `first` on; gives back `N`. Compiled by itself, it keeps the sums
/// in registers.
#[inline(never)]
fn block<const N: usize, I: Index, V: Copy + Into<f64>>(
    indices: &[I],
    values: &[V],
    weights: &[f64],
    counted: impl Counted,
    first: usize,
    out: &mut [f64],
) -> usize {
    let mut sums = [0.0; N];
    for (index, &v) in indices.iter().zip(values) {
        let Some(value) = counted.counted(v.into()) else { continue };
        let Some(weights) = weights[index.place() * out.len() + first..].first_chunk::<N>() else { continue };
        for c in 0..N {
            sums[c] += value * weights[c];
        }
    }
    out[first..first + N].copy_from_slice(&sums);
    N
}
