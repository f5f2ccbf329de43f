//! Rewriting a model file: compaction, new labels, merging, retraining.

use tamis_model::{Cell, ClassTotals, ClassWeight, Classes, Counts};
use tamis_tokenizer::TermId;
use zerocopy::IntoBytes;

use crate::config::decision::Decision;
use crate::config::keep::Keep;
use crate::config::labels::check_labels_of;
use crate::config::roles::positive_class;
use crate::config::scoring::{Chosen, Scoring, TriedTerms, Unlabelled};
use crate::disk::model::Model;
use crate::error::{Error, ErrorKind, Result};
use crate::file::documents::{NO_DATE, Remembered, encode_coefficients, encode_vector};
use crate::file::header::Header;
use crate::file::names;
use crate::gather::learned::{LearnedDocument, More};
use crate::gather::ordered::Ordered;
use crate::store::store::Store;
use crate::store::summarize::summarize;
use crate::train::fit::fit;
use crate::train::fitting::{self, Fitted, Judged};
use crate::train::sections::{document_sections, seal, term_sections, write_term};
use crate::unite::shared::{Surplus, unite};
use crate::unite::stores::{Stores, for_each_group, keeps_weights};

/// Compacts a file with segments and log into one without. The correction stays. If documents were learned one by one,
/// the weights of counts and correction are refitted to the scores of the latest 1,000 documents; the thresholds are
/// chosen again by the scores of all remembered documents.
pub(crate) fn compact(store: &Store) -> Result<Model> {
    add_up(&[store], store.header.classes.clone(), kept(store), true)
}

/// Adds a label to a model. A model of two labels thereby gets another scoring. It is fitted to its documents again if
/// it stores their terms; otherwise its correction starts from zero.
pub(crate) fn with_label(store: &Store, label: &str) -> Result<Model> {
    let mut classes = store.header.classes.clone();
    classes.insert(label)?;
    check_labels_of([&store.header.classes], &classes)?;
    let is_other = !keeps_weights(store, classes.len());
    let model = add_up(&[store], classes, kept(store), true)?;
    let is_weighted = matches!(store.header.scoring, Scoring::Weighted(_) | Scoring::RobinsonFisher(_));
    match is_other && is_weighted && keeps_terms(&store.header) {
        true => refit(&model.into_filter()?.store),
        false => Ok(model),
    }
}

/// What a model stores of documents besides digests: whether terms, and whether names.
pub(crate) fn kept(store: &Store) -> (Keep, bool) {
    (store.header.keep, store.header.names)
}

/// Merges models and their logs into one file without a log. `classes` contains all their classes. What cannot be
/// summed is taken from the first model. With `repeat`, a document in several models counts once for each of them.
pub(crate) fn add_up(
    stores: &[&Store],
    classes: Classes,
    (keep, names): (Keep, bool),
    repeat: bool,
) -> Result<Model> {
    let mut terms = MergedTerms::new(stores, &classes)?;
    if !repeat {
        terms.count_once()?;
    }
    let terms = terms;
    let sections = term_sections(terms.of.len(), |writer, id| {
        let (fingerprint, text) = terms.of.term(id)?;
        let mut cells = Vec::new();
        terms.for_each_cell(id, |cell| cells.push(cell))?;
        let weights = terms.weights(id)?.into_iter().map(|weight| (weight.class, weight.units));
        writer.push(fingerprint, text, cells.into_iter(), weights)
    })?;
    let mut header = merged_header(stores, &terms, classes, (keep, names))?;
    if !terms.of.keeps_weights[0] {
        header = fittable(header);
    }
    let (documents, mut held_out) = documents(&terms, &header, repeat)?;
    if !terms.of.keeps_weights[0] {
        (header.decision, header.asked, header.expected) = (Decision::PLAIN, None, None);
        let n_classes = header.classes.len();
        header.chosen = match &header.scoring {
            Scoring::Weighted(options) => Some(Chosen::for_options(options, n_classes)),
            _ => None,
        };
    } else if let (Some(chosen), 2) = (&mut header.chosen, header.classes.len()) {
        let of_windows = header.recipe.windows.is_some();
        let calibrated = fitting::calibrate(
            &mut held_out,
            (&header.scoring, chosen, of_windows),
            (header.asked.as_ref(), header.decision),
            &header.totals,
            &header.classes,
        )?;
        (header.decision, header.expected) = calibrated;
    }
    if let Some(chosen) = &mut header.chosen {
        chosen.unlabelled = unlabelled(stores);
    }
    seal(header, sections, documents)
}

/// How unlabelled documents were used: by the first model that learned some, else by the first that was given some.
fn unlabelled(stores: &[&Store]) -> Option<Unlabelled> {
    let of = |learns: bool| {
        stores.iter().filter_map(move |store| of_store(store).filter(|it| it.is_learned() || !learns))
    };
    of(true).chain(of(false)).next().cloned()
}

