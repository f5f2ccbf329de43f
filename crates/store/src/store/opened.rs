//! A model file in use: its terms, counts, texts and documents, read in place.

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, ClassWeights, Classes, Counts};
use tamis_tokenizer::TermId;

use crate::config::label_set::SetLabels;
use crate::disk::map::Bytes;
use crate::disk::source::MappedFile;
use crate::error::{Error, Reason, Result};
use crate::file::header::{self, Header};
use crate::file::log::{self, Entry, Rest};
use crate::file::slots::Slots;
use crate::file::terms::{Runs, limited};
use crate::store::overlay::Overlay;
use crate::store::sections::Sections;
use crate::store::segment::{Segment, SegmentHeader};

/// A model file in use.
pub struct Store {
    pub(super) bytes: Bytes,
    /// Checksum of the header when it was read. All other checksums continue it.
    pub checksum: u32,
    /// The header.
    pub header: Header,
    /// The labels, if classes are sets of them. Derived once, since information is asked for at every document.
    pub(super) sets: Option<SetLabels>,
    /// Documents and counts of each class, log and segments included.
    pub totals: Vec<ClassTotals>,
    /// What the log changes.
    pub overlay: Overlay,
    /// The slots of the file, which list its segments.
    pub slots: Slots,
    /// Where the log begins in the file, and the bytes of its complete records.
    pub log: (u64, Vec<u8>),
    /// What follows the complete records, and the length of the file.
    pub rest: (Rest, u64),
    /// End of the sections.
    pub(super) end: usize,
    pub(super) base: Sections,
    /// The segments, oldest first.
    pub(super) segments: Vec<Segment>,
    /// Number of terms before the log.
    pub(super) n_known: usize,
}

impl Store {
    /// Takes note of records that were appended to the log, and takes them out of `records`.
    pub fn appended(&mut self, records: &mut Vec<u8>) {
        self.log.1.append(records);
        self.rest.1 = self.log.0 + self.log.1.len() as u64;
    }

    /// Reads preface, header and log, and locates sections and segments. `mapped` is the file, if `bytes` are a map of
    /// it.
    pub fn new(bytes: Bytes, mapped: Option<MappedFile<'_>>) -> Result<Self> {
        let header::Opened { bytes, header, checksum, sections, end } = header::open(bytes)?;
        let base = Sections::new(sections, limited("terms", header.n_terms())? as usize)?;
        let Appended { bytes, slots, mut log } = Appended::read(bytes, mapped, end, checksum)?;
        let mut n_known = base.n_terms;
        let segments = slots.segments.iter().map(|range| {
            let segment = Segment::open(&bytes, range.clone(), checksum, n_known)?;
            n_known = segment.new_ids().end;
            Ok(segment)
        });
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let start = slots.log_start();
        let length = if log.is_empty() { bytes.len() } else { start + log.len() } as u64;
        let sets = SetLabels::of(&header.classes)?;
        let overlay = Overlay::default();
        let (totals, rest) = (Vec::new(), (Rest::Nothing, length));
        let mut store = Store {
            bytes,
            checksum,
            header,
            sets,
            totals,
            overlay,
            slots,
            log: (start as u64, Vec::new()),
            rest,
            end,
            base,
            segments,
            n_known,
        };
        let (whole, rest) = store.lay_over(&log)?;
        store.check_rest(rest, log.len())?;
        log.truncate(whole);
        (store.log.1, store.rest.0) = (log, rest);
        Ok(store)
    }

    /// The labels that documents may have.
    pub fn labels(&self) -> &Classes {
        self.sets.as_ref().map_or(&self.header.classes, |sets| &sets.labels)
    }

