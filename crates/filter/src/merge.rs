//! Models added up: what shards of one collection learned, or colleagues.

use std::cmp::Reverse;

use serde_json::Value;
use tamis_model::{Cell, ClassTotals, ClassWeight, Classes};

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::model::Model;
use crate::rewrite::{self, can_refit, keeps_weights};
use crate::scoring::Scoring;
use crate::store::Store;
use crate::trainer::Keep;

/// How models are merged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MergeOptions {
    /// Insist on fitting everything anew to the documents of all models, as if they had been trained together; without it
    /// that is done where all remember the terms of their documents. Off by default.
    pub retrain: bool,
    /// Leave the terms and names of documents out of the result, for a model that others get: it then knows a document
    /// again only by its digest ([`Keep::Digests`]). Off by default.
    pub strip: bool,
    /// Count a document that several models know as often as all of them together do. Off by default.
    pub repeat: bool,
}

/// Adds models up, in whatever order: counts, the weights of the correction, documents, what their logs say among it.
///
/// Labels are matched by name, and some may know labels that others do not. A document that several models learned under
/// a label counts once: as often as in the model that has most copies of it, whose part of the correction stays too. Of
/// its held-out scores the least sure one stays, of its dates and bodies the first. Documents without terms are never the
/// same: they add up. The terms of documents stay if all models remember them, so do their names, of which the least stays.
///
/// Where all models remember the terms of their documents, everything is fitted anew to these. Else what was chosen is that
/// of the model with the most documents, and the documents of the others count as not fitted yet; with two labels, thresholds
/// are settled anew by the held-out scores of all documents. Where models of two labels become one of more, the correction then
/// begins again from nothing.
///
/// ```
/// use tamis_filter::{Document, Kind, MergeOptions, TrainOptions, Trainer, merge};
///
/// let train = |documents: &[(&str, &str)]| {
///     let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
///     documents.iter().try_for_each(|(label, text)| trainer.add(label, Document::Text(text)))?;
///     trainer.finish()?.into_filter()
/// };
/// let here = train(&[("fruit", "apples and pears"), ("metal", "iron and tin")])?;
/// let there = train(&[("fruit", "a pound of plums"), ("metal", "sheets of zinc")])?;
/// let both = merge(&[&here, &there], MergeOptions::default())?.into_filter()?;
/// assert_eq!(both.information().totals[0].documents, 2);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unlike`] if there is no model, recipes or scoring differ, or the scoring is expectation maximization or of a
/// table's columns, which do not add up; [`Error::NotAtHand`] if the result is to be fitted anew and the terms of some
/// documents are not remembered; [`Error::Shared`] if several models know the same documents, not all of these remember
/// their terms, and [`MergeOptions::repeat`] is off; if a number outgrows the format or a model is damaged.
pub fn merge(models: &[&Filter], options: MergeOptions) -> Result<Model> {
    let mut stores: Vec<&Store> = models.iter().map(|model| &model.store).collect();
    let mut labels = Vec::new();
    stores.iter().for_each(|store| labels.extend(store.header.classes.iter().map(|(_, label)| label)));
    let classes = Classes::new(labels)?;
    // whoever comes first must not depend on the order they are given in
    stores.sort_by_cached_key(|store| {
        let documents = store.totals.iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        (!keeps_weights(store, classes.len()), Reverse(documents), store.contents())
    });
    check(&stores)?;
    let keep = match stores.iter().all(|store| store.header.keep == Keep::Vectors) {
        true => Keep::Vectors,
        false => Keep::Digests,
    };
    let keep = (keep, stores.iter().all(|store| store.header.names));
    let stripped = (Keep::Digests, false);
    let strip = |store: &Store| rewrite::add_up(&[store], store.header.classes.clone(), stripped, true);
    let refits = options.retrain || stores.len() > 1 && stores.iter().all(|store| can_refit(store));
    if !refits {
        let keep = if options.strip { stripped } else { keep };
        return rewrite::add_up(&stores, classes, keep, options.repeat);
    }
    let sum = rewrite::add_up(&stores, classes, keep, options.repeat)?.into_filter()?.store;
    let model = rewrite::refit(&sum)?;
    if options.strip { strip(&model.into_filter()?.store) } else { Ok(model) }
}

