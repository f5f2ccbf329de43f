use std::hint::select_unpredictable;

use xxhash_rust::xxh3::xxh3_64;

use crate::batch::Batch;

/// The identity of a term: the 64-bit XXH3 hash of its text.
///
/// Nearly all words have at most 16 bytes. For these it is written out here, so that no word costs a call.
///
/// Source: the specification of XXH3 (Cyan4973/xxHash, `doc/xxhash_spec.md`).
///
/// ```
/// assert_eq!(tamis_tokenizer::fingerprint(""), 0x2d06_8005_38d3_94c2);
/// ```
#[inline]
pub fn fingerprint(term: &str) -> u64 {
    of_bytes(term.as_bytes())
}

#[inline(always)]
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    match bytes.len() {
        4..=8 => of_4_to_8(bytes),
        1..=3 => of_1_to_3(bytes),
        9..=16 => of_9_to_16(bytes),
        _ => xxh3_64(bytes),
    }
}

/// The fingerprints of the terms of a batch, in their order.
#[inline(never)]
pub(crate) fn of_batch(batch: Batch<'_>, fingerprints: &mut [u64; Batch::MOST]) {
    let text = batch.text.as_bytes();
    // four bytes can be read from any place before this one
    let fours = text.len().saturating_sub(3);
    for (fingerprint, &[start, end]) in fingerprints.iter_mut().zip(batch.spans) {
        let (length, before) = (end.wrapping_sub(start), end.wrapping_sub(4));
        *fingerprint = if length.wrapping_sub(1) < 8 && before < fours && start < fours {
            of_1_to_8(four(text, start), four(text, before), length)
        } else {
            of_bytes(&text[start..end])
        };
    }
}

/// The four bytes at a place.
#[inline(always)]
fn four(text: &[u8], at: usize) -> u32 {
    text.get(at..at + 4).and_then(<[u8]>::first_chunk).map_or(0, |four| u32::from_le_bytes(*four))
}

/// The fingerprint of a term of up to 8 bytes, told from the four from its start on and the four before its end.
///
/// Both ways of hashing are taken and one result is kept: how long the next word is, no processor foresees.
#[inline(always)]
fn of_1_to_8(first: u32, last: u32, length: usize) -> u64 {
    let [one, two, ..] = first.to_le_bytes();
    // the byte in the middle of two or three is the second
    let middle = if length > 1 { two } else { one };
    let short = mix_1_to_3([one, middle, (last >> 24) as u8], length);
    select_unpredictable(length < 4, short, mix_4_to_8(first, last, length))
}

// The words of the algorithm's secret that each length takes, combined.
const FLIP_1_TO_3: u64 = 0x8727_5a9b;
const FLIP_4_TO_8: u64 = 0xc73a_b174_c5ec_d5a2;
const FLIP_LOW: u64 = 0x6782_737b_ea42_39b9;
const FLIP_HIGH: u64 = 0xaf56_bc3b_0996_523a;

#[inline(always)]
fn of_1_to_3(bytes: &[u8]) -> u64 {
    let (length, [first, .., last] | [first @ last]) = (bytes.len(), bytes) else { return xxh3_64(bytes) };
    mix_1_to_3([*first, bytes[length / 2], *last], length)
}

#[inline(always)]
fn mix_1_to_3(bytes: [u8; 3], length: usize) -> u64 {
    let [first, middle, last] = bytes.map(u64::from);
    let mut hash = (first << 16 | middle << 24 | last | (length as u64) << 8) ^ FLIP_1_TO_3;
    // the algorithm's first shift, by 33 bits, leaves nothing of these 32
    hash = hash.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    hash = (hash ^ hash >> 29).wrapping_mul(0x1656_67b1_9e37_79f9);
    hash ^ hash >> 32
}

#[inline(always)]
fn of_4_to_8(bytes: &[u8]) -> u64 {
    let Some((first, last)) = bytes.first_chunk().zip(bytes.last_chunk()) else { return xxh3_64(bytes) };
    mix_4_to_8(u32::from_le_bytes(*first), u32::from_le_bytes(*last), bytes.len())
}

#[inline(always)]
fn mix_4_to_8(first: u32, last: u32, length: usize) -> u64 {
    let mut hash = (u64::from(last) | u64::from(first) << 32) ^ FLIP_4_TO_8;
    hash = (hash ^ hash.rotate_left(49) ^ hash.rotate_left(24)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash = (hash ^ (hash >> 35).wrapping_add(length as u64)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash ^ hash >> 28
}

#[inline(always)]
fn of_9_to_16(bytes: &[u8]) -> u64 {
    let Some((low, high)) = bytes.first_chunk().zip(bytes.last_chunk()) else { return xxh3_64(bytes) };
    let (low, high) = (u64::from_le_bytes(*low) ^ FLIP_LOW, u64::from_le_bytes(*high) ^ FLIP_HIGH);
    let product = u128::from(low) * u128::from(high);
    let folded = product as u64 ^ (product >> 64) as u64;
    let sum = (bytes.len() as u64).wrapping_add(low.swap_bytes()).wrapping_add(high).wrapping_add(folded);
    let hash = (sum ^ sum >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_xxh3(text in ".{0,24}", ascii in "[ -~]{0,20}") {
            for term in [text, ascii] {
                for end in (0..=term.len()).filter(|end| term.is_char_boundary(*end)) {
                    prop_assert_eq!(fingerprint(&term[..end]), xxh3_64(&term.as_bytes()[..end]));
                }
            }
        }

        #[test]
        fn is_xxh3_in_batches(text in "[ -~]{1,80}", lengths in prop::collection::vec(1..20_usize, 1..40)) {
            let starts = 0..text.len();
            let spans: Vec<_> =
                starts.zip(lengths).map(|(start, length)| [start, text.len().min(start + length)]).collect();
            let mut found = [0; Batch::MOST];
            of_batch(Batch { text: &text, spans: &spans }, &mut found);
            for ([start, end], found) in spans.into_iter().zip(found) {
                prop_assert_eq!(found, xxh3_64(&text.as_bytes()[start..end]));
            }
        }
    }
}
