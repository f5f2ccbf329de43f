//! Merging models, for example shards of one collection.

use std::cmp::Reverse;

use tamis_model::Classes;

use crate::config::keep::Keep;
use crate::disk::model::Model;
use crate::error::Result;
use crate::score::filter::Filter;
use crate::store::compatible::check;
use crate::store::store::Store;
use crate::unite::stores::keeps_weights;
use crate::update::rewrite::{self, can_refit};

/// How models are merged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
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
/// [`ErrorKind::Incompatible`](crate::ErrorKind::Incompatible) if there is no model, recipes or scoring differ, or the scoring is expectation maximization or of a
/// table's columns, which do not add up; [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if the result is to be fitted anew and the terms of some
/// documents are not remembered; [`ErrorKind::Shared`](crate::ErrorKind::Shared) if several models know the same documents, not all of these remember
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

#[cfg(test)]
mod tests;
