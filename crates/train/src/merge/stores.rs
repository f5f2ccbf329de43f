//! Several stores as one: terms with new ids, documents in canonical order.

use tamis_filter::extract::document::digest_of_nothing;
use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Classes, Correction, Counts, VectorStatistics};
use tamis_store::config::labels::labels_of;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::StoredDocument;
use tamis_store::file::terms::limited;
use tamis_store::store::opened::Store;
use tamis_store::store::overlay::{add_cells, add_totals, add_weights};
use tamis_tokenizer::{CountVector, TermId};

use crate::gather::merged::TermSource;
use crate::merge::surplus::Surplus;

/// Several stores as one, with new ids for the terms that have counts, less the surplus of shared documents.
pub(crate) struct Stores<'a> {
    pub(crate) stores: &'a [&'a Store],
    /// Whether the weights of each store keep their meaning under the merged scoring.
    pub(crate) keeps_weights: Vec<bool>,
    /// Sources of terms in the order of fingerprints, which is that of the new ids.
    pub(crate) order: Vec<TermSource>,
    /// Where the sources of each term begin in `order`, and the end of the last.
    pub(crate) starts: Vec<u32>,
    /// For each store, the new id of each of its ids.
    pub(crate) ids: Vec<Vec<Option<TermId>>>,
    /// For each store, the new class of each of its classes.
    pub(crate) moved: Vec<Vec<ClassId>>,
    /// The same for its columns.
    moved_columns: Vec<Vec<ClassId>>,
    pub(crate) totals: Vec<ClassTotals>,
    /// The digest of documents without terms.
    pub(crate) nothing: [u8; 16],
    pub(crate) surplus: Surplus,
}

