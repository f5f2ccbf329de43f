//! Messages between the lead of a distributed fit and its partitions, as bytes.
//!
//! A preface and a header as in a [model](tamis_store::file::header), then the sections:
//!
//! ```text
//! plan       the partial of all counts, without documents; that of the held-out documents
//! state      the coefficients of a partition's documents, f32 each
//! weights    of each term with weights: how many ids after the one before, the number of weights,
//!            and for each its column and, in zigzag code, its units; all varints
//! ```

use serde::{Deserialize, Serialize};
use tamis_model::{Choices, ClassId, ClassWeight, Correction};
use tamis_store::disk::spool::{Spool, spill};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::container::{self, Preface};
use tamis_store::file::varint::{put_varint, take_varint, unzigzag, zigzag};
use tamis_tokenizer::TermId;

/// The message format that this version reads and writes. Lead and partitions must use the same.
const VERSION: u32 = 1;

/// The header of a message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum MessageHeader {
    Plan(PlanHeader),
    State(StateHeader),
    Weights(WeightsHeader),
}

/// What every partition needs to know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanHeader {
    /// Smoothing, power of idf, and k. The other choices are made later.
    pub(crate) choices: Choices,
    /// Partitions with documents. The held-out documents are one more.
    pub(crate) n_partitions: u32,
    /// The share of the documents that are held out.
    pub(crate) held_out: f64,
    /// Lengths of the sections in bytes.
    pub(crate) lengths: [u64; 2],
}

/// The state of a partition between rounds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateHeader {
    /// Rounds fitted so far.
    pub(crate) round: u64,
    pub(crate) length: u64,
}

/// A correction, or its change in one round.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WeightsHeader {
    /// Rounds fitted before this one.
    pub(crate) round: u64,
    /// Number of partitions whose changes are included; 0 in a correction.
    pub(crate) n_partitions: u32,
    /// The largest change of a document's error.
    pub(crate) largest: f64,
    pub(crate) bias: Vec<i64>,
    pub(crate) length: u64,
}

/// A correction, or its change, and what goes with it.
pub(crate) type WeightsChange = (WeightsHeader, Correction);

/// Encodes a message.
pub(crate) fn write(header: &MessageHeader, sections: &[&Spool]) -> Result<Vec<u8>> {
    Ok(container::write(container::MESSAGE, VERSION, header, sections)?.into_memory())
}

/// Reads a message and verifies its sections.
pub(crate) fn read(message: &[u8]) -> Result<(MessageHeader, Vec<&[u8]>)> {
    container::check_magic(message, container::MESSAGE)?;
    let Preface { checksum, header, start } = Preface::read(message, VERSION)?;
    let header: MessageHeader = container::decode(header)?;
    let lengths = match &header {
        MessageHeader::Plan(plan) => plan.lengths.to_vec(),
        MessageHeader::State(StateHeader { length, .. })
        | MessageHeader::Weights(WeightsHeader { length, .. }) => {
            vec![*length]
        }
    };
    let lengths = lengths.into_iter().map(|length| ("message", length));
    let (sections, end) = container::layout(lengths, start, message.len(), checksum)?;
    Reason::Length { expected: end as u64, got: message.len() as u64 }.unless(end == message.len())?;
    let sections = sections.iter().map(|section| section.get(message, 0..section.len()));
    Ok((header, sections.collect::<Result<_>>()?))
}

/// Encodes the state of a partition.
pub(crate) fn write_state(round: u64, coefficients: &[f32]) -> Result<Vec<u8>> {
    let bytes: Vec<u8> = coefficients.iter().copied().flat_map(f32::to_le_bytes).collect();
    let header = StateHeader { round, length: bytes.len() as u64 };
    write(&MessageHeader::State(header), &[&bytes.into()])
}

/// Reads the state of a partition: the number of rounds fitted, and its coefficients.
pub(crate) fn read_state(message: &[u8]) -> Result<(u64, Vec<f32>)> {
    let (MessageHeader::State(StateHeader { round, .. }), sections) = read(message)? else {
        return Err(wrong("the state of a partition"));
    };
    let (numbers, rest) = sections.first().copied().unwrap_or_default().as_chunks();
    Error::ensure(rest.is_empty(), "message", "coefficients of four bytes", "another")?;
    Ok((round, numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
}

/// Encodes the weights of `n_terms` terms.
pub(crate) fn write_weights(
    header: WeightsHeader,
    correction: &Correction,
    n_terms: usize,
) -> Result<Vec<u8>> {
    let (mut section, mut bytes, mut of_term, mut next) = (Spool::default(), Vec::new(), Vec::new(), 0);
    for term in 0..n_terms as TermId {
        of_term.clear();
        of_term.extend(correction.weights(term));
        if of_term.is_empty() {
            continue;
        }
        bytes.clear();
        put_varint(u64::from(term - next), &mut bytes);
        put_varint(of_term.len() as u64, &mut bytes);
        for ClassWeight { class, units } in &of_term {
            put_varint(u64::from(*class), &mut bytes);
            put_varint(zigzag(*units), &mut bytes);
        }
        section.push(&bytes).map_err(spill)?;
        next = term + 1;
    }
    let header = WeightsHeader { bias: correction.bias().to_vec(), length: section.len(), ..header };
    write(&MessageHeader::Weights(header), &[&section])
}

/// Reads weights of at most `n_terms` terms and `n_columns` columns.
pub(crate) fn read_weights(message: &[u8], n_terms: usize, n_columns: usize) -> Result<WeightsChange> {
    let (MessageHeader::Weights(header), sections) = read(message)? else {
        return Err(wrong("a correction"));
    };
    let mut bytes = sections.first().copied().unwrap_or_default();
    let (mut correction, mut next) = (Correction::default(), 0u64);
    let number = |bytes: &mut &[u8]| take_varint(bytes).ok_or_else(|| wrong("numbers"));
    while !bytes.is_empty() {
        let term = next.saturating_add(number(&mut bytes)?);
        let expected = format_args!("a term below {n_terms}");
        Error::ensure(term < n_terms as u64, "message", expected, term)?;
        for _ in 0..number(&mut bytes)? {
            let (column, units) = (number(&mut bytes)?, unzigzag(number(&mut bytes)?));
            let class = ClassId::try_from(column).ok().filter(|class| usize::from(*class) < n_columns);
            let class = class.ok_or_else(|| wrong("a column of the correction"))?;
            correction.add_weight(term as TermId, ClassWeight { class, units })?;
        }
        next = term + 1;
    }
    Error::ensure(header.bias.len() <= n_columns, "message", "a bias for each column", "another")?;
    for (class, bias) in (0..).zip(&header.bias) {
        correction.add_bias(class, *bias)?;
    }
    Ok((header, correction))
}

fn wrong(expected: &'static str) -> Error {
    Error::inconsistent("message", expected, "another")
}
