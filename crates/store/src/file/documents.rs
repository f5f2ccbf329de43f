//! The stored form of each document in a model: digest, label, and optionally its terms.

use tamis_model::{ClassId, Coefficient};
use tamis_tokenizer::{CountRow, CountVector, TermId};
use zerocopy::little_endian::{F32, I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Error, Result};
use crate::file::varint::{put_counted, put_varint, take_counted, take_varint, unzigzag, zigzag};

/// An entry of the `documents` section, which is sorted by digest, then class.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
pub struct DocumentRecord {
    /// Its identity.
    pub digest: [u8; 16],
    /// Its class.
    pub class: U16,
    /// How often the document counts. All documents without terms are one record.
    pub multiplicity: U32,
    /// By how much its weight in a fit exceeds that, in units of 1/1,024.
    pub fraction: I32,
    /// Its date in seconds since 1970; [`NO_DATE`] if unknown.
    pub date: I64,
    /// Its group, by name or by a hash of its body. Documents of one group must not be split between training and
    /// testing.
    pub group: U64,
    /// A hash of a mail's Message-ID and body, which do not change in transport; 0 if it has no Message-ID.
    pub message: U64,
    /// Its held-out scores with two classes: log-odds of the counts and of the correction. NaN if it has none.
    pub held_out: [F32; 2],
    /// Its number among the documents learned one by one since the last fit; 0 if the fit included it, or nothing is
    /// fitted.
    pub learned: U32,
    /// End of its terms in the `vectors` section; they begin at the end of the previous record's.
    pub vector_end: U64,
}

impl DocumentRecord {
    /// The record of a forgotten document.
    pub fn forgotten(key: DocumentKey, vector_end: u64) -> Self {
        let ((digest, class), nothing) = (key, DocumentRecord::new_zeroed());
        DocumentRecord { digest, class: class.into(), vector_end: vector_end.into(), ..nothing }
    }

    /// What it is found by.
    pub fn key(&self) -> DocumentKey {
        (self.digest, self.class.get())
    }
}

/// The date of a document without one.
pub const NO_DATE: i64 = i64::MIN;

/// A document as a model stores it.
#[derive(Clone, PartialEq, Debug)]
pub struct Remembered {
    /// Its identity.
    pub digest: [u8; 16],
    /// Its class.
    pub class: ClassId,
    /// How often it counts.
    pub multiplicity: u32,
    /// As in [`DocumentRecord`].
    pub fraction: i32,
    /// In seconds since 1970; [`NO_DATE`] if unknown.
    pub date: i64,
    /// A hash of what it is held out together with.
    pub group: u64,
    /// As in [`DocumentRecord`].
    pub message: u64,
    /// Its name; empty if unknown.
    pub name: Box<str>,
    /// Its part of the correction, by increasing column.
    pub coefficients: Vec<Coefficient>,
    /// Log-odds of counts and correction by a model without it.
    pub held_out: Option<[f64; 2]>,
    /// Its number among those learned one by one; 0 for others.
    pub learned: u32,
    /// Its terms.
    pub vector: CountVector,
}

impl Remembered {
    /// A record of the section.
    pub fn new(
        record: &DocumentRecord,
        name: Box<str>,
        coefficients: Vec<Coefficient>,
        vector: CountVector,
    ) -> Self {
        let held_out = record.held_out.map(|number| f64::from(number.get()));
        Remembered {
            digest: record.digest,
            class: record.class.get(),
            multiplicity: record.multiplicity.get(),
            fraction: record.fraction.get(),
            date: record.date.get(),
            group: record.group.get(),
            message: record.message.get(),
            name,
            coefficients,
            held_out: Some(held_out).filter(|numbers| numbers.iter().all(|number| number.is_finite())),
            learned: record.learned.get(),
            vector,
        }
    }

    /// Its record in the `documents` section.
    pub fn record(&self, vector_end: u64) -> DocumentRecord {
        DocumentRecord {
            digest: self.digest,
            class: self.class.into(),
            multiplicity: self.multiplicity.into(),
            fraction: self.fraction.into(),
            date: self.date.into(),
            group: self.group.into(),
            message: self.message.into(),
            held_out: self.held_out.map_or([f32::NAN; 2], as_kept).map(F32::new),
            learned: self.learned.into(),
            vector_end: vector_end.into(),
        }
    }

    /// Its key. The class is part of it because a digest can be known under several classes.
    pub fn key(&self) -> DocumentKey {
        (self.digest, self.class)
    }
}

/// Digest and class of a document.
pub type DocumentKey = ([u8; 16], ClassId);

