//! A model file in use: its terms, counts, texts and documents, read in place.

mod layers;
mod terms;
mod verify;

pub(crate) use layers::{Layers, LoneTerm, Sums, TermByTerm};
pub(crate) use terms::{GROUP, Size, TermsWriter, limited};

use tamis_model::{
    Cell, ClassId, ClassTotals, ClassWeight, ClassWeights, Classes, Counts, GaussianStatistics, Summary,
};
use tamis_tokenizer::TermId;
use terms::{GroupRecord, Runs};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::blocks::Section;
use crate::documents::{DocumentKey, DocumentRecord, Remembered, decode_coefficients, decode_vector};
use crate::error::{Error, Result};
use crate::format::{self, Header};
use crate::log;
use crate::map::Bytes;
use crate::names;
use crate::overlay::Overlay;
use crate::recipe::Recipe;
use crate::scoring::{Chosen, Decision, Expected, Scoring};
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
    /// What weighted scoring chose, and the losses that decided.
    pub chosen: Option<&'a Chosen>,
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
    /// Whether it remembers what they are called.
    pub names: bool,
    /// Documents that were learned or forgotten one by one since it was trained.
    pub changes: u64,
    /// Documents that were learned, forgotten or added by merging since everything was fitted to all documents.
    pub unfitted: u64,
    /// Bytes of the whole file.
    pub bytes: usize,
    /// Of these, bytes of the log of what was learned and forgotten since the rest was written.
    pub log_bytes: usize,
}

pub(crate) struct Store {
    bytes: Bytes,
    /// Of the header, as it was when it was read; those of all else go on from it.
    pub(crate) checksum: u32,
    pub(crate) header: Header,
    /// Documents and counts of each class, the log's among them.
    pub(crate) totals: Vec<ClassTotals>,
    pub(crate) overlay: Overlay,
    /// Where the log begins in the file, whose part before it never changes, and its whole records.
    pub(crate) log: (u64, Vec<u8>),
    directory: Section,
    terms: Section,
    texts: Section,
    documents: Section,
    vectors: Section,
    /// Terms before the log.
    n_terms: usize,
}

impl Store {
    /// Reads preface, header and log; of the sections only where they lie. `read_log` gives what is in the file from
    /// an offset on.
    pub(crate) fn new(bytes: Bytes, read_log: impl FnOnce(&Bytes, usize) -> Result<Vec<u8>>) -> Result<Self> {
        let format::Opened { bytes, header, checksum, sections, end } = format::open(bytes)?;
        let [directory, terms, texts, documents, vectors] = sections;
        entries::<DocumentRecord>(&documents)?;
        let n_terms = limited("terms", header.n_terms())? as usize;
        let n_groups = entries::<GroupRecord>(&directory)?;
        if n_groups != n_terms.div_ceil(GROUP) {
            return Err(Error::inconsistent("directory", format!("groups of {n_terms} terms"), n_groups));
        }
        let mut log_bytes = read_log(&bytes, end)?;
        let (totals, overlay, whole) = lay_over(&header, checksum, end, &log_bytes)?;
        log_bytes.truncate(whole);
        let log = (end as u64, log_bytes);
        Ok(Store {
            bytes,
            checksum,
            header,
            totals,
            overlay,
            log,
            directory,
            terms,
            texts,
            documents,
            vectors,
            n_terms,
        })
    }

    /// Goes through the log again, and then through further records: nothing else that was laid over the file stays.
    pub(crate) fn reread(&mut self, more: &[u8]) -> Result<()> {
        let (start, log) = &self.log;
        let (totals, overlay, _) =
            lay_over(&self.header, self.checksum, *start as usize, &[log, more].concat())?;
        (self.totals, self.overlay) = (totals, overlay);
        Ok(())
    }

    /// The part of the file before its log, which never changes.
    pub(crate) fn base(&self) -> &[u8] {
        &self.bytes[..self.log.0 as usize]
    }

    /// The file as it was when it was opened.
    #[cfg(test)]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it reads the file in its own place.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }

