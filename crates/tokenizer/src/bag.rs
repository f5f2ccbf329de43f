use crate::table::Table;
use crate::vocabulary::fingerprint;

/// The different terms of one document, numbered as they first come, and how often each occurs.
///
/// ```
/// use tamis_tokenizer::{Bag, fingerprint};
///
/// let mut bag = Bag::new();
/// assert_eq!(["more", "tea", "more"].map(|term| bag.add(term)), [0, 1, 0]);
/// assert_eq!(bag.fingerprints(), ["more", "tea"].map(fingerprint));
/// assert_eq!(bag.counts(), [2, 1]);
/// assert_eq!(bag.text(1), "tea");
/// bag.clear();
/// assert!(bag.is_empty());
/// ```
#[derive(Clone, Default, Debug)]
pub struct Bag {
    numbers: Table,
    len: usize,
    /// By number; beyond `len` they hold what was there before.
    fingerprints: Vec<u64>,
    counts: Vec<u32>,
    /// All texts, one after another, and where each ends; nothing if they are not kept.
    texts: String,
    ends: Vec<usize>,
    without_texts: bool,
}

/// A term of a bag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BagEntry {
    /// The term's identity.
    pub fingerprint: u64,
    /// Its number in the bag.
    pub number: u32,
    /// Its occurrences; at least one, at most `u32::MAX`.
    pub count: u32,
}

impl Bag {
    /// An empty bag that keeps the texts of its terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty bag that only keeps fingerprints: enough to look terms up.
    pub fn without_texts() -> Self {
        Bag { without_texts: true, ..Self::default() }
    }

    /// Empties it; it keeps the memory it has.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.len = 0;
        self.texts.clear();
        self.ends.clear();
    }

    /// Counts an occurrence of a term and returns the term's number.
    #[inline]
    pub fn add(&mut self, term: &str) -> u32 {
        self.add_fingerprinted(fingerprint(term), term)
    }

    /// As [`add`](Self::add), for a term whose fingerprint is known. Of colliding terms the first lends its text.
    #[inline]
    pub fn add_fingerprinted(&mut self, fingerprint: u64, term: &str) -> u32 {
        // fewer terms than a text has bytes, and no bag holds 2^32 of them
        let next = self.len as u32;
        if self.len == self.counts.len() {
            self.grow();
        }
        let number = self.numbers.get_or_insert(fingerprint, next);
        let is_new = number == next;
        let count = &mut self.counts[number as usize];
        *count = if is_new { 1 } else { count.saturating_add(1) };
        self.fingerprints[number as usize] = fingerprint;
        self.len += usize::from(is_new);
        if is_new && !self.without_texts {
            self.texts.push_str(term);
            self.ends.push(self.texts.len());
        }
        number
    }

    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.len).max(256);
        self.counts.resize(room, 0);
        self.fingerprints.resize(room, 0);
    }

    /// The number of different terms.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The fingerprints, by number.
    pub fn fingerprints(&self) -> &[u64] {
        &self.fingerprints[..self.len]
    }

    /// The occurrences, by number.
    pub fn counts(&self) -> &[u32] {
        &self.counts[..self.len]
    }

    /// The text of a term; empty for an unknown number and if texts are not kept.
    pub fn text(&self, number: u32) -> &str {
        let number = number as usize;
        let Some(end) = self.ends.get(number) else { return "" };
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.texts[start..*end]
    }

    /// The terms in the order of their fingerprints, which does not depend on the order of the text, in place of what
    /// `out` held.
    pub fn sorted(&self, out: &mut Vec<BagEntry>) {
        out.clear();
        let terms = (0..).zip(self.fingerprints().iter().zip(self.counts()));
        out.extend(terms.map(|(number, (&fingerprint, &count))| BagEntry { fingerprint, number, count }));
        out.sort_unstable_by_key(|entry| entry.fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_what_is_there(words in prop::collection::vec("[a-c]{0,3}", 0..80), before in ".{0,3}") {
            let (mut bag, mut bare) = (Bag::new(), Bag::without_texts());
            bag.add(&before);
            bag.clear();
            let numbers: Vec<_> = words.iter().map(|word| bag.add(word)).collect();
            prop_assert_eq!(&numbers, &words.iter().map(|word| bare.add(word)).collect::<Vec<_>>());
            for (word, number) in words.iter().zip(numbers) {
                prop_assert_eq!(bag.text(number), word.as_str());
                prop_assert_eq!(bag.fingerprints()[number as usize], fingerprint(word));
                let count = words.iter().filter(|it| *it == word).count() as u32;
                prop_assert_eq!(bag.counts()[number as usize], count);
            }
            prop_assert_eq!((bag.fingerprints(), bag.counts()), (bare.fingerprints(), bare.counts()));
            let mut sorted = Vec::new();
            bag.sorted(&mut sorted);
            prop_assert!(sorted.is_sorted_by(|a, b| a.fingerprint < b.fingerprint));
            prop_assert_eq!(sorted.len(), bag.len());
            for entry in sorted {
                prop_assert_eq!(bag.fingerprints()[entry.number as usize], entry.fingerprint);
                prop_assert_eq!(bag.counts()[entry.number as usize], entry.count);
            }
        }
    }
}
