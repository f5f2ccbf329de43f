//! A per-thread cache of term weights.

use std::sync::Arc;

use tamis_model::{DocumentSums, TermEntry, TermTable};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers, SharedExtent, SharedTerms};
use tamis_tokenizer::{TermCount, TermId, Vocabulary};

/// A cache of terms with their ids and weights: most words of a text occurred before and need no look-up. When it is
/// full, further terms are dropped after their document; after many such drops it is cleared, since the kind of text
/// may have changed.
pub(crate) struct Memo {
    models: Models,
    pub terms: Vocabulary,
    /// What the shared model knows of the terms. It stays when the model changes.
    shared: SharedTerms,
    /// How often the model in front of the shared one has changed.
    round: u32,
    found: Found,
    table: TermTable,
    /// Sums over the terms of the current document.
    pub sums: DocumentSums,
    new: Vec<TermCount>,
    entry: TermEntry,
    kept: Kept,
    /// Number of terms looked up but not kept.
    passed: usize,
    limits: Limits,
}

/// The models that a cache belongs to.
#[derive(Default)]
struct Models {
    own: Option<Arc<()>>,
    /// The one behind it.
    shared: Option<Arc<()>>,
}

/// What was found of the terms, by their numbers.
#[derive(Default)]
struct Found {
    /// The round in which each was looked up.
    rounds: Vec<u32>,
    /// Their ids; `None` for an unknown term.
    ids: Vec<Option<TermId>>,
    /// Their entries in the table.
    places: Vec<u32>,
}

/// What is kept after the current document.
#[derive(Clone, Copy, Default)]
struct Kept {
    terms: usize,
    /// The size of their weights.
    bytes: usize,
    shared: SharedExtent,
}

/// Limits of what is kept. The last document may take as much again.
#[derive(Clone, Copy)]
struct Limits {
    terms: usize,
    bytes: usize,
}

/// The cache is cleared when the terms looked up but not kept exceed the limit of terms this many times.
const PASSED: usize = 8;

/// A scorer that needs sums over a document's terms.
pub(crate) trait Additive {
    /// The number of sums it needs.
    fn n_sums(&self) -> usize;

    /// The factor of a term that occurs `count` times.
    fn amount(&self, count: u32) -> f64;

    /// Writes the weights of a term to `entry`.
    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()>;
}

/// Sums the weights of a document's terms, with a loop of its own for each scorer.
pub(crate) trait SumWeights {
    /// The number of sums.
    fn n_sums(&self) -> usize;

    /// See [`Memo::sum_weights`].
    fn sum_weights(&self, layers: Layers<'_>, memo: &mut Memo) -> Result<()>;
}

impl<S: Additive> SumWeights for S {
    fn n_sums(&self) -> usize {
        Additive::n_sums(self)
    }

    fn sum_weights(&self, layers: Layers<'_>, memo: &mut Memo) -> Result<()> {
        memo.sum_weights(layers, self)
    }
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            models: Models::default(),
            shared: SharedTerms::default(),
            round: 0,
            found: Found::default(),
            terms: Vocabulary::without_texts(),
            table: TermTable::new(0),
            sums: DocumentSums::default(),
            new: Vec::new(),
            entry: TermEntry::default(),
            kept: Kept::default(),
            passed: 0,
            // few enough that the terms of another document seldom make the table grow
            limits: Limits { terms: 7 << 15, bytes: 32 << 20 },
        }
    }
}

impl Memo {
    /// Prepares to score a document with `model`: drops the cache of another model, and terms of the previous document
    /// that are not kept. What is cached of the model in `shared` stays. The texts of terms are kept only with
    /// `has_pieces`, to find the pieces of words in them.
    pub(crate) fn prepare(
        &mut self,
        model: &Arc<()>,
        shared: Option<&Arc<()>>,
        n_sums: usize,
        has_pieces: bool,
    ) {
        let is = |known: &Option<Arc<()>>, it| known.as_ref().is_some_and(|known| Arc::ptr_eq(known, it));
        let is_same = is(&self.models.own, model);
        let has_shared = || self.models.own.is_some() && shared.is_some_and(|it| is(&self.models.shared, it));
        let is_full = self.passed > PASSED * self.limits.terms || self.round == u32::MAX;
        if is_full || !is_same && !has_shared() {
            let models = Models { own: Some(model.clone()), shared: shared.cloned() };
            let table = TermTable::new(n_sums);
            let kept = Kept { bytes: table.bytes(), ..Kept::default() };
            let terms = if has_pieces { Vocabulary::new() } else { Vocabulary::without_texts() };
            *self = Memo { models, terms, table, kept, limits: self.limits, ..Self::default() };
        } else if !is_same {
            self.models.own = Some(model.clone());
            self.round += 1;
            self.kept.bytes = TermTable::new(n_sums).bytes();
        }
        let Kept { terms, bytes, shared } = self.kept;
        self.terms.truncate(terms);
        self.shared.truncate(shared);
        self.found.rounds.truncate(terms);
        self.found.ids.truncate(terms);
        self.found.places.truncate(terms);
        self.table.truncate(bytes);
        self.sums.begin(n_sums);
    }

