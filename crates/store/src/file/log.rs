//! The log: records of documents learned and forgotten since the file was written, after its sections.
//!
//! ```text
//! 0xFF, up to eleven times                so that the next three lie in one sector
//! kind, length                            "log\n", u32
//! CRC-32 of these eight bytes             u32
//! entries, `length` bytes, each inverted  what happened to a document, at least one
//! CRC-32 of the entries                   u32
//! 0xFF
//! ```
//!
//! The other kind is a segment. The [slots](crate::file::slots) say whether it counts; nothing after it belongs to this
//! log. Kinds of later versions are refused. Checksums continue the header's.
//!
//! A record is either complete or absent. One that was being written when the machine stopped ends before its stated
//! length, or has sectors that were never written, which are zeros. It was not acknowledged, and nothing follows it.
//! Anything else that does not check out is damage. The two cannot be confused: in a written record no sector, nor part
//! of one, is all zeros or all zeros but for one bit, since no entry has 512 bytes of 0xFF (which are neither UTF-8 nor
//! a varint).

use tamis_model::Coefficient;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{Error, Reason, Result};
use crate::file::container::{checksum, number};
use crate::file::documents::{
    DocumentRecord, StoredDocument, decode_coefficients, decode_dense, decode_name, decode_vector,
    encode_coefficients, encode_dense, encode_name, encode_vector,
};
use crate::file::terms::{limited, put_run, take_run};
use crate::file::varint::{put_varint, take_array, take_varint};

/// What happened to a document; in the log its position here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// All copies were forgotten.
    Forgotten,
    /// It was learned, and not known before under this class; the model was right about it, or has no weighted scoring.
    Learned,
    /// It was learned, and the model had another verdict.
    Corrected,
}

/// A change of a document.
#[derive(Clone, PartialEq, Debug)]
pub struct LogEntry {
    /// What happened.
    pub change: Change,
    /// The document, over the model's term ids. New terms have the next ids, in the order of first appearance in the
    /// log.
    pub document: StoredDocument,
    /// Change in the number of terms with counts.
    pub features: i32,
    /// Fingerprints and texts of the terms that first appear here.
    pub new_terms: Vec<(u64, String)>,
}

/// Maximum length of a log in bytes, a thousand times the usual length.
pub const LIMIT: usize = 128 << 20;

const NAME: &str = "log";
/// The kind of a log record.
const KIND: [u8; 4] = *b"log\n";
/// The kind of a segment.
const SEGMENT: [u8; 4] = *b"part";
/// Length of kind, length and checksum, in bytes.
const HEAD: usize = 12;
/// Padding before the heads of records, and the end marker.
const END: u8 = 0xFF;
/// What a disk writes atomically, in bytes.
pub const SECTOR: usize = 512;

/// Appends a record of entries, to be written at offset `at` of the file.
///
/// # Errors
/// If the entries are too large for one record.
pub fn write(entries: &[LogEntry], at: usize, seed: u32, out: &mut Vec<u8>) -> Result<()> {
    let mut bytes = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut bytes));
    write_head(KIND, limited("bytes of a document to learn", bytes.len() as u64)?, at, seed, out);
    out.extend(bytes.iter().map(|byte| !byte));
    out.extend(checksum(seed, &bytes).to_le_bytes());
    out.push(END);
    Ok(())
}

/// The head of a segment of `length` bytes, to be written at offset `at` of the file.
///
/// # Errors
/// If it is too long.
pub fn head_of_segment(length: usize, at: usize, seed: u32) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    write_head(SEGMENT, limited("bytes of a segment", length as u64)?, at, seed, &mut out);
    Ok(out)
}

fn write_head(kind: [u8; 4], length: u32, at: usize, seed: u32, out: &mut Vec<u8>) {
    let head = [kind, length.to_le_bytes()];
    out.resize(out.len() + gap(at), END);
    out.extend(head.as_flattened());
    out.extend(checksum(seed, head.as_flattened()).to_le_bytes());
}

/// Padding needed so that a head fits into one sector.
fn gap(at: usize) -> usize {
    let left = SECTOR - at % SECTOR;
    if left < HEAD { left } else { 0 }
}

/// Reads a log that begins at `offset` of its file and visits each entry. `n_terms` is the number of terms before the
/// log. Returns the length of the complete records and what follows them.
///
/// # Errors
/// If the log is damaged, [`ErrorKind::Version`](crate::ErrorKind::Version) if it contains anything but records of a
/// log, or if `visit` fails.
pub fn read(
    log: &[u8],
    offset: usize,
    seed: u32,
    mut n_terms: usize,
    mut visit: impl FnMut(LogEntry) -> Result<()>,
) -> Result<(usize, Rest)> {
    let mut at = 0;
    loop {
        let (entries, end) = match record(log, offset, seed, at)? {
            Next::Record(entries, end) => (entries, end),
            Next::Rest(rest) => return Ok((at, rest)),
        };
        at = end;
        let mut entries = &entries[..];
        while !entries.is_empty() {
            let entry = LogEntry::take(&mut entries, n_terms)?;
            n_terms += entry.new_terms.len();
            visit(entry)?;
        }
    }
}

