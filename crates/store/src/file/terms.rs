//! The terms of a model, sorted by fingerprint, in groups of [`GROUP`]. Everything that scoring needs about a term is
//! stored together.
//!
//! ```text
//! directory   an entry a group: upper half of its first fingerprint, where it begins in `terms`   u32, u32
//! terms       group after group: where its texts begin in `texts`                                 u32
//!                                fingerprints                                                     u64 each
//!                                of each term a run: the run of its cells, then its weights
//! texts       of each term a run of UTF-8
//! ```
//!
//! A run is its length as a varint, then that many bytes. A cell is three varints: the number of classes skipped since
//! the previous cell, df, tf - df. A weight is two: the number of classes skipped and, in zigzag code, the weight.

use serde::{Deserialize, Serialize};
use tamis_model::{Cell, ClassId, ClassWeight};
use tamis_tokenizer::{TermId, fingerprint};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{Error, Reason, Result};
use crate::file::container::BLOCK;
use crate::file::varint::{put_varint, take_varint, unzigzag, zigzag};

/// Terms per group; the last group may have fewer. Small, since reading a term skips those before it and a group should
/// seldom straddle two blocks.
pub const GROUP: usize = 8;

/// Directory entries per checksum block. The search for a group starts in the block of the guess.
pub(crate) const NEAR: usize = BLOCK / size_of::<GroupRecord>();

/// An entry of the `directory` section.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
pub(crate) struct GroupRecord {
    /// The upper half of the group's first fingerprint.
    pub prefix: U32,
    /// Its start in the `terms` section; it ends at the start of the next one.
    pub start: U32,
}

/// The size of a model's tables.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Terms.
    pub terms: u64,
    /// Counts of a term in a class.
    pub cells: u64,
    /// Weights of a term for a class.
    pub weights: u64,
}

impl Size {
    /// Adds the counts of another.
    pub fn add(&mut self, Size { terms, cells, weights }: Size) {
        self.terms += terms;
        self.cells += cells;
        self.weights += weights;
    }
}

/// Writes the sections of terms.
#[derive(Default)]
pub struct TermsWriter {
    directory: Vec<u8>,
    terms: Vec<u8>,
    texts: Vec<u8>,
    size: Size,
    /// The incomplete group: the start of its texts, its fingerprints and its runs.
    text_start: u32,
    fingerprints: Vec<U64>,
    runs: Vec<u8>,
    /// The current term: its run and its cells.
    run: Vec<u8>,
    cells: Vec<u8>,
}

impl TermsWriter {
    /// Appends a term. Fingerprints must increase; cells and weights are in class order.
    pub fn push(
        &mut self,
        fingerprint: u64,
        text: &str,
        cells: impl Iterator<Item = Cell>,
        weights: impl Iterator<Item = (ClassId, i64)>,
    ) -> Result<()> {
        self.cells.clear();
        self.size.cells += put_cells(cells, &mut self.cells);
        put_run(&self.cells, &mut self.run);
        let mut next = 0;
        for (class, value) in weights {
            put_varint(u64::from(class) - next, &mut self.run);
            put_varint(zigzag(value), &mut self.run);
            next = u64::from(class) + 1;
            self.size.weights += 1;
        }
        self.end_term(fingerprint, text)
    }

    /// Begins a term of a segment, whose id comes before its counts. [`push`](Self::push) ends it.
    pub(crate) fn begin_changed(&mut self, id: TermId) {
        put_varint(id.into(), &mut self.run);
    }

    /// Appends a term with a run taken from another segment.
    pub fn push_run(&mut self, fingerprint: u64, text: &str, run: &[u8]) -> Result<()> {
        self.run.extend_from_slice(run);
        self.end_term(fingerprint, text)
    }

