//! Documents that several merged models share.

use std::cmp::{Ordering, Reverse};

use tamis_model::{Coefficient, Correction, HeldOut, Statistics};
use tamis_store::error::{Reason, Result};
use tamis_store::file::documents::{greatest_dense, keep_least, least_message};
use tamis_store::store::overlay::{add_equal, too_large};

use crate::gather::document::copies;
use crate::merge::stores::{SourceDocument, Stores, for_each_group};
use crate::merge::surplus::Surplus;

impl Stores<'_> {
    /// Subtracts the surplus of shared documents. The terms stay the same, since one copy of each document stays.
    ///
    /// # Errors
    /// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if not all models remember the terms of such
    /// documents.
    pub(crate) fn count_once(&mut self) -> Result<()> {
        let mut statistics = Statistics::new(self.totals.len());
        let (mut correction, mut n_documents, mut n_unknown) = (Correction::default(), 0, 0);
        for_each_group(self, |mut group| {
            if group.len() == 1 || group[0].1.digest == self.nothing {
                return Ok(());
            }
            if group.iter().any(|(_, document)| document.vector.row().is_empty()) {
                n_unknown += 1;
                return Ok(());
            }
            group.swap_remove(most_copies(&group));
            n_documents += group.len() as u64;
            for (at, document) in group {
                let vector = self.renumber(at, &document.vector)?;
                statistics.observe_times(document.class, vector.row(), document.multiplicity)?;
                correction.add(vector.row(), &document.coefficients)?;
            }
            Ok(())
        })?;
        Reason::Shared { documents: n_unknown }.unless(n_unknown == 0)?;
        let statistics = (n_documents > 0).then_some(statistics);
        self.surplus = Surplus { statistics, correction, n_documents };
        self.surplus.take_from_totals(&mut self.totals)
    }
}

/// The position of the document with the most copies; the first of equals.
fn most_copies(group: &[SourceDocument]) -> usize {
    let places = 0..group.len();
    places.max_by_key(|at| (group[*at].1.multiplicity, Reverse(*at))).unwrap_or_default()
}

/// Combines what several models remember of a document. With `sums_copies`, copies are summed; otherwise those of the
/// model with the most copies are taken. Also returns the store whose ids the terms have.
pub(crate) fn merge_copies(mut group: Vec<SourceDocument>, sums_copies: bool) -> Result<SourceDocument> {
    let (at, mut document) = group.swap_remove(if sums_copies { 0 } else { most_copies(&group) });
    for (_, other) in group {
        let first = (document.group, document.date).min((other.group, other.date));
        (document.group, document.date) = first;
        keep_least(&mut document.name, &other.name);
        document.message = least_message(document.message, other.message);
        let dense = greatest_dense(&document.dense, &other.dense);
        if sums_copies && dense != &*document.dense {
            document.dense = dense.into();
        }
        let sureness = |[b, d, c, v, lift]: HeldOut| (0.5 * b + d + c + v + lift).abs();
        let least_sure = |a: HeldOut, b: HeldOut| match sureness(a).total_cmp(&sureness(b)) {
            Ordering::Less => a,
            Ordering::Equal => std::array::from_fn(|part| a[part].min(b[part])),
            Ordering::Greater => b,
        };
        document.held_out = match (document.held_out, other.held_out) {
            (Some(a), Some(b)) => Some(least_sure(a, b)),
            (a, b) => a.or(b),
        };
        document.learned = document.learned.min(other.learned);
        if !sums_copies {
            continue;
        }
        document.fraction = document.fraction.saturating_add(other.fraction);
        document.multiplicity = copies(document.multiplicity, other.multiplicity)?;
        document.coefficients = add_coefficients(document.coefficients, other.coefficients)?;
    }
    Ok((at, document))
}

/// The sum of coefficients, sorted by column.
fn add_coefficients(here: Vec<Coefficient>, there: Vec<Coefficient>) -> Result<Vec<Coefficient>> {
    let mut sums = [here, there].concat();
    let add = |a: i64, b: i64| a.checked_add(b).ok_or_else(|| too_large(a));
    let add_both = |sum: &mut Coefficient, of: &Coefficient| {
        (sum.bias, sum.units) = (add(sum.bias, of.bias)?, add(sum.units, of.units)?);
        Ok(())
    };
    add_equal(&mut sums, |of| of.class, add_both)?;
    sums.retain(|sum| sum.bias != 0 || sum.units != 0);
    Ok(sums)
}
