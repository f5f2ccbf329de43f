//! The two slots that list the live segments of a model file; they are written alternately.
//!
//! ```text
//! zeros, to the next sector of 512 bytes after the sections
//! slot, slot                         a sector each, all zeros until it is first used
//!
//! "live"                             4 bytes
//! how many segments                  u32, from 1 to 24
//! generation                         u64: that of the slot which counts is the higher one
//! of each segment offset, length     u64 each: where its content lies in the file; they lie in their order
//! zeros
//! CRC-32 of all before               u32, at the end of the sector
//! ```
//!
//! A slot is written once the segments it names are on the disk. If a writer was stopped before that, the next one
//! rewrites the file. A slot with a wrong checksum was being written when the machine stopped. Then the other slot
//! counts, with the log that follows its segments, which says the same as the segment that was to replace it. If more
//! than this segment follows that log, something was acknowledged since, and the slot is damaged.

use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Error, Result};
use crate::file::container::checksum;
use crate::file::log::SECTOR;

/// Maximum number of segments.
pub const MOST: usize = 24;

const KIND: [u8; 4] = *b"live";
const NAME: &str = "slots";

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SlotRecord {
    kind: [u8; 4],
    n_segments: U32,
    generation: U64,
    /// Offset and length.
    segments: [[U64; 2]; MOST],
    rest: [[u8; 4]; 27],
    checksum: U32,
}

const _: () = assert!(size_of::<SlotRecord>() == SECTOR);

/// The slots of a file, as read.
#[derive(Clone, PartialEq, Debug)]
pub struct SegmentSlots {
    /// Offset of the first slot.
    start: usize,
    pub(crate) generation: u64,
    /// The live segments, oldest first.
    pub segments: Vec<Range<usize>>,
    /// Whether the other slot, which is written next, has a wrong checksum.
    pub(crate) is_torn: bool,
}

impl SegmentSlots {
    /// Reads the slots after the sections, which end at `end`. The file may end before the slots do.
    pub fn read(bytes: &[u8], end: usize, seed: u32) -> Result<Self> {
        let start = end.next_multiple_of(SECTOR);
        let bytes = &bytes[..bytes.len().min(SegmentSlots::reach(end))];
        let (gap, slots) = bytes.split_at(bytes.len().min(start - end));
        Error::ensure(gap.iter().all(|byte| *byte == 0), NAME, "zeros before them", "other bytes")?;
        let mut both = SegmentSlots { start, generation: 0, segments: Vec::new(), is_torn: false };
        let mut n_torn = 0;
        for (place, slot) in (0..2).zip(slots.chunks(SECTOR)) {
            if slot.iter().all(|byte| *byte == 0) {
                continue;
            }
            match decode(slot, seed).filter(|(generation, _)| generation % 2 == place) {
                Some((generation, segments)) if generation > both.generation => {
                    (both.generation, both.segments) = (generation, segments);
                }
                Some(_) => (),
                None => n_torn += 1,
            }
        }
        if n_torn > 1 {
            return Err(both.damaged());
        }
        both.is_torn = n_torn > 0;
        both.check_order()?;
        Ok(both)
    }

    /// Bytes from the end of the sections, at `end`, to the end of the slots.
    pub fn reach(end: usize) -> usize {
        end.next_multiple_of(SECTOR) + 2 * SECTOR - end
    }

    /// The error of slots that contradict the log after them.
    pub fn damaged(&self) -> Error {
        Error::inconsistent(NAME, "a slot with the right checksum", "others")
    }

    fn check_order(&self) -> Result<()> {
        let mut end = self.start + 2 * SECTOR;
        for segment in &self.segments {
            let expected = format_args!("segments one after the other from {end} on");
            let is_next = segment.start >= end && !segment.is_empty();
            Error::ensure(is_next, NAME, expected, format_args!("{segment:?}"))?;
            end = segment.end;
        }
        Ok(())
    }

    /// The start of the log.
    pub(crate) fn log_start(&self) -> usize {
        self.segments.last().map_or(self.start + 2 * SECTOR, |segment| segment.end)
    }

    /// Returns the next slot, which lists these segments, and its offset in the file.
    pub fn next(&self, segments: &[Range<usize>], seed: u32) -> (u64, Vec<u8>) {
        let generation = self.generation + 1;
        (self.place(generation), slot(generation, segments, seed))
    }

    /// The bytes after sections that end at `end`: the slot that counts, and zeros.
    pub fn to_bytes(&self, end: usize, seed: u32) -> Vec<u8> {
        let mut bytes = vec![0; SegmentSlots::reach(end)];
        if self.generation > 0 {
            let at = self.place(self.generation) as usize - end;
            bytes[at..at + SECTOR].copy_from_slice(&slot(self.generation, &self.segments, seed));
        }
        bytes
    }

    /// The offset of a generation's slot.
    fn place(&self, generation: u64) -> u64 {
        self.start as u64 + generation % 2 * SECTOR as u64
    }
}

/// Encodes a slot that lists `segments`.
fn slot(generation: u64, segments: &[Range<usize>], seed: u32) -> Vec<u8> {
    let mut slot = SlotRecord::new_zeroed();
    (slot.kind, slot.generation) = (KIND, generation.into());
    slot.n_segments = (segments.len() as u32).into();
    for (to, segment) in slot.segments.iter_mut().zip(segments) {
        *to = [segment.start, segment.len()].map(|number| (number as u64).into());
    }
    slot.checksum = checksum(seed, &slot.as_bytes()[..SECTOR - 4]).into();
    slot.as_bytes().to_vec()
}

/// Reads the generation and the segments of a slot. Returns `None` if its checksum is wrong.
fn decode(slot: &[u8], seed: u32) -> Option<(u64, Vec<Range<usize>>)> {
    let slot = SlotRecord::ref_from_bytes(slot).ok()?;
    let is_right = slot.checksum.get() == checksum(seed, &slot.as_bytes()[..SECTOR - 4]);
    let segments = slot.segments.get(..slot.n_segments.get() as usize)?;
    let range = |[offset, length]: &[U64; 2]| {
        let start = usize::try_from(offset.get()).ok()?;
        Some(start..start.checked_add(usize::try_from(length.get()).ok()?)?)
    };
    let segments = segments.iter().map(range).collect::<Option<Vec<_>>>()?;
    let generation = slot.generation.get();
    let is_slot = is_right && slot.kind == KIND && !segments.is_empty() && generation < u64::MAX;
    is_slot.then_some((generation, segments))
}
