//! The stored form of each document in a model: digest, label, name, group, and optionally its terms.

use tamis_model::{ClassId, Coefficient, HeldOut};
use tamis_tokenizer::{CountRow, CountVector, TermId, fingerprint};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::little_endian::{F32, I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Error, Result};
use crate::file::terms::{put_run, take_run};
use crate::file::varint::{put_counted, put_varint, take_counted, take_varint, unzigzag, zigzag};
use crate::kind::Kind;

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
    /// A hash of a mail's Message-ID and body, which do not change in transport; of From, To, Date, Subject and body if it
    /// has no Message-ID. 0 if it has none of them.
    pub message: U64,
    /// Its held-out scores with two classes: log-odds of the counts, of the correction, of the columns that are not
    /// text and of its dense vector, and what its parts add. NaN if it has none.
    pub held_out: [F32; 5],
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
#[derive(Clone, Default, PartialEq, Debug)]
pub struct StoredDocument {
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
    /// Log-odds of counts, correction, columns and dense vector by a model without it.
    pub held_out: Option<HeldOut>,
    /// Its number among those learned one by one; 0 for others.
    pub learned: u32,
    /// Its terms.
    pub vector: CountVector,
    /// Its dense vector; empty if it has none.
    pub dense: Box<[f32]>,
}