    /// Appends the run of the current term to its group.
    fn end_term(&mut self, fingerprint: u64, text: &str) -> Result<()> {
        if self.fingerprints.is_empty() {
            self.text_start = limited("bytes of terms", self.texts.len() as u64)?;
        }
        self.fingerprints.push(fingerprint.into());
        put_run(text.as_bytes(), &mut self.texts);
        self.size.terms += 1;
        put_run(&self.run, &mut self.runs);
        self.run.clear();
        if self.fingerprints.len() == GROUP { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<()> {
        let Some(first) = self.fingerprints.first() else { return Ok(()) };
        let start = limited("bytes of counts", self.terms.len() as u64)?.into();
        let record = GroupRecord { prefix: prefix(first.get()).into(), start };
        self.directory.extend_from_slice(record.as_bytes());
        self.terms.extend_from_slice(&self.text_start.to_le_bytes());
        self.terms.extend_from_slice(self.fingerprints.as_bytes());
        self.terms.append(&mut self.runs);
        self.fingerprints.clear();
        Ok(())
    }

    /// Appends terms with higher fingerprints. The groups of `self` must be complete, since groups are not merged.
    pub fn append(&mut self, mut other: TermsWriter) -> Result<()> {
        other.end_group()?;
        let (terms, texts) = (self.terms.len() as u64, self.texts.len() as u64);
        let records = <[GroupRecord]>::mut_from_bytes(&mut other.directory).unwrap_or_default();
        for record in records {
            let group = record.start.get() as usize;
            if let Some((text_start, _)) =
                other.terms.get_mut(group..).and_then(|group| U32::mut_from_prefix(group).ok())
            {
                *text_start = limited("bytes of terms", u64::from(text_start.get()) + texts)?.into();
            }
            record.start = limited("bytes of counts", group as u64 + terms)?.into();
        }
        self.directory.append(&mut other.directory);
        self.terms.append(&mut other.terms);
        self.texts.append(&mut other.texts);
        self.size.add(other.size);
        Ok(())
    }

    /// Returns the sections.
    pub fn finish(mut self) -> Result<TermSections> {
        self.end_group()?;
        let TermsWriter { directory, terms, texts, size, .. } = self;
        Ok(TermSections { directory, terms, texts, size })
    }
}

/// The sections of terms.
pub struct TermSections {
    /// Groups of terms by fingerprint.
    pub directory: Vec<u8>,
    /// Cells and weights.
    pub terms: Vec<u8>,
    /// Texts.
    pub texts: Vec<u8>,
    /// What they contain.
    pub size: Size,
}

/// Checks that a number fits into the `u32` it is stored as.
pub fn limited(what: &'static str, got: u64) -> Result<u32> {
    u32::try_from(got).map_err(|_| Reason::TooLarge { what, limit: u32::MAX.into(), got }.into())
}

/// The bits by which terms are found.
pub fn prefix(fingerprint: u64) -> u32 {
    (fingerprint >> 32) as u32
}

/// Appends cells in class order. Returns their number.
pub fn put_cells(cells: impl Iterator<Item = Cell>, out: &mut Vec<u8>) -> u64 {
    let (mut next, mut n) = (0, 0);
    for Cell { class, df, tf } in cells {
        put_varint(u64::from(class) - next, out);
        put_varint(df.into(), out);
        put_varint((tf - df).into(), out);
        (next, n) = (u64::from(class) + 1, n + 1);
    }
    n
}

/// Appends a run with its length.
pub fn put_run(run: &[u8], out: &mut Vec<u8>) {
    put_varint(run.len() as u64, out);
    out.extend_from_slice(run);
}

/// Takes a run with its length off the front.
#[inline]
pub fn take_run<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    bytes.split_off(..length)
}

/// Reads the class of a cell or weight, which must be below `n_classes` and at least `next`.
fn take_class(bytes: &mut &[u8], next: &mut u64, n_classes: usize) -> Option<ClassId> {
    let class = next.checked_add(take_varint(bytes)?).filter(|class| *class < n_classes as u64)?;
    *next = class + 1;
    ClassId::try_from(class).ok()
}

#[cold]
fn no_runs() -> Error {
    Error::inconsistent("terms", "cells and weights of every term", "too few bytes")
}

/// A group of terms, read.
pub(crate) struct TermGroup<'a> {
    pub(crate) text_start: u32,
    pub fingerprints: &'a [U64],
    /// One run per term.
    pub runs: &'a [u8],
}

impl<'a> TermGroup<'a> {
    /// Takes the run of the group's first term.
    pub(crate) fn take_run(&mut self) -> Result<&'a [u8]> {
        take_run(&mut self.runs).ok_or_else(no_runs)
    }

    /// The run of the term at position `place` in the group.
    #[inline]
    pub(crate) fn run(&self, place: usize) -> Result<&'a [u8]> {
        let mut runs = self.runs;
        for _ in 0..place {
            take_run(&mut runs).ok_or_else(no_runs)?;
        }
        take_run(&mut runs).ok_or_else(no_runs)
    }
}

/// A term's entry: the bytes of its cells and of its weights.
#[derive(Clone, Copy, Default)]
pub struct Runs<'a> {
    /// Encoded cells.
    pub cells: &'a [u8],
    /// Encoded weights.
    pub weights: &'a [u8],
}

impl<'a> Runs<'a> {
    /// Splits the run of a term.
    #[inline]
    pub fn split(mut run: &'a [u8]) -> Result<Self> {
        let cells = take_run(&mut run).ok_or_else(no_runs)?;
        Ok(Runs { cells, weights: run })
    }

    /// As [`split`](Self::split), for a segment, where the term's id comes first.
    #[inline]
    pub(crate) fn split_segment(mut run: &'a [u8]) -> Result<(TermId, Self)> {
        let id = take_varint(&mut run).and_then(|id| TermId::try_from(id).ok()).ok_or_else(no_runs)?;
        Ok((id, Runs::split(run)?))
    }

    /// Visits the cells. Their classes must be below `n_classes`.
    #[inline]
    pub fn for_each_cell(self, n_classes: usize, mut visit: impl FnMut(Cell)) -> Result<()> {
        let (mut bytes, mut next) = (self.cells, 0);
        let mut take = || {
            let class = take_class(&mut bytes, &mut next, n_classes)?;
            let df = u32::try_from(take_varint(&mut bytes)?).ok().filter(|df| *df > 0)?;
            let more = u32::try_from(take_varint(&mut bytes)?).ok()?;
            Some((Cell { class, df, tf: df.checked_add(more)? }, bytes.is_empty()))
        };
        let mut is_last = self.cells.is_empty();
        while !is_last {
            let cell;
            (cell, is_last) = take().ok_or_else(|| {
                let expected = format!("counts of classes below {n_classes}, 1 <= df <= tf");
                Error::inconsistent("terms", expected, format_args!("{:02x?}", self.cells))
            })?;
            visit(cell);
        }
        Ok(())
    }

