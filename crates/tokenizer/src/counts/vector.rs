//! The term counts of one document, as a sparse vector.

use crate::counts::table::TermId;
use crate::error::CountError;

/// The term counts of one document, borrowed.
///
/// Invariant: ids strictly increasing, one count for each, every count at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CountRow<'a> {
    ids: &'a [TermId],
    counts: &'a [u32],
}

impl<'a> CountRow<'a> {
    /// Creates a row over these slices.
    ///
    /// # Errors
    /// Slices of different lengths, ids that are not strictly increasing, or a count of zero.
    pub fn new(ids: &'a [TermId], counts: &'a [u32]) -> Result<Self, CountError> {
        if ids.len() != counts.len() {
            return Err(CountError::Lengths { ids: ids.len(), counts: counts.len() });
        }
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(CountError::Order { previous: pair[0], got: pair[1] });
        }
        match ids.iter().zip(counts).find(|(_, count)| **count == 0) {
            Some((id, _)) => Err(CountError::Zero { id: *id }),
            None => Ok(CountRow { ids, counts }),
        }
    }

    /// The ids of the terms, strictly increasing.
    pub fn ids(&self) -> &'a [TermId] {
        self.ids
    }

    /// The counts, in the order of [`ids`](Self::ids).
    pub fn counts(&self) -> &'a [u32] {
        self.counts
    }

    /// The number of distinct terms.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids with their counts, in order of id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TermId, u32)> + use<'a> {
        self.ids.iter().copied().zip(self.counts.iter().copied())
    }

    /// The number of occurrences of all terms.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }
}

/// The term counts of one document, owned.
///
/// Invariant: that of [`CountRow`].
///
/// ```
/// use tamis_tokenizer::CountVector;
///
/// let counts = CountVector::from_pairs([(7, 1), (3, 2), (7, 1)])?;
/// assert_eq!(counts.row().ids(), [3, 7]);
/// assert_eq!(counts.row().counts(), [2, 2]);
/// assert_eq!(counts, CountVector::new(vec![3, 7], vec![2, 2])?);
/// # Ok::<(), tamis_tokenizer::CountError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountVector {
    ids: Vec<TermId>,
    counts: Vec<u32>,
}

impl CountVector {
    /// Creates a vector from ids and their counts.
    ///
    /// # Errors
    /// Vectors of different lengths, ids that are not strictly increasing, or a count of zero.
    pub fn new(ids: Vec<TermId>, counts: Vec<u32>) -> Result<Self, CountError> {
        CountRow::new(&ids, &counts)?;
        Ok(CountVector { ids, counts })
    }

