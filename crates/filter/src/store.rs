//! A model file in use: its terms, counts, texts and documents, read in place.

mod terms;
mod verify;

pub(crate) use terms::{GROUP, Size, TermsWriter, limited};

use tamis_model::{
    Cell, ClassId, ClassTotals, ClassWeight, ClassWeights, Classes, Counts, GaussianStatistics, Statistics,
    Summary, Temperature,
};
use tamis_tokenizer::TermId;
use terms::{GroupRecord, Runs};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::blocks::Section;
use crate::documents::{DocumentRecord, Remembered, decode_coefficients, decode_vector};
use crate::error::{Error, Result};
use crate::format::{self, Header};
use crate::map::Bytes;
use crate::recipe::Recipe;
use crate::scoring::{Decision, Expected, Scoring, Weighted};
use crate::trainer::Keep;

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
    directory: Section,
    terms: Section,
    texts: Section,
    documents: Section,
    vectors: Section,
    n_terms: usize,
    /// Bytes of the file, in whatever format it is.
    length: usize,
}

impl Store {
    /// Reads preface and header; of the sections only where they lie.
    pub(crate) fn new(bytes: Bytes) -> Result<Self> {
        let length = bytes.len();
        let (bytes, header, [directory, terms, texts, documents, vectors]) = format::open(bytes)?;
        entries::<DocumentRecord>(&documents)?;
        let n_terms = limited("terms", header.n_terms())? as usize;
        let n_groups = entries::<GroupRecord>(&directory)?;
        if n_groups != n_terms.div_ceil(GROUP) {
            return Err(Error::inconsistent("directory", format!("groups of {n_terms} terms"), n_groups));
        }
        let mut store = Store { bytes, header, directory, terms, texts, documents, vectors, n_terms, length };
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
            size,
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
            n_cells: size.cells as usize,
            n_weights: size.weights as usize,
            documents: self.n_documents(),
            keep: *keep,
            bytes: self.length,
        }
    }

    /// What the correction of two classes adds to a term's weight, in fixed point.
    pub(crate) fn correction(&self, id: TermId) -> Result<i32> {
        let mut units = 0;
        self.for_each_value(id, |_, value| {
            units = value;
            Ok(())
        })?;
        Ok(units)
    }

    /// Visits the weights of a term as the file holds them: in fixed point, or the bits of an `f32`.
    fn for_each_value(&self, id: TermId, visit: impl FnMut(ClassId, i32) -> Result<()>) -> Result<()> {
        self.runs(id)?.for_each_weight(self.header.classes.len(), visit)
    }

    /// Visits the weights of a term, given what the file says of it.
    fn weights(&self, runs: Runs<'_>, mut visit: impl FnMut(ClassId, f64)) -> Result<()> {
        let expected = self.header.expected_model.is_some();
        runs.for_each_weight(self.header.classes.len(), |class, value| {
            let weight = match expected {
                true => f64::from(f32::from_bits(value as u32)),
                false => ClassWeight { class, units: value }.value(),
            };
            if expected && !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::inconsistent("terms", "weights that are not negative", weight));
            }
            visit(class, weight);
            Ok(())
        })
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

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        self.runs(term)?.for_each_cell(self.header.totals.len(), visit)
    }
}

impl ClassWeights for Store {
    type Error = Error;

    fn for_each_weight(&self, term: TermId, visit: impl FnMut(ClassId, f64)) -> Result<()> {
        self.weights(self.runs(term)?, visit)
    }
}

/// A store that finds a term once for all that is asked of it in a row: its document frequency, cells and weights.
pub(crate) struct TermByTerm<'a> {
    store: &'a Store,
    last: std::cell::Cell<Option<(TermId, Runs<'a>)>>,
}

impl<'a> TermByTerm<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        TermByTerm { store, last: std::cell::Cell::default() }
    }

    fn runs(&self, id: TermId) -> Result<Runs<'a>> {
        if let Some((last, runs)) = self.last.get()
            && last == id
        {
            return Ok(runs);
        }
        let runs = self.store.runs(id)?;
        self.last.set(Some((id, runs)));
        Ok(runs)
    }
}

impl Counts for TermByTerm<'_> {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        self.store.totals()
    }

    fn n_terms(&self) -> usize {
        self.store.n_terms
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        self.runs(term)?.for_each_cell(self.totals().len(), visit)
    }
}

impl ClassWeights for TermByTerm<'_> {
    type Error = Error;

    fn for_each_weight(&self, term: TermId, visit: impl FnMut(ClassId, f64)) -> Result<()> {
        self.store.weights(self.runs(term)?, visit)
    }
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