    /// Checks that no valid record follows the log.
    fn check_rest(&self, rest: Rest, read: usize) -> Result<()> {
        let begin = self.log.0;
        match rest {
            Rest::Segment(end) if self.slots.is_torn && self.rest.1 > begin + end => {
                Err(self.slots.damaged())
            }
            Rest::Segment(_) => Ok(()),
            _ if self.slots.is_torn => Err(self.slots.damaged()),
            _ if read > log::LIMIT => {
                Err(Reason::TooLarge { what: "bytes of log", limit: log::LIMIT as u64, got: read as u64 }
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Lays `log` over sections and segments, in place of any earlier log. Returns the length of its complete records,
    /// and what follows them.
    fn lay_over(&mut self, log: &[u8]) -> Result<(usize, Rest)> {
        let newest = self.segments.last().map(|segment| &segment.header);
        let mut totals = newest.map_or(&self.header.totals, |newest| &newest.totals).clone();
        if totals.len() != self.header.totals.len() {
            let n = self.header.totals.len();
            return Err(Error::inconsistent(
                "header of a segment",
                format!("totals of {n} labels"),
                totals.len(),
            ));
        }
        let mut overlay = newest.map_or_else(Overlay::default, |newest| {
            Overlay::over(newest.features, newest.learned, newest.forgotten)
        });
        let n = self.n_known;
        let read =
            log::read(log, self.log.0 as usize, self.checksum, n, |entry| overlay.add(entry, &mut totals))?;
        (self.totals, self.overlay) = (totals, overlay);
        Ok(read)
    }

    /// Reads the log again, with the records `more` appended. Drops everything else that was laid over the file.
    pub fn reread(&mut self, more: &[u8]) -> Result<()> {
        let log = [&self.log.1, more].concat();
        self.lay_over(&log).map(|_| ())
    }

    /// Adds an entry that is not yet in the log on disk.
    pub fn add(&mut self, entry: Entry) -> Result<()> {
        self.overlay.add(entry, &mut self.totals)
    }

    /// The immutable part of the file, before slots, segments and log.
    pub fn base(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// The valid bytes of the file.
    pub fn contents(&self) -> Vec<&[u8]> {
        let segments = self.segments.iter().map(|segment| &self.bytes[segment.range.clone()]);
        [self.base()].into_iter().chain(segments).chain([&self.log.1[..]]).collect()
    }

    /// Header and sections of the newest segment, if it can be read.
    pub fn newest_segment(&self) -> Option<(SegmentHeader, [Vec<u8>; 6])> {
        self.segments.last()?.contents(&self.bytes)
    }

    /// The file as it was mapped or read.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing was learned or forgotten since the last rewrite.
    pub fn is_written_anew(&self) -> bool {
        self.segments.is_empty() && self.overlay.documents().is_empty()
    }

    /// Whether the file is mapped rather than held in memory.
    pub fn is_mapped(&self) -> bool {
        self.bytes.is_mapped()
    }

    /// Whether everything read so far, except the log, is still in the file.
    pub fn is_as_read(&self) -> bool {
        let Store { bytes, base, segments, .. } = self;
        header::checksum(bytes).is_ok_and(|checksum| checksum == self.checksum)
            && base.sections().into_iter().all(|section| section.check_again(bytes).is_ok())
            && segments.iter().all(|segment| segment.is_as_read(bytes, self.checksum))
    }

    /// Documents learned, forgotten or merged since the last fit.
    pub fn unfitted(&self) -> u64 {
        self.header.changes.since_fit.saturating_add(self.overlay.n_entries())
    }

    /// Documents learned or forgotten one by one since the model was trained.
    pub fn changes(&self) -> u64 {
        self.header.changes.since_training.saturating_add(self.overlay.n_entries())
    }

    /// The bias of each column of the correction, as fitted. Learning or forgetting one document does not change it,
    /// since that would move all other scores.
    pub fn bias(&self) -> &[i64] {
        self.header.scoring.bias()
    }

    /// Number of features: terms with non-zero counts.
    pub fn n_features(&self) -> u64 {
        (self.base.n_terms as u64).saturating_add_signed(self.overlay.features())
    }

    /// Whether a term of the vocabulary has counts; only terms in segments or log may have none.
    pub fn has_counts(&self, id: TermId) -> Result<bool> {
        let is_of_base = self.segments.is_empty() && (id as usize) < self.base.n_terms;
        Ok(is_of_base && !self.overlay.changes(id) || self.document_frequency(id)? > 0)
    }

    /// Visits the weights of a term in the order of classes, as fixed-point numbers or as the bits of an `f32`.
    pub fn for_each_value(&self, id: TermId, visit: impl FnMut(ClassId, i64) -> Result<()>) -> Result<()> {
        self.values_of(id, self.runs(id)?, visit)
    }

    /// As [`for_each_value`](Self::for_each_value), given the term's entry in the file.
    #[inline]
    pub(super) fn values_of(
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

    /// Visits the weights of a term as real numbers, given its entry in the file.
    #[inline]
    pub(super) fn weights_of(
        &self,
        id: TermId,
        runs: Runs<'_>,
        mut visit: impl FnMut(ClassId, f64),
    ) -> Result<()> {
        let expected = self.header.scoring.has_expected_counts();
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

    /// Visits the counts of a term, given its entry in the file.
    #[inline]
    pub(super) fn cells_of(&self, id: TermId, runs: Runs<'_>, mut visit: impl FnMut(Cell)) -> Result<()> {
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
}

/// The data after the sections of a file.
struct Appended {
    /// The bytes of the file, with all of its segments.
    pub(super) bytes: Bytes,
    slots: Slots,
    log: Vec<u8>,
}

impl Appended {
    /// Reads slots and log of a file whose sections end at `end` and whose header has the checksum `seed`.
    fn read(bytes: Bytes, mapped: Option<MappedFile<'_>>, end: usize, seed: u32) -> Result<Self> {
        let read = |bytes: &Bytes, at: usize, most: usize| match mapped {
            Some(file) => file.read_from(at, most),
            None => Ok(bytes.get(at..).map_or_else(Vec::new, |rest| rest[..rest.len().min(most)].to_vec())),
        };
        let slots = || Slots::read(&read(&bytes, end, Slots::reach(end))?, end, seed);
        let slots = slots().and_then(|read| if read.is_torn { slots() } else { Ok(read) })?;
        let start = slots.log_start();
        let bytes = match mapped {
            Some(file) => file.map_more(bytes, start)?,
            None => bytes,
        };
        let log = read(&bytes, start, log::LIMIT + 1)?;
        Ok(Appended { bytes, slots, log })
    }
}

impl Counts for Store {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.n_known + self.overlay.new_terms().len()
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
