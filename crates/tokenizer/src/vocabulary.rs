//! Terms and their ids.

use std::hint::black_box;

use xxhash_rust::xxh3::xxh3_64;

use crate::bag::{Bag, BagEntry};
use crate::error::VocabularyFull;
use crate::table::Table;

/// The number of a term in a vocabulary: 0 for the first that arrived.
pub type TermId = u32;

/// The most terms a vocabulary holds, so that their number is a `TermId` as well.
pub(crate) const MAX_TERMS: usize = u32::MAX as usize;

/// The identity of a term: the 64-bit XXH3 hash of its text.
///
/// ```
/// assert_eq!(tamis_tokenizer::fingerprint(""), 0x2d06_8005_38d3_94c2);
/// ```
#[inline]
pub fn fingerprint(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// Unique terms, numbered in the order of their arrival and found by fingerprint.
///
/// Invariant: no two terms have the same fingerprint. Terms whose texts collide are one term, shown as the
/// lexicographically smaller text, so that the order of learning never matters.
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
    /// All texts, one after another: text i ends at `ends[i]`.
    texts: String,
    ends: Vec<usize>,
    fingerprints: Vec<u64>,
    ids: Table,
}

impl Vocabulary {
    /// An empty vocabulary.
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

    /// The id of `term`, which enters the vocabulary if it is new.
    ///
    /// # Errors
    /// The term is new and the vocabulary holds 2^32 - 1 terms.
    pub fn intern(&mut self, term: &str) -> Result<TermId, VocabularyFull> {
        self.intern_as(fingerprint(term), term)
    }

    /// The ids of these terms of a bag, which enter the vocabulary if they are new, in place of what `ids` held.
    ///
    /// # Errors
    /// The vocabulary would hold more than 2^32 - 1 terms; it keeps those that went before.
    pub fn intern_all(
        &mut self,
        bag: &Bag,
        entries: &[BagEntry],
        ids: &mut Vec<TermId>,
    ) -> Result<(), VocabularyFull> {
        ids.clear();
        // all places on their way from memory before the first is needed
        black_box(entries.iter().fold(0, |sum, entry| sum ^ self.ids.touch(entry.fingerprint)));
        for entry in entries {
            ids.push(self.intern_as(entry.fingerprint, bag.text(entry.number))?);
        }
        Ok(())
    }

    fn intern_as(&mut self, fingerprint: u64, term: &str) -> Result<TermId, VocabularyFull> {
        let Ok(next) = next_id(self.len()) else {
            return self.id_of_fingerprint(fingerprint).ok_or(VocabularyFull);
        };
        let id = self.ids.get_or_insert(fingerprint, next);
        if id == next {
            self.texts.push_str(term);
            self.ends.push(self.texts.len());
            self.fingerprints.push(fingerprint);
            return Ok(id);
        }
        // Comparing for equality first keeps the way of nearly every call short.
        let known = &self.texts[self.span(id)];
        if term != known && term < known {
            self.replace(id, term);
        }
        Ok(id)
    }

    /// Puts another text in the place of one with the same fingerprint; moves all that follow it, which two
    /// colliding terms in billions can afford.
    fn replace(&mut self, id: TermId, term: &str) {
        let span = self.span(id);
        self.texts.replace_range(span.clone(), term);
        for end in &mut self.ends[id as usize..] {
            *end = *end - span.len() + term.len();
        }
    }

