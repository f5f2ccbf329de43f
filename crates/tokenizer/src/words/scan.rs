//! Finds words 64 bytes at a time, with bit masks; and the runs of other text that contain words.

use crate::bits::{BLOCK, next_non_ascii};
use crate::words::batch::Batch;

/// Bit masks of 64 bytes: what words consist of, and what joins them. NUL is never in a word.
pub(crate) trait WordShape: Copy + Default {
    /// Computes the masks. Should consist of comparisons without branches, so that the compiler vectorizes it.
    fn masks(block: &[u8; BLOCK]) -> Self;

    /// Bytes between which there is never a word boundary.
    fn core(self) -> u64;

    /// Core bytes that do not make a word by themselves.
    fn filler(self) -> u64 {
        0
    }

    /// Whether a byte is filler.
    fn is_filler(_byte: u8) -> bool {
        false
    }

    /// Signs that join the core bytes on both sides into one word.
    fn joins(self, before: Self, after: Self) -> u64;

    /// Signs between a core byte and another sign, where several in a row may join.
    fn rows(self, _before: Self, _after: Self) -> u64 {
        0
    }

    /// The number of signs from `at` on that join the bytes around them.
    fn row(_bytes: &[u8], _at: usize) -> usize {
        0
    }
}

/// Mask of the bytes preceded by a byte in `by`.
#[inline(always)]
pub(crate) fn preceded(by: u64, in_block_before: u64) -> u64 {
    by << 1 | in_block_before >> (BLOCK - 1)
}

/// Mask of the bytes followed by a byte in `by`.
#[inline(always)]
pub(crate) fn followed(by: u64, in_block_after: u64) -> u64 {
    by >> 1 | in_block_after << (BLOCK - 1)
}

/// Starts and ends of the words found. At most [`Batch::MOST`] words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans<'a> {
    pub(crate) spans: &'a [[usize; 2]],
    /// Whether no word has more than [`SHORT`] bytes.
    pub(crate) are_short: bool,
}

/// Maximum length of a short word, in bytes.
pub(crate) const SHORT: usize = 16;

