//! The container of our files: a preface, a header, and sections, all under checksums.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::disk::spool::{Spool, spill};
use crate::error::{Error, Reason, Result};
use crate::file::blocks::{self, Checksums, Section};

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
        of_sections = blocks::checksum(of_sections, bytes);
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
    if got > limit {
        return Err(Reason::TooLarge { what: "bytes of header", limit, got }.into());
    }
    Ok(encoded)
}

/// Decodes a header.
pub fn decode<T: DeserializeOwned>(encoded: &[u8]) -> Result<T> {
    let (header, consumed) = bincode::serde::decode_from_slice(encoded, config())
        .map_err(|e| Error::inconsistent("header", "a header that can be decoded", e))?;
    if consumed != encoded.len() {
        return Err(Error::inconsistent("header", format_args!("{consumed} bytes"), encoded.len()));
    }
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
        let [got, length, _, checksum] = [8, 12, 16, 20].map(|at| number(preface, at));
        if got != version {
            return Err(Reason::Version { expected: version, got }.into());
        }
        let start = PREFACE + length as usize;
        let header = rest.get(..length as usize).ok_or_else(|| cut_short(start))?;
        let got = header_checksum(&preface[size_of::<Magic>()..PREFACE - 4], header);
        if got != checksum {
            return Err(Reason::Checksum { part: "header", offset: 0, expected: checksum, got }.into());
        }
        Ok(Preface { checksum, header, start })
    }
}

/// The checksum of the preceding numbers and the header, so that the version is protected too.
fn header_checksum(numbers: &[u8], encoded: &[u8]) -> u32 {
    blocks::checksum(crc32fast::hash(numbers), encoded)
}

fn number(preface: &[u8; PREFACE], at: usize) -> u32 {
    preface[at..at + 4].iter().rev().fold(0, |n, byte| n << 8 | u32::from(*byte))
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
        end + u128::from(length) + 4 * u128::from(length).div_ceil(blocks::BLOCK as u128)
    });
    if end > file_length as u128 {
        return Err(Reason::Length {
            expected: u64::try_from(end).unwrap_or(u64::MAX),
            got: file_length as u64,
        }
        .into());
    }
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
