//! A model file in use: its terms, counts, texts and documents, read in place.

mod verify;

use tamis_model::{
    Cell, ClassId, ClassTotals, ClassWeight, ClassWeights, Classes, Counts, GaussianStatistics, Statistics,
    Summary, Temperature,
};
use tamis_tokenizer::TermId;
use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::blocks::Section;
use crate::documents::{DocumentRecord, Remembered, decode_coefficients, decode_vector};
use crate::error::{Error, Result};
use crate::format::{self, Header};
use crate::map::Bytes;
use crate::recipe::Recipe;
use crate::scoring::{Decision, Expected, Scoring, Weighted};
use crate::trainer::Keep;

/// An entry of the `terms` section, which is sorted by fingerprint; its position is the term's id.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
pub(crate) struct TermRecord {
    pub(crate) fingerprint: U64,
    /// The number of the first cell that is not this term's; its own begin where those of the term before end.
    pub(crate) cells_end: U32,
    /// Where its text ends in the `texts` section; it begins where that of the term before ends.
    pub(crate) text_end: U32,
}

/// An entry of the `cells` section: the counts of one term in one class.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
pub(crate) struct CellRecord {
    pub(crate) class: U16,
    pub(crate) df: U32,
    pub(crate) tf: U32,
}

/// A cell of the `correction` section for many classes: a fixed-point weight of the correction, or the bits of an `f32`,
/// the weight that expectation maximization found. The cells come after the ends of all terms (a `u32` each, counted in
/// cells), by term and class.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
pub(crate) struct WeightRecord {
    pub(crate) class: U16,
    pub(crate) value: I32,
}

/// What a model says of itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Information<'a> {
    /// How documents become terms.
    pub recipe: &'a Recipe,
    /// How counts become scores.
    pub scoring: &'a Scoring,
    /// From score to verdict, where there are two classes.
    pub decision: &'a Decision,
    /// From scores to probabilities, where there are more.
    pub temperature: Temperature,
    /// What to expect on documents like those learned, if there were enough of them to tell.
    pub expected: Option<Expected>,
    /// The labels.
    pub classes: &'a Classes,
    /// Documents and counts, one entry a class.
    pub totals: &'a [ClassTotals],
    /// What mixed naive Bayes learned of the columns of real values, numbered among themselves.
    pub reals: Option<&'a GaussianStatistics>,
    /// Missing cells of each column of the recipe, for mixed naive Bayes.
    pub missing: &'a [u64],
    /// Terms in the vocabulary.
    pub n_terms: usize,
    /// Terms that take part in scoring.
    pub n_features: u64,
    /// Counts of a term in a class that are not zero.
    pub n_cells: usize,
    /// Weights of the correction for a term and a class.
    pub n_weights: usize,
    /// Distinct documents that it remembers.
    pub documents: usize,
    /// What it remembers of them.
    pub keep: Keep,
    /// Bytes of the whole file.
    pub bytes: usize,
}

pub(crate) struct Store {
    bytes: Bytes,
    pub(crate) header: Header,
    terms: Section,
    cells: Section,
    texts: Section,
    correction: Section,
    documents: Section,
    vectors: Section,
    n_terms: usize,
}

impl Store {
    /// Reads preface and header; of the sections only where they lie.
    pub(crate) fn new(bytes: Bytes) -> Result<Self> {
        let (header, [terms, cells, texts, correction, documents, vectors]) = format::read(&bytes)?;
        let n_terms = entries::<TermRecord>(&terms)?;
        entries::<CellRecord>(&cells)?;
        entries::<DocumentRecord>(&documents)?;
        check_correction(&header.scoring, &correction, n_terms)?;
        if u32::try_from(n_terms).is_err() {
            return Err(Error::TooLarge { what: "terms", limit: u32::MAX.into(), got: n_terms as u64 });
        }
        let mut store = Store { bytes, header, terms, cells, texts, correction, documents, vectors, n_terms };
        if let (Scoring::NaiveBayes(parameters), None) = (&store.header.scoring, &store.header.summary) {
            // Format 1 wrote another one.
            store.header.summary = Some(parameters.summarize(&store)?);
        }
        Ok(store)
    }

