//! The table behind vocabularies.

use std::hash::{BuildHasher, RandomState};

/// Numbers by fingerprint: a hash table of buckets, each a cache line, so that a look-up touches one line of memory.
///
/// Fingerprints are hashes already, but ones that anybody can compute. So a bucket is found by multiplying with an odd
/// number that nobody knows: words chosen to collide do not.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// A power of two of them, of whose slots at least half are empty. The slots of a bucket fill in order; what finds
    /// its bucket full is in the next.
    buckets: Vec<Bucket>,
    /// What brings a product down to a bucket.
    shift: u32,
    multiplier: u64,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket([Slot; 4]);

/// What the table holds of a fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) fingerprint: u64,
    /// [`Slot::EMPTY`] if there is none.
    pub(crate) number: u32,
    /// For whoever counts: where this was last seen.
    pub(crate) seen: u32,
}

impl Slot {
    pub(crate) const EMPTY: u32 = u32::MAX;
    const NONE: Slot = Slot { fingerprint: 0, number: Slot::EMPTY, seen: 0 };
}

/// Enough for most documents, and 16 kB.
const LEAST_BUCKETS: usize = 256;

impl Default for Table {
    fn default() -> Self {
        let multiplier = RandomState::new().hash_one(0) | 1;
        let mut table = Table { buckets: Vec::new(), shift: 0, multiplier, len: 0 };
        table.allocate(LEAST_BUCKETS);
        table
    }
}

impl Table {
    fn allocate(&mut self, n_buckets: usize) -> Vec<Bucket> {
        self.shift = u64::BITS - n_buckets.trailing_zeros();
        std::mem::replace(&mut self.buckets, vec![Bucket([Slot::NONE; 4]); n_buckets])
    }

    /// The number of a fingerprint.
    pub(crate) fn get(&self, fingerprint: u64) -> Option<u32> {
        self.place(self.bucket(fingerprint), fingerprint)
            .map(|(bucket, slot)| self.buckets[bucket].0[slot].number)
    }

    /// The slot of a fingerprint, whose bucket is known.
    #[inline(always)]
    pub(crate) fn slot(&mut self, bucket: usize, fingerprint: u64) -> Option<&mut Slot> {
        let (bucket, slot) = self.place(bucket, fingerprint)?;
        Some(&mut self.buckets[bucket].0[slot])
    }

    /// The bucket where a fingerprint is looked for first.
    #[inline(always)]
    pub(crate) fn bucket(&self, fingerprint: u64) -> usize {
        (fingerprint.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// Something of a bucket: reading it brings the bucket near.
    #[inline(always)]
    pub(crate) fn touch(&self, bucket: usize) -> u32 {
        self.buckets[bucket & (self.buckets.len() - 1)].0[0].number
    }

    /// Puts in a slot whose fingerprint is not here.
    pub(crate) fn insert(&mut self, slot: Slot) {
        self.len += 1;
        if self.len > 2 * self.buckets.len() {
            let known = self.allocate(2 * self.buckets.len());
            let known = known.into_iter().flat_map(|bucket| bucket.0);
            known.filter(|slot| slot.number != Slot::EMPTY).for_each(|slot| self.put(slot));
        }
        self.put(slot);
    }

    fn put(&mut self, slot: Slot) {
        let mut bucket = self.bucket(slot.fingerprint);
        loop {
            if let Some(empty) = self.buckets[bucket].0.iter_mut().find(|slot| slot.number == Slot::EMPTY) {
                *empty = slot;
                return;
            }
            bucket = (bucket + 1) & (self.buckets.len() - 1);
        }
    }

    /// Nothing was seen yet.
    pub(crate) fn forget_seen(&mut self) {
        self.buckets.iter_mut().flat_map(|bucket| &mut bucket.0).for_each(|slot| slot.seen = 0);
    }

    #[inline(always)]
    fn place(&self, mut bucket: usize, fingerprint: u64) -> Option<(usize, usize)> {
        let last = self.buckets.len() - 1;
        loop {
            bucket &= last;
            let slots = &self.buckets[bucket].0;
            // Comparing with all four takes no branch: which one it is, no processor foresees. Unused ones look like
            // the fingerprint 0, but come last.
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| slots[i].fingerprint == fingerprint);
            if a | b | c | d {
                let slot = if a {
                    0
                } else if b {
                    1
                } else if c {
                    2
                } else {
                    3
                };
                return (slots[slot].number != Slot::EMPTY).then_some((bucket, slot));
            }
            if slots[3].number == Slot::EMPTY {
                return None;
            }
            bucket += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_are_those_given(fingerprints in prop::collection::vec(0..3000_u64, 0..2500)) {
            let (mut table, mut numbers) = (Table::default(), HashMap::new());
            for (next, fingerprint) in (0..).zip(fingerprints) {
                let number = *numbers.entry(fingerprint).or_insert(next);
                prop_assert_eq!(table.get(fingerprint).is_none(), number == next);
                if number == next {
                    table.insert(Slot { fingerprint, number, seen: 7 });
                }
                let bucket = table.bucket(fingerprint);
                prop_assert_eq!(table.slot(bucket, fingerprint).map(|slot| slot.number), Some(number));
            }
            table.forget_seen();
            for fingerprint in 0..3000 {
                prop_assert_eq!(table.get(fingerprint), numbers.get(&fingerprint).copied());
            }
        }
    }

    #[test]
    fn fingerprints_that_share_their_bits_do_not_share_places() {
        for shift in [0, 20, 40] {
            let mut table = Table::default();
            (0..100_000).for_each(|i| {
                table.insert(Slot { fingerprint: u64::from(i) << shift, number: i, seen: 0 });
            });
            let is_far = |(bucket, slot): (usize, &Slot)| {
                slot.number != Slot::EMPTY && bucket.abs_diff(table.bucket(slot.fingerprint)) > 1_000
            };
            let slots =
                table.buckets.iter().enumerate().flat_map(|(i, bucket)| bucket.0.iter().map(move |s| (i, s)));
            assert!(slots.filter(|slot| is_far(*slot)).count() < 1_000);
        }
    }
}
