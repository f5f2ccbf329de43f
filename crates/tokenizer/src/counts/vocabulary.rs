//! The vocabulary: terms and their ids.

use std::ops::Range;

use crate::counts::fingerprint::{fingerprint, of_batch};
use crate::counts::table::{FingerprintTable, TermId, TermSlot};
use crate::counts::tally::{DocumentTally, TermCount};
use crate::counts::term_texts::TermTexts;
use crate::counts::word_pieces::WordPieces;
use crate::error::VocabularyFull;
use crate::words::batch::{Batch, term};
use crate::words::pieces::{PieceLengths, for_each_piece};

/// The maximum number of terms, so that the number of terms is a `TermId` too.
pub(crate) const MAX_TERMS: usize = u32::MAX as usize;

/// Distinct terms with their counts in the current document, numbered in order of arrival and found by fingerprint.
///
/// Invariant: no two terms have the same fingerprint. Terms whose fingerprints collide are one term.
/// [`intern`](Self::intern) keeps the lexicographically smaller text, so that the order of
/// learning does not matter; [`count`](Self::count) reads no texts and keeps the first.
///
/// ```
/// use tamis_tokenizer::{Vocabulary, fingerprint};
///
/// let mut vocabulary = Vocabulary::new();
/// assert_eq!(vocabulary.intern("tea"), Ok(0));
/// assert_eq!(vocabulary.intern("milk"), Ok(1));
/// assert_eq!(vocabulary.intern("tea"), Ok(0));
/// assert_eq!(vocabulary.term(1), Some("milk"));
/// assert_eq!(vocabulary.id_of_fingerprint(fingerprint("milk")), Some(1));
/// assert_eq!(vocabulary.id("sugar"), None);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Vocabulary {
    /// Empty texts if texts are not kept.
    texts: TermTexts,
    without_texts: bool,
    fingerprints: Vec<u64>,
    ids: FingerprintTable,
    document: DocumentTally,
    pieces: WordPieces,
    batch: BatchBuffer,
}

/// Buffer for the terms of a batch.
#[derive(Clone, Debug)]
struct BatchBuffer([Occurrence; Batch::MOST]);

impl Default for BatchBuffer {
    fn default() -> Self {
        BatchBuffer([Occurrence::default(); Batch::MOST])
    }
}

/// An occurrence of a term in a document.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Occurrence {
    /// The term's identity.
    pub fingerprint: u64,
    /// Its position among the distinct terms of the document. During look-up, the slot to start the search at.
    pub place: usize,
}

impl Vocabulary {
    /// Creates an empty vocabulary.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Returns the id of `term`, adding it if it is new.
    ///
    /// # Errors
    /// The term is new and the vocabulary holds 2^32 - 1 terms.
    pub fn intern(&mut self, term: &str) -> Result<TermId, VocabularyFull> {
        self.intern_as(fingerprint(term), term)
    }

    fn intern_as(&mut self, fingerprint: u64, term: &str) -> Result<TermId, VocabularyFull> {
        let Some(id) = self.ids.get(fingerprint) else { return self.insert(fingerprint, term) };
        // compare for equality first: the common case
        let known = self.texts.get(id).unwrap_or_default();
        if term != known && term < known {
            self.texts.replace(id, term);
        }
        Ok(id)
    }

    /// Adds a new term.
    fn insert(&mut self, fingerprint: u64, term: &str) -> Result<TermId, VocabularyFull> {
        let number = self.push(fingerprint, term)?;
        self.ids.insert(TermSlot { fingerprint, number, seen: DocumentTally::NEVER });
        Ok(number)
    }

    /// Adds a new term without a slot, which the caller inserts.
    fn push(&mut self, fingerprint: u64, term: &str) -> Result<TermId, VocabularyFull> {
        let id = next_id(self.len())?;
        self.texts.push(if self.without_texts { "" } else { term });
        self.fingerprints.push(fingerprint);
        Ok(id)
    }

    /// Starts a new document.
    pub fn begin_document(&mut self) {
        let is_marked = self.document.begin();
        if !is_marked {
            self.ids.forget_seen();
        }
        self.pieces.begin_document(self.fingerprints.len(), is_marked);
    }

