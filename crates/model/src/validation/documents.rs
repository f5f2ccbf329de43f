//! Labelled documents: the interface a fit reads them by, and documents in memory.

use std::ops::Range;

use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::counts::{ClassId, TF_UNIT, tf_units};
use crate::linear::vector_length;

/// Class, multiplicity, group and weight of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its class.
    pub class: ClassId,
    /// Number of times it was learned.
    pub multiplicity: u32,
    /// Near-duplicates, such as mails with the same body, share a group. A group is never split between training and
    /// test.
    pub group: u64,
    /// By how much its weight in a fit exceeds its multiplicity, in units of 1/1,024; negative if the weight is less.
    pub fraction: i32,
}

/// The unit of [`Label::fraction`], per document.
const FRACTION_ONE: f64 = 1024.0;

impl Label {
    /// The multiplicity and [`fraction`](Self::fraction) that come closest to a weight in a fit. Of the counts, which are
    /// integers, a document of any weight is at least one.
    pub fn of_weight(weight: f64) -> (u32, i32) {
        // neither goes beyond its range
        let multiplicity = weight.round().max(1.0) as u32;
        (multiplicity, ((weight - f64::from(multiplicity)) * FRACTION_ONE).round() as i32)
    }

    /// Its weight in a fit, with all its copies.
    pub(crate) fn weight(&self) -> f64 {
        (f64::from(self.multiplicity) + f64::from(self.fraction) / FRACTION_ONE).max(1.0 / FRACTION_ONE)
    }
}

/// Distinct documents to fit to, in a reproducible order.
///
/// Terms are read a block of documents at a time, so that not all need to be in memory.
pub trait Documents: Sync {
    /// The number of documents.
    fn len(&self) -> usize;

    /// Whether there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Class, multiplicity, group and weight of a document.
    fn label(&self, document: usize) -> Label;

    /// An upper bound of the term ids.
    fn n_terms(&self) -> usize;

    /// The number of (document, term) pairs.
    fn n_pairs(&self) -> usize;

    /// The number of documents per block, at most [`BLOCK`]; the last block may have fewer.
    fn block_len(&self) -> usize {
        BLOCK
    }

    /// Replaces the contents of `to` with the terms of the documents of a block.
    fn block(&self, block: usize, to: &mut Block);

    /// The counts of `documents`, which are given in increasing order.
    fn rows(&self, documents: &[usize]) -> Vec<CountVector>;

    /// The dense vector of a document; empty without one.
    fn vector(&self, _document: usize) -> &[f32] {
        &[]
    }

    /// Whether a group is the copies of one text under its labels, so that a document is left out with its group.
    fn groups_are_copies(&self) -> bool {
        false
    }

    /// The group that a document is held out with: its own, unless [near-duplicates](crate::NearDuplicates) are in others.
    fn held_out_with(&self, document: usize) -> u64 {
        self.label(document).group
    }

    /// Whether a document is too [long](crate::NearDuplicates::is_long) to come again by chance.
    fn is_long(&self, _document: usize) -> bool {
        false
    }

    /// The stretches of a document's body, whose [windows] are scored by themselves too; none for more than two classes.
    fn stretches(&self, _document: usize) -> Vec<Stretch<CountVector>> {
        Vec::new()
    }
}

/// A stretch of a document's body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch<T> {
    /// Its terms.
    pub terms: T,
    /// Whether it is the last of its part of the body.
    pub ends_part: bool,
    /// Whether people see it.
    pub is_seen: bool,
}

/// The windows that are scored by themselves: each stretch with the next one of its part of the body, or alone if it is
/// the only one. None if there is but one, which is the whole body.
///
/// ```
/// use tamis_model::{Stretch, windows};
///
/// let stretches = [false, false, true, true].map(|ends_part| Stretch { terms: (), ends_part, is_seen: true });
/// assert_eq!(windows(&stretches).collect::<Vec<_>>(), [0..2, 1..3, 3..4]);
/// assert_eq!(windows(&stretches[2..3]).count(), 0);
/// ```
pub fn windows<T>(stretches: &[Stretch<T>]) -> impl Iterator<Item = Range<usize>> {
    let window = |at: usize| match stretches[at].ends_part {
        false => Some(at..at + 2),
        true if at == 0 || stretches[at - 1].ends_part => Some(at..at + 1),
        true => None,
    };
    let are_many = stretches.len() > 2 || stretches.iter().filter(|of| of.ends_part).count() > 1;
    (0..if are_many { stretches.len() } else { 0 }).filter_map(window)
}

/// A labelled document to fit to.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// Its counts.
    pub row: CountRow<'a>,
    /// Its class.
    pub class: ClassId,
    /// Number of times it was learned.
    pub multiplicity: u32,
    /// Near-duplicates, such as mails with the same body, share a group. A group is never split between training and
    /// test.
    pub group: u64,
    /// As of [`Label`].
    pub fraction: i32,
    /// Its dense vector; empty if it has none.
    pub vector: &'a [f32],
}

/// Documents in memory.
impl Documents for Vec<Example<'_>> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn label(&self, document: usize) -> Label {
        let Example { class, multiplicity, group, fraction, .. } = self[document];
        Label { class, multiplicity, group, fraction }
    }

    fn n_terms(&self) -> usize {
        // ids increase, so the last is the highest
        let highest = self.iter().filter_map(|document| document.row.ids().last()).max();
        highest.map_or(0, |id| *id as usize + 1)
    }

    fn n_pairs(&self) -> usize {
        self.iter().map(|document| document.row.len()).sum()
    }

    fn block(&self, block: usize, to: &mut Block) {
        let documents = self.chunks(BLOCK).nth(block).unwrap_or_default();
        to.assign(documents.iter().map(|document| document.row));
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        documents.iter().map(|document| owned(self[*document].row)).collect()
    }

    fn vector(&self, document: usize) -> &[f32] {
        self[document].vector
    }
}

