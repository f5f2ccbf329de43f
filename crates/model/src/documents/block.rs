//! A block of documents as a fit reads it: the terms of each, and their vectors.

use std::ops::Range;

use tamis_tokenizer::{CountRow, TermId};

use crate::counts::{TF_UNIT, tf_units};
use crate::linear::vector_length;

/// Number of documents per block; the last block may have fewer. Fitting visits the documents of a block in random
/// order.
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
    /// [`roots`](TermScales::roots) apply; and 1 / |v| and |x|^2 of each document.
    values: Vec<f32>,
    scales: Vec<f32>,
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

    pub(crate) fn of<'a>(rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) -> Self {
        let mut block = Block::default();
        block.assign(rows);
        block
    }

    pub(super) fn assign<'a>(&mut self, rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) {
        self.begin(rows.len(), rows.clone().map(|row| row.len()).sum());
        rows.enumerate().for_each(|(at, row)| {
            self.set_row(at, row.ids().iter().copied(), row.counts().iter().copied().enumerate());
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn terms(&self, document: usize) -> DocumentTerms<'_> {
        let row = self.rows[document].clone();
        DocumentTerms { ids: &self.ids[row.clone()], factors: &self.factors[row] }
    }

    /// The document as a vector: its terms, each with its value.
    #[inline]
    pub(crate) fn vector(&self, document: usize) -> DocumentTerms<'_> {
        let row = self.rows[document].clone();
        DocumentTerms { ids: &self.ids[row.clone()], factors: &self.values[row] }
    }

    /// Turns the documents into vectors, and keeps the terms' counts.
    pub(crate) fn vectorize(&mut self, terms: &TermScales) {
        self.values.clone_from(&self.factors);
        self.scale_vectors(terms);
    }

    /// As [`weigh`](Self::weigh), but discards the terms' counts to save memory.
    pub(super) fn vectorize_in_place(&mut self, terms: &TermScales) {
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

    /// 1 / |v| of each document, at most 1; 0 without terms.
    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }
}

/// The terms of a document, each with ln(1 + tf) in units.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct DocumentTerms<'a> {
    pub(crate) ids: &'a [TermId],
    pub(crate) factors: &'a [f32],
}

impl<'a> DocumentTerms<'a> {
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
