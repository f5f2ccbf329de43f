//! What a thread remembers of the terms it has met.

use std::sync::Arc;

use tamis_tokenizer::{TermCount, TermId, Vocabulary};

use crate::error::Result;
use crate::store::TermByTerm;

/// The terms met lately, with the ids that a model knows them by and what they weigh: most words of a text are those of
/// the text before, and need not be looked up again.
pub(crate) struct Memo<W> {
    /// The model that all this is of.
    model: Option<Arc<()>>,
    pub(crate) terms: Vocabulary,
    /// By the numbers of `terms`; `None` for a term that the model does not know.
    ids: Vec<Option<TermId>>,
    /// Of a term that weighs nothing, the default.
    weights: Vec<W>,
}

/// Terms to remember at most: some 10 MB.
const MOST: usize = 1 << 17;

impl<W> Default for Memo<W> {
    fn default() -> Self {
        Memo { model: None, terms: Vocabulary::without_texts(), ids: Vec::new(), weights: Vec::new() }
    }
}

impl<W: Copy + Default> Memo<W> {
    /// Prepares for a document to be scored by a model: what was remembered of another one is forgotten.
    pub(crate) fn prepare(&mut self, model: &Arc<()>) {
        let same = self.model.as_ref().is_some_and(|it| Arc::ptr_eq(it, model));
        if !same || self.terms.len() > MOST {
            *self = Memo { model: Some(model.clone()), ..Self::default() };
        }
    }

    /// Looks up the terms that are new; `weigh` tells what the one just looked up weighs. If that fails, all is forgotten, so that it fails
    /// for no document without the term.
    pub(crate) fn look_up(
        &mut self,
        terms: &TermByTerm<'_>,
        weigh: impl Fn(TermId) -> Result<Option<W>>,
    ) -> Result<()> {
        let outcome = self.look_up_new(terms, weigh);
        if outcome.is_err() {
            self.model = None;
        }
        outcome
    }

    fn look_up_new(
        &mut self,
        terms: &TermByTerm<'_>,
        weigh: impl Fn(TermId) -> Result<Option<W>>,
    ) -> Result<()> {
        // every number below the length has a fingerprint
        let fingerprint = |number| self.terms.fingerprint(number as TermId).unwrap_or_default();
        let mut new: Vec<_> =
            (self.ids.len()..self.terms.len()).map(|number| (fingerprint(number), number)).collect();
        // in the order of the file: what lies together is read together
        new.sort_unstable();
        if self.ids.is_empty() {
            // the first document of many, or the only one: nothing of the file is near yet
            terms.touch(new.iter().map(|(fingerprint, _)| *fingerprint));
        }
        self.ids.resize(self.terms.len(), None);
        self.weights.resize(self.terms.len(), W::default());
        for (fingerprint, number) in new {
            let id = terms.look_up(fingerprint)?;
            self.ids[number] = id;
            self.weights[number] = id.map_or(Ok(None), &weigh)?.unwrap_or_default();
        }
        Ok(())
    }

    /// The terms of the document at hand.
    pub(crate) fn document(&self) -> &[TermCount] {
        self.terms.document()
    }

    /// What the terms of the document weigh and how often they occur. Those that weigh nothing are among them: which they
    /// are, no processor foresees.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (W, u32)> {
        self.document().iter().map(|term| (self.weights[term.id as usize], term.count))
    }

    /// The id of the term at a place in the document. One that the model does not know gets a number beyond all those
    /// it knows: it has no counts and no weight anywhere, yet makes the document longer. None if no number is left.
    pub(crate) fn id(&self, place: usize, n_terms: usize) -> Option<TermId> {
        let unknown = || TermId::try_from(n_terms + place).ok();
        self.ids[self.document()[place].id as usize].or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

    #[test]
    fn a_term_that_cannot_be_read_fails_no_other_document() {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        let words = |i: u32| format!("word{i} more{i}");
        (0..2000).for_each(|i| trainer.add(["a", "b"][i as usize % 2], Document::Text(&words(i))).unwrap());
        let mut bytes = trainer.finish().unwrap().as_bytes().to_vec();
        let middle = bytes.len() / 4;
        bytes[middle] ^= 1;
        let filter = Filter::from_bytes(bytes).unwrap();
        let mut scratch = Scratch::default();
        let alone = |i| filter.score_text(&words(i), &mut Scratch::default()).is_ok();
        let fails: Vec<_> = (0..2000).filter(|i| !alone(*i)).collect();
        assert!(!fails.is_empty() && fails.len() < 1000, "{}", fails.len());
        for i in 0..2000 {
            assert_eq!(filter.score_text(&words(i), &mut scratch).is_ok(), !fails.contains(&i), "{i}");
        }
    }
}