    /// Whether everything that was read of the file so far is still there, its log aside.
    pub(crate) fn is_as_read(&self) -> bool {
        let Store { bytes, directory, terms, texts, documents, vectors, .. } = self;
        let is_there = |section: &Section| section.check_again(bytes).is_ok();
        format::checksum(bytes).is_ok_and(|checksum| checksum == self.checksum)
            && [directory, terms, texts, documents, vectors].into_iter().all(is_there)
    }

    /// Documents learned, forgotten or added by merging since everything was fitted to all.
    pub(crate) fn unfitted(&self) -> u64 {
        self.header.unfitted.saturating_add(self.overlay.n_entries())
    }

    /// Documents learned or forgotten one by one since the model was trained.
    pub(crate) fn changes(&self) -> u64 {
        self.header.changes.saturating_add(self.overlay.n_entries())
    }

    /// Whether the terms of a known document are remembered: those in the log always are.
    pub(crate) fn has_vector(&self, key: DocumentKey) -> bool {
        self.header.keep == Keep::Vectors || self.overlay.documents().contains_key(&key)
    }

    /// The bias of each column of the correction: as it was fitted. A document that is learned or forgotten by itself leaves it
    /// alone, or it would move the scores of all others.
    pub(crate) fn bias(&self) -> &[i64] {
        &self.header.bias
    }

    /// Terms with counts, of which weighted scoring is.
    pub(crate) fn n_features(&self) -> u64 {
        (self.n_terms as u64).saturating_add_signed(self.overlay.features())
    }

    /// Whether a term of its vocabulary has counts: of those before the log only one that the log speaks of can have none.
    pub(crate) fn has_counts(&self, id: TermId) -> Result<bool> {
        Ok(!self.overlay.changes(id) || self.document_frequency(id)? > 0)
    }

