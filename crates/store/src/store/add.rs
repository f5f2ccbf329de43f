//! Sums of totals, cells and weights, checked for overflow.

use tamis_model::{Cell, ClassTotals, ClassWeight};

use crate::error::{Error, Reason, Result};

/// Converts a sum to the type that the file stores it in, if it fits.
pub fn fits<T: TryFrom<i64>>(what: &'static str, limit: u64, sum: i64) -> Result<T> {
    T::try_from(sum).map_err(|_| Reason::TooLarge { what, limit, got: sum.unsigned_abs() }.into())
}

/// Adds totals.
pub fn add_totals(to: &mut ClassTotals, of: &ClassTotals) -> Result<()> {
    let add = |a: u64, b: u64| {
        a.checked_add(b).ok_or(Reason::TooLarge { what: "counts", limit: u64::MAX, got: u64::MAX })
    };
    *to = ClassTotals {
        documents: add(to.documents, of.documents)?,
        df: add(to.df, of.df)?,
        tf: add(to.tf, of.tf)?,
    };
    Ok(())
}

/// Sorts cells by class and adds up those of the same class.
pub fn add_cells(cells: &mut Vec<Cell>) -> Result<()> {
    cells.sort_unstable_by_key(|cell| cell.class);
    let add = |a: u32, b: u32| fits("counts of a term", u32::MAX.into(), i64::from(a) + i64::from(b));
    let mut outcome = Ok(());
    cells.dedup_by(|cell, sum| {
        let is_same = sum.class == cell.class;
        if is_same {
            match add(sum.df, cell.df).and_then(|df| Ok((df, add(sum.tf, cell.tf)?))) {
                Ok(both) => (sum.df, sum.tf) = both,
                Err(error) => outcome = Err(error),
            }
        }
        is_same
    });
    outcome
}

/// The error for an overflowing sum of coefficients.
pub fn too_large(got: i64) -> Error {
    Reason::TooLarge { what: "units of correction", limit: i64::MAX as u64, got: got.unsigned_abs() }.into()
}

/// Adds biases, column by column.
pub fn add_bias(to: &mut Vec<i64>, of: &[i64]) -> Result<()> {
    to.resize(to.len().max(of.len()), 0);
    for (to, of) in to.iter_mut().zip(of) {
        *to = to.checked_add(*of).ok_or_else(|| too_large(*to))?;
    }
    Ok(())
}

/// Sorts weights by class, adds up those of the same class and drops those whose sum is 0.
pub fn add_weights(weights: &mut Vec<ClassWeight>) -> Result<()> {
    if weights.is_sorted_by(|a, b| a.class < b.class) {
        return Ok(());
    }
    weights.sort_unstable_by_key(|weight| weight.class);
    let mut outcome = Ok(());
    weights.dedup_by(|weight, sum| {
        let is_same = sum.class == weight.class;
        if is_same {
            match sum.units.checked_add(weight.units) {
                Some(units) => sum.units = units,
                None => outcome = Err(too_large(sum.units)),
            }
        }
        is_same
    });
    weights.retain(|weight| weight.units != 0);
    outcome
}
