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
mod quality;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The hash must never change: models store fingerprints.
    #[test]
    fn is_fixed() {
        let text = "The 17 bytes here";
        let known: [u64; 18] = [
            0x144c_a8fe_44e0_74dc,
            0x74bb_e52d_58ce_82ba,
            0x8f77_ac58_e2cb_2739,
            0x4533_e3c8_688b_df19,
            0x42ba_0f95_01c3_b7bb,
            0x9991_d70f_72d7_4280,
            0xcc90_b226_1522_0c4e,
            0x3252_55d0_d325_f741,
            0x035d_5827_747c_4bdf,
            0x0545_9d36_6323_dc32,
            0xc4f8_30a0_de23_c40e,
            0x1a58_6874_8818_7a64,
            0x9b01_6094_d815_d1ac,
            0xb554_5c19_878d_70bd,
            0x5cff_86d7_df07_285f,
            0x0d42_e6de_d20f_6dd4,
            0xac06_3fe7_2e5a_8841,
            0x39ea_97a8_b41e_092f,
        ];
        for (length, known) in known.into_iter().enumerate() {
            assert_eq!(fingerprint(&text[..length]), known, "{:?}", &text[..length]);
        }
        let known: [(&str, u64); 10] = [
            ("\0", 0x4594_02b8_c811_a8d5),
            ("\0\0", 0xf5fb_f761_5d81_0ccd),
            ("é", 0x68f1_75b3_4bb3_ecb2),
            ("чай", 0x37e6_88e4_90ef_d848),
            ("中文", 0x3af7_9e28_5ebd_585a),
            ("电子邮件", 0xd164_2db5_6881_5532),
            ("subject:виагра", 0xc051_057b_9b4f_9f2c),
            ("0000000000000000", 0xcdb5_1bc6_ae2a_b4f5),
            ("internationalisation", 0xc3ae_0482_870c_03be),
            ("http://example.org/a/path/of/some/length?and=a&query=as&well#below", 0x719c_c037_3bcc_8b1e),
        ];
        for (term, known) in known {
            assert_eq!(fingerprint(term), known, "{term:?}");
        }
    }

    #[test]
    fn no_factor_is_zero() {
        for constant in [FIRST, SECOND] {
            assert_eq!(constant >> 56, 0xff, "expected a byte that occurs in no UTF-8, got {constant:x}");
        }
    }

    proptest! {
        #[test]
        fn zeros_follow_the_bytes(bytes in prop::collection::vec(any::<u8>(), 0..=SHORT)) {
            let mut longest = [0; SHORT];
            longest[..bytes.len()].copy_from_slice(&bytes);
            prop_assert_eq!(padded(&bytes), u128::from_le_bytes(longest));
        }

        #[test]
        fn is_the_same_in_batches(text in "[ -~é中]{1,80}", lengths in prop::collection::vec(1..20_usize, 1..40)) {
            let ends: Vec<_> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            let spans: Vec<_> = (0..ends.len())
                .zip(lengths)
                .map(|(start, length)| [ends[start], ends[(start + length).min(ends.len() - 1)]])
                .collect();
            let expected = spans.iter().map(|&[start, end]| fingerprint(&text[start..end]));
            let found = of_batch(Batch { bytes: text.as_bytes(), spans: &spans });
            prop_assert!(found.eq(expected));
        }
    }
}
