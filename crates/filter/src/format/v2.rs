//! Format 2, and the sections of format 1: read by writing them anew.

use serde::Deserialize;
use tamis_model::{Cell, ClassId, ClassTotals, Classes, ExpectedNaiveBayes, Summary, Temperature};
use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{layout, whole};
use crate::blocks::OLD_BLOCK_BITS;
use crate::error::{Error, Result};
use crate::mixed::Table;
use crate::recipe::Recipe;
use crate::scoring::{Decision, Expected, Scoring};
use crate::store::{Size, TermsWriter};
use crate::trainer::Keep;

pub(super) const N_SECTIONS: usize = 6;
const SECTIONS: [&str; N_SECTIONS] = ["terms", "cells", "texts", "correction", "documents", "vectors"];

/// The header as it was written. A type in it that is to change gets a frozen copy, as in [`super::v1`].
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) recipe: Recipe,
    pub(super) keep: Keep,
    pub(super) scoring: Scoring,
    pub(super) classes: Classes,
    pub(super) totals: Vec<ClassTotals>,
    pub(super) summary: Option<Summary>,
    pub(super) table: Option<Table>,
    pub(super) decision: Decision,
    pub(super) temperature: Temperature,
    pub(super) expected_model: Option<ExpectedNaiveBayes>,
    pub(super) expected: Option<Expected>,
    pub(super) lengths: [u64; N_SECTIONS],
}

/// A term: where its cells and its text end, those of the term before being before them.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct TermRecord {
    fingerprint: U64,
    cells_end: U32,
    text_end: U32,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct CellRecord {
    class: U16,
    df: U32,
    tf: U32,
}

/// A weight of many classes; they come after the ends of all terms.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct WeightRecord {
    class: U16,
    value: I32,
}

/// The same model in the format of today; the sections begin at `start`.
pub(super) fn upgrade(header: Header, file: &[u8], start: usize) -> Result<Vec<u8>> {
    let (sections, end) = layout(SECTIONS, header.lengths, start, file.len(), OLD_BLOCK_BITS)?;
    whole(end, file.len())?;
    let mut contents = [&[][..]; N_SECTIONS];
    for (content, section) in contents.iter_mut().zip(&sections) {
        *content = section.get(file, 0..section.len())?;
    }
    let [terms, cells, texts, correction, documents, vectors] = contents;
    let terms: &[TermRecord] = records("terms", terms)?;
    let cells: &[CellRecord] = records("cells", cells)?;
    let mut writer = TermsWriter::default();
    let (mut cells_start, mut text_start) = (0, 0);
    for (id, term) in terms.iter().enumerate() {
        let (cells_end, text_end) = (term.cells_end.get() as usize, term.text_end.get() as usize);
        let text = part("texts", texts, text_start, text_end)?;
        let text = std::str::from_utf8(text).map_err(|e| Error::inconsistent("texts", "UTF-8", e))?;
        let own = part("cells", cells, cells_start, cells_end)?;
        let fits = |cell: &CellRecord| (1..=cell.tf.get()).contains(&cell.df.get());
        if !own.iter().all(fits) || !own.is_sorted_by(|a, b| a.class.get() < b.class.get()) {
            return Err(Error::inconsistent("cells", "increasing classes, 1 <= df <= tf", "others"));
        }
        let own = own.iter().map(|c| Cell { class: c.class.get(), df: c.df.get(), tf: c.tf.get() });
        let weights = weights(&header.scoring, correction, terms.len(), id)?;
        writer.push(term.fingerprint.get(), text, own, weights.into_iter())?;
        (cells_start, text_start) = (cells_end, text_end);
    }
    let ([directory, terms, texts], size) = writer.finish()?;
    let sections = [&directory[..], &terms, &texts, documents, vectors];
    super::write(&header.upgraded(size, sections.map(|s| s.len() as u64)), sections)
}

/// The weights of a term: one a term for two classes, for more an end a term and whole weights, or none at all.
fn weights(scoring: &Scoring, correction: &[u8], n_terms: usize, id: usize) -> Result<Vec<(ClassId, i32)>> {
    if correction.is_empty() {
        return Ok(Vec::new());
    }
    let (firsts, rest) = <[I32]>::ref_from_prefix_with_elems(correction, n_terms)
        .map_err(|_| Error::inconsistent("correction", format!("{n_terms} entries"), correction.len()))?;
    if !matches!(scoring, Scoring::OneAgainstRest(_) | Scoring::ExpectationMaximization(_)) {
        return Ok(Some((0, firsts[id].get())).filter(|(_, weight)| *weight != 0).into_iter().collect());
    }
    let end = |id: usize| firsts[id].get() as u32 as usize;
    let start = if id == 0 { 0 } else { end(id - 1) };
    let own: &[WeightRecord] = part("correction", records("correction", rest)?, start, end(id))?;
    if !own.is_sorted_by(|a, b| a.class.get() < b.class.get()) {
        return Err(Error::inconsistent("correction", "increasing classes", "others"));
    }
    Ok(own.iter().map(|w| (w.class.get(), w.value.get())).collect())
}

fn records<'a, T: FromBytes + KnownLayout + Immutable + Unaligned>(
    name: &'static str,
    bytes: &'a [u8],
) -> Result<&'a [T]> {
    <[T]>::ref_from_bytes(bytes)
        .map_err(|_| Error::inconsistent(name, format!("entries of {} bytes", size_of::<T>()), bytes.len()))
}

fn part<'a, T>(name: &'static str, all: &'a [T], start: usize, end: usize) -> Result<&'a [T]> {
    all.get(start..end).ok_or_else(|| Error::inconsistent(name, all.len(), format!("entries {start}..{end}")))
}

impl Header {
    fn upgraded(self, size: Size, lengths: [u64; super::N_SECTIONS]) -> super::Header {
        super::Header {
            recipe: self.recipe,
            keep: self.keep,
            scoring: self.scoring,
            classes: self.classes,
            totals: self.totals,
            asked: None,
            changes: 0,
            unfitted: 0,
            summary: self.summary,
            table: self.table,
            decision: self.decision,
            temperature: self.temperature,
            expected_model: self.expected_model,
            expected: self.expected,
            size,
            lengths,
        }
    }
}
