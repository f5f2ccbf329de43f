//! Sections with a checksum per block, verified when a block is first read.
//!
//! Opening a model must cost the same whatever its size, and a flipped bit must never give a wrong answer. So every
//! section is followed by a CRC-32 per block, and a block is checked when it is first read. The CRCs are seeded with
//! the checksum of the header, so that a block of another model counts as damage.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use zerocopy::FromZeros;

use crate::error::{Error, Reason, Result};

/// Bytes per checksum. Small, because a message touches a few hundred scattered blocks, and each is read whole.
pub const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 8;

/// The CRC-32 of bytes, continued from `seed`.
pub fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(bytes);
    hasher.finalize()
}

/// The checksums of a section, one per block, little-endian; `seed` is the checksum of the header.
pub(crate) fn checksums(seed: u32, section: &[u8]) -> Vec<u8> {
    let mut checksums = Checksums::new(seed);
    checksums.push(section);
    checksums.finish()
}

/// Computes the [`checksums`] of a section that comes in pieces of any size.
pub(crate) struct Checksums {
    seed: u32,
    /// Checksum and length of the incomplete block.
    block: (u32, usize),
    done: Vec<u8>,
}

impl Checksums {
    pub(crate) fn new(seed: u32) -> Self {
        Checksums { seed, block: (seed, 0), done: Vec::new() }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (sum, len) = self.block;
            let (own, rest) = bytes.split_at(bytes.len().min(BLOCK - len));
            (self.block, bytes) = ((checksum(sum, own), len + own.len()), rest);
            if self.block.1 == BLOCK {
                self.end_block();
            }
        }
    }

    fn end_block(&mut self) {
        self.done.extend(self.block.0.to_le_bytes());
        self.block = (self.seed, 0);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.block.1 > 0 {
            self.end_block();
        }
        self.done
    }
}

/// A section of a model file: its position, and which of its blocks have been verified.
pub struct Section {
    name: &'static str,
    content: Range<usize>,
    /// The seed of the checksums.
    seed: u32,
    /// One bit per block, set once the block's checksum has been verified.
    checked: Vec<AtomicU64>,
}

impl Section {
    /// A section of `length` bytes at `offset`, followed by its checksums. The caller checks that both are within the
    /// file.
    pub fn new(name: &'static str, offset: usize, length: usize, seed: u32) -> Result<Self> {
        let words = length.div_ceil(BLOCK).div_ceil(64);
        let limit = || Reason::TooLarge { what: "blocks", limit: isize::MAX as u64, got: words as u64 };
        // zeroed pages from the system: untouched pages cost nothing
        let checked = AtomicU64::new_vec_zeroed(words).map_err(|_| limit())?;
        Ok(Section { name, content: offset..offset + length, seed, checked })
    }

    /// The end of the section's checksums.
    pub fn end(&self) -> usize {
        self.content.end + 4 * self.n_blocks()
    }

