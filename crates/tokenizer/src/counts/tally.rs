//! Counts of the current document, kept in the slots of the vocabulary's table.

use std::hint::select_unpredictable;

use crate::counts::table::{TermId, TermSlot};

/// A term of a document and how often it occurs there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TermCount {
    /// The term's identity.
    pub fingerprint: u64,
    /// The term's id in the vocabulary that counted it.
    pub id: TermId,
    /// Its number of occurrences, from 1 to `u32::MAX`.
    pub count: u32,
}

/// The distinct terms of the current document. Each slot of the vocabulary's table is marked with the term's position
/// here, so counting an occurrence touches one slot there and one entry here.
#[derive(Clone, Debug)]
pub(crate) struct DocumentTally {
    /// The mark of this document's first term; marks of earlier documents are lower.
    first: u32,
    len: usize,
    /// Entries from `len` on are leftovers of earlier documents.
    terms: Vec<TermCount>,
}

impl Default for DocumentTally {
    fn default() -> Self {
        DocumentTally { first: 1, len: 0, terms: Vec::new() }
    }
}

impl DocumentTally {
    /// The mark of a term never seen.
    pub(crate) const NEVER: u32 = 0;

    /// Starts a new document. Returns `false` if marks wrapped round, so that those in the table must be cleared.
    pub(crate) fn begin(&mut self) -> bool {
        // no document has 2^31 distinct terms
        let next = self.first.checked_add(self.len as u32).filter(|next| *next < 1 << 31);
        self.first = next.unwrap_or(1);
        self.len = 0;
        next.is_some()
    }

    /// Prepares to count up to `occurrences` occurrences.
    #[inline(always)]
    pub(crate) fn tallying(&mut self, occurrences: usize) -> TallyCursor<'_> {
        // one extra: the next entry is written before it is known to be new
        if self.terms.len() - self.len <= occurrences {
            self.grow(occurrences);
        }
        TallyCursor { first: self.first, len: self.len, terms: &mut self.terms, all: &mut self.len }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.terms.resize(2 * self.len + more + 1, TermCount::default());
    }

    pub(crate) fn terms(&self) -> &[TermCount] {
        &self.terms[..self.len]
    }

    /// The position in the document of the term with this mark.
    pub(crate) fn place(&self, mark: u32) -> usize {
        mark.wrapping_sub(self.first) as usize
    }

    /// Counts occurrences of a term whose mark is kept by the caller instead of in a slot.
    #[inline(always)]
    pub(crate) fn add(&mut self, mark: &mut u32, term: TermCount) {
        let seen = mark.wrapping_sub(self.first) as usize;
        if let Some(known) = self.terms[..self.len].get_mut(seen) {
            known.count = known.count.saturating_add(term.count);
            return;
        }
        if self.terms.len() == self.len {
            self.grow(1);
        }
        *mark = self.first.wrapping_add(self.len as u32);
        self.terms[self.len] = term;
        self.len += 1;
    }
}

/// A [`DocumentTally`] while counting. Holds its numbers by value, so that they stay in registers.
pub(crate) struct TallyCursor<'a> {
    first: u32,
    len: usize,
    terms: &'a mut [TermCount],
    all: &'a mut usize,
}

impl TallyCursor<'_> {
    /// Counts an occurrence of the term in `slot` and returns its position.
    #[inline(always)]
    pub(crate) fn count(&mut self, slot: &mut TermSlot) -> usize {
        let seen = slot.seen.wrapping_sub(self.first) as usize;
        // no branch: whether a word was seen before is unpredictable
        let is_new = seen >= self.len;
        let place = select_unpredictable(is_new, self.len, seen);
        slot.seen = self.first.wrapping_add(place as u32);
        if let Some(next) = self.terms.get_mut(self.len) {
            *next = TermCount { fingerprint: slot.fingerprint, id: slot.number, count: 0 };
        }
        if let Some(term) = self.terms.get_mut(place) {
            term.count = term.count.saturating_add(1);
        }
        self.len += usize::from(is_new);
        place
    }
}

impl Drop for TallyCursor<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.all = self.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::vocabulary::Vocabulary;
    use proptest::prelude::*;

    #[test]
    fn marks_start_anew() {
        let mut tally = DocumentTally { first: (1 << 31) - 2, ..DocumentTally::default() };
        let mut slot = TermSlot { fingerprint: 1, number: 2, seen: DocumentTally::NEVER };
        let mut count = |tally: &mut DocumentTally| tally.tallying(1).count(&mut slot);
        assert_eq!((count(&mut tally), count(&mut tally)), (0, 0));
        assert!(tally.begin());
        assert_eq!(tally.terms(), []);
        assert_eq!(count(&mut tally), 0);
        assert!(!tally.begin());
        slot.seen = DocumentTally::NEVER;
        tally.tallying(1).count(&mut slot);
        assert_eq!(tally.terms(), [TermCount { fingerprint: 1, id: 2, count: 1 }]);
    }

    proptest! {
        #[test]
        fn counts_what_is_there(documents in prop::collection::vec(prop::collection::vec("[a-d]{0,5}", 0..80), 1..9)) {
            let (mut vocabulary, mut bare) = (Vocabulary::new(), Vocabulary::without_texts());
            for words in documents {
                vocabulary.begin_document();
                bare.begin_document();
                let places: Vec<_> = words.iter().map(|word| vocabulary.count(word).unwrap()).collect();
                for (word, place) in words.iter().zip(places) {
                    prop_assert_eq!(bare.count(word), Ok(place));
                    let term = vocabulary.document()[place];
                    prop_assert_eq!(vocabulary.term(term.id), Some(word.as_str()));
                    prop_assert_eq!(vocabulary.id_of_fingerprint(term.fingerprint), Some(term.id));
                    prop_assert_eq!(term.count as usize, words.iter().filter(|it| *it == word).count());
                }
                prop_assert_eq!(bare.document(), vocabulary.document());
            }
            prop_assert_eq!(bare.term(0), None);
        }
    }
}