    pub(crate) fn information(&self) -> Information<'_> {
        let Header {
            recipe,
            keep,
            scoring,
            decision,
            temperature,
            expected,
            classes,
            totals,
            summary,
            table,
            ..
        } = &self.header;
        Information {
            recipe,
            scoring,
            decision,
            temperature: *temperature,
            expected: *expected,
            classes,
            totals,
            reals: table.as_ref().map(|table| &table.reals),
            missing: table.as_ref().map_or(&[], |table| &table.missing),
            n_terms: self.n_terms,
            n_features: summary.as_ref().map_or(self.n_terms as u64, Summary::n_features),
            n_cells: self.cells.len() / size_of::<CellRecord>(),
            n_weights: self.n_weights(),
            documents: self.n_documents(),
            keep: *keep,
            bytes: self.bytes.len(),
        }
    }

    /// The id of the term with this fingerprint.
    ///
    /// Fingerprints are uniform, so the position is guessed, then bracketed by doubling steps and halved:
    /// a handful of probes near one another, where halving from the start would touch log2(n) blocks.
    pub(crate) fn find(&self, fingerprint: u64) -> Result<Option<TermId>> {
        if self.n_terms == 0 {
            return Ok(None);
        }
        let guess = ((u128::from(fingerprint) * self.n_terms as u128) >> 64) as usize;
        // Invariant: everything before `low` is smaller, everything from `high` on is not.
        let (mut low, mut high) = (0, self.n_terms);
        let mut step = 16;
        if self.fingerprint(guess)? < fingerprint {
            low = guess + 1;
            while low + step < high && self.fingerprint(low + step)? < fingerprint {
                low += step + 1;
                step *= 2;
            }
            high = high.min(low + step);
        } else {
            high = guess;
            while high > low + step && self.fingerprint(high - step)? >= fingerprint {
                high -= step;
                step *= 2;
            }
            low = low.max(high.saturating_sub(step));
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.fingerprint(middle)? < fingerprint { low = middle + 1 } else { high = middle }
        }
        Ok((low < self.n_terms && self.fingerprint(low)? == fingerprint).then_some(low as TermId))
    }

    fn fingerprint(&self, id: usize) -> Result<u64> {
        Ok(self.term(id)?.fingerprint.get())
    }

    fn term(&self, id: usize) -> Result<&TermRecord> {
        self.entry(&self.terms, id)
    }

    /// The text of a term.
    pub(crate) fn text(&self, id: TermId) -> Result<&str> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.term(id - 1)?.text_end.get() };
        let bytes = self.texts.get(&self.bytes, start as usize..self.term(id)?.text_end.get() as usize)?;
        std::str::from_utf8(bytes).map_err(|e| Error::inconsistent("texts", "UTF-8", e))
    }

    fn cells(&self, id: TermId) -> Result<&[CellRecord]> {
        let id = id as usize;
        if id >= self.n_terms {
            return Ok(&[]);
        }
        let start = if id == 0 { 0 } else { self.term(id - 1)?.cells_end.get() };
        let end = self.term(id)?.cells_end.get();
        let size = size_of::<CellRecord>();
        let bytes = self.cells.get(&self.bytes, start as usize * size..end as usize * size)?;
        <[CellRecord]>::ref_from_bytes(bytes).map_err(|e| Error::inconsistent("cells", "whole cells", e))
    }

    /// What the correction adds to a term's weight, in fixed point.
    pub(crate) fn correction(&self, id: TermId) -> Result<i32> {
        if self.correction.len() == 0 || id as usize >= self.n_terms {
            return Ok(0);
        }
        self.entry::<I32>(&self.correction, id as usize).map(|weight| weight.get())
    }

    /// The weights of the correction for a term and many classes.
    fn weights(&self, id: TermId) -> Result<&[WeightRecord]> {
        let id = id as usize;
        if self.correction.len() == 0 || id >= self.n_terms {
            return Ok(&[]);
        }
        let end = |id: usize| self.entry::<U32>(&self.correction, id).map(|end| end.get() as usize);
        let (start, end) = (if id == 0 { 0 } else { end(id - 1)? }, end(id)?);
        let at = |cell: usize| self.n_terms * size_of::<U32>() + cell * size_of::<WeightRecord>();
        let bytes = self.correction.get(&self.bytes, at(start)..at(end))?;
        <[WeightRecord]>::ref_from_bytes(bytes)
            .map_err(|e| Error::inconsistent("correction", "whole weights", e))
    }

    fn n_weights(&self) -> usize {
        match self.header.scoring {
            Scoring::OneAgainstRest(_) | Scoring::ExpectationMaximization(_) if self.correction.len() > 0 => {
                (self.correction.len() - self.n_terms * size_of::<U32>()) / size_of::<WeightRecord>()
            }
            _ => self.correction.len() / size_of::<I32>(),
        }
    }

    pub(crate) fn n_documents(&self) -> usize {
        self.documents.len() / size_of::<DocumentRecord>()
    }

    /// The documents that the model remembers, by digest; their vectors are empty where only digests are kept.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Result<Remembered>> + '_ {
        let mut start = 0;
        (0..self.n_documents()).map(move |i| {
            let record: &DocumentRecord = self.entry(&self.documents, i)?;
            let end = record.vector_end.get() as usize;
            let mut bytes = self.vectors.get(&self.bytes, start..end)?;
            let coefficients = match self.header.scoring {
                Scoring::OneAgainstRest(Weighted { correction: Some(_), .. }) if !bytes.is_empty() => {
                    decode_coefficients(&mut bytes)?
                }
                _ => Vec::new(),
            };
            let vector = decode_vector(bytes, self.n_terms)?;
            start = end;
            Ok(Remembered {
                digest: record.digest,
                class: record.class.get(),
                multiplicity: record.multiplicity.get(),
                date: record.date.get(),
                group: record.group.get(),
                coefficient: record.coefficient.get(),
                coefficients,
                held_out: Some(f64::from(record.held_out.get())).filter(|score| !score.is_nan()),
                vector,
            })
        })
    }

    fn entry<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        &self,
        section: &Section,
        i: usize,
    ) -> Result<&T> {
        let size = size_of::<T>();
        let bytes = section.get(&self.bytes, i * size..(i + 1) * size)?;
        T::ref_from_bytes(bytes).map_err(|_| Error::inconsistent(section.name(), size, bytes.len()))
    }
}