    /// Where the text of a known id is.
    fn span(&self, id: TermId) -> std::ops::Range<usize> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        start..self.ends[id]
    }

    /// The id of `term`, if it is known.
    pub fn id(&self, term: &str) -> Option<TermId> {
        self.id_of_fingerprint(fingerprint(term))
    }

    /// The id of the term with this fingerprint, if there is one.
    pub fn id_of_fingerprint(&self, fingerprint: u64) -> Option<TermId> {
        self.ids.get(fingerprint)
    }

    /// The text of a term.
    pub fn term(&self, id: TermId) -> Option<&str> {
        ((id as usize) < self.len()).then(|| &self.texts[self.span(id)])
    }

    /// The fingerprint of a term.
    pub fn fingerprint(&self, id: TermId) -> Option<u64> {
        self.fingerprints.get(id as usize).copied()
    }

    /// Takes in the terms of `other`: for each id there, the id here.
    ///
    /// # Errors
    /// Together they hold more than 2^32 - 1 terms; nothing has changed then.
    pub fn merge(&mut self, other: &Vocabulary) -> Result<Vec<TermId>, VocabularyFull> {
        // Only where the sum is too large do the terms in common have to be counted.
        if self.len() + other.len() > MAX_TERMS {
            let new = other.fingerprints.iter().filter(|&&it| self.id_of_fingerprint(it).is_none()).count();
            if self.len() + new > MAX_TERMS {
                return Err(VocabularyFull);
            }
        }
        other.iter().map(|(id, term)| self.intern_as(other.fingerprints[id as usize], term)).collect()
    }

    /// The ids sorted by fingerprint: the place of an id in the result is its canonical id, which does not
    /// depend on the order of arrival.
    pub fn canonical_order(&self) -> Vec<TermId> {
        let mut order: Vec<_> = self.fingerprints.iter().copied().zip(self.all_ids()).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// The terms with their ids, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (TermId, &str)> {
        self.all_ids().map(|id| (id, &self.texts[self.span(id)]))
    }

    fn all_ids(&self) -> impl Iterator<Item = TermId> + use<> {
        // Never truncates: `next_id` lets no more terms in than a `TermId` can count.
        0..self.len() as TermId
    }
}

/// The id for one more term.
fn next_id(terms: usize) -> Result<TermId, VocabularyFull> {
    if terms < MAX_TERMS { Ok(terms as TermId) } else { Err(VocabularyFull) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vocabulary(terms: &[String]) -> Vocabulary {
        let mut vocabulary = Vocabulary::new();
        for term in terms {
            vocabulary.intern(term).unwrap();
        }
        vocabulary
    }

    fn canonical(vocabulary: &Vocabulary) -> Vec<&str> {
        vocabulary.canonical_order().into_iter().map(|id| vocabulary.term(id).unwrap()).collect()
    }

    #[test]
    fn ids_in_order_of_arrival() {
        let words = ["b", "a", "", "b", "é"].map(String::from);
        let vocabulary = vocabulary(&words);
        assert_eq!(vocabulary.iter().collect::<Vec<_>>(), [(0, "b"), (1, "a"), (2, ""), (3, "é")]);
        assert_eq!(vocabulary.term(4), None);
        assert_eq!(vocabulary.fingerprint(1), Some(fingerprint("a")));
        assert_eq!(vocabulary.fingerprint(4), None);
        assert!(Vocabulary::new().is_empty() && Vocabulary::new().canonical_order().is_empty());
    }

    #[test]
    fn colliding_terms_keep_the_smaller_text() {
        let mut one = Vocabulary::new();
        for (fingerprint, term) in [(7, "first"), (8, "mm"), (9, "last"), (8, "zzz"), (8, "a"), (8, "bbbb")] {
            one.intern_as(fingerprint, term).unwrap();
        }
        assert_eq!(one.iter().collect::<Vec<_>>(), [(0, "first"), (1, "a"), (2, "last")]);
        let mut other = Vocabulary::new();
        other.intern_as(8, "Aaaaa").unwrap();
        assert_eq!(one.merge(&other), Ok(vec![1]));
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

    proptest! {
        #[test]
        fn merged_terms_are_found(
            a in prop::collection::vec("[a-c]{0,3}", 0..30),
            b in prop::collection::vec("[a-c]{0,3}", 0..30),
        ) {
            let (one, other) = (vocabulary(&a), vocabulary(&b));
            let mut merged = one.clone();
            let map = merged.merge(&other).unwrap();
            prop_assert_eq!(map.len(), other.len());
            for (id, term) in other.iter() {
                prop_assert_eq!(merged.id(term), Some(map[id as usize]));
                prop_assert_eq!(merged.term(map[id as usize]), Some(term));
            }
            for (id, term) in one.iter() {
                prop_assert_eq!(merged.id(term), Some(id));
            }
            let mut reverse = other.clone();
            reverse.merge(&one).unwrap();
            prop_assert_eq!(canonical(&merged), canonical(&reverse));
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
            prop_assert!(one.canonical_order().is_sorted_by_key(|&id| one.fingerprint(id)));
        }
    }
}