/// Calls `emit` with the spans of the words of `bytes[from..]`.
///
/// One bit per byte tells whether the byte is in a word; the edges in those bits give the spans. The cost does not
/// depend on the lengths of words, whereas a loop over bytes has an unpredictable branch at the end of each word.
#[inline]
fn for_each_batch<S: WordShape>(bytes: &[u8], from: usize, mut emit: impl FnMut(Spans<'_>)) {
    let (blocks, rest) = bytes[from..].as_chunks::<BLOCK>();
    // the rest is shorter than a block, so a zero bit ends the last word
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let mut members = Members::<S>::default();
    let mut edges = Edges::default();
    members.next = S::masks(blocks.first().unwrap_or(&last));
    for number in 0..=blocks.len() {
        #[cfg(test)]
        tamis_testing::step(BLOCK);
        let offset = from + number * BLOCK;
        // nothing follows the last block
        let next = if number < blocks.len() {
            S::masks(blocks.get(number + 1).unwrap_or(&last))
        } else {
            S::default()
        };
        edges.block(offset, members.of_block(bytes, offset, next));
        // the only call of `emit`, so that its long code is inlined once
        if edges.n >= Edges::ENOUGH || number == blocks.len() {
            let are_short = !edges.has_long;
            edges.take(|spans| {
                let spans = if members.has_filler { without::<S>(bytes, spans) } else { spans };
                emit(Spans { spans, are_short });
            });
            // an unfinished word may contain filler, or be long
            members.has_filler &= edges.n > 0;
            edges.has_long &= edges.n > 0;
        }
    }
}

/// The bytes that are in words.
#[derive(Default)]
struct Members<S> {
    before: S,
    next: S,
    /// End of the last row of signs that joined words.
    joined: usize,
    has_filler: bool,
}

impl<S: WordShape> Members<S> {
    /// Returns the mask of the bytes of a block that are in words. Needs the block after it.
    #[inline(always)]
    fn of_block(&mut self, bytes: &[u8], offset: usize, after: S) -> u64 {
        let (before, here) = (self.before, self.next);
        (self.before, self.next) = (here, after);
        self.has_filler |= here.filler() != 0;
        let mut members = here.core() | here.joins(before, after) | ones(self.joined.saturating_sub(offset));
        // rare
        let mut rows = here.rows(before, after);
        while rows != 0 {
            let at = rows.trailing_zeros();
            let length = S::row(bytes, offset + at as usize);
            #[cfg(test)]
            tamis_testing::step(length);
            members |= ones(length) << at;
            self.joined = offset + at as usize + length;
            rows &= rows - 1;
        }
        members
    }
}

/// A mask of the lowest `n` bits.
#[inline]
fn ones(n: usize) -> u64 {
    if n < BLOCK { !(u64::MAX << n) } else { u64::MAX }
}

/// The starts and ends of words, alternating.
struct Edges {
    /// The highest bit of the previous block: whether its last byte is in a word.
    carry: u64,
    /// Length so far of the word that is open at the end of the previous block.
    open: u32,
    /// Whether a word has more than [`SHORT`] bytes.
    has_long: bool,
    found: [usize; 2 * Batch::MOST],
    n: usize,
}

/// Edges extracted per step. Steps do not check how many edges are left, because that is unpredictable. Divides a
/// block, so the buffer always has room.
const AT_ONCE: usize = 8;

impl Default for Edges {
    fn default() -> Self {
        Edges { carry: 0, open: 0, has_long: false, found: [0; 2 * Batch::MOST], n: 0 }
    }
}

impl Edges {
    /// Once it holds this many edges, another block might overflow the buffer.
    const ENOUGH: usize = 2 * Batch::MOST - BLOCK;

    #[inline(always)]
    fn block(&mut self, offset: usize, members: u64) {
        self.measure(members);
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

    /// Records whether the block contains a long word.
    #[inline(always)]
    fn measure(&mut self, members: u64) {
        let twice = members & members >> 1;
        let four = twice & twice >> 2;
        let eight = four & four >> 4;
        let long = eight & eight >> 8 & members >> SHORT;
        self.has_long |= long != 0 || self.open + members.trailing_ones() > SHORT as u32;
        self.open = if members == u64::MAX { SHORT as u32 } else { members.leading_ones() };
    }

    /// Emits the finished words. Keeps the start of an unfinished one.
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

/// Moves the words that are not only filler to the front and returns them.
#[inline(never)]
fn without<'a, S: WordShape>(bytes: &[u8], spans: &'a mut [[usize; 2]]) -> &'a [[usize; 2]] {
    let mut n = 0;
    for i in 0..spans.len() {
        let [start, end] = spans[i];
        #[cfg(test)]
        tamis_testing::step(end - start);
        if !bytes[start..end].iter().all(|byte| S::is_filler(*byte)) {
            spans[n] = [start, end];
            n += 1;
        }
    }
    &spans[..n]
}

/// A run of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextRun<'a> {
    /// Words that are all ASCII.
    Ascii(Spans<'a>),
    /// A run that is not all ASCII.
    NonAscii(NonAscii),
}

/// A run with non-ASCII characters. Its words do not depend on text before `after` or from `end` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NonAscii {
    /// End of the previous run.
    pub(crate) after: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Calls `emit` with all runs of a text, in order.
#[inline(always)]
pub(crate) fn for_each_run<S: WordShape>(text: &str, mut emit: impl FnMut(TextRun<'_>)) {
    let bytes = text.as_bytes();
    // the next non-ASCII byte, unless it is before the current run
    let mut non_ascii = next_non_ascii(bytes, 0);
    let mut after = 0;
    for_each_batch::<S>(bytes, 0, |Spans { mut spans, are_short }| {
        while let Some((&[start, end], rest)) = spans.split_first() {
            if non_ascii < start {
                // if a word has non-ASCII letters, the first letter usually is one
                non_ascii = if bytes[start].is_ascii() { next_non_ascii(bytes, start) } else { start };
            }
            if non_ascii < end {
                emit(TextRun::NonAscii(NonAscii { after, start, end }));
                (after, spans) = (end, rest);
                continue;
            }
            let is_ascii = |span: &&[usize; 2]| span[1] <= non_ascii;
            let ascii = match spans.last().filter(is_ascii) {
                Some(_) => spans.len(),
                None => spans.iter().take_while(is_ascii).count(),
            };
            let (ascii, rest) = spans.split_at(ascii);
            emit(TextRun::Ascii(Spans { spans: ascii, are_short }));
            (after, spans) = (ascii.last().map_or(end, |span| span[1]), rest);
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    use super::*;
    use crate::bits::bits;

    /// Runs of `x` joined by any number of `-`. `_` is core too, but filler.
    #[derive(Clone, Copy, Default)]
    struct TestWords {
        core: u64,
        filler: u64,
        joiners: u64,
    }

    impl WordShape for TestWords {
        fn masks(block: &[u8; BLOCK]) -> Self {
            let (core, filler) =
                (bits(block, |byte| byte == b'x' || byte == b'_'), bits(block, Self::is_filler));
            TestWords { core, filler, joiners: bits(block, |byte| byte == b'-') }
        }

        fn core(self) -> u64 {
            self.core
        }

        fn filler(self) -> u64 {
            self.filler
        }

        fn is_filler(byte: u8) -> bool {
            byte == b'_'
        }

        fn joins(self, before: Self, after: Self) -> u64 {
            self.joiners & preceded(self.core, before.core) & followed(self.core, after.core)
        }

        fn rows(self, before: Self, after: Self) -> u64 {
            self.joiners & preceded(self.core, before.core) & followed(self.joiners, after.joiners)
        }

        fn row(bytes: &[u8], at: usize) -> usize {
            let length = bytes[at..].iter().take_while(|byte| **byte == b'-').count();
            if bytes.get(at + length).is_some_and(|byte| b"x_".contains(byte)) { length } else { 0 }
        }
    }

    fn words(bytes: &[u8]) -> Vec<[usize; 2]> {
        let mut words = Vec::new();
        for_each_batch::<TestWords>(bytes, 0, |Spans { spans, are_short }| {
            assert!(spans.len() <= Batch::MOST);
            assert!(!are_short || spans.iter().all(|[start, end]| end - start <= SHORT));
            words.extend(spans);
        });
        words
    }

    /// The same byte by byte.
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

    #[test]
    fn short_words_are_known_to_be_short() {
        for (length, start) in
            [(SHORT, 0), (SHORT, 50), (SHORT, 64), (SHORT + 1, 0), (SHORT + 1, 55), (130, 3)]
        {
            let bytes = [vec![b' '; start], vec![b'x'; length], vec![b' '; 9]].concat();
            for_each_batch::<TestWords>(&bytes, 0, |found| {
                assert_eq!(
                    found.are_short,
                    found.spans.is_empty() || length <= SHORT,
                    "{length} from {start}"
                );
            });
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units = ["x", "-", "_", "x-", "x--", "x_", " ", "_ ", "x "];
        for once in ["", "x", "x-", "_"] {
            check_linear(&units, |text| drop(words(format!("{once}{text}").as_bytes())));
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
    }
}
