//! A packed form of a document's terms: compact, and fast to read in many passes.

use tamis_store::file::varint::{put_varint, take_varint};
use tamis_tokenizer::{CountRow, CountVector, TermId};

/// Terms packed by [`pack`]. Terms from elsewhere would have to be checked.
///
/// Ids are stored as distances of a fixed width, since numbers of varying length cost a branch misprediction each. Most
/// terms have the count 1, so only other counts are stored, each with its position.
#[derive(Clone, Copy, Default)]
pub(crate) struct Packed<'a> {
    pub(crate) ids: &'a [u8],
    pub(crate) counts: &'a [u8],
}

/// Marks a distance stored in four bytes.
const FAR: u16 = u16::MAX;

/// Appends a row's ids and its counts.
pub(crate) fn pack(row: CountRow<'_>, ids: &mut Vec<u8>, counts: &mut Vec<u8>) {
    let (mut next, mut next_place) = (0u32, 0);
    for (place, (id, count)) in row.iter().enumerate() {
        let distance = id.wrapping_sub(next);
        next = id.wrapping_add(1);
        match u16::try_from(distance) {
            Ok(near) if near != FAR => ids.extend_from_slice(&near.to_le_bytes()),
            _ => {
                ids.extend_from_slice(&FAR.to_le_bytes());
                ids.extend_from_slice(&distance.to_le_bytes());
            }
        }
        if count != 1 {
            put_varint((place - next_place) as u64, counts);
            put_varint(count.into(), counts);
            next_place = place + 1;
        }
    }
}

impl<'a> Packed<'a> {
    /// The ids, in increasing order.
    #[inline]
    pub(crate) fn ids(self) -> impl Iterator<Item = TermId> + use<'a> {
        let (mut bytes, mut next) = (self.ids, 0u32);
        std::iter::from_fn(move || {
            let (near, rest) = bytes.split_first_chunk()?;
            bytes = rest;
            let mut distance = u32::from(u16::from_le_bytes(*near));
            if distance == u32::from(FAR) {
                let (far, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                distance = u32::from_le_bytes(*far);
            }
            let id = next.wrapping_add(distance);
            next = id.wrapping_add(1);
            Some(id)
        })
    }

    /// As [`ids`](Self::ids), with their number; `None` if any distance takes four bytes, as few do.
    #[inline]
    pub(crate) fn near_ids(self) -> Option<impl ExactSizeIterator<Item = TermId> + use<'a>> {
        let all = self.ids.as_chunks::<2>().0;
        let mut next = 0u32;
        let id = move |distance: &[u8; 2]| {
            let id = next.wrapping_add(u16::from_le_bytes(*distance).into());
            next = id.wrapping_add(1);
            id
        };
        let are_near = all.iter().fold(true, |are, distance| are & (u16::from_le_bytes(*distance) != FAR));
        are_near.then(|| all.iter().map(id))
    }

    /// The counts other than 1, each with its position among the terms.
    #[inline]
    pub(crate) fn counts(self) -> impl Iterator<Item = (usize, u32)> + use<'a> {
        let (mut bytes, mut next) = (self.counts, 0);
        std::iter::from_fn(move || {
            let place = next + take_varint(&mut bytes)? as usize;
            next = place + 1;
            Some((place, take_varint(&mut bytes)? as u32))
        })
    }

    pub(crate) fn vector(self) -> CountVector {
        let ids: Vec<_> = match self.near_ids() {
            Some(ids) => ids.collect(),
            None => self.ids().collect(),
        };
        let mut counts = vec![1; ids.len()];
        for (place, count) in self.counts() {
            if let Some(it) = counts.get_mut(place) {
                *it = count;
            }
        }
        CountVector::new(ids, counts).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn terms_come_back(
            near in proptest::collection::btree_map(0u32..2_000, 1u32..4, 0..50),
            any in proptest::collection::btree_map(any::<u32>(), 1u32.., 0..5),
            edge in 0xFFF0u32..0x1_0010,
        ) {
            let pairs = near.into_iter().chain(any).chain([(2_000 + edge, 1), (u32::MAX, 2)]);
            let vector = CountVector::from_pairs(pairs.collect::<std::collections::BTreeMap<_, _>>()).unwrap();
            let (mut ids, mut counts) = (Vec::new(), Vec::new());
            pack(vector.row(), &mut ids, &mut counts);
            prop_assert_eq!(Packed { ids: &ids, counts: &counts }.vector(), vector);
        }
    }
}
