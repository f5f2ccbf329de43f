//! The table behind vocabularies.

use std::hash::{BuildHasher, RandomState};

/// Numbers by fingerprint: a hash table with open addressing, of which a look-up touches one place.
///
/// Fingerprints are hashes already, but ones that anybody can compute. So a place is found by multiplying with an odd
/// number that nobody knows: words chosen to collide do not.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// A power of two of them, of which at least half are empty.
    slots: Vec<Slot>,
    /// What brings a product down to a place.
    shift: u32,
    multiplier: u64,
    len: usize,
}

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
const LEAST_SLOTS: usize = 1024;

impl Default for Table {
    fn default() -> Self {
        let mut table =
            Table { slots: Vec::new(), shift: 0, multiplier: RandomState::new().hash_one(0) | 1, len: 0 };
        table.allocate(LEAST_SLOTS);
        table
    }
}

impl Table {
    fn allocate(&mut self, n_slots: usize) -> Vec<Slot> {
        self.shift = u64::BITS - n_slots.trailing_zeros();
        std::mem::replace(&mut self.slots, vec![Slot::NONE; n_slots])
    }

    /// The number of a fingerprint.
    pub(crate) fn get(&self, fingerprint: u64) -> Option<u32> {
        let number = self.slots[self.place(fingerprint)].number;
        (number != Slot::EMPTY).then_some(number)
    }

    /// The slot of a fingerprint, or the empty one where it belongs.
    #[inline]
    pub(crate) fn slot(&mut self, fingerprint: u64) -> &mut Slot {
        let place = self.place(fingerprint);
        &mut self.slots[place]
    }

    /// Puts in a slot whose fingerprint is not here.
    #[cold]
    pub(crate) fn insert(&mut self, slot: Slot) {
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            let known = self.allocate(2 * self.slots.len());
            for slot in known.into_iter().filter(|slot| slot.number != Slot::EMPTY) {
                *self.slot(slot.fingerprint) = slot;
            }
        }
        *self.slot(slot.fingerprint) = slot;
    }

    /// Nothing was seen yet.
    pub(crate) fn forget_seen(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.seen = 0);
    }

    #[inline]
    fn place(&self, fingerprint: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut place = (fingerprint.wrapping_mul(self.multiplier) >> self.shift) as usize & last;
        loop {
            let slot = &self.slots[place];
            // one branch, not two: which of these it is, no processor foresees
            if (slot.fingerprint == fingerprint) & (slot.number != Slot::EMPTY) | (slot.number == Slot::EMPTY)
            {
                return place;
            }
            place = (place + 1) & last;
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
                prop_assert_eq!(table.slot(fingerprint).number, number);
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
            (0..100_000)
                .for_each(|i| table.insert(Slot { fingerprint: u64::from(i) << shift, number: i, seen: 0 }));
            let first =
                |slot: &Slot| (slot.fingerprint.wrapping_mul(table.multiplier) >> table.shift) as usize;
            let far = |&(place, slot): &(usize, &Slot)| {
                slot.number != Slot::EMPTY && place.abs_diff(first(slot)) > 1_000
            };
            assert!(table.slots.iter().enumerate().filter(far).count() < 1_000);
        }
    }
}
