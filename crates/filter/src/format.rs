//! The outside of a model file: preface, header and where the sections lie.
//!
//! ```text
//! "TAMIS\r\n\x1a"                    8 bytes
//! format version                     u32, little-endian like every number here
//! header length, CRC-32 of version
//! and header                         u32, u32
//! header                             bincode, fixed-width integers
//! sections                           each its content, then a CRC-32 a block of 256 bytes
//! log                                what was learned since the rest was written, see [`log`](crate::log)
//! ```

#[cfg(test)]
mod tests;
mod v1;
mod v2;
mod v3;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tamis_model::{ClassTotals, Classes, ExpectedNaiveBayes, Summary, Temperature};

use crate::blocks::{self, Section};
use crate::error::{Error, Result};
use crate::map::Bytes;
use crate::mixed::Table;
use crate::recipe::Recipe;
use crate::scoring::{Decision, DecisionOptions, Expected, Scoring};
use crate::store::Size;
use crate::trainer::Keep;

pub(crate) const MAGIC: &[u8; 8] = b"TAMIS\r\n\x1a";

/// The model format that this version writes; it reads this and all before it.
pub const FORMAT_VERSION: u32 = 5;

/// The first format with a log.
const FIRST_WITH_LOG: u32 = 4;
/// The first format whose checksums are of [`blocks::BLOCK`] bytes.
const FIRST_OF_SMALL_BLOCKS: u32 = 5;

const PREFACE: usize = 20;

/// The most bytes a header may have. It grows with the classes, not with the terms.
const HEADER_LIMIT: usize = 64 << 20;

/// The sections of a file, in their order.
pub(crate) const SECTIONS: [&str; N_SECTIONS] = ["directory", "terms", "texts", "documents", "vectors"];
pub(crate) const N_SECTIONS: usize = 5;

/// What a model file says of itself before its sections.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) recipe: Recipe,
    pub(crate) keep: Keep,
    pub(crate) scoring: Scoring,
    pub(crate) classes: Classes,
    pub(crate) totals: Vec<ClassTotals>,
    /// What was asked of decisions; not known of models of format 3 and before.
    pub(crate) asked: Option<DecisionOptions>,
    /// Documents that were learned or forgotten one by one since the model was trained.
    pub(crate) changes: u64,
    /// Of these, those since correction, calibration and thresholds were fitted to all documents.
    pub(crate) unfitted: u64,
    /// What naive Bayes needs besides single terms' counts; of no use to weighted scoring.
    pub(crate) summary: Option<Summary>,
    /// What mixed naive Bayes needs besides.
    pub(crate) table: Option<Table>,
    /// From score to verdict, where there are two classes.
    pub(crate) decision: Decision,
    /// From scores to probabilities, where there are more.
    pub(crate) temperature: Temperature,
    /// What expectation maximization ended in; the weights of terms are in the `terms` section.
    pub(crate) expected_model: Option<ExpectedNaiveBayes>,
    pub(crate) expected: Option<Expected>,
    pub(crate) size: Size,
    /// Bytes of each section, in the order of [`SECTIONS`], without checksums.
    pub(crate) lengths: [u64; N_SECTIONS],
}

impl Header {
    /// Terms in the vocabulary.
    pub(crate) fn n_terms(&self) -> u64 {
        self.size.terms
    }