/// Checks that models add up.
pub(crate) fn check(stores: &[&Store]) -> Result<()> {
    let unlike = |setting: &str, expected: &str, got: &str| {
        Err(Error::Unlike { setting: setting.into(), expected: expected.into(), got: got.into() })
    };
    let Some((first, others)) = stores.split_first() else { return unlike("models", "at least one", "none") };
    let settings = |store: &Store| {
        let settings = serde_json::to_value((&store.header.recipe, &store.header.scoring));
        settings.map_err(|e| Error::inconsistent("header", "settings that can be shown", e))
    };
    let expected = settings(first)?;
    for store in stores {
        match store.header.scoring {
            Scoring::ExpectationMaximization(_) => {
                return unlike("scoring", "counts, which add up", "expectation maximization");
            }
            Scoring::Mixed(_) => {
                return unlike("scoring", "counts of terms", "a table of columns other than text");
            }
            _ => (),
        }
    }
    for other in others {
        let got = settings(other)?;
        for (i, part) in ["recipe", "scoring"].into_iter().enumerate() {
            if let Some((setting, expected, got)) = difference(part, &expected[i], &got[i]) {
                return unlike(&setting, &expected.to_string(), &got.to_string());
            }
        }
    }
    Ok(())
}

/// The first setting that differs, by its path.
fn difference<'a>(path: &str, a: &'a Value, b: &'a Value) -> Option<(String, &'a Value, &'a Value)> {
    match (a, b) {
        (Value::Object(here), Value::Object(there)) if here.keys().eq(there.keys()) => here
            .iter()
            .zip(there.values())
            .find_map(|((key, a), b)| difference(&format!("{path}.{key}"), a, b)),
        _ if a == b => None,
        _ => Some((path.to_owned(), a, b)),
    }
}

/// A number that the file keeps in 32 bits.
pub(crate) fn fits<T: TryFrom<i64>>(what: &'static str, limit: u64, sum: i64) -> Result<T> {
    T::try_from(sum).map_err(|_| Error::TooLarge { what, limit, got: sum.unsigned_abs() })
}

/// Adds totals up.
pub(crate) fn add_totals(to: &mut ClassTotals, of: &ClassTotals) -> Result<()> {
    let add = |a: u64, b: u64| {
        a.checked_add(b).ok_or(Error::TooLarge { what: "counts", limit: u64::MAX, got: u64::MAX })
    };
    *to = ClassTotals {
        documents: add(to.documents, of.documents)?,
        df: add(to.df, of.df)?,
        tf: add(to.tf, of.tf)?,
    };
    Ok(())
}

/// Puts cells in the order of their classes, and adds those of equal classes up.
pub(crate) fn add_cells(cells: &mut Vec<Cell>) -> Result<()> {
    cells.sort_unstable_by_key(|cell| cell.class);
    let mut sums: Vec<Cell> = Vec::new();
    for cell in cells.drain(..) {
        let add = |a: u32, b: u32| fits("counts of a term", u32::MAX.into(), i64::from(a) + i64::from(b));
        match sums.last_mut().filter(|sum| sum.class == cell.class) {
            Some(sum) => (sum.df, sum.tf) = (add(sum.df, cell.df)?, add(sum.tf, cell.tf)?),
            None => sums.push(cell),
        }
    }
    *cells = sums;
    Ok(())
}

/// A sum of coefficients that does not fit.
pub(crate) fn too_large(got: i64) -> Error {
    Error::TooLarge { what: "units of correction", limit: i64::MAX as u64, got: got.unsigned_abs() }
}

/// Adds biases, column by column.
pub(crate) fn add_bias(to: &mut Vec<i64>, of: &[i64]) -> Result<()> {
    to.resize(to.len().max(of.len()), 0);
    for (to, of) in to.iter_mut().zip(of) {
        *to = to.checked_add(*of).ok_or_else(|| too_large(*to))?;
    }
    Ok(())
}

/// Puts weights in the order of their classes, adds those of equal classes up and drops those that come to nothing.
pub(crate) fn add_weights(weights: &mut Vec<ClassWeight>) -> Result<()> {
    if weights.is_sorted_by(|a, b| a.class < b.class) {
        return Ok(());
    }
    weights.sort_unstable_by_key(|weight| weight.class);
    let mut sums = Vec::new();
    for equal in weights.chunk_by(|a, b| a.class == b.class) {
        let sum = equal.iter().try_fold(0i64, |sum, weight| sum.checked_add(weight.units));
        sums.push(ClassWeight {
            class: equal[0].class,
            units: sum.ok_or_else(|| too_large(equal[0].units))?,
        });
    }
    sums.retain(|weight| weight.units != 0);
    *weights = sums;
    Ok(())
}

#[cfg(test)]
mod tests;
