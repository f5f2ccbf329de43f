//! A model file written anew: what its log says becomes part of the rest.

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Classes, Counts};
use tamis_tokenizer::{CountVector, TermId};
use zerocopy::IntoBytes;

use crate::documents::{NO_DATE, Remembered, encode_coefficients, encode_vector};
use crate::error::{Error, Result};
use crate::fitting::{self, Judged};
use crate::format::Header;
use crate::learned::{Learned, More};
use crate::merge::{add_bias, add_cells, add_totals, add_weights};
use crate::model::{Model, document_sections, fit, seal, term_sections, write_term};
use crate::names;
use crate::ordered::Ordered;
use crate::scorer::positive_class;
use crate::scoring::{Chosen, Decision, Scoring};
use crate::shared::{Held, Surplus, unite};
use crate::store::{Store, limited, summarize};
use crate::trainer::Keep;

/// The model of a file and its log, as a file without a log. The correction stays what it is; the weights of counts and correction, and thresholds,
/// follow from the scores of all documents remembered.
pub(crate) fn fold(store: &Store) -> Result<Model> {
    add_up(&[store], store.header.classes.clone(), kept(store), true)
}

/// The same model with one label more. A model of two labels gets another scoring by that, of which everything is fitted
/// anew if it remembers documents; else its correction begins again from nothing.
pub(crate) fn with_label(store: &Store, label: &str) -> Result<Model> {
    let mut classes = store.header.classes.clone();
    classes.insert(label)?;
    let is_other = !keeps_weights(store, classes.len());
    let model = add_up(&[store], classes, kept(store), true)?;
    match is_other && can_refit(store) {
        true => refit(&model.into_filter()?.store),
        false => Ok(model),
    }
}

/// Whether the correction of a model, and what it chose, is still good once it has so many classes: two have one column.
pub(crate) fn keeps_weights(store: &Store, n_classes: usize) -> bool {
    (store.header.classes.len() == 2) == (n_classes == 2)
}

/// What a model keeps of documents: their terms or not, and whether their names.
pub(crate) fn kept(store: &Store) -> (Keep, bool) {
    (store.header.keep, store.header.names)
}

/// The sum of models and their logs, as a file without a log; `classes` are all of theirs. What does not add up is that of
/// the first. `repeat` says whether a document that several know counts as often as in all of them.
pub(crate) fn add_up(
    stores: &[&Store],
    classes: Classes,
    (keep, names): (Keep, bool),
    repeat: bool,
) -> Result<Model> {
    let mut terms = Terms::new(stores, &classes)?;
    if !repeat {
        terms.count_once()?;
    }
    let terms = terms;
    let sections = term_sections(terms.len(), |writer, id| {
        let (fingerprint, text) = terms.term(id)?;
        let mut cells = Vec::new();
        terms.for_each_cell(id, |cell| cells.push(cell))?;
        let weights = terms.weights(id)?.into_iter().map(|weight| (weight.class, weight.units));
        writer.push(fingerprint, text, cells.into_iter(), weights)
    })?;
    let first = stores[0];
    let scoring = first.header.scoring.clone();
    let (documents, mut held_out) = documents(&terms, &classes, (keep, names), repeat)?;
    let sum =
        |of: &dyn Fn(&Store) -> u64| stores.iter().fold(0u64, |sum, store| sum.saturating_add(of(store)));
    let mut header = Header {
        totals: terms.totals.clone(),
        bias: terms.bias()?,
        changes: sum(&|store| store.changes()),
        unfitted: sum(&|store| store.unfitted()),
        summary: summarize(&scoring, &terms)?,
        keep,
        names,
        scoring,
        classes,
        ..first.header.clone()
    };
    if is_fitted(first) {
        // the others were not in view when the first was fitted
        let others: u64 = stores[1..].iter().map(|store| store.n_documents() as u64).sum();
        header.unfitted = header.unfitted.saturating_add(others - terms.surplus.n_documents);
    }
    if !terms.keeps_weights[0] {
        (header.decision, header.asked, header.expected) = (Decision::PLAIN, None, None);
        let n_classes = header.classes.len();
        header.chosen = match &header.scoring {
            Scoring::Weighted(options) => Some(Chosen::for_options(options, n_classes)),
            _ => None,
        };
    } else if let (Some(chosen), 2) = (&mut header.chosen, header.classes.len()) {
        let of_windows = header.recipe.windows.is_some();
        let settled = fitting::settle(
            &mut held_out,
            (&header.scoring, chosen, of_windows),
            (header.asked.as_ref(), header.decision),
            &header.totals,
            &header.classes,
        )?;
        (header.decision, header.expected) = settled;
    }
    seal(header, sections, documents)
}