    /// Checks that its parts belong together.
    pub(crate) fn check(&self) -> Result<()> {
        let n_classes = self.classes.len();
        if n_classes < 2 {
            return Err(Error::inconsistent("header", "at least 2 labels", n_classes));
        }
        let Header { scoring, recipe, totals, .. } = self;
        let is_em = matches!(scoring, Scoring::ExpectationMaximization(_));
        // Documents without a label are counted in a class of their own.
        if !(n_classes..=n_classes + usize::from(is_em)).contains(&totals.len()) {
            return Err(Error::inconsistent("header", format!("totals of {n_classes} labels"), totals.len()));
        }
        for of in [|t: &ClassTotals| t.documents, |t: &ClassTotals| t.df, |t: &ClassTotals| t.tf] {
            if totals.iter().map(of).try_fold(0, u64::checked_add).is_none() {
                return Err(Error::inconsistent("header", "totals that add up below 2^64", "more"));
            }
        }
        if !recipe.columns.is_sorted_by(|a, b| a.name < b.name) {
            return Err(Error::inconsistent(
                "header",
                "columns in the order of their names",
                "another order",
            ));
        }
        let needed = [matches!(scoring, Scoring::NaiveBayes(_)), matches!(scoring, Scoring::Mixed(_)), is_em];
        let got = [self.summary.is_some(), self.table.is_some(), self.expected_model.is_some()];
        if got != needed || self.expected.is_some_and(|expected| !expected.fits(scoring)) {
            return Err(Error::inconsistent("header", "the parts that its scoring needs", "others"));
        }
        scoring.check(recipe, self.keep)?;
        self.decision.check()
    }
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_fixed_int_encoding().with_limit::<HEADER_LIMIT>()
}

/// The bytes of a model file.
pub(crate) fn write(header: &Header, sections: [&[u8]; N_SECTIONS]) -> Result<Vec<u8>> {
    let encoded = bincode::serde::encode_to_vec(header, config())
        .map_err(|e| Error::inconsistent("header", "a header that can be encoded", e))?;
    if encoded.len() > HEADER_LIMIT {
        return Err(Error::TooLarge {
            what: "bytes of header",
            limit: HEADER_LIMIT as u64,
            got: encoded.len() as u64,
        });
    }
    let mut file = Vec::with_capacity(
        PREFACE + encoded.len() + sections.iter().map(|s| s.len() + s.len() / 60 + 8).sum::<usize>(),
    );
    file.extend_from_slice(MAGIC);
    for number in [FORMAT_VERSION, encoded.len() as u32, header_checksum(FORMAT_VERSION, &encoded)] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&encoded);
    for section in sections {
        file.extend_from_slice(section);
        file.extend_from_slice(&blocks::checksums(section));
    }
    Ok(file)
}

/// A model file ready to use.
pub(crate) struct Opened {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    pub(crate) sections: [Section; N_SECTIONS],
    /// Bytes of the file before its log.
    pub(crate) length: usize,
    /// The log, perhaps with a record at its end that is not whole.
    pub(crate) log_bytes: Vec<u8>,
    /// Whether its format has one.
    pub(crate) takes_a_log: bool,
}

/// Makes a file ready to use, at a cost that does not grow with its sections. One of formats 1 and 2 is first written
/// anew, in memory: that takes time with its size. `read_log` gives what is in the file from an offset on.
pub(crate) fn open(bytes: Bytes, read_log: impl FnOnce(&Bytes, usize) -> Result<Vec<u8>>) -> Result<Opened> {
    let (version, encoded) = preface(&bytes)?;
    let start = PREFACE + encoded.len();
    let length = bytes.len();
    let upgraded = match version {
        1 => Some(v2::upgrade(decode::<v1::Header>(encoded)?.into(), &bytes, start)?),
        2 => Some(v2::upgrade(decode(encoded)?, &bytes, start)?),
        _ => None,
    };
    let (takes_a_log, bytes) = (version >= FIRST_WITH_LOG, upgraded.map_or(bytes, Bytes::Owned));
    let (version, encoded) = preface(&bytes)?;
    let header: Header = match version {
        3 => decode::<v3::Header>(encoded)?.into(),
        _ => decode(encoded)?,
    };
    let is_old = version < FIRST_OF_SMALL_BLOCKS;
    let block_bits = if is_old { blocks::OLD_BLOCK_BITS } else { blocks::BLOCK_BITS };
    let start = PREFACE + encoded.len();
    let (sections, end) = layout(SECTIONS, header.lengths, start, bytes.len(), block_bits)?;
    if !takes_a_log {
        whole(end, bytes.len())?;
        return Ok(Opened { bytes, header, sections, length, log_bytes: Vec::new(), takes_a_log });
    }
    let log_bytes = read_log(&bytes, end)?;
    Ok(Opened { bytes, header, sections, length: end, log_bytes, takes_a_log })
}