    /// Counts an occurrence of `term` in the document, adding the term if it is new. Returns its position in
    /// [`document`](Self::document).
    ///
    /// ```
    /// use tamis_tokenizer::{TermCount, Vocabulary, fingerprint};
    ///
    /// let mut vocabulary = Vocabulary::new();
    /// let mut count = |terms: [&str; 3]| {
    ///     vocabulary.begin_document();
    ///     terms.iter().for_each(|term| assert!(vocabulary.count(term).is_ok()));
    ///     vocabulary.document().iter().map(|term| (term.id, term.count)).collect::<Vec<_>>()
    /// };
    /// assert_eq!(count(["more", "tea", "more"]), [(0, 2), (1, 1)]);
    /// assert_eq!(count(["no", "tea", "today"]), [(2, 1), (1, 1), (3, 1)]);
    /// ```
    ///
    /// # Errors
    /// The term is new and the vocabulary holds 2^32 - 1 terms.
    #[inline]
    pub fn count(&mut self, term: &str) -> Result<usize, VocabularyFull> {
        self.count_fingerprinted(fingerprint(term), term)
    }

    /// As [`count`](Self::count), for a term whose fingerprint is already known.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    #[inline]
    pub fn count_fingerprinted(&mut self, fingerprint: u64, term: &str) -> Result<usize, VocabularyFull> {
        let mut slots = self.ids.slots();
        match slots.find(fingerprint, slots.home(fingerprint)) {
            Some(slot) => Ok(self.document.tallying(1).count(slot)),
            None => self.push_and_count(fingerprint, term),
        }
    }

    /// Counts the terms of a batch, then passes their occurrences to `each`, in order.
    ///
    /// # Errors
    /// As [`count`](Self::count); the terms before the one that failed are counted.
    #[inline]
    pub fn count_batch(
        &mut self,
        batch: Batch<'_>,
        each: impl FnOnce(&[Occurrence]),
    ) -> Result<(), VocabularyFull> {
        if let [span] = *batch.spans {
            let term = term(batch.bytes, span);
            let fingerprint = fingerprint(term);
            each(&[Occurrence { fingerprint, place: self.count_fingerprinted(fingerprint, term)? }]);
            return Ok(());
        }
        let n = batch.spans.len();
        self.find_starts(batch);
        let mut done = 0;
        loop {
            done = self.count_known(done..n);
            let Some(span) = batch.spans.get(done) else { break };
            // the term is new, or an earlier term of this batch added it
            let fingerprint = self.batch.0[done].fingerprint;
            let term = if self.without_texts { "" } else { term(batch.bytes, *span) };
            self.batch.0[done].place = self.count_fingerprinted(fingerprint, term)?;
            done += 1;
        }
        each(&self.batch.0[..n]);
        Ok(())
    }

    /// Computes the fingerprints of a batch and the slots where their search starts.
    #[inline(never)]
    fn find_starts(&mut self, batch: Batch<'_>) {
        let slots = self.ids.slots();
        let occurrences = &mut self.batch.0[..batch.spans.len().min(Batch::MOST)];
        for (occurrence, fingerprint) in occurrences.iter_mut().zip(of_batch(batch)) {
            *occurrence = Occurrence { fingerprint, place: slots.home(fingerprint) };
        }
        // a short loop of its own lets more cache misses overlap
        for Occurrence { fingerprint, place } in occurrences {
            *place = slots.start(*fingerprint, *place);
        }
    }

    /// Counts the terms of a batch up to the first unknown one and returns its index.
    #[inline(never)]
    fn count_known(&mut self, terms: Range<usize>) -> usize {
        let mut slots = self.ids.slots();
        let mut tallying = self.document.tallying(terms.len());
        let mut n = terms.start;
        for occurrence in &mut self.batch.0[terms] {
            let Some(slot) = slots.find(occurrence.fingerprint, occurrence.place) else { break };
            occurrence.place = tallying.count(slot);
            n += 1;
        }
        n
    }

    /// Adds a new term and counts it.
    #[cold]
    #[inline(never)]
    fn push_and_count(&mut self, fingerprint: u64, term: &str) -> Result<usize, VocabularyFull> {
        let number = self.push(fingerprint, term)?;
        let mut slot = TermSlot { fingerprint, number, seen: DocumentTally::NEVER };
        let place = self.document.tallying(1).count(&mut slot);
        self.ids.insert(slot);
        Ok(place)
    }