fn of_store(store: &Store) -> Option<&Unlabelled> {
    store.header.chosen.as_ref()?.unlabelled.as_ref()
}

/// The header of merged models, with the choices of the first.
fn merged_header(
    stores: &[&Store],
    terms: &MergedTerms<'_>,
    classes: Classes,
    (keep, names): (Keep, bool),
) -> Result<Header> {
    let first = stores[0];
    let sum =
        |of: &dyn Fn(&Store) -> u64| stores.iter().fold(0u64, |sum, store| sum.saturating_add(of(store)));
    let mut unfitted = sum(&|store| store.unfitted());
    if is_fitted(first) {
        // the first was fitted without the documents of the others
        let others: u64 = stores[1..].iter().map(|store| store.n_documents() as u64).sum();
        unfitted = unfitted.saturating_add(others - terms.surplus.n_documents);
    }
    // no `..` below: a new field has to be merged, or taken from the first here
    let Header { recipe, scoring, asked, table, decision, chosen, em_model, expected, size, lengths, .. } =
        first.header.clone();
    Ok(Header {
        totals: terms.totals.clone(),
        bias: terms.bias()?,
        changes: sum(&|store| store.changes()),
        unfitted,
        summary: summarize(&scoring, terms)?,
        recipe,
        keep,
        names,
        unremembered: stores.iter().any(|store| store.header.unremembered),
        scoring,
        classes,
        asked,
        table,
        decision,
        chosen,
        em_model,
        expected,
        size,
        lengths,
    })
}

/// Makes all choices again, and fits everything to the documents that the model remembers.
///
/// # Errors
/// [`ErrorKind::TermsNotStored`] if it remembers digests only, or scores windows, which are never stored;
/// [`ErrorKind::Unlabelled`] if it learned unlabelled documents, which can no longer be told from the others.
pub(crate) fn refit(store: &Store) -> Result<Model> {
    if !is_fitted(store) {
        return compact(store);
    }
    if has_learned_unlabelled(store) {
        return Err(ErrorKind::Unlabelled.into());
    }
    if !can_refit(store) {
        return Err(ErrorKind::TermsNotStored.into());
    }
    let header = &fittable(store.header.clone());
    let stores = [store];
    let terms = MergedTerms::new(&stores, &header.classes)?;
    let statistics =
        store.statistics()?.permuted(&terms.of.order.iter().map(|source| source.id).collect::<Vec<_>>());
    let documents = store.documents().map(|document| -> Result<_> {
        let document: Remembered = document?;
        Ok((learned(&document), terms.of.renumber(0, &document.vector)?))
    });
    let mut documents = Ordered::of(documents, terms.of.len())?.of_kind(header.recipe.kind);
    let asked = header.asked.unwrap_or_default();
    let default = fitting::default_of(&asked, header.decision, &header.classes);
    let how = (&header.scoring, &asked, default);
    let fitted = fit(how, &header.classes, &statistics, &mut documents, None)?;
    let sections = term_sections(terms.of.len(), |writer, id| {
        write_term(writer, terms.of.term(id)?, statistics.cells(id), &fitted.weights, id)
    })?;
    let refitted = refitted_header(store, header, &fitted);
    seal(refitted, sections, document_sections(&mut documents, &fitted, header.keep)?)
}

/// The header of a model that was fitted again.
fn refitted_header(store: &Store, header: &Header, fitted: &Fitted) -> Header {
    let tried = |of: fn(&Chosen) -> Option<TriedTerms>| header.chosen.as_ref().and_then(of);
    let (pairs, pieces) = (tried(|chosen| chosen.pairs), tried(|chosen| chosen.pieces));
    let unlabelled = of_store(store).cloned();
    // no `..` below: a new field has to be fitted, or kept here
    let Header {
        recipe,
        keep,
        names,
        unremembered,
        scoring,
        classes,
        asked,
        summary,
        table,
        em_model,
        size,
        lengths,
        ..
    } = header.clone();
    Header {
        totals: store.totals.clone(),
        bias: fitted.bias(),
        changes: store.changes(),
        unfitted: 0,
        decision: if asked.is_some() { fitted.decision } else { header.decision },
        chosen: fitted.chosen.clone().map(|chosen| Chosen { pairs, pieces, unlabelled, ..chosen }),
        expected: fitted.expected,
        recipe,
        keep,
        names,
        unremembered,
        scoring,
        classes,
        asked,
        summary,
        table,
        em_model,
        size,
        lengths,
    }
}

/// A stored document in the form in which it was counted.
fn learned(document: &Remembered) -> LearnedDocument {
    let Remembered { digest, class, multiplicity, group, .. } = *document;
    let more = More {
        date: Some(document.date).filter(|date| *date != NO_DATE),
        name: document.name.clone(),
        message: document.message,
        ..More::default()
    };
    let mut learned = LearnedDocument::new(digest, group, more);
    (learned.class, learned.multiplicity) = (class, multiplicity);
    learned
}

