//! The table behind vocabularies and bags.

use std::hash::{BuildHasher, RandomState};

/// Numbers by fingerprint: a hash table with open addressing, of which every look-up touches one place.
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
    /// Slots of another round are empty: so the table is cleared without touching them.
    round: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    fingerprint: u64,
    round: u32,
    number: u32,
}

const LEAST_SLOTS: usize = 512;

impl Default for Table {
    fn default() -> Self {
        Table {
            slots: Vec::new(),
            shift: 64,
            multiplier: RandomState::new().hash_one(0) | 1,
            len: 0,
            round: 1,
        }
    }
}

impl Table {
    /// Forgets all fingerprints.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.fill(Slot::default());
            self.round = 1;
        }
    }

    /// The number of a fingerprint.
    #[inline]
    pub(crate) fn get(&self, fingerprint: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.place(fingerprint)];
        (slot.round == self.round).then_some(slot.number)
    }

    /// The number of a fingerprint; `next`, from now on, if it has none yet.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, fingerprint: u64, next: u32) -> u32 {
        if 2 * self.len >= self.slots.len() {
            self.grow();
        }
        let place = self.place(fingerprint);
        let slot = &mut self.slots[place];
        // no branch: whether a word is the first of its kind, no processor foresees
        let is_new = slot.round != self.round;
        let number = if is_new { next } else { slot.number };
        *slot = Slot { fingerprint, round: self.round, number };
        self.len += usize::from(is_new);
        number
    }

    /// Something of the place where a look-up begins: reading it for many fingerprints first lets them come from
    /// memory side by side.
    #[inline]
    pub(crate) fn touch(&self, fingerprint: u64) -> u32 {
        self.slots.get(self.first(fingerprint)).map_or(0, |slot| slot.number)
    }

    #[inline]
    fn first(&self, fingerprint: u64) -> usize {
        (fingerprint.wrapping_mul(self.multiplier) >> (self.shift & 63)) as usize
    }

    /// Where a fingerprint is, or else belongs. There must be slots.
    #[inline]
    fn place(&self, fingerprint: u64) -> usize {
        let mut place = self.first(fingerprint);
        loop {
            let slot = &self.slots[place];
            if slot.round != self.round || slot.fingerprint == fingerprint {
                return place;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let n_slots = (2 * self.slots.len()).max(LEAST_SLOTS);
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); n_slots]);
        self.shift = u64::BITS - n_slots.trailing_zeros();
        for slot in slots.into_iter().filter(|slot| slot.round == self.round) {
            let place = self.place(slot.fingerprint);
            self.slots[place] = slot;
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
        fn numbers_are_those_given_first(
            rounds in prop::collection::vec(prop::collection::vec(0..2000_u64, 0..1500), 1..4),
            start in prop_oneof![Just(1), Just(u32::MAX)],
        ) {
            let mut table = Table { round: start, ..Table::default() };
            for fingerprints in rounds {
                let mut numbers = HashMap::new();
                for (next, fingerprint) in (0..).zip(fingerprints) {
                    let number = *numbers.entry(fingerprint).or_insert(next);
                    prop_assert_eq!(table.get_or_insert(fingerprint, next), number);
                    table.touch(fingerprint);
                }
                for fingerprint in 0..2000 {
                    prop_assert_eq!(table.get(fingerprint), numbers.get(&fingerprint).copied());
                }
                table.clear();
                prop_assert_eq!(table.get(1), None);
            }
        }
    }

    #[test]
    fn fingerprints_that_share_their_bits_do_not_share_places() {
        for shift in [0, 20, 40] {
            let mut table = Table::default();
            (0..100_000).for_each(|i| {
                table.get_or_insert(u64::from(i) << shift, i);
            });
            let far = |slot: &(usize, &Slot)| {
                slot.1.round == 1 && slot.0.abs_diff(table.first(slot.1.fingerprint)) > 1_000
            };
            assert_eq!(table.slots.iter().enumerate().filter(far).count(), 0);
        }
    }
}
