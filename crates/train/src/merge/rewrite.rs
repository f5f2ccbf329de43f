//! Rewriting models as one file without a log: compaction, new labels, merging.

use tamis_model::{Classes, Counts, VectorStatistics, WeightedOptions};
use tamis_store::config::decision::{Decision, LabelDecision};
use tamis_store::config::labels::{labels_of, positive_class};
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::{Scoring, Unlabelled};
use tamis_store::error::Result;
use tamis_store::file::documents::StoredDocument;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{Changes, ModelHeader, Retention};
use tamis_store::store::opened::Store;
use zerocopy::IntoBytes;

use crate::fit::calibration::{self, BinaryPrediction};
use crate::fit::sections::{DocumentSections, seal, term_sections};
use crate::merge::documents::merge_copies;
use crate::merge::stores::{Stores, for_each_group};
use crate::model::Model;

/// Compacts a file with segments and log into one without. The correction stays. If documents were learned one by one,
/// the weights of counts and correction are refitted to the scores of the latest 1,000 documents; the thresholds are
/// chosen again by the scores of all remembered documents.
pub(crate) fn compact(store: &Store) -> Result<Model> {
    merge_stores(&[store], store.header.classes.clone(), store.header.stored, true)
}

/// Merges models and their logs into one file without a log. `classes` contains all their classes. What cannot be
/// summed is taken from the first model. With `repeat`, a document in several models counts once for each of them.
pub(crate) fn merge_stores(
    stores: &[&Store],
    classes: Classes,
    stored: Retention,
    repeat: bool,
) -> Result<Model> {
    let mut terms = Stores::new(stores, &classes)?;
    if !repeat {
        terms.count_once()?;
    }
    let terms = terms;
    let sections = term_sections(terms.n_terms(), |writer, id| {
        let (fingerprint, text) = terms.term(id)?;
        let mut cells = Vec::new();
        terms.for_each_cell(id, |cell| cells.push(cell))?;
        let weights = terms.weights(id)?.into_iter().map(|weight| (weight.class, weight.units));
        writer.push(fingerprint, text, cells.into_iter(), weights)
    })?;
    let mut header = merged_header(&terms, classes, stored)?;
    let (documents, mut held_out) = documents(&terms, &mut header, repeat)?;
    if terms.keeps_weights[0] && header.classes.len() == 2 {
        calibration::calibrate(&mut header, &mut held_out)?;
    }
    seal(header, sections, documents)
}

/// The header of merged models, with the choices of the first. If its weights lose their meaning, they start anew.
fn merged_header(terms: &Stores<'_>, classes: Classes, stored: Retention) -> Result<ModelHeader> {
    let (stores, first) = (terms.stores, terms.stores[0]);
    let sum =
        |of: &dyn Fn(&Store) -> u64| stores.iter().fold(0u64, |sum, store| sum.saturating_add(of(store)));
    let mut since_fit = sum(&|store| store.changes().since_fit);
    if is_fitted(first) {
        // the first was fitted without the documents of the others
        let others: u64 = stores[1..].iter().map(|store| store.n_documents() as u64).sum();
        since_fit = since_fit.saturating_add(others - terms.surplus.n_documents);
    }
    let changes = Changes {
        since_training: sum(&|store| store.changes().since_training),
        since_fit,
        corrected: sum(&|store| store.changes().corrected),
    };
    // no `..` below: a new field has to be merged, or taken from the first here
    let ModelHeader { recipe, mut scoring, mut asked, mut decision, mut expected, size, lengths, .. } =
        first.header.clone();
    if !terms.keeps_weights[0] {
        (asked, decision, expected) = (None, Decision::PLAIN, None);
        if let Scoring::Weighted(options) = fittable(&scoring) {
            scoring = FittedScoring::unfitted(options, classes.len());
        }
    }
    if let FittedScoring::Weighted { chosen, bias, .. } = &mut scoring {
        (chosen.unlabelled, *bias) = (unlabelled(stores), terms.bias()?);
        chosen.labels = label_decisions(first, &chosen.labels, &classes)?;
    }
    scoring.summarize(terms)?;
    Ok(ModelHeader {
        recipe,
        stored,
        unremembered: stores.iter().any(|store| store.header.unremembered),
        scoring,
        classes,
        totals: terms.totals.clone(),
        vectors: terms.vectors()?,
        asked,
        decision,
        expected,
        changes,
        size,
        lengths,
    })
}

