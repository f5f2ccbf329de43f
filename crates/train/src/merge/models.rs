//! Merging models, for example shards of one collection.

use std::cmp::Reverse;

use tamis_filter::score::filter::Filter;
use tamis_model::Classes;
use tamis_store::config::labels::check_labels_of;
use tamis_store::config::recipe::Keep;
use tamis_store::error::Result;
use tamis_store::file::header::Retention;
use tamis_store::store::information::check_compatible;
use tamis_store::store::opened::Store;

use crate::merge::families::{converted, shared_settings};
use crate::merge::refit::{can_refit, refit};
use crate::merge::rewrite::merge_stores;
use crate::merge::stores::keeps_weights;
use crate::model::Model;

/// How models are merged.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Require that the merged model is fitted to the documents of all models, as if they had been trained together.
    /// Without this option, it is fitted only if all models remember the terms of their documents. Off by default.
    pub retrain: bool,
    /// Leave out the terms and names of documents, for a model to be given to others. It then recognises a document
    /// only by its digest ([`Keep::Digests`]). Off by default.
    pub strip: bool,
    /// Count a document that several models know once for each of them. Off by default.
    pub repeat: bool,
}

/// Merges models: adds their counts, corrections and documents, including those in their logs. The order of models does
/// not matter.
///
/// Labels are matched by name; a model may have labels that others lack. A document that several models learned under
/// the same label counts as often as in the model with the most copies of it, and that model's part of the correction
/// is kept. The least certain of its held-out scores is kept, and the lowest of its pairs of group and date. Documents
/// without terms are never equal, so all of them count. Terms and names of documents are kept if all models store them;
/// of several names, the first in byte order is kept.
///
/// If all models remember the terms of their documents, the result is fitted to all of them. Otherwise the choices of
/// the model with the most documents are kept, and the documents of the others count as not yet fitted; with two
/// labels, thresholds are chosen again by the held-out scores of all documents. If models of two labels merge into a
/// model of more labels, its correction starts from zero.
///
/// What training chose by itself for models of text need not be the same, if they remember the terms of their documents:
/// pairs of words and signs that not all models have are left out; pieces of words, which can be counted again, and the
/// regularisation are chosen anew.
///
/// ```
/// use tamis_train::{Document, Kind, MergeOptions, TrainOptions, Trainer, merge};
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
/// # Ok::<(), tamis_train::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if there is no model, recipes or scoring differ, or the scoring
/// is expectation maximization or of a table's columns, which cannot be merged;
/// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if `retrain` is on and not all models remember the
/// terms of their documents; [`ErrorKind::Settings`](crate::ErrorKind::Settings) if models share documents,
/// not all of them remember their terms, and [`MergeOptions::repeat`] is off;
/// [`ErrorKind::Label`](crate::ErrorKind::Label) if labels of two models look the same. Other errors if there are more
/// than 65,535 models, a number exceeds a limit of the format, or a model is damaged.
pub fn merge(models: &[&Filter], options: MergeOptions) -> Result<Model> {
    let mut stores: Vec<&Store> = models.iter().map(|model| model.store()).collect();
    let mut labels = Vec::new();
    stores.iter().for_each(|store| labels.extend(store.header.classes.iter().map(|(_, label)| label)));
    let classes = Classes::new(labels)?;
    check_labels_of(stores.iter().map(|store| &store.header.classes), &classes)?;
    // which model comes first must not depend on the order in which they are given
    stores.sort_by_cached_key(|store| {
        let documents = store.totals.iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        (!keeps_weights(store, classes.len()), Reverse(documents), store.contents())
    });
    let settings = shared_settings(&stores);
    let Some((simplest, others)) = settings.split_first() else {
        return merge_alike(&stores, classes, options);
    };
    let merge_with = |settings| -> Result<Model> {
        let alike = stores.iter().map(|store| converted(store, settings)).collect::<Result<Vec<_>>>()?;
        merge_alike(&alike.iter().collect::<Vec<_>>(), classes.clone(), options)
    };
    let mut best = merge_with(simplest)?;
    for settings in others {
        let model = merge_with(settings)?;
        if held_out_loss(&model)? < (1.0 - WORTH) * held_out_loss(&best)? {
            best = model;
        }
    }
    Ok(best)
}

/// The share of the loss of simpler settings that others must take away.
const WORTH: f64 = 0.01;

/// The mean log loss of the documents that were held out when a model was fitted, in nats; infinite without any.
fn held_out_loss(model: &Model) -> Result<f64> {
    let filter = Filter::from_bytes(model.as_bytes().to_vec())?;
    let parts = filter.information().chosen.and_then(|chosen| chosen.parts);
    Ok(parts.map_or(f64::INFINITY, |parts| parts.vectors))
}

/// Merges models of the same settings.
fn merge_alike(stores: &[&Store], classes: Classes, options: MergeOptions) -> Result<Model> {
    check_compatible(stores)?;
    let keep = match stores.iter().all(|store| store.header.stored.keep == Keep::Vectors) {
        true => Keep::Vectors,
        false => Keep::Digests,
    };
    let stored = Retention { keep, names: stores.iter().all(|store| store.header.stored.names) };
    let stripped = Retention { keep: Keep::Digests, names: false };
    let strip = |store: &Store| merge_stores(&[store], store.header.classes.clone(), stripped, true);
    let refits = options.retrain || stores.len() > 1 && stores.iter().all(|store| can_refit(store));
    if !refits {
        let stored = if options.strip { stripped } else { stored };
        return merge_stores(stores, classes, stored, options.repeat);
    }
    let sum = merge_stores(stores, classes, stored, options.repeat)?.into_store()?;
    let model = refit(&sum)?;
    if options.strip { strip(&model.into_store()?) } else { Ok(model) }
}

#[cfg(test)]
mod tests;
