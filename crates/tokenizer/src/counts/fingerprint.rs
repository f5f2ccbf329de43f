//! Fingerprints: 64-bit hashes that identify terms.

use xxhash_rust::xxh3::xxh3_64;

use crate::words::batch::Batch;

/// Returns the fingerprint of a term: a 64-bit hash of its text that never changes and is the same on every machine.
///
/// Nearly all terms have at most 16 bytes. Those are padded with zeros and hashed with their length by two folded
/// multiplications; longer terms by XXH3. The hash has no key, so anyone can construct collisions.
///
/// Source of the mixing: wyhash (Wang Yi), rapidhash (Nicolas De Carli); of XXH3: Cyan4973/xxHash, `doc/xxhash_spec.md`.
///
/// ```
/// assert_eq!(tamis_tokenizer::fingerprint("tea"), 0xc138_6eb7_d06a_e11e);
/// ```
#[inline]
pub fn fingerprint(term: &str) -> u64 {
    of_bytes(term.as_bytes())
}

/// The longest term not hashed by XXH3, in bytes.
const SHORT: usize = 16;

#[inline(always)]
fn of_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= SHORT { mix(halves(padded(bytes)), bytes.len()) } else { xxh3_64(bytes) }
}

/// The fingerprints of the terms of a batch, in order.
#[inline(always)]
pub(crate) fn of_batch(batch: Batch<'_>) -> impl Iterator<Item = u64> {
    let text = batch.bytes;
    batch.spans.iter().map(|&[start, end]| {
        let length = end.wrapping_sub(start);
        // 16 bytes can nearly always be read from the start, without a branch on the length
        match text.get(start..).and_then(<[u8]>::first_chunk) {
            Some(bytes) if length <= SHORT => mix(loaded(bytes, length), length),
            _ => of_other(text, start, end),
        }
    })
}

/// The fingerprint of a long term, or of one near the end of the text.
#[inline(never)]
fn of_other(text: &[u8], start: usize, end: usize) -> u64 {
    of_bytes(&text[start..end])
}

/// Up to 16 bytes as a little-endian number.
#[inline(always)]
fn padded(bytes: &[u8]) -> u128 {
    let eight = |bytes: &[u8; 8]| u128::from(u64::from_le_bytes(*bytes));
    let four = |bytes: &[u8; 4]| u128::from(u32::from_le_bytes(*bytes));
    // the two chunks may overlap; bytes in both end up in the same place
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        eight(first) | eight(last) << (8 * (bytes.len() - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        four(first) | four(last) << (8 * (bytes.len() - 4))
    } else {
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

/// The lower and the upper half of 16 bytes as a number.
#[inline(always)]
fn halves(bytes: u128) -> [u64; 2] {
    [bytes as u64, (bytes >> 64) as u64]
}

/// The first `length` bytes (at most 16) as the two halves of a number.
#[inline(always)]
fn loaded(bytes: &[u8; SHORT], length: usize) -> [u64; 2] {
    const ONES: [[u64; 2]; SHORT + 1] = {
        let mut ones = [[0; 2]; SHORT + 1];
        let mut bytes = 1;
        while bytes <= SHORT {
            let [low, high] = ones[bytes - 1];
            ones[bytes] = if bytes <= 8 { [low << 8 | 0xff, 0] } else { [low, high << 8 | 0xff] };
            bytes += 1;
        }
        ones
    };
    let [low, high] = halves(u128::from_le_bytes(*bytes));
    let [in_low, in_high] = ONES[length];
    [low & in_low, high & in_high]
}

// Fractional parts of the square roots of 3, 5, 7 and 11. The highest byte of the first two is replaced by 0xff, which
// never occurs in UTF-8, so neither factor of the first product is ever 0 or very small.
const FIRST: u64 = 0xff67_ae85_84ca_a73b;
const SECOND: u64 = 0xff6e_f372_fe94_f82b;
const THIRD: u64 = 0xa54f_f53a_5f1d_36f1;
const FOURTH: u64 = 0x510e_527f_ade6_82d1;

#[inline(always)]
fn mix([low, high]: [u64; 2], length: usize) -> u64 {
    let [low, high] = product(low ^ FIRST, high ^ SECOND);
    let [low, high] = product(low ^ THIRD ^ length as u64, high ^ FOURTH);
    low ^ high
}

/// The lower and the upper half of a product.
#[inline(always)]
fn product(one: u64, other: u64) -> [u64; 2] {
    let product = u128::from(one) * u128::from(other);
    [product as u64, (product >> 64) as u64]
}

#[cfg(test)]
mod tests;