    pub(crate) fn information(&self) -> Information<'_> {
        let Header {
            recipe,
            keep,
            names,
            scoring,
            decision,
            chosen,
            expected,
            classes,
            summary,
            table,
            size,
            ..
        } = &self.header;
        Information {
            recipe,
            scoring,
            decision,
            chosen: chosen.as_ref(),
            expected: *expected,
            classes,
            totals: &self.totals,
            reals: table.as_ref().map(|table| &table.reals),
            missing: table.as_ref().map_or(&[], |table| &table.missing),
            n_terms: self.n_features() as usize,
            n_features: summary.as_ref().map_or(self.n_features(), Summary::n_features),
            n_cells: size.cells as usize,
            n_weights: size.weights as usize,
            documents: self.n_documents(),
            keep: *keep,
            names: *names,
            changes: self.changes(),
            unfitted: self.unfitted(),
            bytes: self.base().len() + self.log.1.len(),
            log_bytes: self.log.1.len(),
        }
    }

    /// Visits the weights of a term, in the order of their classes: in fixed point, or the bits of an `f32`.
    pub(crate) fn for_each_value(
        &self,
        id: TermId,
        visit: impl FnMut(ClassId, i64) -> Result<()>,
    ) -> Result<()> {
        self.values_of(id, self.runs(id)?, visit)
    }

    /// The same, given what the file says of the term.
    fn values_of(
        &self,
        id: TermId,
        runs: Runs<'_>,
        mut visit: impl FnMut(ClassId, i64) -> Result<()>,
    ) -> Result<()> {
        let n_classes = self.header.classes.len();
        if !self.overlay.changes(id) {
            return runs.for_each_weight(n_classes, visit);
        }
        let mut weights = Vec::new();
        runs.for_each_weight(n_classes, |class, value| {
            weights.push((class, value));
            Ok(())
        })?;
        self.overlay.change_weights(id, &mut weights)?;
        weights.into_iter().try_for_each(|(class, value)| visit(class, value))
    }

    /// Visits the weights of a term as real numbers, given what the file says of it.
    fn weights_of(&self, id: TermId, runs: Runs<'_>, mut visit: impl FnMut(ClassId, f64)) -> Result<()> {
        let expected = self.header.expected_model.is_some();
        self.values_of(id, runs, |class, value| {
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

    /// Visits the counts of a term, given what the file says of it.
    fn cells_of(&self, id: TermId, runs: Runs<'_>, mut visit: impl FnMut(Cell)) -> Result<()> {
        let n_classes = self.totals.len();
        if !self.overlay.changes(id) {
            return runs.for_each_cell(n_classes, visit);
        }
        let mut cells = Vec::new();
        runs.for_each_cell(n_classes, |cell| cells.push(cell))?;
        self.overlay.change_cells(id, &mut cells)?;
        cells.into_iter().for_each(&mut visit);
        Ok(())
    }

    pub(crate) fn n_documents(&self) -> usize {
        self.n_recorded().saturating_add_signed(self.overlay.n_documents() as isize)
    }

    /// Documents remembered before the log.
    fn n_recorded(&self) -> usize {
        self.documents.len() / size_of::<DocumentRecord>()
    }

    /// The documents that the model remembers, by digest; their vectors are empty where only digests are kept.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Result<Remembered>> + '_ {
        let changed = self.overlay.documents();
        let recorded = self
            .recorded()
            .filter(|d| d.as_ref().is_ok_and(|d| !changed.contains_key(&d.key())) || d.is_err());
        let mut recorded = recorded.peekable();
        let mut logged = changed.values().flatten().peekable();
        std::iter::from_fn(move || match (recorded.peek(), logged.peek()) {
            (Some(Ok(a)), Some(b)) if b.key() < a.key() => logged.next().cloned().map(Ok),
            (None, Some(_)) => logged.next().cloned().map(Ok),
            _ => recorded.next(),
        })
    }

    /// What is remembered of a document under a class.
    pub(crate) fn document(&self, key: DocumentKey) -> Result<Option<Remembered>> {
        if let Some(state) = self.overlay.documents().get(&key) {
            return Ok(state.clone());
        }
        let (mut low, mut high) = (0, self.n_recorded());
        while low < high {
            let middle = low + (high - low) / 2;
            let record: &DocumentRecord = self.entry(&self.documents, middle)?;
            match (record.digest, record.class.get()).cmp(&key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.recorded_at(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// The document at a place before the log.
    fn recorded_at(&self, i: usize) -> Result<Remembered> {
        let before = i.checked_sub(1).map(|before| self.entry::<DocumentRecord>(&self.documents, before));
        let start = before.transpose()?.map_or(0, |before| before.vector_end.get() as usize);
        let record: &DocumentRecord = self.entry(&self.documents, i)?;
        let mut bytes = self.vectors.get(&self.bytes, start..record.vector_end.get() as usize)?;
        let name = names::decode(&mut bytes)?;
        let coefficients = match self.header.has_coefficients() {
            true => decode_coefficients(&mut bytes)?,
            false => Vec::new(),
        };
        let vector = decode_vector(bytes, self.n_terms)?;
        Ok(Remembered::new(record, name, coefficients, vector))
    }

    /// The documents remembered before the log.
    fn recorded(&self) -> impl Iterator<Item = Result<Remembered>> + '_ {
        (0..self.n_recorded()).map(|i| self.recorded_at(i))
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

/// What a log that begins at an offset in the file, with checksums that go on from `seed`, makes of the totals, what it adds to the rest, and how many bytes of it
/// are whole records.
fn lay_over(
    header: &Header,
    seed: u32,
    offset: usize,
    log: &[u8],
) -> Result<(Vec<ClassTotals>, Overlay, usize)> {
    let n_terms = header.n_terms() as usize;
    let (mut totals, mut overlay) = (header.totals.clone(), Overlay::default());
    let whole = log::read(log, offset, seed, n_terms, |entry| overlay.add(entry, n_terms, &mut totals))?;
    Ok((totals, overlay, whole))
}

/// What naive Bayes needs of the counts besides those of single terms.
pub(crate) fn summarize<C: Counts>(
    scoring: &Scoring,
    counts: &C,
) -> std::result::Result<Option<Summary>, C::Error> {
    match scoring {
        Scoring::Weighted(_) | Scoring::ExpectationMaximization(_) | Scoring::Mixed(_) => Ok(None),
        Scoring::NaiveBayes(parameters) => parameters.summarize(counts).map(Some),
    }
}

impl Counts for Store {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.n_terms + self.overlay.new_terms().len()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        self.cells_of(term, self.runs(term)?, visit)
    }
}

impl ClassWeights for Store {
    type Error = Error;

    fn for_each_weight(&self, term: TermId, visit: impl FnMut(ClassId, f64)) -> Result<()> {
        self.weights_of(term, self.runs(term)?, visit)
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
