//! The hash table behind vocabularies.

use std::hash::{BuildHasher, RandomState};

/// The id of a term in a vocabulary, in order of arrival from 0.
pub type TermId = u32;

/// A hash table from fingerprint to number, with linear probing. A look-up nearly always touches one slot, because
/// frequent terms arrive first and so get their home slot.
///
/// Anyone can compute fingerprints and choose ones that collide. To defeat that, the slot is found by multiplying with
/// a secret odd number.
#[derive(Clone, Debug)]
pub(crate) struct FingerprintTable {
    /// A power of two in number, at least half of them empty. An entry whose home slot is taken is in the next free
    /// one.
    slots: Vec<TermSlot>,
    /// Shifts a product down to a slot index.
    shift: u32,
    multiplier: u64,
    len: usize,
    /// Number of entries at the last rehash; their order of insertion no longer matters.
    unordered: usize,
}

/// A slot of the table; never crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(crate) struct TermSlot {
    pub(crate) fingerprint: u64,
    /// [`TermSlot::EMPTY`] if the slot is free.
    pub(crate) number: u32,
    /// The mark of the term in the current document, for counting.
    pub(crate) seen: u32,
}

impl TermSlot {
    pub(crate) const EMPTY: u32 = u32::MAX;
    const NONE: TermSlot = TermSlot { fingerprint: 0, number: TermSlot::EMPTY, seen: 0 };
}

/// The initial number of slots: enough for most documents, and 16 kB.
const LEAST_SLOTS: usize = 1024;

impl Default for FingerprintTable {
    fn default() -> Self {
        let multiplier = RandomState::new().hash_one(0) | 1;
        let mut table = FingerprintTable { slots: Vec::new(), shift: 0, multiplier, len: 0, unordered: 0 };
        table.allocate(LEAST_SLOTS);
        table
    }
}

impl FingerprintTable {
    fn allocate(&mut self, n_slots: usize) -> Vec<TermSlot> {
        self.shift = u64::BITS - n_slots.trailing_zeros();
        std::mem::replace(&mut self.slots, vec![TermSlot::NONE; n_slots])
    }

    /// The number of a fingerprint.
    pub(crate) fn get(&self, fingerprint: u64) -> Option<u32> {
        let number = self.slots[self.place(fingerprint)].number;
        (number != TermSlot::EMPTY).then_some(number)
    }

    /// The slots, for many look-ups.
    #[inline(always)]
    pub(crate) fn slots(&mut self) -> TermSlots<'_> {
        TermSlots { multiplier: self.multiplier, shift: self.shift, slots: &mut self.slots }
    }

    /// The slot of a fingerprint, or the empty slot where it belongs.
    fn place(&self, fingerprint: u64) -> usize {
        place(&self.slots, home(fingerprint, self.multiplier, self.shift), fingerprint)
    }

    /// Inserts a slot whose fingerprint is not yet in the table.
    pub(crate) fn insert(&mut self, slot: TermSlot) {
        if 2 * (self.len + 1) > self.slots.len() {
            self.put_anew(2 * self.slots.len(), TermSlot::EMPTY);
        }
        self.len += 1;
        self.put(slot);
    }

    /// Rehashes the slots with numbers below `end` into `n_slots` slots.
    fn put_anew(&mut self, n_slots: usize, end: u32) {
        let known = self.allocate(n_slots);
        known.into_iter().filter(|slot| slot.number < end).for_each(|slot| self.put(slot));
        self.unordered = self.len;
    }

    /// Removes the latest slots so that `len` are left. Slots must be numbered in order of insertion. `fingerprints`
    /// are those to remove, the latest first.
    pub(crate) fn remove_last(&mut self, len: u32, fingerprints: impl Iterator<Item = u64>) {
        self.len = len as usize;
        if self.len < self.unordered {
            return self.put_anew(self.slots.len(), len);
        }
        // earlier entries were placed before the removed ones arrived, so they are still found
        for fingerprint in fingerprints {
            let place = self.place(fingerprint);
            self.slots[place] = TermSlot::NONE;
        }
    }

    fn put(&mut self, slot: TermSlot) {
        let place = self.place(slot.fingerprint);
        self.slots[place] = slot;
    }

    /// Clears all marks.
    pub(crate) fn forget_seen(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.seen = 0);
    }
}

