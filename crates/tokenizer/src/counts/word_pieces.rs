//! The pieces of a vocabulary's words: found once per word, counted in every document.

use crate::counts::table::TermId;
use crate::counts::tally::{DocumentTally, TermCount};

/// The pieces of the words seen so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct WordPieces {
    /// By term: where its pieces start and end in `ids`; [`NEW`] if they were not looked for yet.
    spans: Vec<[u32; 2]>,
    ids: Vec<TermId>,
    /// By term: its mark in the document, see [`DocumentTally`].
    marks: Vec<u32>,
    /// The words whose pieces were first found in this document, and the number of terms before it.
    found: Vec<TermId>,
    n_before: usize,
}

const NEW: [u32; 2] = [u32::MAX; 2];

impl WordPieces {
    /// Starts a document. `are_told_apart` is false if marks have wrapped round; those of earlier documents are then
    /// cleared.
    pub(crate) fn begin_document(&mut self, n_terms: usize, are_told_apart: bool) {
        self.found.clear();
        self.n_before = n_terms;
        if !are_told_apart {
            self.marks.fill(DocumentTally::NEVER);
        }
    }

    /// Counts the pieces of a word as often as the word occurs. Returns whether they are known.
    #[inline]
    pub(crate) fn count(
        &mut self,
        word: TermCount,
        fingerprints: &[u64],
        document: &mut DocumentTally,
    ) -> bool {
        let Some([start, end]) = self.spans.get(word.id as usize).filter(|span| **span != NEW) else {
            return false;
        };
        for id in &self.ids[*start as usize..*end as usize] {
            let at = *id as usize;
            let piece = TermCount { fingerprint: fingerprints[at], id: *id, count: word.count };
            document.add(&mut self.marks[at], piece);
        }
        true
    }

    /// The pieces of a word; empty if they are not known.
    pub(crate) fn of_word(&self, word: TermId) -> &[TermId] {
        let span = self.spans.get(word as usize).filter(|span| **span != NEW);
        span.map_or(&[], |[start, end]| &self.ids[*start as usize..*end as usize])
    }

    /// The marks in the document of a word's pieces.
    pub(crate) fn marks_of(&self, word: TermId) -> impl Iterator<Item = u32> {
        self.of_word(word).iter().map(|id| self.marks[*id as usize])
    }

    /// Stores the pieces of a word. The vocabulary has `n_terms` terms by now.
    pub(crate) fn insert(&mut self, word: TermId, pieces: &[TermId], n_terms: usize) {
        self.spans.resize(n_terms, NEW);
        self.marks.resize(n_terms, DocumentTally::NEVER);
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(pieces);
        self.spans[word as usize] = [start, self.ids.len() as u32];
        self.found.push(word);
    }

    /// Keeps the first `n_terms` terms. Forgets the pieces found in the last document, or all pieces if older terms go
    /// too.
    pub(crate) fn truncate(&mut self, n_terms: usize) {
        if n_terms >= self.spans.len() {
            return;
        }
        if n_terms < self.n_before {
            *self = Self::default();
        }
        for word in self.found.drain(..).rev() {
            let [start, _] = std::mem::replace(&mut self.spans[word as usize], NEW);
            self.ids.truncate(start as usize);
        }
        self.spans.truncate(n_terms);
        self.marks.truncate(n_terms);
    }
}
