//! SIMD-friendly byte tests: 64 bytes become the bits of a number.

use std::iter;

use wide::u8x16;

/// Number of bytes tested at a time.
pub const BLOCK: usize = 64;

/// Returns a mask whose bit i is set if `is_such` holds for byte i. `is_such` should consist of comparisons without
/// branches, so that the compiler vectorizes it.
///
/// ```
/// use tamis_tokenizer::bits::{BLOCK, bits};
///
/// let mut block = [b' '; BLOCK];
/// block[..5].copy_from_slice(b"a1b2.");
/// assert_eq!(bits(&block, |byte| byte.is_ascii_digit()), 0b01010);
/// ```
#[inline]
pub fn bits(block: &[u8; BLOCK], is_such: impl Fn(u8) -> bool) -> u64 {
    // set all bits of a byte or none; one instruction collects the highest
    let flags = block.map(|byte| u8::from(is_such(byte)).wrapping_neg());
    let (parts, _) = flags.as_chunks();
    parts
        .iter()
        .enumerate()
        .fold(0, |bits, (number, part)| bits | u64::from(u8x16::new(*part).to_bitmask()) << (16 * number))
}

/// The bits of the bytes that are equal in both blocks.
#[inline]
pub(crate) fn equal(one: &[u8; BLOCK], other: &[u8; BLOCK]) -> u64 {
    let (one, other) = (one.as_chunks().0, other.as_chunks().0);
    let parts =
        iter::zip(one, other).map(|(one, other)| u8x16::new(*one).simd_eq(u8x16::new(*other)).to_bitmask());
    parts.enumerate().fold(0, |bits, (number, part)| bits | u64::from(part) << (16 * number))
}

/// Whether a byte is an ASCII letter.
#[inline(always)]
pub fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

/// Whether a byte is an ASCII digit.
#[inline(always)]
pub fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// Whether a byte can make a word of [`WordRule::Mail`](crate::WordRule::Mail): letters, digits, `$ ! %`, and all bytes
/// outside ASCII.
#[inline(always)]
pub fn is_mail_core(byte: u8) -> bool {
    is_letter(byte) || is_digit(byte) || byte == b'!' || byte | 1 == b'%' || byte >= 0x80
}

/// Whether a byte joins the bytes on both sides of it into one word of mail: `'` and `-`.
#[inline(always)]
pub fn is_mail_joiner(byte: u8) -> bool {
    byte == b'\'' || byte == b'-'
}

/// The positions of the bytes for which `is_such` holds, in order. For frequent bytes; `memchr` is faster for rare
/// ones.
///
/// ```
/// use tamis_tokenizer::bits::positions;
///
/// assert!(positions(b"a.b..c", |byte| byte == b'.').eq([1, 3, 4]));
/// ```
#[inline]
pub fn positions(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> impl Iterator<Item = usize> {
    positions_by(bytes, move |block| bits(block, &is_such))
}

/// The positions whose bits `found_in` sets in the blocks, which it gets in order. The last block is filled up with zeros, of
/// which no bits count.
#[inline]
pub fn positions_by(
    bytes: &[u8],
    mut found_in: impl FnMut(&[u8; BLOCK]) -> u64,
) -> impl Iterator<Item = usize> {
    let (mut found, mut start, mut next) = (0, 0, 0);
    iter::from_fn(move || {
        while found == 0 {
            let rest = bytes.get(next..).filter(|rest| !rest.is_empty())?;
            found = match rest.first_chunk() {
                Some(block) => found_in(block),
                None => {
                    let mut last = [0; BLOCK];
                    last[..rest.len()].copy_from_slice(rest);
                    found_in(&last) & !(u64::MAX << rest.len())
                }
            };
            (start, next) = (next, next + BLOCK);
        }
        let at = start + found.trailing_zeros() as usize;
        found &= found - 1;
        Some(at)
    })
}

/// The position of the first byte outside ASCII at or after `from`, or the end if there is none.
pub fn next_non_ascii(bytes: &[u8], from: usize) -> usize {
    // whole blocks, so that the compiler vectorizes the test
    for (number, block) in bytes[from..].chunks(BLOCK).enumerate() {
        if !block.is_ascii() {
            let ascii = block.iter().take_while(|byte| byte.is_ascii()).count();
            return from + number * BLOCK + ascii;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_are_those_of_a_plain_search(text in "[a.]{0,200}") {
            let bytes = text.as_bytes();
            let plain: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] == b'.').collect();
            prop_assert_eq!(positions(bytes, |byte| byte == b'.').collect::<Vec<_>>(), plain);
        }

        #[test]
        fn bits_are_those_of_a_plain_test(block in prop::array::uniform32(any::<[u8; 2]>())) {
            let block: [u8; BLOCK] = block.concat().try_into().unwrap();
            for threshold in [0, 1, 100, 128, 255] {
                let set = bits(&block, |byte| byte >= threshold);
                prop_assert!((0..BLOCK).all(|i| (set >> i & 1 == 1) == (block[i] >= threshold)));
            }
        }

        #[test]
        fn the_next_non_ascii_byte(ascii in 0..200_usize, more in 0..3_usize, from in 0..200_usize) {
            let mut bytes = vec![b' '; ascii];
            bytes.resize(ascii + more, 0x80);
            let from = from.min(ascii);
            prop_assert_eq!(next_non_ascii(&bytes, from), ascii);
        }
    }
}