    /// Starts a document with the given counts. Each id must occur once, and no term may be counted by its text
    /// afterwards.
    pub fn begin_document_of(&mut self, terms: impl IntoIterator<Item = (TermId, u32)>) {
        self.begin_document();
        for (id, count) in terms {
            let Some(&fingerprint) = self.fingerprints.get(id as usize) else { continue };
            self.document.add(&mut DocumentTally::NEVER.clone(), TermCount { fingerprint, id, count });
        }
    }

    /// Counts the pieces of the document's words, each as often as the words that contain it. They follow the words in
    /// [`document`](Self::document). For the text of a term, `word` returns where its word begins, or `None` if it has
    /// none. Whatever comes before the word is also put before each of its pieces.
    ///
    /// A piece is a window over the word with a boundary mark added at both ends, of the lengths given, which must be the
    /// same for all documents. The mark itself is not written; instead, `~` stands where the word goes on. Words of
    /// scripts without spaces have no pieces, and a vocabulary [without texts](Self::without_texts) finds none.
    ///
    /// ```
    /// use tamis_tokenizer::{PieceLengths, Vocabulary};
    ///
    /// let mut vocabulary = Vocabulary::new();
    /// vocabulary.begin_document();
    /// ["land", "iceland"].iter().for_each(|word| assert!(vocabulary.count(word).is_ok()));
    /// vocabulary.count_pieces(PieceLengths::FOUR, |_| Some(0))?;
    /// let counts = vocabulary.document().iter().map(|term| (vocabulary.term(term.id), term.count));
    /// let pieces: Vec<_> = counts.skip(2).filter_map(|(piece, count)| Some((piece?, count))).collect();
    /// assert_eq!(pieces[..3], [("lan~", 1), ("~land~", 2), ("~and", 2)]);
    /// # Ok::<(), tamis_tokenizer::VocabularyFull>(())
    /// ```
    ///
    /// # Errors
    /// A piece is new and the vocabulary holds 2^32 - 1 terms.
    pub fn count_pieces(
        &mut self,
        lengths: PieceLengths,
        word: impl Fn(&str) -> Option<usize>,
    ) -> Result<(), VocabularyFull> {
        for at in 0..self.document().len() {
            let of_word = self.document()[at];
            let Vocabulary { pieces, fingerprints, document, .. } = self;
            if !pieces.count(of_word, fingerprints, document) {
                self.find_pieces(lengths, of_word.id, &word)?;
                let Vocabulary { pieces, fingerprints, document, .. } = self;
                pieces.count(of_word, fingerprints, document);
            }
        }
        Ok(())
    }

    /// The positions in [`document`](Self::document) of the pieces of one of the document's words.
    pub fn piece_places(&self, word: TermId) -> impl Iterator<Item = usize> {
        self.pieces.marks_of(word).map(|mark| self.document.place(mark))
    }

    /// The pieces of a word from a document whose [pieces were counted](Self::count_pieces). A piece that the word
    /// contains twice is listed twice.
    pub fn pieces_of(&self, word: TermId) -> &[TermId] {
        self.pieces.of_word(word)
    }

    #[cold]
    #[inline(never)]
    fn find_pieces(
        &mut self,
        lengths: PieceLengths,
        id: TermId,
        word: impl Fn(&str) -> Option<usize>,
    ) -> Result<(), VocabularyFull> {
        let term = self.term(id).unwrap_or_default().to_owned();
        let (mut found, mut full) = (Vec::new(), Ok(()));
        if let Some((prefix, word)) = word(&term).and_then(|at| term.split_at_checked(at)) {
            for_each_piece(lengths, prefix, word, &mut String::new(), |piece| {
                let fingerprint = fingerprint(piece);
                // reads no texts, like `count`
                match self.ids.get(fingerprint).map_or_else(|| self.insert(fingerprint, piece), Ok) {
                    Ok(id) => found.push(id),
                    Err(error) => full = Err(error),
                }
            });
        }
        full?;
        self.pieces.insert(id, &found, self.len());
        Ok(())
    }

    /// The distinct terms of the current document, in order of first occurrence.
    pub fn document(&self) -> &[TermCount] {
        self.document.terms()
    }

    /// Creates an empty vocabulary that keeps no texts, for counting by fingerprint.
    pub fn without_texts() -> Self {
        Vocabulary { without_texts: true, ..Self::default() }
    }

