use xxhash_rust::xxh3::xxh3_64;

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

// The words of the algorithm's secret that each length takes, combined.
const FLIP_1_TO_3: u64 = 0x8727_5a9b;
const FLIP_4_TO_8: u64 = 0xc73a_b174_c5ec_d5a2;
const FLIP_LOW: u64 = 0x6782_737b_ea42_39b9;
const FLIP_HIGH: u64 = 0xaf56_bc3b_0996_523a;

#[inline(always)]
fn of_1_to_3(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let [first, middle, last] = [0, length / 2, length - 1].map(|i| u64::from(bytes[i]));
    let mut hash = (first << 16 | middle << 24 | last | (length as u64) << 8) ^ FLIP_1_TO_3;
    hash = (hash ^ hash >> 33).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    hash = (hash ^ hash >> 29).wrapping_mul(0x1656_67b1_9e37_79f9);
    hash ^ hash >> 32
}

#[inline(always)]
fn of_4_to_8(bytes: &[u8]) -> u64 {
    let Some((first, last)) = bytes.first_chunk().zip(bytes.last_chunk()) else { return xxh3_64(bytes) };
    let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
    let mut hash = (u64::from(last) | u64::from(first) << 32) ^ FLIP_4_TO_8;
    hash = (hash ^ hash.rotate_left(49) ^ hash.rotate_left(24)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash = (hash ^ (hash >> 35).wrapping_add(bytes.len() as u64)).wrapping_mul(0x9fb2_1c65_1e98_df25);
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
    }
}