/// The model with everything chosen and fitted anew to the documents it remembers.
///
/// # Errors
/// [`Error::NotAtHand`] if it remembers digests only, or scores windows, which no model remembers.
pub(crate) fn refit(store: &Store) -> Result<Model> {
    let header = &store.header;
    if !is_fitted(store) {
        return fold(store);
    }
    if !can_refit(store) {
        return Err(Error::NotAtHand);
    }
    let stores = [store];
    let terms = Terms::new(&stores, &header.classes)?;
    let statistics =
        store.statistics()?.permuted(&terms.order.iter().map(|source| source.id).collect::<Vec<_>>());
    let documents = store.documents().map(|document| -> Result<_> {
        let document: Remembered = document?;
        Ok((learned(&document), terms.renumber(0, &document.vector)?))
    });
    let mut documents = Ordered::of(documents, terms.len())?;
    let asked = header.asked.unwrap_or_default();
    let default = fitting::default_of(&asked, header.decision, &header.classes);
    let how = (&header.scoring, &asked, default);
    let fitted = fit(how, &header.classes, &statistics, &mut documents, None)?;
    let sections = term_sections(terms.len(), |writer, id| {
        write_term(writer, terms.term(id)?, statistics.cells(id), &fitted.weights, id)
    })?;
    let decision = if header.asked.is_some() { fitted.decision } else { header.decision };
    let pairs = header.chosen.as_ref().and_then(|chosen| chosen.pairs);
    let sealed = Header {
        totals: store.totals.clone(),
        bias: fitted.bias(),
        changes: store.changes(),
        unfitted: 0,
        decision,
        chosen: fitted.chosen.clone().map(|chosen| Chosen { pairs, ..chosen }),
        expected: fitted.expected,
        ..header.clone()
    };
    seal(sealed, sections, document_sections(&mut documents, &fitted, header.keep)?)
}

/// A document as it was when it was counted.
fn learned(document: &Remembered) -> Learned {
    let Remembered { digest, class, multiplicity, group, .. } = *document;
    let more = More {
        date: Some(document.date).filter(|date| *date != NO_DATE),
        name: document.name.clone(),
        ..More::default()
    };
    let mut learned = Learned::new(digest, group, more);
    (learned.class, learned.multiplicity) = (class, multiplicity);
    learned
}

/// Whether anything of the model is fitted to documents, besides counting them.
fn is_fitted(store: &Store) -> bool {
    matches!(store.header.scoring, Scoring::Weighted(_))
}

/// Whether there is something to fit, and what it is fitted to is remembered: windows are not.
pub(crate) fn can_refit(store: &Store) -> bool {
    is_fitted(store) && store.header.keep == Keep::Vectors && store.header.recipe.windows.is_none()
}

/// Where a term comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    fingerprint: u64,
    store: u16,
    id: TermId,
}

/// The terms that have counts.
pub(crate) struct Terms<'a> {
    stores: &'a [&'a Store],
    /// Whether the weights of each store are still what its scoring, as it will be, means by them.
    keeps_weights: Vec<bool>,
    /// Sources in the order of fingerprints, which is that of the new ids.
    order: Vec<Source>,
    /// Where the sources of each term begin, and where the last ones end.
    starts: Vec<u32>,
    /// Of each store, the new id of each id there.
    ids: Vec<Vec<Option<TermId>>>,
    /// Of each store, the new class of each class there.
    moved: Vec<Vec<ClassId>>,
    pub(crate) totals: Vec<ClassTotals>,
    /// What of all this counts twice.
    surplus: Surplus,
    /// The digest of documents without terms.
    pub(crate) nothing: [u8; 16],
}