impl StoredDocument {
    /// A record of the section.
    pub fn new(
        record: &DocumentRecord,
        name: Box<str>,
        coefficients: Vec<Coefficient>,
        (vector, dense): (CountVector, Box<[f32]>),
    ) -> Self {
        let held_out = record.held_out.map(|number| f64::from(number.get()));
        StoredDocument {
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
            dense,
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
            held_out: self.held_out.map_or([f32::NAN; 5], as_kept).map(F32::new),
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

/// Rounds held-out scores to the precision in which they are stored.
pub fn as_kept(numbers: HeldOut) -> [f32; 5] {
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

/// Appends a dense vector, which precedes the terms: its length, which is 0 without one, and its values.
pub fn encode_dense(dense: &[f32], out: &mut Vec<u8>) {
    put_varint(dense.len() as u64, out);
    dense.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// Reads the dense vector that precedes terms.
pub fn decode_dense(bytes: &mut &[u8]) -> Result<Box<[f32]>> {
    let broken = || Error::inconsistent("vectors", "dense vectors of finite numbers", "other bytes");
    let length =
        take_varint(bytes).and_then(|n| usize::try_from(n).ok()?.checked_mul(4)).ok_or_else(broken)?;
    let values = bytes.split_off(..length).ok_or_else(broken)?;
    let dense: Box<[f32]> = values.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    dense.iter().all(|value| value.is_finite()).then_some(dense).ok_or_else(broken)
}

/// The dense vector that counts of those of two equal documents: the greater, in the order of their bits. None is less
/// than any.
pub fn greatest_dense<'a>(here: &'a [f32], there: &'a [f32]) -> &'a [f32] {
    let bits = |dense: &'a [f32]| dense.iter().map(|value| value.to_bits());
    if bits(here).ge(bits(there)) { here } else { there }
}

/// Maximum length of a name, in bytes.
const LONGEST: usize = 100;

/// The name of a document with this Message-ID: the text in angle brackets, if any, without control characters,
/// truncated to 100 bytes.
///
/// ```
/// assert_eq!(tamis_train::document_name(" <1@example.org> (added by a gateway)"), "1@example.org");
/// assert_eq!(tamis_train::document_name("1@example.org"), "1@example.org");
/// ```
pub fn document_name(message_id: &str) -> String {
    let within = message_id.split_once('<').map_or(message_id, |(_, rest)| rest);
    let within = within.split_once('>').map_or(within, |(within, _)| within);
    let name: String = within.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let name = name.trim();
    name[..name.floor_char_boundary(LONGEST)].trim_end().to_owned()
}

/// Keeps the lesser of the names of two equal documents, in byte order. An empty name counts as none.
pub fn keep_least(name: &mut Box<str>, other: &str) {
    if !other.is_empty() && (name.is_empty() || other < &**name) {
        *name = other.into();
    }
}

/// The lesser of the [messages](message) of two equal documents. 0 counts as none.
pub fn least_message(message: u64, other: u64) -> u64 {
    if message == 0 || other == 0 { message | other } else { message.min(other) }
}

/// A hash of a mail's body and of its name or what stands in for it, which do not change in transport, to find the mail
/// again; 0 without a name.
pub fn message(name: &str, body: u64) -> u64 {
    if name.is_empty() {
        return 0;
    }
    xxh3_64(&[&body.to_le_bytes(), name.as_bytes()].concat()).max(1)
}

/// A name, unless it is empty.
pub fn named(name: Box<str>) -> Option<String> {
    Some(name.into_string()).filter(|name| !name.is_empty())
}

/// Appends a name, which may be empty.
pub fn encode_name(name: &str, out: &mut Vec<u8>) {
    put_run(name.as_bytes(), out);
}

/// Reads a name.
pub(crate) fn decode_name(bytes: &mut &[u8]) -> Result<Box<str>> {
    let name = take_run(bytes).and_then(|name| std::str::from_utf8(name).ok()).filter(|name| is_name(name));
    name.map(Box::from).ok_or_else(|| Error::inconsistent("vectors", "names of documents", "other bytes"))
}

/// Whether a name is valid: short enough, and safe to display.
pub fn is_name(name: &str) -> bool {
    name.len() <= LONGEST && !name.contains(char::is_control)
}

/// Named groups have numbers below this. Of several groups the lowest counts, so a named group precedes an unnamed one.
const NAMED: u64 = 1 << 48;

/// The number of a document's group: a hash of the group's name, the same in every model. Without a name, or with an
/// empty one, it is the hash of the document's body.
pub fn group_number(name: Option<&str>, body: u64) -> u64 {
    match name {
        Some(name) if !name.is_empty() => fingerprint(name) % NAMED,
        _ if is_named(body) => body | 1 << 63,
        _ => body,
    }
}

/// Whether the groups of documents of this kind are the copies of a text. Those of mail have the same body, but other
/// header fields; named ones are what their user says.
pub fn groups_are_copies(kind: Kind, mut groups: impl Iterator<Item = u64>) -> bool {
    kind != Kind::Mail && !groups.any(is_named)
}

/// Whether a group was named.
pub fn is_named(group: u64) -> bool {
    group < NAMED
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

    proptest! {
        #[test]
        fn a_name_of_anything_is_one_and_its_own(id in "[ <>a-z@\\p{any}]{0,150}") {
            let name = document_name(&id);
            prop_assert!(is_name(&name), "{name:?}");
            prop_assert_eq!(&document_name(&name), &name);
            prop_assert_eq!(&document_name(&format!("\t<{name}>")), &name);
        }

        #[test]
        fn names_come_back_and_anything_else_is_an_error_or_a_name(id: String, rest: Vec<u8>) {
            let (name, mut bytes) = (document_name(&id), Vec::new());
            encode_name(&name, &mut bytes);
            bytes.extend(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(&*decode_name(&mut left).unwrap(), &*name);
            prop_assert_eq!(left, &rest[..]);
            if let Ok(name) = decode_name(&mut &rest[..]) {
                prop_assert!(is_name(&name), "{name:?}");
            }
        }

        #[test]
        fn the_order_of_equal_documents_leaves_no_trace(mut names: Vec<String>) {
            let least = |names: &[String]| names.iter().fold(Box::default(), |mut least, name| {
                keep_least(&mut least, name);
                least
            });
            let forwards = least(&names);
            names.reverse();
            prop_assert_eq!(&forwards, &least(&names));
            prop_assert_eq!(Some(&*forwards).filter(|n| !n.is_empty()), names.iter().map(|n| &**n).filter(|n| !n.is_empty()).min());
        }
    }

    #[test]
    fn a_name_is_always_the_same_group_and_never_a_body() {
        assert_eq!(group_number(Some("alice"), 1), group_number(Some("alice"), 2));
        assert_ne!(group_number(Some("alice"), 1), group_number(Some("bob"), 1));
        assert_eq!(group_number(None, u64::MAX), u64::MAX);
        assert_eq!(group_number(None, 7), group_number(Some(""), 7));
        assert_ne!(group_number(None, 7), group_number(None, 8));
        assert!(group_number(Some("alice"), 0) < group_number(None, 0));
        assert!(is_named(group_number(Some("alice"), 0)) && !is_named(group_number(None, 7)));
    }
}
