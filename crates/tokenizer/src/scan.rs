//! Words of bytes, found 64 bytes at a time.

use crate::batch::Batch;
use crate::bits::{BLOCK, bits};

/// What a word is made of: runs of core bytes, and what joins them. To be made of comparisons, without branches: the
/// compiler then tests many bytes in one instruction.
pub(crate) trait Shape {
    /// A core byte that alone, or several of it, is no word.
    const FILLER: Option<u8>;

    /// Bytes that never have the edge of a word between them.
    fn is_core(byte: u8) -> bool;

    /// Bytes that may be in a word, but do not begin or end it.
    fn is_joiner(byte: u8) -> bool;

    /// How many joiners from `at` on, where the first follows a core byte, join it to another.
    fn joined(bytes: &[u8], at: usize) -> usize;
}

/// Calls `emit` with where the words of `bytes[from..]` begin and end, up to [`Batch::MOST`] at a time.
///
/// One bit a byte says whether it is in a word, and a word is told from two edges in those bits. That costs the
/// same whatever the lengths of words, where a loop over bytes pays for the end of each word, which no
/// processor foresees.
#[inline]
pub(crate) fn for_each_batch<S: Shape>(bytes: &[u8], from: usize, mut emit: impl FnMut(&[[usize; 2]])) {
    let (blocks, rest) = bytes[from..].as_chunks::<BLOCK>();
    // The rest is shorter than a block, so at least one bit is left to end the last word.
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let mut members = Members::default();
    let mut edges = Edges::default();
    for number in 0..=blocks.len() {
        let block = blocks.get(number).unwrap_or(&last);
        let offset = from + number * BLOCK;
        let mut bits = members.of::<S>(bytes, offset, block);
        if number == blocks.len() {
            bits &= !(u64::MAX << rest.len());
        }
        edges.block(offset, bits);
        // one place where words are emitted: what is done with them is long, and should be here only once
        if edges.n >= Edges::ENOUGH || number == blocks.len() {
            edges.take(|spans| match (S::FILLER, members.has_filler) {
                (Some(filler), true) => emit(without(filler, bytes, spans)),
                _ => emit(spans),
            });
            // a word that has not ended may have some
            members.has_filler &= edges.n > 0;
        }
    }
}

/// What blocks before the one at hand leave to know.
#[derive(Default)]
struct Members {
    /// Whether the last byte was core.
    core: u64,
    /// Where joiners end that joined words.
    joined: usize,
    has_filler: bool,
}

impl Members {
    /// One bit for each byte of a block that is in a word.
    #[inline(always)]
    fn of<S: Shape>(&mut self, bytes: &[u8], offset: usize, block: &[u8; BLOCK]) -> u64 {
        let core = bits(block, S::is_core);
        let joiners = bits(block, S::is_joiner);
        if let Some(filler) = S::FILLER {
            self.has_filler |= block.iter().fold(0, |has, byte| has | u8::from(*byte == filler)) != 0;
        }
        let mut members = core | ones(self.joined.saturating_sub(offset));
        // Most joiners stand before a space. What stands after the block is not known here.
        let before = core << 1 | self.core;
        let after = (core | joiners) >> 1 | 1 << (BLOCK - 1);
        let mut joining = joiners & before & after;
        while joining != 0 {
            let at = joining.trailing_zeros();
            let length = S::joined(bytes, offset + at as usize);
            members |= ones(length) << at;
            self.joined = offset + at as usize + length;
            joining &= joining - 1;
        }
        self.core = core >> (BLOCK - 1);
        members
    }
}

/// So many bits from the lowest on.
#[inline]
fn ones(n: usize) -> u64 {
    if n < BLOCK { !(u64::MAX << n) } else { u64::MAX }
}

/// Where words begin and end, by turns.
struct Edges {
    /// The last bit of the block before.
    carry: u64,
    found: [usize; 2 * Batch::MOST],
    n: usize,
}

/// Edges that are told from the bits without asking whether there are so many: how many a block has, no processor
/// foresees. A block is a multiple of it, so there is room for them wherever there is for a block's.
const AT_ONCE: usize = 8;

impl Default for Edges {
    fn default() -> Self {
        Edges { carry: 0, found: [0; 2 * Batch::MOST], n: 0 }
    }
}

impl Edges {
    /// With this many, another block may have more than there is room for.
    const ENOUGH: usize = 2 * Batch::MOST - BLOCK;