    /// What the section is called in errors.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its length in bytes, without checksums.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.content.len()
    }

    fn n_blocks(&self) -> usize {
        self.len().div_ceil(BLOCK)
    }

    /// The bytes `range` of the section, verified.
    #[inline]
    pub fn get<'a>(&self, file: &'a [u8], range: Range<usize>) -> Result<&'a [u8]> {
        let (first, last) = (range.start >> BLOCK_BITS, range.end.wrapping_sub(1) >> BLOCK_BITS);
        // the common case: one or two blocks, already verified
        let is_known = last.wrapping_sub(first) < 2 && self.is_checked(first) && self.is_checked(last);
        match self.unchecked(file, range.clone()) {
            Some(bytes) if is_known => Ok(bytes),
            content => self.check_all(file, range, content),
        }
    }

    /// Unverified bytes of the section, good only for a guess.
    #[inline]
    pub(crate) fn unchecked<'a>(&self, file: &'a [u8], range: Range<usize>) -> Option<&'a [u8]> {
        file.get(self.content.clone())?.get(range)
    }

    /// Prefetches the block around `offset` and its checksum.
    #[inline]
    pub fn touch(&self, file: &[u8], offset: usize) {
        let block = offset >> BLOCK_BITS;
        let lines = (0..BLOCK).step_by(64).map(|at| self.content.start + (block << BLOCK_BITS) + at);
        for at in lines.chain([self.content.end + 4 * block]) {
            std::hint::black_box(file.get(at));
        }
    }

    /// Verifies the blocks of a range that have not been verified yet.
    #[inline(never)]
    fn check_all<'a>(
        &self,
        file: &'a [u8],
        range: Range<usize>,
        content: Option<&'a [u8]>,
    ) -> Result<&'a [u8]> {
        let Some(bytes) = content else { return Err(self.outside(range)) };
        if !bytes.is_empty() {
            let blocks = range.start >> BLOCK_BITS..=(range.end - 1) >> BLOCK_BITS;
            for block in blocks.filter(|block| !self.is_checked(*block)) {
                self.check_anew(file, block)?;
                // relaxed: the bit guards no other memory, and the file never changes
                self.checked[block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
            }
        }
        Ok(bytes)
    }

    #[cold]
    fn outside(&self, range: Range<usize>) -> Error {
        Error::inconsistent(
            self.name,
            format_args!("a range within {} bytes", self.len()),
            format_args!("{}..{}", range.start, range.end),
        )
    }

    /// Verifies every block, including those verified before.
    pub fn verify(&self, file: &[u8]) -> Result<()> {
        (0..self.n_blocks()).try_for_each(|block| self.check_anew(file, block))
    }

    /// Verifies again the blocks that were verified before.
    pub(crate) fn check_again(&self, file: &[u8]) -> Result<()> {
        let words = self.checked.iter().enumerate();
        let mut blocks = words.flat_map(|(at, word)| {
            let bits = word.load(Ordering::Relaxed);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        });
        blocks.try_for_each(|block| self.check_anew(file, block))
    }

    #[inline]
    fn is_checked(&self, block: usize) -> bool {
        let bits = self.checked.get(block / 64).map_or(0, |word| word.load(Ordering::Relaxed));
        bits >> (block % 64) & 1 == 1
    }

    #[inline(never)]
    fn check_anew(&self, file: &[u8], block: usize) -> Result<()> {
        let start = block << BLOCK_BITS;
        let end = (start + BLOCK).min(self.len());
        let got = checksum(self.seed, &file[self.content.start + start..self.content.start + end]);
        let at = self.content.end + block * 4;
        let mut written = [0; 4];
        written.copy_from_slice(&file[at..at + 4]);
        let expected = u32::from_le_bytes(written);
        if got != expected {
            return Err(Reason::Checksum { part: self.name, offset: start as u64, expected, got }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_block_is_an_error_and_the_others_are_not() {
        let content: Vec<u8> = (0..5000u32).map(|i| i as u8).collect();
        let mut file = vec![0xAA; 16];
        file.extend(&content);
        file.extend(checksums(7, &content));
        file[16 + 2 * BLOCK + 7] ^= 1;
        let section = Section::new("test", 16, content.len(), 7).unwrap();
        assert_eq!(section.end(), file.len());
        let (start, end) = (2 * BLOCK - 40, 2 * BLOCK + 40);
        assert_eq!(section.get(&file, 10..start).unwrap(), &content[10..start]);
        let expected = 2 * BLOCK as u64;
        assert!(
            matches!(section.get(&file, start..end).as_ref().map_err(Error::reason), Err(Reason::Checksum { offset, .. }) if *offset == expected)
        );
        assert_eq!(section.get(&file, 4999..5000).unwrap(), &content[4999..]);
        assert!(section.verify(&file).is_err());
        assert!(section.get(&file, 4999..5001).is_err());
        assert!(section.get(&file, 0..0).unwrap().is_empty());
        let of_another = Section::new("test", 16, content.len(), 8).unwrap();
        assert!((0..content.len()).all(|at| of_another.get(&file, at..at + 1).is_err()));
    }
}