/// Number of documents of each label that a model imported from another program must remember before a fit to them
/// replaces its scoring.
const ENOUGH: usize = 100;

/// Whether anything in the model is fitted to documents, beyond counting them, or would be by a refit now.
fn is_fitted(store: &Store) -> bool {
    match store.header.scoring {
        Scoring::Weighted(_) => true,
        Scoring::RobinsonFisher(_) => {
            let mut documents = vec![0; store.header.classes.len()];
            let remembered = store.documents().flatten();
            remembered.for_each(|document: Remembered| documents[usize::from(document.class)] += 1);
            documents.iter().all(|n| *n >= ENOUGH)
        }
        _ => false,
    }
}

/// The header with the default scoring in place of another program's, which cannot be fitted.
fn fittable(header: Header) -> Header {
    match header.scoring {
        Scoring::RobinsonFisher(_) => Header {
            scoring: Scoring::for_recipe(&header.recipe),
            decision: Decision::for_classes(&header.classes),
            ..header
        },
        _ => header,
    }
}

/// Whether there is something to fit, and its documents are stored.
pub(crate) fn can_refit(store: &Store) -> bool {
    is_fitted(store) && keeps_terms(&store.header) && !has_learned_unlabelled(store)
}

/// Whether the terms of documents are stored; those of windows never are.
fn keeps_terms(header: &Header) -> bool {
    header.keep == Keep::Vectors && header.recipe.windows.is_none()
}

/// Whether a teacher labelled some of the model's documents.
fn has_learned_unlabelled(store: &Store) -> bool {
    of_store(store).is_some_and(Unlabelled::is_learned)
}

/// The terms with counts of several stores, without the surplus of shared documents.
struct MergedTerms<'a> {
    of: Stores<'a>,
    totals: Vec<ClassTotals>,
    surplus: Surplus,
}

impl<'a> MergedTerms<'a> {
    fn new(stores: &'a [&'a Store], classes: &Classes) -> Result<Self> {
        let of = Stores::new(stores, classes)?;
        Ok(MergedTerms { totals: of.totals.clone(), of, surplus: Surplus::default() })
    }

    /// Subtracts the surplus of shared documents. The terms stay the same, since one copy of each document stays.
    fn count_once(&mut self) -> Result<()> {
        self.surplus = Surplus::new(&self.of)?;
        self.surplus.take_from_totals(&mut self.totals)
    }

    /// The bias of each column of the correction; those past the end are 0.
    fn bias(&self) -> Result<Vec<i64>> {
        let mut sums = self.of.bias()?;
        self.surplus.take_from_bias(&mut sums)?;
        sums.truncate(sums.iter().rposition(|bias| *bias != 0).map_or(0, |last| last + 1));
        Ok(sums)
    }

    /// The weights of a term, sorted by class.
    fn weights(&self, id: TermId) -> Result<Vec<ClassWeight>> {
        let mut weights = self.of.weights(id)?;
        self.surplus.take_from_weights(id, &mut weights)?;
        Ok(weights)
    }
}

impl Counts for MergedTerms<'_> {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.of.len()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        if self.surplus.is_empty() {
            return self.of.for_each_cell(term, visit);
        }
        let mut cells = Vec::new();
        self.of.for_each_cell(term, |cell| cells.push(cell))?;
        self.surplus.take_from_cells(term, &mut cells)?;
        cells.into_iter().for_each(visit);
        Ok(())
    }
}

/// The sections `documents` and `vectors`.
type DocumentSections = (Vec<u8>, Vec<u8>);

/// The sections of documents, and the held-out documents with their scores.
fn documents(
    terms: &MergedTerms<'_>,
    header: &Header,
    repeat: bool,
) -> Result<(DocumentSections, Vec<Judged>)> {
    let positive = positive_class(&header.classes);
    let (mut records, mut vectors, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for_each_group(&terms.of, |group| {
        let adds_up = repeat || group[0].1.digest == terms.of.nothing;
        let (store, document) = unite(group, adds_up)?;
        if let Some(held_out) = document.held_out {
            let Remembered { class, multiplicity, learned, group, .. } = document;
            judged.push(Judged { held_out, is_positive: class == positive, multiplicity, learned, group });
        }
        names::encode(if header.names { &document.name } else { "" }, &mut vectors);
        if header.has_coefficients() {
            encode_coefficients(&document.coefficients, &mut vectors);
        }
        if header.keep == Keep::Vectors {
            encode_vector(terms.of.renumber(store, &document.vector)?.row(), &mut vectors);
        }
        records.extend_from_slice(document.record(vectors.len() as u64).as_bytes());
        Ok(())
    })?;
    Ok(((records, vectors), judged))
}