/// What follows the complete records of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// An incomplete record.
    Torn,
    /// The head of a segment that ends at this offset in the log, or was meant to.
    Segment(u64),
}

/// What comes next in the log.
enum Next {
    /// The entries of a record, and its end.
    Record(Vec<u8>, usize),
    Rest(Rest),
}

fn record(log: &[u8], offset: usize, seed: u32, at: usize) -> Result<Next> {
    const TORN: Result<Next> = Ok(Next::Rest(Rest::Torn));
    let damaged =
        |expected, got| Err(Reason::Checksum { part: NAME, offset: at as u64, expected, got }.into());
    if at == log.len() {
        return Ok(Next::Rest(Rest::Nothing));
    }
    let Some((gap, rest)) = log[at..].split_at_checked(gap(offset + at)) else { return TORN };
    let Some((head, rest)) = rest.split_at_checked(HEAD) else { return TORN };
    // never written: a file can grow before its new content is there
    if is_zeros(gap) || is_zeros(head) {
        return TORN;
    }
    let (length, expected, got) = (number(&head[4..8]), number(&head[8..]), checksum(seed, &head[..8]));
    if got != expected || gap.iter().any(|byte| *byte != END) {
        return damaged(expected, got);
    }
    if head[..4] == SEGMENT {
        let begin = log.len() - rest.len();
        return Ok(Next::Rest(Rest::Segment(begin as u64 + u64::from(length))));
    }
    if head[..4] != KIND {
        return Err(Reason::Segment { got: head[..4].to_vec() }.into());
    }
    let Some((entries, rest)) = rest.split_at_checked(length as usize) else { return TORN };
    let Some((written, rest)) = rest.split_at_checked(4) else { return TORN };
    let Some((end, rest)) = rest.split_first() else { return TORN };
    let entries: Vec<u8> = entries.iter().map(|byte| !byte).collect();
    let (got, expected) = (checksum(seed, &entries), number(written));
    if got == expected && *end == END {
        return Ok(Next::Record(entries, log.len() - rest.len()));
    }
    // the sector with the head has been written
    let next = (offset + at + gap.len() + HEAD).next_multiple_of(SECTOR) - offset;
    match rest.is_empty() && log.get(next..).is_some_and(|log| log.chunks(SECTOR).any(is_zeros)) {
        true => TORN,
        false => damaged(expected, got),
    }
}

/// Whether `bytes` are all zero, and not empty.
fn is_zeros(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
}

impl LogEntry {
    /// Appends the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        let document = &self.document;
        let mut vector = Vec::new();
        encode_vector(document.vector.row(), &mut vector);
        out.push(self.change as u8);
        out.extend(document.record(vector.len() as u64).as_bytes());
        out.extend(self.features.to_le_bytes());
        put_varint(self.new_terms.len() as u64, out);
        for (fingerprint, text) in &self.new_terms {
            out.extend(fingerprint.to_le_bytes());
            put_run(text.as_bytes(), out);
        }
        encode_name(&document.name, out);
        encode_coefficients(&document.coefficients, out);
        encode_dense(&document.dense, out);
        out.extend(vector);
    }

    /// Reads an entry over `n_terms` terms and its new ones.
    pub fn take(bytes: &mut &[u8], n_terms: usize) -> Result<LogEntry> {
        let broken = || Error::inconsistent(NAME, "whole entries", "other bytes");
        let change = match bytes.split_off_first().ok_or_else(broken)? {
            0 => Change::Forgotten,
            1 => Change::Learned,
            2 => Change::Corrected,
            _ => return Err(broken()),
        };
        let (record, rest) = DocumentRecord::ref_from_prefix(bytes).map_err(|_| broken())?;
        *bytes = rest;
        let features = take_array(bytes).map(i32::from_le_bytes).ok_or_else(broken)?;
        let mut new_terms = Vec::new();
        for _ in 0..take_varint(bytes).ok_or_else(broken)? {
            new_terms.push(take_term(bytes).ok_or_else(broken)?);
        }
        let name = decode_name(bytes)?;
        let coefficients: Vec<Coefficient> = decode_coefficients(bytes)?;
        let dense = decode_dense(bytes)?;
        let length = usize::try_from(record.vector_end.get()).map_err(|_| broken())?;
        let vector = bytes.split_off(..length).ok_or_else(broken)?;
        let vector = decode_vector(vector, n_terms + new_terms.len())?;
        let document = StoredDocument::new(record, name, coefficients, (vector, dense));
        Ok(LogEntry { change, document, features, new_terms })
    }
}