/// The version of a file and its header.
fn preface(file: &[u8]) -> Result<(u32, &[u8])> {
    let start = file.get(..MAGIC.len()).unwrap_or(file);
    if start != MAGIC {
        return Err(Error::NotAModel { got: start.to_vec() });
    }
    let version = number(file, 8)?;
    if !(1..=FORMAT_VERSION).contains(&version) {
        return Err(Error::Version { expected: FORMAT_VERSION, got: version });
    }
    let (length, checksum) = (number(file, 12)? as usize, number(file, 16)?);
    let encoded = file
        .get(PREFACE..)
        .and_then(|rest| rest.get(..length))
        .ok_or(Error::Length { expected: (PREFACE + length) as u64, got: file.len() as u64 })?;
    let got = header_checksum(version, encoded);
    if got != checksum {
        return Err(Error::Checksum { part: "header", offset: 0, expected: checksum, got });
    }
    Ok((version, encoded))
}

/// The checksum of a header, and since format 5 of the version before it: as another version the file must not be read.
fn header_checksum(version: u32, encoded: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    if version >= FIRST_OF_SMALL_BLOCKS {
        hasher.update(&version.to_le_bytes());
    }
    hasher.update(encoded);
    hasher.finalize()
}

fn decode<T: DeserializeOwned>(encoded: &[u8]) -> Result<T> {
    let (header, consumed) = bincode::serde::decode_from_slice(encoded, config())
        .map_err(|e| Error::inconsistent("header", "a header that can be decoded", e))?;
    if consumed != encoded.len() {
        return Err(Error::inconsistent("header", format_args!("{consumed} bytes"), encoded.len()));
    }
    Ok(header)
}

/// The checksum of the header, if it is whole.
pub(crate) fn checksum(file: &[u8]) -> Result<u32> {
    preface(file).and_then(|_| written_checksum(file))
}

/// The header's checksum as it stands in the file.
pub(crate) fn written_checksum(file: &[u8]) -> Result<u32> {
    number(file, 16)
}

fn number(file: &[u8], at: usize) -> Result<u32> {
    match file.get(at..at + 4) {
        Some(bytes) => Ok(bytes.iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte))),
        None => Err(Error::Length { expected: PREFACE as u64, got: file.len() as u64 }),
    }
}

/// Checks that a file has as many bytes as it should.
fn whole(expected: usize, got: usize) -> Result<()> {
    match expected == got {
        true => Ok(()),
        false => Err(Error::Length { expected: expected as u64, got: got as u64 }),
    }
}

/// Where sections of so many bytes lie, which begin at `start` and have a checksum a block, and where the last one ends.
fn layout<const N: usize>(
    names: [&'static str; N],
    lengths: [u64; N],
    start: usize,
    file_length: usize,
    block_bits: u32,
) -> Result<([Section; N], usize)> {
    // In u128, where the lengths of a hostile header cannot overflow.
    let end = lengths.iter().fold(start as u128, |end, length| {
        end + u128::from(*length) + 4 * u128::from(*length).div_ceil(1 << block_bits)
    });
    if end > file_length as u128 {
        return Err(Error::Length {
            expected: u64::try_from(end).unwrap_or(u64::MAX),
            got: file_length as u64,
        });
    }
    // All of it lies in the file, so every length fits a usize.
    let mut at = start;
    let sections = names.iter().zip(lengths).map(|(name, length)| {
        let section = Section::new(name, at, length as usize, block_bits)?;
        at = section.end();
        Ok(section)
    });
    let sections = sections.collect::<Result<Vec<_>>>()?;
    let sections = sections.try_into().map_err(|_| Error::inconsistent("header", N, "other sections"))?;
    Ok((sections, at))
}