/// The decisions on the labels of merged models: those of the first, by name.
fn label_decisions(
    first: &Store,
    decided: &[LabelDecision],
    classes: &Classes,
) -> Result<Vec<LabelDecision>> {
    let of_label = |(_, label)| {
        let place = first.labels().index(label).map(usize::from);
        place.and_then(|place| decided.get(place)).copied().unwrap_or(LabelDecision::PLAIN)
    };
    Ok(if decided.is_empty() { Vec::new() } else { labels_of(classes)?.iter().map(of_label).collect() })
}

/// How unlabelled documents were used: by the first model that learned some, else by the first that was given some.
fn unlabelled(stores: &[&Store]) -> Option<Unlabelled> {
    let all = || stores.iter().filter_map(|store| store.header.scoring.chosen()?.unlabelled.as_ref());
    all().find(|of| of.is_learned()).or_else(|| all().next()).cloned()
}

/// The sections of documents, and the held-out documents with their scores.
fn documents(
    terms: &Stores<'_>,
    header: &mut ModelHeader,
    repeat: bool,
) -> Result<(DocumentSections, Vec<BinaryPrediction>)> {
    let positive = positive_class(&header.classes);
    let (mut records, mut vectors, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    // of one model, the sums are those of its documents
    let is_anew = terms.stores.len() > 1 && header.stored.keep == Keep::Vectors;
    let mut dense = header.vectors.as_ref().filter(|_| is_anew).map(VectorStatistics::emptied);
    for_each_group(terms, |group| {
        let sums_copies = repeat || group[0].1.digest == terms.nothing;
        let (store, mut document) = merge_copies(group, sums_copies)?;
        if let Some(held_out) = document.held_out {
            let StoredDocument { class, multiplicity, learned, group, .. } = document;
            judged.push(BinaryPrediction {
                held_out,
                is_positive: class == positive,
                multiplicity,
                learned,
                group,
            });
        }
        if header.stored.keep == Keep::Vectors {
            document.vector = terms.renumber(store, &document.vector)?;
        }
        if let Some(dense) = dense.as_mut().filter(|_| !document.dense.is_empty()) {
            dense.observe_times(document.class, &document.dense, document.multiplicity)?;
        }
        records.extend_from_slice(header.encode_document(&document, &mut vectors).as_bytes());
        Ok(())
    })?;
    header.vectors = dense.or(header.vectors.take());
    Ok((DocumentSections { documents: records.into(), vectors: vectors.into() }, judged))
}

/// The scoring that can be fitted: the default in place of another program's.
pub(crate) fn fittable(scoring: &FittedScoring) -> Scoring {
    match scoring {
        FittedScoring::RobinsonFisher(_) => Scoring::Weighted(WeightedOptions::default()),
        scoring => scoring.options(),
    }
}

/// Number of documents of each label that a model imported from another program must remember before a fit to them
/// replaces its scoring.
const ENOUGH: usize = 100;

/// Whether anything in the model is fitted to documents, beyond counting them, or would be by a refit now.
pub(crate) fn is_fitted(store: &Store) -> bool {
    match store.header.scoring {
        FittedScoring::Weighted { .. } => true,
        FittedScoring::RobinsonFisher(_) => {
            let mut documents = vec![0; store.header.classes.len()];
            let remembered = store.documents().flatten();
            remembered.for_each(|document: StoredDocument| documents[usize::from(document.class)] += 1);
            documents.iter().all(|n| *n >= ENOUGH)
        }
        _ => false,
    }
}

/// Whether the terms of documents are stored.
pub(crate) fn keeps_terms(header: &ModelHeader) -> bool {
    header.stored.keep == Keep::Vectors
}