/// The slots of a table, borrowed for many look-ups.
pub(crate) struct TermSlots<'a> {
    slots: &'a mut [TermSlot],
    multiplier: u64,
    shift: u32,
}

impl TermSlots<'_> {
    /// The home slot of a fingerprint.
    #[inline(always)]
    pub(crate) fn home(&self, fingerprint: u64) -> usize {
        home(fingerprint, self.multiplier, self.shift)
    }

    /// Where to start looking for a fingerprint: its home slot or the next. Call it for many fingerprints before
    /// looking any of them up, so that their cache misses overlap.
    #[inline(always)]
    pub(crate) fn start(&self, fingerprint: u64, home: usize) -> usize {
        let is_there = self.slots.get(home).is_some_and(|slot| slot.fingerprint == fingerprint);
        home + usize::from(!is_there)
    }

    /// Finds the slot of a fingerprint, starting at its home or [`start`](Self::start).
    #[inline(always)]
    pub(crate) fn find(&mut self, fingerprint: u64, start: usize) -> Option<&mut TermSlot> {
        let place = place(self.slots, start, fingerprint);
        Some(&mut self.slots[place]).filter(|slot| slot.number != TermSlot::EMPTY)
    }
}

/// The home slot of a fingerprint.
#[inline(always)]
fn home(fingerprint: u64, multiplier: u64, shift: u32) -> usize {
    (fingerprint.wrapping_mul(multiplier) >> shift) as usize
}

/// The slot of a fingerprint, or the empty slot where it belongs.
#[inline(always)]
fn place(slots: &[TermSlot], home: usize, fingerprint: u64) -> usize {
    let last = slots.len() - 1;
    let mut place = home & last;
    loop {
        let slot = &slots[place];
        // An empty slot looks like fingerprint 0; both end the search.
        if slot.fingerprint == fingerprint || slot.number == TermSlot::EMPTY {
            return place;
        }
        place = (place + 1) & last;
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
            let (mut table, mut numbers) = (FingerprintTable::default(), HashMap::new());
            for (next, fingerprint) in (0..).zip(fingerprints) {
                let number = *numbers.entry(fingerprint).or_insert(next);
                prop_assert_eq!(table.get(fingerprint).is_none(), number == next);
                if number == next {
                    table.insert(TermSlot { fingerprint, number, seen: 7 });
                }
                let slots = table.slots();
                let start = slots.start(fingerprint, slots.home(fingerprint));
                prop_assert_eq!(table.slots().find(fingerprint, start).map(|slot| slot.number), Some(number));
            }
            table.forget_seen();
            for fingerprint in 0..3000 {
                prop_assert_eq!(table.get(fingerprint), numbers.get(&fingerprint).copied());
            }
        }
    }

    #[test]
    fn fingerprints_that_share_their_bits_do_not_share_places() {
        // one multiplier of 700 is close to a simple fraction of the table, where multiples gather
        let is_spread = |shift: u32| {
            let mut table = FingerprintTable::default();
            (0..100_000).for_each(|i| {
                table.insert(TermSlot { fingerprint: u64::from(i) << shift, number: i, seen: 0 });
            });
            let is_far = |(place, slot): &(usize, &TermSlot)| {
                slot.number != TermSlot::EMPTY
                    && place.abs_diff(home(slot.fingerprint, table.multiplier, table.shift)) > 1_000
            };
            table.slots.iter().enumerate().filter(is_far).count() < 1_000
        };
        for shift in [0, 20, 40] {
            assert!((0..3).any(|_| is_spread(shift)), "shift: {shift}");
        }
    }
}
