//! The container of our files: a preface, a header, and sections, all under checksums.
//!
//! Opening a model must cost the same whatever its size, and a flipped bit must never give a wrong answer. So every
//! section is followed by a CRC-32 per block, and a block is checked when it is first read. The CRCs are seeded with
//! the checksum of the header, so that a block of another model counts as damage.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use zerocopy::FromZeros;

use crate::disk::spool::{Spool, spill};
use crate::error::{Error, Reason, Result};

/// Bytes before the header.
const PREFACE: usize = 24;

/// The first bytes of a file, which identify its type.
pub(crate) type Magic = [u8; 8];

/// Begins a model.
pub const MODEL: &Magic = b"TAMIS\r\n\x1a";
pub(crate) const PARTIAL: &Magic = b"TAMIS\r\np";
/// Begins a message between the parts of a distributed fit.
pub const MESSAGE: &Magic = b"TAMIS\r\nf";
/// Begins a record of a stream.
pub const RECORD: &Magic = b"TAMIS\r\nr";

/// The type of file that each magic identifies.
const KINDS: [(&Magic, &str); 4] = [
    (MODEL, "a model"),
    (PARTIAL, "a partial"),
    (MESSAGE, "a message of a fit by partitions"),
    (RECORD, "a record of a document"),
];

/// Maximum length of a header, in bytes. It grows with the classes, not with the terms.
const HEADER_LIMIT: usize = 64 << 20;

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_fixed_int_encoding().with_limit::<HEADER_LIMIT>()
}

/// Writes a file with this magic and format version.
pub fn write(magic: &Magic, version: u32, header: &impl Serialize, sections: &[&Spool]) -> Result<Spool> {
    let encoded = encode(header)?;
    let mut of_sections = 0;
    let mut add = |bytes: &[u8]| {
        of_sections = checksum(of_sections, bytes);
        Ok(())
    };
    sections.iter().try_for_each(|section| section.for_each(&mut add)).map_err(spill)?;
    let numbers = [version, encoded.len() as u32, of_sections].map(u32::to_le_bytes);
    let checksum = header_checksum(numbers.as_flattened(), &encoded);
    let preface = [magic, numbers.as_flattened(), &checksum.to_le_bytes(), &encoded].concat();
    let mut file = Spool::from(preface);
    for section in sections {
        let mut checksums = Checksums::new(checksum);
        let write = |bytes: &[u8]| {
            checksums.push(bytes);
            file.push(bytes)
        };
        section.for_each(write).and_then(|()| file.push(&checksums.finish())).map_err(spill)?;
    }
    Ok(file)
}

/// Encodes a header.
pub fn encode(header: &impl Serialize) -> Result<Vec<u8>> {
    let encoded = bincode::serde::encode_to_vec(header, config())
        .map_err(|e| Error::inconsistent("header", "a header that can be encoded", e))?;
    let (limit, got) = (HEADER_LIMIT as u64, encoded.len() as u64);
    Reason::TooLarge { what: "bytes of header", limit, got }.unless(got <= limit)?;
    Ok(encoded)
}

/// Decodes a header.
pub fn decode<T: DeserializeOwned>(encoded: &[u8]) -> Result<T> {
    let (header, consumed) = bincode::serde::decode_from_slice(encoded, config())
        .map_err(|e| Error::inconsistent("header", "a header that can be decoded", e))?;
    let (expected, got) = (format_args!("{consumed} bytes"), encoded.len());
    Error::ensure(consumed == got, "header", expected, got)?;
    Ok(header)
}

/// Checks that a file begins with the expected magic.
pub fn check_magic(file: &[u8], expected: &'static Magic) -> Result<()> {
    let got = file.get(..expected.len()).unwrap_or(file);
    let named = |of: &[u8]| KINDS.into_iter().find(|(magic, _)| of == *magic).map(|(_, name)| name);
    match (named(expected), named(got)) {
        _ if got == expected => Ok(()),
        (Some(expected), Some(got)) => Err(Reason::WrongFile { expected, got }.into()),
        _ => Err(Reason::NotAModel { got: got.to_vec() }.into()),
    }
}

/// The verified preface of a file, with its header.
pub struct Preface<'a> {
    /// Checksum of the header, the seed of all other checksums.
    pub checksum: u32,
    /// The encoded header.
    pub header: &'a [u8],
    /// Where the sections begin.
    pub start: usize,
}

impl<'a> Preface<'a> {
    /// Reads the preface of a file whose magic has been checked.
    pub fn read(file: &'a [u8], version: u32) -> Result<Self> {
        let cut_short = |expected: usize| {
            Error::from(Reason::Length { expected: expected as u64, got: file.len() as u64 })
        };
        let Some((preface, rest)) = file.split_first_chunk::<PREFACE>() else {
            return Err(cut_short(PREFACE));
        };
        let [got, length, _, checksum] = [8, 12, 16, 20].map(|at| number(&preface[at..at + 4]));
        Reason::Version { expected: version, got }.unless(got == version)?;
        let start = PREFACE + length as usize;
        let header = rest.get(..length as usize).ok_or_else(|| cut_short(start))?;
        let got = header_checksum(&preface[size_of::<Magic>()..PREFACE - 4], header);
        Reason::Checksum { part: "header", offset: 0, expected: checksum, got }.unless(got == checksum)?;
        Ok(Preface { checksum, header, start })
    }
}

/// The checksum of the preceding numbers and the header, so that the version is protected too.
fn header_checksum(numbers: &[u8], encoded: &[u8]) -> u32 {
    checksum(crc32fast::hash(numbers), encoded)
}

/// The number that bytes are, the lowest first.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte))
}

/// Lays out sections of these names and lengths from `start` on, each followed by its checksums. Also returns the end
/// of the last one.
pub fn layout(
    lengths: impl Iterator<Item = (&'static str, u64)> + Clone,
    start: usize,
    file_length: usize,
    seed: u32,
) -> Result<(Vec<Section>, usize)> {
    // u128, so that lengths of a hostile header cannot overflow
    let end = lengths.clone().fold(start as u128, |end, (_, length)| {
        end + u128::from(length) + 4 * u128::from(length).div_ceil(BLOCK as u128)
    });
    let expected = u64::try_from(end).unwrap_or(u64::MAX);
    Reason::Length { expected, got: file_length as u64 }.unless(end <= file_length as u128)?;
    // all within the file, so every length fits a usize
    let mut at = start;
    let sections = lengths.map(|(name, length)| {
        let section = Section::new(name, at, length as usize, seed)?;
        at = section.end();
        Ok(section)
    });
    let sections = sections.collect::<Result<Vec<_>>>()?;
    Ok((sections, at))
}

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
        let expected = number(&file[at..at + 4]);
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