    /// A cache for another model. Its current document has all terms of this cache, so that summing over it looks them
    /// up.
    pub(crate) fn with_same_terms(&self, model: &Arc<()>, shared: Option<&Arc<()>>, n_sums: usize) -> Memo {
        let mut memo = Memo { terms: self.terms.clone(), limits: self.limits, ..Memo::default() };
        memo.models = Models { own: Some(model.clone()), shared: shared.cloned() };
        memo.terms.truncate(self.kept.terms);
        memo.terms.begin_document_of((0..).take(self.kept.terms).map(|id| (id, 1)));
        memo.table = TermTable::new(n_sums);
        memo.kept.bytes = memo.table.bytes();
        memo.sums.begin(n_sums);
        memo
    }

    /// Looks up the new terms of the current document, and sums over all its terms. On an error the cache is cleared,
    /// so that only documents with the damaged term fail.
    pub(crate) fn sum_weights(&mut self, layers: Layers<'_>, scorer: &impl Additive) -> Result<()> {
        if self.found.places.len() < self.terms.len() || self.round > 0 {
            let outcome = self.look_up(layers, scorer);
            if outcome.is_err() {
                self.models.own = None;
            }
            outcome?;
        }
        // terms that add nothing are summed too: skipping them would be an unpredictable branch
        let Memo { terms, found: Found { places, .. }, table, sums, .. } = self;
        let terms = terms.document().iter();
        table.accumulate(terms.map(|term| (places[term.id as usize], scorer.amount(term.count))), sums);
        Ok(())
    }

    /// Looks up the new terms of the current document.
    fn look_up(&mut self, layers: Layers<'_>, scorer: &impl Additive) -> Result<()> {
        let Kept { terms: n_known, bytes, .. } = self.kept;
        let bytes = bytes + self.shared.bytes();
        let mut is_kept = n_known <= self.limits.terms && bytes <= self.limits.bytes;
        let is_new = |n: usize| self.found.rounds.get(n).is_none_or(|round| *round != self.round);
        self.new.clear();
        self.new.extend(self.terms.document().iter().filter(|term| is_new(term.id as usize)));
        // in the order of the file, so that neighbours are read together
        self.new.sort_unstable_by_key(|term| term.fingerprint);
        if n_known == 0 {
            // the first document: nothing of the file is in the cache yet
            layers.touch(self.new.iter().map(|term| term.fingerprint));
        }
        self.found.rounds.resize(self.terms.len(), self.round);
        self.found.ids.resize(self.terms.len(), None);
        self.found.places.resize(self.terms.len(), TermTable::NOTHING);
        let mut term = DecodedTerm::new(layers);
        for new in &self.new {
            let number = new.id as usize;
            let id = term.look_up(number, new.fingerprint, &mut self.shared)?;
            (self.found.ids[number], self.found.rounds[number]) = (id, self.round);
            self.found.places[number] = TermTable::NOTHING;
            if id.is_none() {
                continue;
            }
            scorer.weigh(&term, &mut self.entry)?;
            let place = Some(&self.entry).filter(|_| self.table.bytes() <= 2 * self.limits.bytes);
            match place.and_then(|entry| self.table.push(entry)) {
                Some(place) => self.found.places[number] = place,
                None => {
                    // no room in the table, and the document may be long: sum at once
                    self.sums.add(&self.entry, scorer.amount(new.count));
                    is_kept = false;
                }
            }
        }
        if is_kept {
            let shared = self.shared.extent();
            self.kept = Kept { terms: self.terms.len(), bytes: self.table.bytes(), shared };
        } else {
            self.passed += self.new.len();
            // kept terms from another model were looked up in this model for this document only
            for term in self.new.iter().filter(|term| (term.id as usize) < n_known) {
                self.found.rounds[term.id as usize] = u32::MAX;
            }
        }
        Ok(())
    }

    /// The terms of the current document.
    pub(crate) fn document(&self) -> &[TermCount] {
        self.terms.document()
    }

    /// The id of the term at a position in the document. An unknown term gets an id past all known ones: it has no
    /// counts and no weight, but makes the document longer. `None` if no id is left.
    pub(crate) fn id(&self, place: usize, n_terms: usize) -> Option<TermId> {
        let unknown = || TermId::try_from(n_terms + place).ok();
        self.found.ids[self.document()[place].id as usize].or_else(unknown)
    }
}

#[cfg(test)]
mod tests;