fn take_term(bytes: &mut &[u8]) -> Option<(u64, String)> {
    let fingerprint = u64::from_le_bytes(take_array(bytes)?);
    Some((fingerprint, String::from_utf8(take_run(bytes)?.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    const SEED: u32 = 3;

    fn entry() -> impl Strategy<Value = LogEntry> {
        let row = proptest::collection::btree_map(0u32..2_000, 1u32..9, 0..9);
        let new = proptest::collection::vec((any::<u64>(), ".{0,9}"), 0..4);
        (0usize..3, any::<[u8; 16]>(), 0u16..3, row, new, any::<i32>(), any::<Option<f32>>()).prop_map(
            |(change, digest, class, row, new_terms, features, held_out)| LogEntry {
                change: [Change::Forgotten, Change::Learned, Change::Corrected][change],
                document: StoredDocument {
                    digest,
                    class,
                    multiplicity: 1,
                    fraction: i32::from(class) - 1,
                    date: 5,
                    group: 7,
                    message: u64::from(class) << 60,
                    name: ["", "7@example.org"][usize::from(class) % 2].into(),
                    coefficients: vec![Coefficient { class, bias: -9, units: -3 }],
                    held_out: held_out.filter(|h| h.is_finite()).map(|h| [f64::from(h), 1.5, 0.0, 0.25, 2.0]),
                    learned: 9,
                    vector: CountVector::from_pairs(row).unwrap(),
                    dense: [0.5, -0.25].repeat(usize::from(class)).into(),
                },
                features,
                new_terms,
            },
        )
    }

    /// Entries with many consecutive terms, each stored as a byte 0.
    fn long_entry() -> impl Strategy<Value = LogEntry> {
        (entry(), 0u32..1_000).prop_map(|(mut entry, n)| {
            entry.document.vector = CountVector::from_pairs((0..n).map(|id| (id, 1))).unwrap();
            entry
        })
    }

    fn entries(log: &[u8], offset: usize) -> Result<(Vec<LogEntry>, usize)> {
        let mut entries = Vec::new();
        let (whole, rest) = read(log, offset, SEED, 2_000, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        assert_eq!(rest == Rest::Nothing, whole == log.len());
        Ok((entries, whole))
    }

    /// A log of records that begins at an offset in its file, and where they end.
    fn log_of(records: &[Vec<LogEntry>], offset: usize) -> (Vec<u8>, Vec<usize>) {
        let (mut log, mut ends) = (Vec::new(), vec![0]);
        for record in records {
            let at = offset + log.len();
            write(record, at, SEED, &mut log).unwrap();
            ends.push(log.len());
        }
        (log, ends)
    }

    proptest! {
        #[test]
        fn entries_come_back_and_a_torn_end_is_left_out(
            records in proptest::collection::vec(proptest::collection::vec(entry(), 1..3), 0..9),
            offset in 0usize..1024, cut: proptest::sample::Index,
        ) {
            let (log, ends) = log_of(&records, offset);
            prop_assert_eq!(entries(&log, offset).unwrap(), (records.concat(), log.len()));
            let cut = cut.index(log.len() + 1);
            let whole = ends.partition_point(|end| *end <= cut) - 1;
            prop_assert_eq!(entries(&log[..cut], offset).unwrap(), (records[..whole].concat(), ends[whole]));
            // the file grew before its content was there
            let mut grown = log[..ends[whole]].to_vec();
            grown.resize(grown.len() + 700, 0);
            prop_assert_eq!(entries(&grown, offset).unwrap(), (records[..whole].concat(), ends[whole]));
        }

        /// Any sectors of the last record, from none to all, may be missing.
        #[test]
        fn a_record_of_which_sectors_are_missing_was_not_written(
            records in proptest::collection::vec(long_entry().prop_map(|entry| vec![entry]), 1..4),
            offset in 0usize..1024, missing: [bool; 64],
        ) {
            let (mut log, ends) = log_of(&records, offset);
            let begin = ends[records.len() - 1];
            for at in begin..log.len() {
                if missing[((offset + at) / SECTOR) % missing.len()] {
                    log[at] = 0;
                }
            }
            let is_whole = (begin..log.len()).all(|at| !missing[((offset + at) / SECTOR) % missing.len()]);
            let left = if is_whole { records.len() } else { records.len() - 1 };
            prop_assert_eq!(entries(&log, offset).unwrap(), (records[..left].concat(), ends[left]));
        }

        #[test]
        fn a_flipped_bit_is_an_error(
            records in proptest::collection::vec(prop_oneof![entry(), long_entry()].prop_map(|entry| vec![entry]), 1..4),
            offset in 0usize..1024, at: proptest::sample::Index, bit in 0u8..8,
        ) {
            let (mut log, _) = log_of(&records, offset);
            let at = at.index(log.len());
            log[at] ^= 1 << bit;
            prop_assert!(entries(&log, offset).is_err());
        }

        #[test]
        fn a_record_of_another_file_is_damage_and_one_of_another_kind_is_named(entry in entry(), offset in 0usize..1024) {
            let (mut log, _) = log_of(&[vec![entry]], offset);
            let of_another = read(&log, offset, SEED + 1, 2_000, |_| Ok(())).unwrap_err();
            let is_damage = matches!(of_another.reason(), Reason::Checksum { .. });
            prop_assert!(is_damage, "{of_another}");
            let head = gap(offset);
            log[head..head + 4].copy_from_slice(b"more");
            let sum = checksum(SEED, &log[head..head + 8]);
            log[head + 8..head + HEAD].copy_from_slice(&sum.to_le_bytes());
            let got = entries(&log, offset).unwrap_err().to_string();
            prop_assert!(got.contains("kind \"more\""), "{got}");
        }
    }
}
