//! A per-thread cache of term weights.

use std::sync::Arc;

use tamis_model::{DocumentSums, TermEntry, TermTable};
use tamis_tokenizer::{TermCount, TermId, Vocabulary};

use crate::error::Result;
use crate::store::layers::{DecodedTerm, Layers};

/// A cache of terms with their ids and weights: most words of a text occurred before and need no look-up. When it is
/// full, further terms are dropped after their document; after many such drops it is cleared, since the kind of text
/// may have changed.
pub(crate) struct Memo {
    /// The model that the cache belongs to.
    model: Option<Arc<()>>,
    pub(crate) terms: Vocabulary,
    /// By the numbers of `terms`; `None` for a term that the model does not know.
    ids: Vec<Option<TermId>>,
    /// The entry of each term in the table.
    places: Vec<u32>,
    table: TermTable,
    /// Sums over the terms of the current document.
    pub(crate) sums: DocumentSums,
    new: Vec<TermCount>,
    entry: TermEntry,
    kept: Kept,
    /// Number of terms looked up but not kept.
    passed: usize,
    limits: Limits,
}

/// What is kept after the current document.
#[derive(Clone, Copy, Default)]
struct Kept {
    terms: usize,
    /// Of what they say.
    bytes: usize,
}

/// How much is kept at most, but for the last document: one that has as much again of what terms say is not kept.
#[derive(Clone, Copy)]
struct Limits {
    terms: usize,
    bytes: usize,
}

/// All is forgotten when so many times the terms that are kept were looked up and not kept.
const PASSED: usize = 8;

/// A scorer that a document's terms are added up for.
pub(crate) trait Additive {
    /// The number of sums it needs.
    fn n_sums(&self) -> usize;

    /// The factor of a term that occurs `count` times.
    fn amount(&self, count: u32) -> f64;

    /// The weights of a term.
    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()>;
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            model: None,
            terms: Vocabulary::without_texts(),
            ids: Vec::new(),
            places: Vec::new(),
            table: TermTable::new(0),
            sums: DocumentSums::default(),
            new: Vec::new(),
            entry: TermEntry::default(),
            kept: Kept::default(),
            passed: 0,
            // few enough that those of another document seldom make the table of terms grow
            limits: Limits { terms: 7 << 15, bytes: 32 << 20 },
        }
    }
}

impl Memo {
    /// Prepares for a document to be scored by a model: what was remembered of another model is forgotten, and what of the document
    /// before is not kept.
    pub(crate) fn prepare(&mut self, model: &Arc<()>, n_sums: usize) {
        let same = self.model.as_ref().is_some_and(|it| Arc::ptr_eq(it, model));
        if !same || self.passed > PASSED * self.limits.terms {
            let (model, table) = (Some(model.clone()), TermTable::new(n_sums));
            let kept = Kept { terms: 0, bytes: table.bytes() };
            *self = Memo { model, table, kept, limits: self.limits, ..Self::default() };
        }
        let Kept { terms, bytes } = self.kept;
        self.terms.truncate(terms);
        self.ids.truncate(terms);
        self.places.truncate(terms);
        self.table.truncate(bytes);
        self.sums.begin(n_sums);
    }

    /// Adds up what the terms of the document at hand say; those that are new are looked up. If that fails, all is forgotten, so that
    /// it fails for no document without the term.
    pub(crate) fn add_up(&mut self, layers: Layers<'_>, scorer: &impl Additive) -> Result<()> {
        if self.places.len() < self.terms.len() {
            let outcome = self.look_up(layers, scorer);
            if outcome.is_err() {
                self.model = None;
            }
            outcome?;
        }
        // Those that say nothing are among them: which they are, no processor foresees.
        let Memo { terms, places, table, sums, .. } = self;
        let terms = terms.document().iter();
        table.add_up(terms.map(|term| (places[term.id as usize], scorer.amount(term.count))), sums);
        Ok(())
    }

    /// Looks up the terms that are new, all of which are of the document at hand.
    fn look_up(&mut self, layers: Layers<'_>, scorer: &impl Additive) -> Result<()> {
        let Kept { terms: n_known, bytes } = self.kept;
        let mut is_kept = n_known <= self.limits.terms && bytes <= self.limits.bytes;
        self.new.clear();
        self.new.extend(self.terms.document().iter().filter(|term| term.id as usize >= n_known));
        // in the order of the file: what lies together is read together
        self.new.sort_unstable_by_key(|term| term.fingerprint);
        if n_known == 0 {
            // the first document of many, or the only one: nothing of the file is near yet
            layers.touch(self.new.iter().map(|term| term.fingerprint));
        }
        self.ids.resize(self.terms.len(), None);
        self.places.resize(self.terms.len(), TermTable::NOTHING);
        let mut term = DecodedTerm::new(layers);
        for new in &self.new {
            let id = term.look_up(new.fingerprint)?;
            self.ids[new.id as usize] = id;
            if id.is_none() {
                continue;
            }
            scorer.weigh(&term, &mut self.entry)?;
            let place = Some(&self.entry).filter(|_| self.table.bytes() <= 2 * self.limits.bytes);
            match place.and_then(|entry| self.table.push(entry)) {
                Some(place) => self.places[new.id as usize] = place,
                None => {
                    // no room, though the document may go on for long
                    self.sums.add(&self.entry, scorer.amount(new.count));
                    is_kept = false;
                }
            }
        }
        if is_kept {
            self.kept = Kept { terms: self.terms.len(), bytes: self.table.bytes() };
        } else {
            self.passed += self.new.len();
        }
        Ok(())
    }

    /// The terms of the document at hand.
    pub(crate) fn document(&self) -> &[TermCount] {
        self.terms.document()
    }

    /// The id of the term at a place in the document. One that the model does not know gets a number beyond all those
    /// it knows: it has no counts and no weight anywhere, yet makes the document longer. None if no number is left.
    pub(crate) fn id(&self, place: usize, n_terms: usize) -> Option<TermId> {
        let unknown = || TermId::try_from(n_terms + place).ok();
        self.ids[self.document()[place].id as usize].or_else(unknown)
    }
}

#[cfg(test)]
mod tests;
