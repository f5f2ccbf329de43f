//! Fitting a model anew to the documents that it remembers; new labels.

use tamis_model::{Classes, Counts, Statistics, block_len};
use tamis_store::config::decision::Decision;
use tamis_store::config::labels::{are_sets, check_labels_of, split_labels};
use tamis_store::config::scoring::Unlabelled;
use tamis_store::error::{Reason, Result};
use tamis_store::file::documents::{NO_DATE, StoredDocument};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{Changes, ModelHeader};
use tamis_store::store::opened::Store;

use crate::fit::calibration;
use crate::fit::scoring::{FitInput, fit};
use crate::fit::sections::{document_sections, seal, term_sections};
use crate::gather::collection::Collection;
use crate::gather::document::{More, TrainingDocument};
use crate::merge::rewrite::{compact, fittable, is_fitted, keeps_terms, merge_stores};
use crate::merge::stores::{Stores, keeps_weights};
use crate::model::Model;

/// Makes all choices again, and fits everything to the documents that the model remembers.
///
/// # Errors
/// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if it remembers digests only; [`ErrorKind::Data`](crate::ErrorKind::Data) if it learned unlabelled documents, which can no
/// longer be told from the others.
pub(crate) fn refit(store: &Store) -> Result<Model> {
    if !is_fitted(store) {
        return compact(store);
    }
    Reason::Unlabelled.unless(!has_learned_unlabelled(store))?;
    Reason::TermsNotStored.unless(can_refit(store))?;
    let ModelHeader { classes, scoring, .. } = &store.header;
    let decision = match scoring {
        FittedScoring::RobinsonFisher(_) => Decision::for_classes(classes),
        _ => store.header.decision,
    };
    let stores = [store];
    let terms = Stores::new(&stores, classes)?;
    let (statistics, mut documents) = counted(&terms)?;
    if fittable(scoring).weighted().is_some() && !documents.has_named_groups() {
        let text = |id| Ok(terms.term(id)?.1);
        documents.hold_near_duplicates_together(store.header.recipe.kind, &statistics, text)?;
    }
    let asked = store.header.asked.unwrap_or_default();
    let default = calibration::default_of(&asked, decision, classes);
    let (of, vectors, documents) = (&statistics, store.vectors.as_ref(), &mut documents);
    let from = FitInput { classes, statistics: of, vectors, documents, taught: None, table: None };
    let mut fitted = fit(fittable(scoring), &asked, default, from)?;
    if let (FittedScoring::Weighted { chosen, .. }, Some(before)) = (&mut fitted.scoring, scoring.chosen()) {
        // documents are remembered without their parts
        (chosen.choices.parts, chosen.choices.most_of_ham) =
            (before.choices.parts, before.choices.most_of_ham);
        chosen.refinements.clone_from(&before.refinements);
        chosen.unlabelled.clone_from(&before.unlabelled);
    }
    let sections = term_sections(terms.n_terms(), |writer, id| {
        let (fingerprint, text) = terms.term(id)?;
        writer.push(fingerprint, text, statistics.cells(id), fitted.weights.stored(id))
    })?;
    let documents = document_sections(documents, &fitted, store.header.stored.keep, vectors.is_some())?;
    let header = ModelHeader {
        totals: store.totals.clone(),
        vectors: store.vectors.clone(),
        scoring: fitted.scoring,
        decision: if store.header.asked.is_some() { fitted.decision } else { decision },
        expected: fitted.expected,
        changes: Changes { since_training: store.changes().since_training, ..Changes::default() },
        ..store.header.clone()
    };
    seal(header, sections, documents)
}

/// The counts and the documents that a single model remembers, with the ids of `terms`.
pub(crate) fn counted(terms: &Stores<'_>) -> Result<(Statistics, Collection)> {
    let store = terms.stores[0];
    let order: Vec<_> = terms.order.iter().map(|source| source.id).collect();
    let statistics = store.statistics()?.permuted(&order);
    let documents = store.documents().map(|document| -> Result<_> {
        let document: StoredDocument = document?;
        Ok((learned(&document), terms.renumber(0, &document.vector)?))
    });
    let documents = Collection::from_ordered(documents, terms.n_terms(), block_len(&statistics))?;
    Ok((statistics, documents.of_kind(store.header.recipe.kind)))
}

/// Adds a label to a model. A model of two labels thereby gets another scoring. It is fitted to its documents again if
/// it stores their terms; otherwise its correction starts from zero.
pub(crate) fn with_label(store: &Store, label: &str) -> Result<Model> {
    let mut classes = store.header.classes.clone();
    classes.insert(label)?;
    if are_sets(&classes) {
        // each label is a class of its own too, as in a model that is trained
        classes =
            Classes::new(classes.iter().flat_map(|(_, set)| std::iter::once(set).chain(split_labels(set))))?;
    }
    check_labels_of([&store.header.classes], &classes)?;
    let is_other = !keeps_weights(store, classes.len());
    let model = merge_stores(&[store], classes, store.header.stored, true)?;
    let is_weighted = fittable(&store.header.scoring).weighted().is_some();
    match is_other && is_weighted && keeps_terms(&store.header) {
        true => refit(&model.into_store()?),
        false => Ok(model),
    }
}

/// A stored document in the form in which it was counted.
fn learned(document: &StoredDocument) -> TrainingDocument {
    let StoredDocument { digest, class, multiplicity, group, .. } = *document;
    let more = More {
        date: Some(document.date).filter(|date| *date != NO_DATE),
        name: document.name.clone(),
        message: document.message,
        fraction: document.fraction,
        dense: document.dense.clone(),
        ..More::default()
    };
    let mut learned = TrainingDocument::new(digest, group, more);
    (learned.class, learned.multiplicity) = (class, multiplicity);
    learned
}

/// Whether there is something to fit, and its documents are stored.
pub(crate) fn can_refit(store: &Store) -> bool {
    is_fitted(store) && keeps_terms(&store.header) && !has_learned_unlabelled(store)
}

/// Whether a teacher labelled some of the model's documents.
fn has_learned_unlabelled(store: &Store) -> bool {
    let unlabelled = store.header.scoring.chosen().and_then(|chosen| chosen.unlabelled.as_ref());
    unlabelled.is_some_and(Unlabelled::is_learned)
}