impl<'a> Stores<'a> {
    pub(crate) fn new(stores: &'a [&'a Store], classes: &Classes) -> Result<Self> {
        let got = stores.len() as u64;
        let limit = || Reason::TooLarge { what: "models to merge", limit: u16::MAX.into(), got };
        u16::try_from(got).map_err(|_| limit())?;
        let mut order = Vec::with_capacity(stores.iter().map(|store| store.n_terms()).sum());
        for (at, store) in (0..).zip(stores) {
            for id in 0..store.n_terms() as TermId {
                if store.has_counts(id)? {
                    order.push(TermSource { fingerprint: store.fingerprint(id)?, part: at, id });
                }
            }
        }
        // this sort merges runs that are already sorted
        order.sort();
        let mut ids: Vec<_> = stores.iter().map(|store| vec![None; store.n_terms()]).collect();
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut start = 0;
        for (new, equal) in (0..).zip(order.chunk_by(|a, b| a.fingerprint == b.fingerprint)) {
            equal.iter().for_each(|source| ids[usize::from(source.part)][source.id as usize] = Some(new));
            starts.push(start);
            start = limited("terms", u64::from(start) + equal.len() as u64)?;
        }
        starts.push(start);
        let moved_to = |classes: &Classes, from: &Classes| -> Vec<ClassId> {
            from.iter().map(|(_, label)| classes.index(label).unwrap_or_default()).collect()
        };
        let moved: Vec<Vec<_>> =
            stores.iter().map(|store| moved_to(classes, &store.header.classes)).collect();
        let labels = labels_of(classes)?;
        let moved_columns = match classes.len() {
            // two classes share a column
            2 => vec![Vec::new(); stores.len()],
            _ => stores.iter().map(|store| moved_to(&labels, store.labels())).collect(),
        };
        let mut totals = vec![ClassTotals::default(); classes.len()];
        for (store, moved) in stores.iter().zip(&moved) {
            for (class, of) in moved.iter().zip(&store.totals) {
                add_totals(&mut totals[usize::from(*class)], of)?;
            }
        }
        let keeps_weights = stores.iter().map(|store| keeps_weights(store, classes.len())).collect();
        let nothing = digest_of_nothing(&stores[0].header.recipe);
        let surplus = Surplus::default();
        Ok(Stores {
            stores,
            keeps_weights,
            order,
            starts,
            ids,
            moved,
            moved_columns,
            totals,
            nothing,
            surplus,
        })
    }

    /// The sources of a term, each with its store.
    pub(crate) fn sources(&self, id: TermId) -> impl ExactSizeIterator<Item = (usize, TermId)> {
        let bounds = self.starts.get(id as usize).zip(self.starts.get(id as usize + 1));
        let sources = bounds.map_or(&[][..], |(start, end)| &self.order[*start as usize..*end as usize]);
        sources.iter().map(|source| (usize::from(source.part), source.id))
    }

    /// The fingerprint of a term, and its text.
    pub(crate) fn term(&self, id: TermId) -> Result<(u64, &'a str)> {
        let source = self.order[self.starts[id as usize] as usize];
        Ok((source.fingerprint, self.stores[usize::from(source.part)].text(source.id)?))
    }

    pub(crate) fn class(&self, store: usize, class: ClassId) -> ClassId {
        self.moved[store].get(usize::from(class)).copied().unwrap_or(class)
    }

    /// The new column of a store's column.
    pub(crate) fn column(&self, store: usize, column: ClassId) -> ClassId {
        self.moved_columns[store].get(usize::from(column)).copied().unwrap_or(column)
    }

    /// The bias of each column of the correction; those past the end are 0.
    pub(crate) fn bias(&self) -> Result<Vec<i64>> {
        let mut sum = Correction::default();
        for (at, store) in self.stores.iter().enumerate().filter(|(at, _)| self.keeps_weights[*at]) {
            for (column, bias) in (0..=ClassId::MAX).zip(store.bias()) {
                sum.add_bias(self.column(at, column), *bias)?;
            }
        }
        for (column, bias) in (0..=ClassId::MAX).zip(self.surplus.correction.bias()) {
            sum.add_bias(column, -bias)?;
        }
        Ok(sum.bias().to_vec())
    }

    /// The weights of a term, sorted by class.
    pub(crate) fn weights(&self, id: TermId) -> Result<Vec<ClassWeight>> {
        let mut weights = Vec::new();
        for (at, old) in self.sources(id).filter(|(at, _)| self.keeps_weights[*at]) {
            self.stores[at].for_each_value(old, |weight| {
                weights.push(ClassWeight { class: self.column(at, weight.class), ..weight });
            })?;
        }
        let surplus = self.surplus.correction.weights(id);
        weights.extend(surplus.map(|weight| ClassWeight { units: -weight.units, ..weight }));
        add_weights(&mut weights)?;
        Ok(weights)
    }

    /// The statistics of dense vectors of all stores together.
    pub(crate) fn vectors(&self) -> Result<Option<VectorStatistics>> {
        let Some(Some(first)) = self.stores.first().map(|store| &store.vectors) else { return Ok(None) };
        let mut sum = VectorStatistics::new(self.totals.len(), first.n_dimensions())?;
        for (store, moved) in self.stores.iter().zip(&self.moved) {
            store.vectors.iter().try_for_each(|own| sum.merge_moved(own, moved))?;
        }
        Ok(Some(sum))
    }

    /// Converts a row of a store to the new ids.
    pub(crate) fn renumber(&self, store: usize, vector: &CountVector) -> Result<CountVector> {
        let ids = &self.ids[store];
        let id = |(id, count): (TermId, u32)| Some((ids.get(id as usize).copied().flatten()?, count));
        let pairs: Option<Vec<_>> = vector.row().iter().map(id).collect();
        pairs.and_then(|pairs| CountVector::from_pairs(pairs).ok()).ok_or_else(|| {
            Error::inconsistent("vectors", "terms that have counts", "others of a document that is known")
        })
    }
}

impl Counts for Stores<'_> {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.starts.len() - 1
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

/// A document as stored in one store, with the store's number.
pub(crate) type SourceDocument = (usize, StoredDocument);

/// Visits the documents of all stores in canonical order, with their new classes. A document in several stores is
/// visited once, with all its entries in the order of stores.
pub(crate) fn for_each_group<'a>(
    terms: &Stores<'a>,
    mut visit: impl FnMut(Vec<SourceDocument>) -> Result<()>,
) -> Result<()> {
    let moved = |at: usize, mut document: StoredDocument| {
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
                // the error is returned below
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

/// Whether the correction and choices of a model still hold with this many classes: two share one column, more have one
/// each.
pub(crate) fn keeps_weights(store: &Store, n_classes: usize) -> bool {
    (store.header.classes.len() == 2) == (n_classes == 2)
}