    #[inline(always)]
    fn block(&mut self, offset: usize, members: u64) {
        let mut edges = members ^ (members << 1 | self.carry);
        self.carry = members >> (BLOCK - 1);
        let (mut n, all) = (self.n, self.n + edges.count_ones() as usize);
        while n < all {
            let Some(places) = self.found.get_mut(n..).and_then(<[usize]>::first_chunk_mut::<AT_ONCE>) else {
                break;
            };
            for place in places {
                *place = offset + edges.trailing_zeros() as usize;
                edges &= edges.wrapping_sub(1);
            }
            n += AT_ONCE;
        }
        self.n = all;
    }

    /// Emits the words that have ended; the start of one that has not stays.
    #[inline(always)]
    fn take(&mut self, emit: impl FnOnce(&mut [[usize; 2]])) {
        let (spans, rest) = self.found[..self.n].as_chunks_mut::<2>();
        let left = rest.first().copied();
        emit(spans);
        self.n = left.map_or(0, |start| {
            self.found[0] = start;
            1
        });
    }
}

/// The words that are more than filler, moved to the front.
#[inline(never)]
fn without<'a>(filler: u8, bytes: &[u8], spans: &'a mut [[usize; 2]]) -> &'a [[usize; 2]] {
    let mut n = 0;
    for i in 0..spans.len() {
        let [start, end] = spans[i];
        if bytes[start..end].iter().any(|byte| *byte != filler) {
            spans[n] = [start, end];
            n += 1;
        }
    }
    &spans[..n]
}

/// The first byte outside ASCII at or after `from`, else the end.
pub(crate) fn next_foreign(bytes: &[u8], from: usize) -> usize {
    // Blocks are tested whole, which the compiler turns into vector code.
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

    /// Runs of `x`, which any number of `-` joins; `_` is core as well.
    struct Runs;

    impl Shape for Runs {
        const FILLER: Option<u8> = Some(b'_');

        fn is_core(byte: u8) -> bool {
            byte == b'x' || byte == b'_'
        }

        fn is_joiner(byte: u8) -> bool {
            byte == b'-'
        }

        fn joined(bytes: &[u8], at: usize) -> usize {
            let length = bytes[at..].iter().take_while(|byte| **byte == b'-').count();
            if bytes.get(at + length).is_some_and(|byte| Self::is_core(*byte)) { length } else { 0 }
        }
    }

    fn words(bytes: &[u8]) -> Vec<[usize; 2]> {
        let mut words = Vec::new();
        for_each_batch::<Runs>(bytes, 0, |spans| {
            assert!(spans.len() <= Batch::MOST);
            words.extend(spans);
        });
        words
    }

    /// The same a byte after the other.
    fn plainly(bytes: &[u8]) -> Vec<[usize; 2]> {
        let mut words = Vec::new();
        let mut at = 0;
        for run in bytes.split(|byte| !b"x_-".contains(byte)) {
            let start = run.iter().take_while(|byte| **byte == b'-').count();
            let end = run.len() - run.iter().rev().take_while(|byte| **byte == b'-').count();
            if start < end && run[start..end].iter().any(|byte| *byte != b'_') {
                words.push([at + start, at + end]);
            }
            at += run.len() + 1;
        }
        words
    }

    #[test]
    fn words_at_the_edges_of_blocks() {
        assert!(words(b"").is_empty());
        assert_eq!(words(b"x"), [[0, 1]]);
        assert_eq!(words(&b"x ".repeat(1000)).len(), 1000);
        for length in [1, 63, 64, 65, 127, 128, 129, 200] {
            assert_eq!(words(&vec![b'x'; length]), [[0, length]]);
            assert!(words(&vec![b'-'; length]).is_empty() && words(&vec![b'_'; length]).is_empty());
        }
    }

    proptest! {
        #[test]
        fn equals_a_plain_scan(
            stretches in prop::collection::vec((prop::sample::select(b" x-_"), 1..90_usize), 0..12),
            mixed in "[ x_-]{0,300}",
        ) {
            let bytes: Vec<u8> = stretches.iter().flat_map(|&(byte, length)| vec![byte; length]).collect();
            prop_assert_eq!(words(&bytes), plainly(&bytes));
            prop_assert_eq!(words(mixed.as_bytes()), plainly(mixed.as_bytes()));
        }

        #[test]
        fn the_next_foreign_byte(ascii in 0..200_usize, more in 0..3_usize, from in 0..200_usize) {
            let mut bytes = vec![b' '; ascii];
            bytes.resize(ascii + more, 0x80);
            let from = from.min(ascii);
            prop_assert_eq!(next_foreign(&bytes, from), ascii);
        }
    }
}