/// What naive Bayes needs of the counts besides those of single terms.
pub(crate) fn summarize(scoring: &Scoring, statistics: &Statistics) -> Option<Summary> {
    match scoring {
        Scoring::Weighted(_)
        | Scoring::OneAgainstRest(_)
        | Scoring::ExpectationMaximization(_)
        | Scoring::Mixed(_) => None,
        Scoring::NaiveBayes(parameters) => {
            let Ok(summary) = parameters.summarize(statistics);
            Some(summary)
        }
    }
}

impl Counts for Store {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.header.totals
    }

    fn n_terms(&self) -> usize {
        self.n_terms
    }

    fn for_each_cell(&self, term: TermId, mut visit: impl FnMut(Cell)) -> Result<()> {
        let n_classes = self.header.totals.len();
        for cell in self.cells(term)? {
            let cell = Cell { class: cell.class.get(), df: cell.df.get(), tf: cell.tf.get() };
            if usize::from(cell.class) >= n_classes {
                return Err(Error::inconsistent("cells", format!("a class below {n_classes}"), cell.class));
            }
            visit(cell);
        }
        Ok(())
    }
}

impl ClassWeights for Store {
    type Error = Error;

    fn for_each_weight(&self, term: TermId, mut visit: impl FnMut(ClassId, f64)) -> Result<()> {
        let expected = self.header.expected_model.is_some();
        for record in self.weights(term)? {
            let (class, value) = (record.class.get(), record.value.get());
            let weight = match expected {
                true => f64::from(f32::from_bits(value as u32)),
                false => ClassWeight { class, units: value }.value(),
            };
            if expected && !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::inconsistent("correction", "weights that are not negative", weight));
            }
            if usize::from(class) >= self.header.classes.len() {
                let expected = format!("a class below {}", self.header.classes.len());
                return Err(Error::inconsistent("correction", expected, class));
            }
            visit(class, weight);
        }
        Ok(())
    }
}

/// None, one weight a term for two classes, or for more an end a term and whole weights.
fn check_correction(scoring: &Scoring, section: &Section, n_terms: usize) -> Result<()> {
    let length = section.len();
    let (fits, expected) = match scoring {
        Scoring::OneAgainstRest(_) | Scoring::ExpectationMaximization(_) => {
            let weights = length.checked_sub(n_terms * size_of::<U32>());
            (
                weights.is_some_and(|n| n.is_multiple_of(size_of::<WeightRecord>())),
                "ends of all terms and weights",
            )
        }
        _ => (length == n_terms * size_of::<I32>(), "a weight a term"),
    };
    if length == 0 || fits {
        return Ok(());
    }
    Err(Error::inconsistent("correction", format!("{expected} ({n_terms} terms)"), format!("{length} bytes")))
}

/// The number of entries of a section, which must be whole.
fn entries<T>(section: &Section) -> Result<usize> {
    let size = size_of::<T>();
    if !section.len().is_multiple_of(size) {
        return Err(Error::inconsistent(
            section.name(),
            format!("whole entries of {size} bytes"),
            section.len(),
        ));
    }
    Ok(section.len() / size)
}
