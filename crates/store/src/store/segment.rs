//! Segments: changes since the file was written, as sections that are appended to the file and read in place.
//!
//! A segment overrides earlier data of its terms and documents. The newest segment with a term or document wins, and
//! the log is added to it.
//!
//! ```text
//! bytes of the header                     u32
//! checksum of this and the header         u32, continues that of the model's header
//! header                                  of the whole model at that time
//! directory, terms, texts                 as in the model, but the run of a term begins with its id; text only of new terms
//! documents, vectors                      as in the model; one with 0 copies was forgotten
//! ids                                     fingerprints of the terms that are new here, by id
//! ```
//!
//! Each section is followed by its checksums, which continue that of the segment's header.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tamis_model::{ClassTotals, VectorStatistics};
use tamis_tokenizer::TermId;
use zerocopy::little_endian::U64;

use crate::error::{Error, Reason, Result};
use crate::file::container::{Section, checksum, checksums, decode, encode, layout};
use crate::file::header::check_totals;
use crate::file::terms::{GROUP, Runs, limited};
use crate::store::sections::{FileSections, entries, entry};

/// A segment's data about the whole model. Numbers other than totals count changes since the sections were written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentHeader {
    /// Sequence number of the first slot that names the segment.
    pub(crate) generation: u64,
    /// Changes of documents and counts of each class.
    pub totals: Vec<ClassTotals>,
    /// The statistics of dense vectors.
    pub vectors: Option<VectorStatistics>,
    /// Terms that gained counts minus terms that lost them.
    pub features: i64,
    /// Documents learned, documents forgotten, and documents learned that the model was not right about.
    pub changes: [u64; 3],
    /// The id of the first new term. The others have the ids that follow.
    pub(crate) first_new: u64,
    /// Number of terms in the segment.
    pub n_terms: u64,
    /// Bytes of each section without checksums, in the order of `SECTIONS`.
    pub lengths: [u64; SECTIONS.len()],
}

const SECTIONS: [&str; 6] = [
    "directory of a segment",
    "terms of a segment",
    "texts of a segment",
    "documents of a segment",
    "vectors of a segment",
    "ids of a segment",
];

/// Length of the preface before the header, in bytes.
const PREFACE: usize = 8;

/// A segment in use.
pub struct Segment {
    pub(super) header: SegmentHeader,
    pub(super) part: FileSections,
    /// Fingerprints of new terms.
    ids: Section,
    /// Its bytes in the file.
    pub range: Range<usize>,
    /// Checksum of its header.
    checksum: u32,
}

/// Writes a segment from its header and sections.
pub fn write(mut header: SegmentHeader, sections: [&[u8]; SECTIONS.len()], seed: u32) -> Result<Vec<u8>> {
    header.lengths = sections.map(|section| section.len() as u64);
    let encoded = encode(&header)?;
    let length = (encoded.len() as u32).to_le_bytes();
    let seed = checksum(checksum(seed, &length), &encoded);
    let mut bytes = [&length[..], &seed.to_le_bytes(), &encoded].concat();
    for section in sections {
        bytes.extend_from_slice(section);
        bytes.extend_from_slice(&checksums(seed, section));
    }
    Ok(bytes)
}

impl Segment {
    /// Opens a segment at a cost that does not depend on its size. Its first new term must have the id `first_new`.
    pub(super) fn open(file: &[u8], range: Range<usize>, seed: u32, first_new: usize) -> Result<Self> {
        let (checksum, encoded) = header(file, &range, seed)?;
        let header: SegmentHeader = decode(encoded)?;
        let named = SECTIONS.into_iter().zip(header.lengths);
        let (sections, end) = layout(named, range.start + PREFACE + encoded.len(), range.end, checksum)?;
        let expected = format_args!("sections that end at {}", range.end);
        Error::ensure(end == range.end, "header of a segment", expected, end)?;
        let (expected, got) = (format_args!("new terms from {first_new} on"), header.first_new);
        Error::ensure(got == first_new as u64, "header of a segment", expected, got)?;
        check_totals(&header.totals)?;
        let sections: [Section; SECTIONS.len()] = sections
            .try_into()
            .map_err(|_| Error::inconsistent("header of a segment", SECTIONS.len(), "other sections"))?;
        let [directory, terms, texts, documents, vectors, ids] = sections;
        let n_terms = limited("terms", header.n_terms)? as usize;
        let part = FileSections::new([directory, terms, texts, documents, vectors], n_terms)?;
        limited("terms", first_new as u64 + entries::<U64>(&ids)? as u64)?;
        Ok(Segment { header, part, ids, range, checksum })
    }

    /// The ids of the terms that this segment introduces.
    pub(super) fn new_ids(&self) -> Range<usize> {
        let first = self.header.first_new as usize;
        first..first + self.ids.len() / size_of::<U64>()
    }

    /// The fingerprint of a term that this segment introduces.
    pub(super) fn fingerprint(&self, file: &[u8], id: usize) -> Result<u64> {
        entry::<U64>(&self.ids, file, id - self.new_ids().start).map(|print| print.get())
    }

    /// The id and entry of the term with this fingerprint, if the segment has it.
    #[inline]
    pub(super) fn look_up<'a>(&self, file: &'a [u8], fingerprint: u64) -> Result<Option<(TermId, Runs<'a>)>> {
        let Some((place, group)) = self.part.find(file, fingerprint)? else { return Ok(None) };
        Runs::split_segment(group.run(place % GROUP)?).map(Some)
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = &Section> {
        self.part.sections().into_iter().chain([&self.ids])
    }

    /// Checks that the file still has the segment's header.
    pub(super) fn check_header(&self, file: &[u8], seed: u32) -> Result<()> {
        let ((got, _), expected) = (header(file, &self.range, seed)?, self.checksum);
        Reason::Checksum { part: "header of a segment", offset: 0, expected, got }.unless(got == expected)
    }

    /// Whether everything read from the segment is still in the file.
    pub(super) fn is_as_read(&self, file: &[u8], seed: u32) -> bool {
        self.check_header(file, seed).is_ok()
            && self.sections().all(|section| section.check_again(file).is_ok())
    }
}

/// Reads the header of a segment and verifies it. Returns its checksum and its bytes.
fn header<'a>(file: &'a [u8], range: &Range<usize>, seed: u32) -> Result<(u32, &'a [u8])> {
    let cut_short = || Reason::Length { expected: range.end as u64, got: file.len() as u64 };
    let bytes = file.get(range.clone()).ok_or_else(cut_short)?;
    let too_short =
        || Error::inconsistent("header of a segment", "a header", format!("{} bytes", bytes.len()));
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(too_short)?;
    let (expected, rest) = rest.split_first_chunk::<4>().ok_or_else(too_short)?;
    let encoded = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(too_short)?;
    let (expected, got) = (u32::from_le_bytes(*expected), checksum(checksum(seed, length), encoded));
    Reason::Checksum { part: "header of a segment", offset: 0, expected, got }.unless(got == expected)?;
    Ok((got, encoded))
}