    /// Removes the latest terms until at most `len` are left, and starts a new document.
    ///
    /// ```
    /// use tamis_tokenizer::Vocabulary;
    ///
    /// let mut vocabulary = Vocabulary::new();
    /// assert_eq!(["tea", "milk", "sugar"].map(|term| vocabulary.intern(term)), [Ok(0), Ok(1), Ok(2)]);
    /// vocabulary.truncate(1);
    /// assert_eq!(["tea", "milk", "sugar"].map(|term| vocabulary.id(term)), [Some(0), None, None]);
    /// assert_eq!(vocabulary.intern("sugar"), Ok(1));
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.pieces.truncate(len);
        self.begin_document();
        if len < self.len() {
            self.ids.remove_last(len as TermId, self.fingerprints.drain(len..).rev());
            self.texts.truncate(len);
        }
    }

    /// The id of `term`, or `None` if it is unknown.
    pub fn id(&self, term: &str) -> Option<TermId> {
        self.id_of_fingerprint(fingerprint(term))
    }

    /// The id of the term with this fingerprint, if there is one.
    pub fn id_of_fingerprint(&self, fingerprint: u64) -> Option<TermId> {
        self.ids.get(fingerprint)
    }

    /// The text of a term, or `None` if the id is unknown or texts are not kept.
    pub fn term(&self, id: TermId) -> Option<&str> {
        self.texts.get(id).filter(|_| !self.without_texts)
    }

    /// All ids with their fingerprints, in order of id.
    pub fn fingerprints(&self) -> impl Iterator<Item = (TermId, u64)> {
        self.all_ids().zip(self.fingerprints.iter().copied())
    }

    /// The ids with the texts of their terms, in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (TermId, &str)> {
        self.all_ids().zip(self.texts.iter())
    }

    /// Returns the texts of the terms, empty if they are not kept, and frees the rest.
    pub fn into_texts(self) -> TermTexts {
        self.texts
    }

    fn all_ids(&self) -> impl Iterator<Item = TermId> + use<> {
        // the cast never truncates: `next_id` limits the number of terms
        0..self.len() as TermId
    }
}