    /// Visits the weights. Their classes must be below `n_classes`.
    #[inline]
    pub(crate) fn for_each_weight(self, n_classes: usize, mut visit: impl FnMut(ClassWeight)) -> Result<()> {
        let (mut bytes, mut next) = (self.weights, 0);
        while !bytes.is_empty() {
            let class = take_class(&mut bytes, &mut next, n_classes);
            let Some((class, value)) = class.zip(take_varint(&mut bytes)) else {
                let expected = format!("weights of classes below {n_classes}");
                return Err(Error::inconsistent("terms", expected, format_args!("{:02x?}", self.weights)));
            };
            visit(ClassWeight { class, units: unzigzag(value) });
        }
        Ok(())
    }
}

/// Begins the text of a term that is known by its fingerprint alone. No tokenizer makes a term of this and 16 digits.
const UNKNOWN: char = '#';
const DIGITS: usize = 16;

/// The text of a term that is known by its fingerprint alone: `#` and 16 hexadecimal digits.
pub fn unknown_text(fingerprint: u64) -> String {
    format!("{UNKNOWN}{fingerprint:016x}")
}

/// The fingerprint of a term by its stored text, which [`unknown_text`] may have made.
pub fn fingerprint_of(text: &str) -> u64 {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = text.strip_prefix(UNKNOWN).filter(|digits| digits.len() == DIGITS);
    let digits = digits.filter(|digits| digits.bytes().all(is_digit));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_else(|| fingerprint(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_tokenizer::{Ngrams, Tokenizer, TokenizerOptions, Vocabulary, WordRule};

    #[test]
    fn runs_that_are_no_counts_are_errors() {
        let bad: [&[u8]; 9] = [
            &[0],                                              // cut short
            &[0, 1],                                           // cut short
            &[2, 1, 0],                                        // class out of range
            &[0, 1, 0, 1, 1, 0],                               // second class out of range
            &[0, 0, 1],                                        // df = 0
            &[0, 0x81, 0, 0],                                  // longer than it needs to be
            &[0, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0],             // df past 2^32
            &[0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],             // tf past 2^32
            &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0], // class past everything
        ];
        for cells in bad {
            assert!(Runs { cells, weights: &[] }.for_each_cell(2, |_| ()).is_err(), "{cells:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_counts_that_can_be_or_an_error(
            bytes in proptest::collection::vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 0..20), n_classes in 0usize..5,
        ) {
            let runs = Runs { cells: &bytes, weights: &bytes };
            let (mut cells, mut weights) = (Vec::new(), Vec::new());
            let is_right = runs.for_each_cell(n_classes, |cell| cells.push(cell)).is_ok();
            prop_assert!(cells.iter().all(|c| usize::from(c.class) < n_classes && (1..=c.tf).contains(&c.df)));
            prop_assert!(cells.is_sorted_by(|a, b| a.class < b.class));
            if is_right {
                let mut writer = TermsWriter::default();
                writer.push(7, "", cells.into_iter(), [].into_iter()).unwrap();
                prop_assert_eq!(&writer.cells, &bytes);
            }
            let _ = runs.for_each_weight(n_classes, |weight| weights.push(weight.class));
            prop_assert!(weights.is_sorted_by(|a, b| a < b));
            prop_assert!(weights.iter().all(|class| usize::from(*class) < n_classes));
        }
    }

    proptest! {
        #[test]
        fn the_text_of_an_unknown_term_is_its_fingerprint(of: u64, text in "#?[0-9a-g]{0,18}") {
            prop_assert_eq!(fingerprint_of(&unknown_text(of)), of);
            let is_made = fingerprint_of(&text) != fingerprint(&text);
            prop_assert_eq!(is_made, text.len() == 17 && unknown_text(fingerprint_of(&text)) == text);
        }
    }

    #[test]
    fn no_tokenizer_makes_the_text_of_an_unknown_term() {
        let text = unknown_text(0x0123_4567_89ab_cdef);
        for word_rule in [WordRule::Unicode, WordRule::Mail] {
            for terms in [Ngrams::Words { min: 1, max: 8 }, Ngrams::Characters { min: 1, max: 8 }] {
                let mut options = TokenizerOptions::text();
                (options.word_rule, options.terms) = (word_rule, terms);
                let mut vocabulary = Vocabulary::new();
                Tokenizer::new(options).unwrap().for_each_batch(&text, &mut Default::default(), |batch| {
                    vocabulary.count_batch(batch, |_| ()).unwrap();
                });
                assert!(vocabulary.iter().all(|(_, term)| fingerprint_of(term) == fingerprint(term)));
                assert!(!vocabulary.is_empty());
            }
        }
    }
}