impl<'a> Terms<'a> {
    fn new(stores: &'a [&'a Store], classes: &Classes) -> Result<Self> {
        let mut order = Vec::with_capacity(stores.iter().map(|store| store.n_terms()).sum());
        for (at, store) in (0..).zip(stores) {
            for id in 0..store.n_terms() as TermId {
                if store.has_counts(id)? {
                    order.push(Source { fingerprint: store.fingerprint(id)?, store: at, id });
                }
            }
        }
        // sorted runs, which this sort merges
        order.sort();
        let mut ids: Vec<_> = stores.iter().map(|store| vec![None; store.n_terms()]).collect();
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut start = 0;
        for (new, equal) in (0..).zip(order.chunk_by(|a, b| a.fingerprint == b.fingerprint)) {
            equal.iter().for_each(|source| ids[usize::from(source.store)][source.id as usize] = Some(new));
            starts.push(start);
            start = limited("terms", u64::from(start) + equal.len() as u64)?;
        }
        starts.push(start);
        let class = |(_, label)| classes.index(label).unwrap_or_default();
        let moved: Vec<Vec<_>> =
            stores.iter().map(|store| store.header.classes.iter().map(class).collect()).collect();
        let mut totals = vec![ClassTotals::default(); classes.len()];
        for (store, moved) in stores.iter().zip(&moved) {
            for (class, of) in moved.iter().zip(&store.totals) {
                add_totals(&mut totals[usize::from(*class)], of)?;
            }
        }
        let keeps_weights = stores.iter().map(|store| keeps_weights(store, classes.len())).collect();
        let (surplus, nothing) = (Surplus::default(), stores[0].header.recipe.digest_of_nothing());
        Ok(Terms { stores, keeps_weights, order, starts, ids, moved, totals, surplus, nothing })
    }

    /// Takes away what of documents that several stores know counts twice. What is left has the same terms, since each of
    /// these documents stays.
    fn count_once(&mut self) -> Result<()> {
        self.surplus = Surplus::new(self)?;
        self.surplus.take_from_totals(&mut self.totals)
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where a term comes from, each with its store.
    fn sources(&self, id: TermId) -> impl ExactSizeIterator<Item = (usize, TermId)> {
        let bounds = self.starts.get(id as usize).zip(self.starts.get(id as usize + 1));
        let sources = bounds.map_or(&[][..], |(start, end)| &self.order[*start as usize..*end as usize]);
        sources.iter().map(|source| (usize::from(source.store), source.id))
    }

    /// The fingerprint of a term, and its text.
    fn term(&self, id: TermId) -> Result<(u64, &'a str)> {
        let source = self.order[self.starts[id as usize] as usize];
        Ok((source.fingerprint, self.stores[usize::from(source.store)].text(source.id)?))
    }

    fn class(&self, store: usize, class: ClassId) -> ClassId {
        self.moved[store].get(usize::from(class)).copied().unwrap_or(class)
    }

    /// The column of a store's column: of two classes there is one.
    fn column(&self, store: usize, column: ClassId) -> ClassId {
        if self.totals.len() == 2 { column } else { self.class(store, column) }
    }

    /// The bias of each column of the correction.
    fn bias(&self) -> Result<Vec<i64>> {
        let mut sums = Vec::new();
        for (at, store) in self.stores.iter().enumerate().filter(|(at, _)| self.keeps_weights[*at]) {
            let mut moved = Vec::new();
            for (column, bias) in (0..=ClassId::MAX).zip(store.bias()) {
                let to = usize::from(self.column(at, column));
                moved.resize(moved.len().max(to + 1), 0);
                moved[to] = *bias;
            }
            add_bias(&mut sums, &moved)?;
        }
        self.surplus.take_from_bias(&mut sums)?;
        // those beyond the last are 0
        sums.truncate(sums.iter().rposition(|bias| *bias != 0).map_or(0, |last| last + 1));
        Ok(sums)
    }

    /// The weights of a term, in the order of their classes.
    fn weights(&self, id: TermId) -> Result<Vec<ClassWeight>> {
        let mut weights = Vec::new();
        for (at, old) in self.sources(id).filter(|(at, _)| self.keeps_weights[*at]) {
            self.stores[at].for_each_value(old, |class, units| {
                weights.push(ClassWeight { class: self.column(at, class), units });
                Ok(())
            })?;
        }
        add_weights(&mut weights)?;
        self.surplus.take_from_weights(id, &mut weights)?;
        Ok(weights)
    }

    /// A row of a store over the new ids.
    pub(crate) fn renumber(&self, store: usize, vector: &CountVector) -> Result<CountVector> {
        let ids = &self.ids[store];
        let id = |(id, count): (TermId, u32)| Some((ids.get(id as usize).copied().flatten()?, count));
        let pairs: Option<Vec<_>> = vector.row().iter().map(id).collect();
        pairs.and_then(|pairs| CountVector::from_pairs(pairs).ok()).ok_or_else(|| {
            Error::inconsistent("vectors", "terms that have counts", "others of a document that is known")
        })
    }
}