/// The id of the next term.
fn next_id(terms: usize) -> Result<TermId, VocabularyFull> {
    if terms < MAX_TERMS { Ok(terms as TermId) } else { Err(VocabularyFull) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    /// More than the initial capacity.
    const WORDS: u16 = 3000;

    fn vocabulary(terms: &[String]) -> Vocabulary {
        let mut vocabulary = Vocabulary::new();
        for term in terms {
            vocabulary.intern(term).unwrap();
        }
        vocabulary
    }

    fn canonical(vocabulary: &Vocabulary) -> Vec<&str> {
        let mut order: Vec<_> = vocabulary.fingerprints().collect();
        order.sort_unstable_by_key(|(_, fingerprint)| *fingerprint);
        order.into_iter().map(|(id, _)| vocabulary.term(id).unwrap()).collect()
    }

    #[test]
    fn ids_in_order_of_arrival() {
        let words = ["b", "a", "", "b", "é"].map(String::from);
        let vocabulary = vocabulary(&words);
        assert_eq!(vocabulary.iter().collect::<Vec<_>>(), [(0, "b"), (1, "a"), (2, ""), (3, "é")]);
        assert_eq!(vocabulary.term(4), None);
        assert_eq!(vocabulary.fingerprints().nth(1), Some((1, fingerprint("a"))));
        assert!(Vocabulary::new().is_empty());
    }

    #[test]
    fn colliding_terms_keep_the_smaller_text() {
        let mut one = Vocabulary::new();
        for (fingerprint, term) in [(7, "first"), (8, "mm"), (9, "last"), (8, "zzz"), (8, "a"), (8, "bbbb")] {
            one.intern_as(fingerprint, term).unwrap();
        }
        assert_eq!(one.iter().collect::<Vec<_>>(), [(0, "first"), (1, "a"), (2, "last")]);
        assert_eq!(one.intern_as(8, "Aaaaa"), Ok(1));
        assert_eq!(one.term(1), Some("Aaaaa"));
        assert_eq!(one.term(2), Some("last"));
    }

    #[test]
    fn ids_end_where_their_type_does() {
        assert_eq!(next_id(MAX_TERMS - 1), Ok(u32::MAX - 1));
        assert_eq!(next_id(MAX_TERMS), Err(VocabularyFull));
        assert_eq!(
            VocabularyFull.to_string(),
            "vocabulary is full: expected at most 4294967295 terms, got one more"
        );
    }

    #[test]
    fn pieces_are_found_once_while_their_terms_are_kept() {
        let (mut vocabulary, asked) = (Vocabulary::new(), std::cell::Cell::new(0));
        let mut count = |words: &[&str], kept: Option<usize>| {
            vocabulary.begin_document();
            words.iter().for_each(|word| _ = vocabulary.count(word).unwrap());
            asked.set(0);
            let word = |_: &str| {
                asked.set(asked.get() + 1);
                Some(0)
            };
            vocabulary.count_pieces(PieceLengths::FOUR, word).unwrap();
            let n_terms = vocabulary.document().len();
            vocabulary.truncate(kept.unwrap_or(vocabulary.len()));
            (asked.get(), n_terms)
        };
        let iceland = ["ice~", "~icel~", "~cela~", "~elan~", "~land~", "~and"].len();
        assert_eq!(count(&["iceland"], None), (1, 1 + iceland));
        assert_eq!(count(&["iceland", "land"], None), (1, 2 + iceland + 1));
        // truncates so that nothing is left of "greenland", then so that only one piece of "iceland" is
        assert_eq!(count(&["iceland", "greenland"], Some(1 + iceland + 2)), (1, 2 + iceland + 6));
        assert_eq!(count(&["iceland", "land", "greenland"], Some(2)), (1, 3 + iceland + 1 + 6));
        // so the pieces of "iceland" were dropped and are looked for again
        assert_eq!(count(&["iceland"], None), (1, 1 + iceland));
    }

    proptest! {
        #[test]
        fn a_batch_counts_as_its_terms_do(words in prop::collection::vec("[a-c]{1,7}", 0..2000)) {
            let (text, mut spans) = (words.concat(), Vec::new());
            for word in &words {
                let start = spans.last().map_or(0, |[_, end]: &[usize; 2]| *end);
                spans.push([start, start + word.len()]);
            }
            let (mut one, mut other) = (Vocabulary::new(), Vocabulary::new());
            for spans in spans.chunks(Batch::MOST) {
                let batch = Batch { bytes: text.as_bytes(), spans, are_signs: false };
                let expected: Vec<_> = batch.iter().map(|term| one.count(term).unwrap()).collect();
                let each = |occurrences: &[Occurrence]| {
                    assert!(occurrences.iter().map(|o| o.place).eq(expected));
                    assert!(occurrences.iter().map(|o| o.fingerprint).eq(batch.iter().map(fingerprint)));
                };
                prop_assert_eq!(other.count_batch(batch, each), Ok(()));
            }
            prop_assert_eq!(one.document(), other.document());
        }

        #[test]
        fn of_a_truncated_vocabulary_the_first_terms_are_left(
            rounds in prop::collection::vec((prop::collection::vec(0..WORDS, 0..1500), any::<prop::sample::Index>()), 1..6),
        ) {
            let (mut vocabulary, mut ids) = (Vocabulary::without_texts(), HashMap::new());
            for (words, left) in rounds {
                for word in words {
                    let next = ids.len() as TermId;
                    let place = vocabulary.count(&word.to_string()).unwrap();
                    prop_assert_eq!(vocabulary.document()[place].id, *ids.entry(word).or_insert(next));
                }
                let left = left.index(ids.len() + 1);
                ids.retain(|_, id| (*id as usize) < left);
                vocabulary.truncate(left);
                prop_assert_eq!((vocabulary.len(), vocabulary.document()), (left, &[][..]));
                for word in 0..WORDS {
                    prop_assert_eq!(vocabulary.id(&word.to_string()), ids.get(&word).copied());
                }
            }
        }

        #[test]
        fn canonical_order_does_not_depend_on_arrival(
            terms in prop::collection::vec(".{0,4}", 0..50),
            seed in any::<u64>(),
        ) {
            let mut shuffled = terms.clone();
            shuffled.sort_by_key(|term| xxhash_rust::xxh3::xxh3_64_with_seed(term.as_bytes(), seed));
            let (one, other) = (vocabulary(&terms), vocabulary(&shuffled));
            prop_assert_eq!(canonical(&one), canonical(&other));
        }
    }
}