/// Appends a vector: for each term the difference from the previous id, doubled, plus one if a count follows.
pub fn encode_vector(row: CountRow<'_>, out: &mut Vec<u8>) {
    let mut next = 0u64;
    for (id, count) in row.iter() {
        put_counted(u64::from(id) - next, count, out);
        next = u64::from(id) + 1;
    }
}

/// Reads a vector of terms below `n_terms`.
pub fn decode_vector(mut bytes: &[u8], n_terms: usize) -> Result<CountVector> {
    let broken = || {
        Error::inconsistent("vectors", "increasing terms of the vocabulary, each with a count", "other bytes")
    };
    let (mut ids, mut counts): (Vec<TermId>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut next = 0u64;
    while !bytes.is_empty() {
        let (distance, count) = take_counted(&mut bytes).ok_or_else(broken)?;
        let id = next.checked_add(distance).filter(|id| *id < n_terms as u64).ok_or_else(broken)?;
        ids.push(TermId::try_from(id).map_err(|_| broken())?);
        counts.push(u32::try_from(count).map_err(|_| broken())?);
        next = id + 1;
    }
    CountVector::new(ids, counts).map_err(|_| broken())
}

/// Rounds two numbers to the precision in which they are stored.
pub fn as_kept(numbers: [f64; 2]) -> [f32; 2] {
    numbers.map(|number| number as f32)
}

/// Appends a document's coefficients, which precede its vector: their number, then for each its column and its
/// contributions to the bias and to the term weights, both in zigzag code.
pub fn encode_coefficients(coefficients: &[Coefficient], out: &mut Vec<u8>) {
    put_varint(coefficients.len() as u64, out);
    for Coefficient { class, bias, units } in coefficients {
        put_varint(u64::from(*class), out);
        put_varint(zigzag(*bias), out);
        put_varint(zigzag(*units), out);
    }
}

/// Reads the coefficients that precede a vector.
pub(crate) fn decode_coefficients(bytes: &mut &[u8]) -> Result<Vec<Coefficient>> {
    let broken = || Error::inconsistent("vectors", "coefficients of classes", "other bytes");
    let n = take_varint(bytes).ok_or_else(broken)?;
    let mut coefficients = Vec::new();
    for _ in 0..n {
        let class = take_varint(bytes).and_then(|class| ClassId::try_from(class).ok()).ok_or_else(broken)?;
        let mut number = || take_varint(bytes).map(unzigzag).ok_or_else(broken);
        coefficients.push(Coefficient { class, bias: number()?, units: number()? });
    }
    Ok(coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_vector_comes_back(pairs in proptest::collection::btree_map(0u32..1_000_000, 1u32.., 0..50)) {
            let vector = CountVector::from_pairs(pairs).unwrap();
            let mut bytes = Vec::new();
            encode_vector(vector.row(), &mut bytes);
            prop_assert_eq!(decode_vector(&bytes, 1_000_000).unwrap(), vector);
        }

        #[test]
        fn bytes_that_are_a_number_are_what_it_is_written_as(
            value: u64, shift in 0u32..64, mut bytes in proptest::collection::vec(0x7Eu8..=0x81, 0..12),
        ) {
            let mut written = Vec::new();
            put_varint(value >> shift, &mut written);
            prop_assert_eq!(take_varint(&mut &written[..]), Some(value >> shift));
            for length in 0..written.len() {
                prop_assert_eq!(take_varint(&mut &written[..length]), None);
            }
            bytes.extend([0xFF, 0]);
            let mut left = &bytes[..];
            if let Some(value) = take_varint(&mut left) {
                written.clear();
                put_varint(value, &mut written);
                prop_assert_eq!(written, &bytes[..bytes.len() - left.len()]);
            }
        }

        #[test]
        fn coefficients_come_back(pairs in proptest::collection::vec((any::<u16>(), any::<i64>(), any::<i64>()), 0..9), rest: Vec<u8>) {
            let coefficients: Vec<_> =
                pairs.into_iter().map(|(class, bias, units)| Coefficient { class, bias, units }).collect();
            let mut bytes = Vec::new();
            encode_coefficients(&coefficients, &mut bytes);
            bytes.extend(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(decode_coefficients(&mut left).unwrap(), coefficients);
            prop_assert_eq!(left, &rest[..]);
        }

        #[test]
        fn any_bytes_give_a_vector_or_an_error(bytes: Vec<u8>, n_terms in 0usize..100_000) {
            if let Ok(vector) = decode_vector(&bytes, n_terms) {
                prop_assert!(vector.row().ids().iter().all(|id| (*id as usize) < n_terms));
            }
        }
    }
}