impl Counts for Terms<'_> {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.len()
    }

    fn for_each_cell(&self, term: TermId, mut visit: impl FnMut(Cell)) -> Result<()> {
        let sources = self.sources(term);
        let is_one = sources.len() == 1 && self.surplus.is_empty();
        let mut cells = Vec::new();
        for (at, old) in sources {
            self.stores[at].for_each_cell(old, |cell| {
                let cell = Cell { class: self.class(at, cell.class), ..cell };
                if is_one { visit(cell) } else { cells.push(cell) }
            })?;
        }
        add_cells(&mut cells)?;
        self.surplus.take_from_cells(term, &mut cells)?;
        cells.into_iter().for_each(visit);
        Ok(())
    }
}

/// The sections `documents` and `vectors`.
type DocumentSections = (Vec<u8>, Vec<u8>);

/// The sections of documents, and what was said of those that were held out.
fn documents(
    terms: &Terms<'_>,
    classes: &Classes,
    (keep, keeps_names): (Keep, bool),
    repeat: bool,
) -> Result<(DocumentSections, Vec<Judged>)> {
    let positive = positive_class(classes);
    let has_coefficients = terms.stores[0].header.has_coefficients();
    let (mut records, mut vectors, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for_each_group(terms, |group| {
        let adds_up = repeat || group[0].1.digest == terms.nothing;
        let (store, document) = unite(group, adds_up)?;
        if let Some(held_out) = document.held_out {
            let Remembered { class, multiplicity, learned, group, .. } = document;
            judged.push(Judged { held_out, is_positive: class == positive, multiplicity, learned, group });
        }
        names::encode(if keeps_names { &document.name } else { "" }, &mut vectors);
        if has_coefficients {
            encode_coefficients(&document.coefficients, &mut vectors);
        }
        if keep == Keep::Vectors {
            encode_vector(terms.renumber(store, &document.vector)?.row(), &mut vectors);
        }
        records.extend_from_slice(document.record(vectors.len() as u64).as_bytes());
        Ok(())
    })?;
    Ok(((records, vectors), judged))
}

/// Visits the documents of all stores in canonical order, with their new classes: together what several stores know of
/// one, in the order of the stores.
pub(crate) fn for_each_group<'a>(
    terms: &Terms<'a>,
    mut visit: impl FnMut(Vec<Held>) -> Result<()>,
) -> Result<()> {
    let moved = |at: usize, mut document: Remembered| {
        document.class = terms.class(at, document.class);
        document.coefficients.iter_mut().for_each(|c| c.class = terms.column(at, c.class));
        if !terms.keeps_weights[at] {
            document.held_out = None;
            document.coefficients.clear();
        }
        document
    };
    // the classes of a store keep their order, and so do its documents
    let of_store = |(at, store): (usize, &&'a Store)| {
        let store: &'a Store = store;
        let documents = store.documents().map(move |document| -> Result<_> { Ok(moved(at, document?)) });
        documents.peekable()
    };
    let mut stores: Vec<_> = terms.stores.iter().enumerate().map(of_store).collect();
    loop {
        let mut next = None;
        for (at, documents) in stores.iter_mut().enumerate() {
            match documents.peek() {
                Some(Ok(document)) if next.is_none_or(|(key, _)| document.key() < key) => {
                    next = Some((document.key(), at));
                }
                // comes up below
                Some(Err(_)) => next = Some((([0; 16], 0), at)),
                _ => (),
            }
        }
        let Some((key, at)) = next else { return Ok(()) };
        let Some(document) = stores[at].next() else { return Ok(()) };
        let mut group = vec![(at, document?)];
        for (at, others) in (at + 1..).zip(&mut stores[at + 1..]) {
            while let Some(other) = others.next_if(|other| other.as_ref().is_ok_and(|o| o.key() == key)) {
                group.push((at, other?));
            }
        }
        visit(group)?;
    }
}