    /// Creates a vector from counts in any order. Adds the counts of equal ids and leaves zeros out.
    ///
    /// # Errors
    /// A sum above `u32::MAX`.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (TermId, u32)>) -> Result<Self, CountError> {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.retain(|&(_, count)| count > 0);
        pairs.sort_unstable_by_key(|&(id, _)| id);
        let mut vector = CountVector::with_capacity(pairs.len());
        for (id, count) in pairs {
            match vector.counts.last_mut() {
                Some(last) if vector.ids.last() == Some(&id) => {
                    *last = last.checked_add(count).ok_or(CountError::Overflow { id })?;
                }
                _ => vector.push(id, count),
            }
        }
        Ok(vector)
    }

    /// Replaces the counts by the number of occurrences of each id in `ids`, which it sorts.
    ///
    /// Reuses memory. Counts saturate at `u32::MAX`.
    ///
    /// ```
    /// use tamis_tokenizer::CountVector;
    ///
    /// let mut counts = CountVector::default();
    /// counts.assign_ids(&mut [4, 2, 4]);
    /// assert_eq!(counts.row().iter().collect::<Vec<_>>(), [(2, 1), (4, 2)]);
    /// ```
    pub fn assign_ids(&mut self, ids: &mut [TermId]) {
        ids.sort_unstable();
        self.ids.clear();
        self.counts.clear();
        for equal in ids.chunk_by(|a, b| a == b) {
            self.push(equal[0], u32::try_from(equal.len()).unwrap_or(u32::MAX));
        }
    }

    /// Replaces the counts by those in `pairs`, which it sorts. Adds the counts of equal ids, saturating at `u32::MAX`,
    /// and leaves zeros out.
    ///
    /// Reuses memory.
    ///
    /// ```
    /// use tamis_tokenizer::CountVector;
    ///
    /// let mut counts = CountVector::default();
    /// counts.assign_pairs(&mut [(4, 1), (2, 1), (4, 2)]);
    /// assert_eq!(counts.row().iter().collect::<Vec<_>>(), [(2, 1), (4, 3)]);
    /// ```
    pub fn assign_pairs(&mut self, pairs: &mut [(TermId, u32)]) {
        pairs.sort_unstable_by_key(|&(id, _)| id);
        self.ids.clear();
        self.counts.clear();
        for &(id, count) in pairs.iter().filter(|(_, count)| *count > 0) {
            match self.counts.last_mut() {
                Some(last) if self.ids.last() == Some(&id) => *last = last.saturating_add(count),
                _ => self.push(id, count),
            }
        }
    }

    /// The sums of the counts of both, saturating at `u32::MAX`.
    ///
    /// ```
    /// use tamis_tokenizer::CountVector;
    ///
    /// let [one, other] = [[(1, 2), (4, 1)], [(2, 1), (4, 3)]].map(CountVector::from_pairs);
    /// assert_eq!(one?.plus(&other?), CountVector::new(vec![1, 2, 4], vec![2, 1, 4])?);
    /// # Ok::<(), tamis_tokenizer::CountError>(())
    /// ```
    pub fn plus(&self, other: &CountVector) -> CountVector {
        let mut sum = CountVector::with_capacity(self.ids.len() + other.ids.len());
        let mut others = other.row().iter().peekable();
        for (id, count) in self.row().iter() {
            while let Some((lower, own)) = others.next_if(|(other, _)| *other < id) {
                sum.push(lower, own);
            }
            let more = others.next_if(|(other, _)| *other == id).map_or(0, |(_, more)| more);
            sum.push(id, count.saturating_add(more));
        }
        others.for_each(|(id, count)| sum.push(id, count));
        sum
    }

    fn with_capacity(n: usize) -> CountVector {
        CountVector { ids: Vec::with_capacity(n), counts: Vec::with_capacity(n) }
    }

    /// Appends a term, whose id must be higher than all others.
    fn push(&mut self, id: TermId, count: u32) {
        self.ids.push(id);
        self.counts.push(count);
    }

    /// Borrows the counts.
    pub fn row(&self) -> CountRow<'_> {
        CountRow { ids: &self.ids, counts: &self.counts }
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn vector(ids: &[u32], counts: &[u32]) -> Result<CountVector, CountError> {
        CountVector::new(ids.to_vec(), counts.to_vec())
    }

    #[test]
    fn the_invariant_is_checked() {
        assert!(vector(&[], &[]).unwrap().is_empty());
        assert_eq!(vector(&[1, 5], &[1, 9]).unwrap().row().total(), 10);
        assert_eq!(vector(&[1], &[]), Err(CountError::Lengths { ids: 1, counts: 0 }));
        assert_eq!(vector(&[1, 1], &[1, 1]), Err(CountError::Order { previous: 1, got: 1 }));
        assert_eq!(vector(&[3, 2], &[1, 1]), Err(CountError::Order { previous: 3, got: 2 }));
        assert_eq!(vector(&[3, 4], &[1, 0]), Err(CountError::Zero { id: 4 }));
    }

    #[test]
    fn pairs_add_up() {
        let pairs = [(9, 1), (2, 0), (9, u32::MAX - 1), (1, 3)];
        assert_eq!(CountVector::from_pairs(pairs), vector(&[1, 9], &[3, u32::MAX]));
        let more = pairs.into_iter().chain([(9, 1)]);
        assert_eq!(CountVector::from_pairs(more), Err(CountError::Overflow { id: 9 }));
    }

    proptest! {
        #[test]
        fn sums_are_those_of_all_pairs(pairs in prop::collection::vec((0..30_u32, 1..4_u32), 0..40), from in 0..40_usize) {
            let (one, other) = pairs.split_at(from.min(pairs.len()));
            let [one, other, all] = [one, other, &pairs].map(|pairs| CountVector::from_pairs(pairs.to_vec()).unwrap());
            prop_assert_eq!(one.plus(&other), all);
        }

        #[test]
        fn occurrences_are_counted(mut ids in prop::collection::vec(0..20_u32, 0..100), before in 0..5_u32) {
            let mut expected = BTreeMap::new();
            for id in &ids {
                *expected.entry(*id).or_insert(0_u32) += 1;
            }
            let pairs = CountVector::from_pairs(ids.iter().map(|&id| (id, 1))).unwrap();
            let mut counts = CountVector::from_pairs([(before, 3)]).unwrap();
            counts.assign_ids(&mut ids);
            prop_assert!(counts.row().iter().eq(expected));
            prop_assert_eq!(counts.row().total(), ids.len() as u64);
            prop_assert_eq!(&counts, &pairs);
            let mut more: Vec<_> = ids.iter().map(|&id| (id, 1)).chain([(before, 0)]).collect();
            let mut by_pairs = CountVector::from_pairs([(before, 3)]).unwrap();
            by_pairs.assign_pairs(&mut more);
            prop_assert_eq!(&by_pairs, &pairs);
            let CountVector { ids, counts } = counts;
            prop_assert!(CountVector::new(ids, counts).is_ok());
        }
    }
}