fn owned(row: CountRow<'_>) -> CountVector {
    CountVector::new(row.ids().to_vec(), row.counts().to_vec()).unwrap_or_default()
}

/// The usual number of documents per block. Fitting visits the documents of a block in random order.
pub const BLOCK: usize = 1 << 16;

/// The factors of terms in a document's vector.
#[derive(Default)]
pub(crate) struct TermScales {
    /// idf of every term, in nats; empty if documents need not be vectors.
    pub(crate) idf: Vec<f32>,
    /// A further factor of every term, which does not change the length |v|, see
    /// [`spread`](crate::fit::ascent::spread); empty if all are 1.
    pub(crate) roots: Vec<f32>,
}

/// The terms of a block of documents, each with ln(1 + tf) in units: all that fitting reads.
#[derive(Clone, Debug, Default)]
pub struct Block {
    rows: Vec<Range<usize>>,
    ids: Vec<TermId>,
    factors: Vec<f32>,
    /// After [`weigh`](Block::weigh): the documents as vectors x, of length at most 1 before
    /// [`roots`](TermScales::roots) apply; and 1 / |v|, at most 1 and 0 without terms, and |x|^2 of each document.
    values: Vec<f32>,
    pub(crate) scales: Vec<f32>,
    squared_norms: Vec<f32>,
}

impl Block {
    /// Resets to `documents` documents without terms and reserves room for `terms` in all, reusing memory.
    pub fn begin(&mut self, documents: usize, terms: usize) {
        self.rows.clear();
        self.rows.resize(documents, 0..0);
        self.ids.clear();
        self.ids.reserve_exact(terms);
        if self.values.capacity() > self.factors.capacity() {
            std::mem::swap(&mut self.values, &mut self.factors);
        }
        self.factors.clear();
        self.factors.reserve_exact(terms);
    }

    /// Sets the terms of a document, in increasing order; `counts` lists the counts other than 1 with their positions.
    #[inline]
    pub fn set_row(
        &mut self,
        document: usize,
        ids: impl Iterator<Item = TermId>,
        counts: impl Iterator<Item = (usize, u32)>,
    ) {
        let start = self.ids.len();
        self.ids.extend(ids);
        self.factors.resize(self.ids.len(), tf_units(1) as f32);
        let factors = &mut self.factors[start..];
        for (place, count) in counts {
            if let Some(factor) = factors.get_mut(place) {
                *factor = tf_units(count) as f32;
            }
        }
        if let Some(row) = self.rows.get_mut(document) {
            *row = start..self.ids.len();
        }
    }

    pub(crate) fn from_rows<'a>(rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) -> Self {
        let mut block = Block::default();
        block.assign(rows);
        block
    }

    fn assign<'a>(&mut self, rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) {
        self.begin(rows.len(), rows.clone().map(|row| row.len()).sum());
        rows.enumerate().for_each(|(at, row)| {
            self.set_row(at, row.ids().iter().copied(), row.counts().iter().copied().enumerate());
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn terms(&self, document: usize) -> BlockRow<'_> {
        let row = self.rows[document].clone();
        BlockRow { ids: &self.ids[row.clone()], factors: &self.factors[row] }
    }

    /// The document as a vector: its terms, each with its value.
    #[inline]
    pub(crate) fn vector(&self, document: usize) -> BlockRow<'_> {
        let row = self.rows[document].clone();
        BlockRow { ids: &self.ids[row.clone()], factors: &self.values[row] }
    }

    /// Turns the documents into vectors, and keeps the terms' counts.
    pub(crate) fn vectorize(&mut self, terms: &TermScales) {
        self.values.clone_from(&self.factors);
        self.scale_vectors(terms);
    }

    /// As [`weigh`](Self::weigh), but discards the terms' counts to save memory.
    pub(crate) fn vectorize_in_place(&mut self, terms: &TermScales) {
        std::mem::swap(&mut self.values, &mut self.factors);
        self.scale_vectors(terms);
    }

    /// Turns counts into the values of vectors.
    fn scale_vectors(&mut self, TermScales { idf, roots }: &TermScales) {
        let idf = |id: &TermId| idf.get(*id as usize).copied().unwrap_or(0.0);
        std::iter::zip(&self.ids, &mut self.values).for_each(|(id, value)| *value *= idf(id));
        self.scales.clear();
        self.squared_norms.clear();
        for row in &self.rows {
            let values = &mut self.values[row.clone()];
            let square: f64 = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
            // documents without terms have no length
            let scale = if values.is_empty() { 0.0 } else { 1.0 / vector_length(square * TF_UNIT * TF_UNIT) };
            values.iter_mut().for_each(|value| *value *= (scale * TF_UNIT) as f32);
            self.scales.push(scale as f32);
            if !roots.is_empty() {
                let ids = &self.ids[row.clone()];
                std::iter::zip(&mut *values, ids).for_each(|(value, id)| *value *= roots[*id as usize]);
            }
            self.squared_norms.push(values.iter().map(|value| value * value).sum());
        }
    }

    /// |x|^2 of a document: the contribution of one unit of its coefficient to its own log-odds, without the bias.
    pub(crate) fn squared_norm(&self, document: usize) -> f32 {
        self.squared_norms[document]
    }
}

/// The terms of a document, each with ln(1 + tf) in units.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct BlockRow<'a> {
    pub(crate) ids: &'a [TermId],
    pub(crate) factors: &'a [f32],
}

impl<'a> BlockRow<'a> {
    pub(crate) fn len(self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (TermId, f32)> + use<'a> {
        std::iter::zip(self.ids.iter().copied(), self.factors.iter().copied())
    }
}
