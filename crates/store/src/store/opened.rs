//! A model file in use: its terms, counts, texts and documents, read in place.

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, ClassWeights, Classes, Counts, VectorStatistics};
use tamis_tokenizer::TermId;

use crate::config::labels::SetLabels;
use crate::disk::map::ModelBytes;
use crate::disk::source::MappedFile;
use crate::error::{Error, Reason, Result};
use crate::file::header::{self, Changes, ModelHeader, ModelLayout, check_vectors};
use crate::file::log::{self, LogEntry, Rest};
use crate::file::slots::SegmentSlots;
use crate::file::terms::{GROUP, Runs, limited};
use crate::store::overlay::Overlay;
use crate::store::sections::FileSections;
use crate::store::segment::Segment;

/// A model file in use.
pub struct Store {
    pub(super) bytes: ModelBytes,
    /// Checksum of the header when it was read. All other checksums continue it.
    pub checksum: u32,
    /// The header.
    pub header: ModelHeader,
    /// The labels, if classes are sets of them. Derived once, since information is asked for at every document.
    pub(super) sets: Option<SetLabels>,
    /// Documents and counts of each class, log and segments included.
    pub totals: Vec<ClassTotals>,
    /// The statistics of dense vectors, log and segments included; `None` if the model has no vectors.
    pub vectors: Option<VectorStatistics>,
    /// What the log changes.
    pub overlay: Overlay,
    /// The slots of the file, which list its segments.
    pub slots: SegmentSlots,
    /// The log of the file.
    pub log: RecordLog,
    /// End of the sections.
    pub(super) end: usize,
    pub(super) base: FileSections,
    /// The segments, oldest first.
    pub(super) segments: Vec<Segment>,
    /// Number of terms before the log.
    pub(super) n_known: usize,
}

/// The log of an open file.
pub struct RecordLog {
    /// Where it begins in the file.
    pub start: u64,
    /// The bytes of its complete records.
    pub records: Vec<u8>,
    /// What follows them.
    pub rest: Rest,
    /// The length of the file.
    pub file_length: u64,
}

impl RecordLog {
    /// Where its complete records end in the file.
    pub fn end(&self) -> u64 {
        self.start + self.records.len() as u64
    }
}

impl Store {
    /// Takes note of records that were appended to the log, and takes them out of `records`.
    pub fn appended(&mut self, records: &mut Vec<u8>) {
        self.log.records.append(records);
        self.log.file_length = self.log.end();
    }

    /// Reads preface, header and log, and locates sections and segments. `mapped` is the file, if `bytes` are a map of
    /// it.
    pub fn new(bytes: ModelBytes, mapped: Option<MappedFile<'_>>) -> Result<Self> {
        let ModelLayout { header, checksum, sections, end } = header::open(&bytes)?;
        let base = FileSections::new(sections, limited("terms", header.size.terms)? as usize)?;
        let (bytes, slots, mut log) = read_appended(bytes, mapped, end, checksum)?;
        let mut n_known = base.n_terms;
        let segments = slots.segments.iter().map(|range| {
            let segment = Segment::open(&bytes, range.clone(), checksum, n_known)?;
            n_known = segment.new_ids().end;
            Ok(segment)
        });
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let start = slots.log_start();
        let file_length = if log.is_empty() { bytes.len() } else { start + log.len() } as u64;
        let mut store = Store {
            sets: SetLabels::derive(&header.classes)?,
            totals: Vec::new(),
            vectors: None,
            overlay: Overlay::default(),
            log: RecordLog { start: start as u64, records: Vec::new(), rest: Rest::Nothing, file_length },
            bytes,
            checksum,
            header,
            slots,
            end,
            base,
            segments,
            n_known,
        };
        let (whole, rest) = store.lay_over(&log)?;
        store.check_rest(rest, log.len())?;
        log.truncate(whole);
        (store.log.records, store.log.rest) = (log, rest);
        Ok(store)
    }

    /// The labels that documents may have.
    pub fn labels(&self) -> &Classes {
        self.sets.as_ref().map_or(&self.header.classes, |sets| &sets.labels)
    }

    /// Checks that no valid record follows the log.
    fn check_rest(&self, rest: Rest, read: usize) -> Result<()> {
        match rest {
            Rest::Segment(end) if self.slots.is_torn && self.log.file_length > self.log.start + end => {
                Err(self.slots.damaged())
            }
            Rest::Segment(_) => Ok(()),
            _ if self.slots.is_torn => Err(self.slots.damaged()),
            _ => {
                let (limit, got) = (log::LIMIT as u64, read as u64);
                Reason::TooLarge { what: "bytes of log", limit, got }.unless(got <= limit)
            }
        }
    }

    /// Lays `log` over sections and segments, in place of any earlier log. Returns the length of its complete records,
    /// and what follows them.
    fn lay_over(&mut self, log: &[u8]) -> Result<(usize, Rest)> {
        let newest = self.segments.last().map(|segment| &segment.header);
        let mut totals = newest.map_or(&self.header.totals, |newest| &newest.totals).clone();
        let (n, got) = (self.header.totals.len(), totals.len());
        Error::ensure(got == n, "header of a segment", format_args!("totals of {n} labels"), got)?;
        let mut overlay =
            newest.map_or_else(Overlay::default, |newest| Overlay::over(newest.features, newest.changes));
        let mut vectors = newest.map_or(&self.header.vectors, |newest| &newest.vectors).clone();
        check_vectors(&vectors, &self.header.recipe, totals.len())?;
        let start = self.log.start as usize;
        let add = |entry| overlay.add(entry, &mut totals, &mut vectors);
        let read = log::read(log, start, self.checksum, self.n_known, add)?;
        (self.totals, self.vectors, self.overlay) = (totals, vectors, overlay);
        Ok(read)
    }

    /// Reads the log again, with the records `more` appended. Drops everything else that was laid over the file.
    pub fn reread(&mut self, more: &[u8]) -> Result<()> {
        let log = [&self.log.records, more].concat();
        self.lay_over(&log).map(|_| ())
    }

    /// Adds an entry that is not yet in the log on disk.
    pub fn add(&mut self, entry: LogEntry) -> Result<()> {
        self.overlay.add(entry, &mut self.totals, &mut self.vectors)
    }

    /// The immutable part of the file, before slots, segments and log.
    pub fn base(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// The valid bytes of the file.
    pub fn contents(&self) -> Vec<&[u8]> {
        let segments = self.segments.iter().map(|segment| &self.bytes[segment.range.clone()]);
        [self.base()].into_iter().chain(segments).chain([&self.log.records[..]]).collect()
    }

    /// The file as it was mapped or read.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing was learned or forgotten since the last rewrite.
    pub fn is_written_anew(&self) -> bool {
        self.segments.is_empty() && self.overlay.documents.is_empty()
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

    /// What was learned and forgotten, with the changes in segments and log.
    pub fn changes(&self) -> Changes {
        let Changes { since_training, since_fit, corrected } = self.header.changes;
        let (n, [.., n_corrected]) = (self.overlay.n_entries(), self.overlay.n_changes());
        Changes {
            since_training: since_training.saturating_add(n),
            since_fit: since_fit.saturating_add(n),
            corrected: corrected.saturating_add(n_corrected),
        }
    }

    /// The bias of each column of the correction, as fitted. Learning or forgetting one document does not change it,
    /// since that would move all other scores.
    pub fn bias(&self) -> &[i64] {
        self.header.scoring.bias()
    }

    /// Number of features: terms with non-zero counts.
    pub fn n_features(&self) -> u64 {
        (self.base.n_terms as u64).saturating_add_signed(self.overlay.features)
    }

    /// Whether a term of the vocabulary has counts; only terms in segments or log may have none.
    pub fn has_counts(&self, id: TermId) -> Result<bool> {
        let is_of_base = self.segments.is_empty() && (id as usize) < self.base.n_terms;
        Ok(is_of_base && !self.overlay.changes(id) || self.document_frequency(id)? > 0)
    }

    /// Visits the weights of a term in the order of classes.
    pub fn for_each_value(&self, id: TermId, visit: impl FnMut(ClassWeight)) -> Result<()> {
        self.values_of(id, self.runs(id)?, visit)
    }

    /// As [`for_each_value`](Self::for_each_value), given the term's entry in the file.
    #[inline]
    fn values_of(&self, id: TermId, runs: Runs<'_>, mut visit: impl FnMut(ClassWeight)) -> Result<()> {
        let n_classes = self.header.classes.len();
        if !self.overlay.changes(id) {
            return runs.for_each_weight(n_classes, visit);
        }
        let mut weights = Vec::new();
        runs.for_each_weight(n_classes, |weight| weights.push(weight))?;
        self.overlay.change_weights(id, &mut weights)?;
        weights.into_iter().for_each(&mut visit);
        Ok(())
    }

    /// A weight as a real number. If the counts are expected ones, its units are the bits of an `f32`.
    #[inline]
    pub(super) fn real_weight(&self, weight: ClassWeight) -> Result<f64> {
        if !self.header.scoring.has_expected_counts() {
            return Ok(weight.value());
        }
        let value = f64::from(f32::from_bits(weight.units as u32));
        let is_well = value.is_finite() && value >= 0.0;
        Error::ensure(is_well, "terms", "weights that are not negative", value)?;
        Ok(value)
    }

    /// Appends the counts and the weights of a term, given its entry in the file.
    #[inline]
    pub(super) fn read(
        &self,
        (id, runs): (TermId, Runs<'_>),
        cells: &mut Vec<Cell>,
        weights: &mut Vec<ClassWeight>,
    ) -> Result<()> {
        self.cells_of(id, runs, |cell| cells.push(cell))?;
        self.values_of(id, runs, |weight| weights.push(weight))
    }

    /// Visits the counts of a term, given its entry in the file.
    #[inline]
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
}

impl Store {
    /// The id of the term with this fingerprint.
    pub fn find(&self, fingerprint: u64) -> Result<Option<TermId>> {
        Ok(self.look_up(fingerprint)?.map(|(id, _)| id))
    }

    /// The id of the term with this fingerprint, and its entry in sections or segments, without the log.
    #[inline]
    pub(super) fn look_up(&self, fingerprint: u64) -> Result<Option<(TermId, Runs<'_>)>> {
        if let Some(found) = self.changed_since(fingerprint)? {
            return Ok(Some(found));
        }
        match self.base.find(&self.bytes, fingerprint)? {
            Some((place, group)) => Ok(Some((place as TermId, Runs::split(group.run(place % GROUP)?)?))),
            None => {
                let place = self.overlay.new_terms.find(fingerprint);
                Ok(place.map(|place| ((self.n_known + place) as TermId, Runs::default())))
            }
        }
    }

    /// The entry of a term in the newest segment that has it.
    #[inline]
    fn changed_since(&self, fingerprint: u64) -> Result<Option<(TermId, Runs<'_>)>> {
        for segment in self.segments.iter().rev() {
            if let Some((id, runs)) = segment.look_up(&self.bytes, fingerprint)? {
                let expected = format_args!("ids below {}", self.n_known);
                Error::ensure((id as usize) < self.n_known, "terms of a segment", expected, id)?;
                return Ok(Some((id, runs)));
            }
        }
        Ok(None)
    }

    /// The entry of a term in sections or segments, without the log; empty if there is none.
    pub(super) fn runs(&self, id: TermId) -> Result<Runs<'_>> {
        let place = id as usize;
        if place >= self.n_known {
            return Ok(Runs::default());
        }
        if !self.segments.is_empty()
            && let Some((_, runs)) = self.changed_since(self.fingerprint(id)?)?
        {
            return Ok(runs);
        }
        let is_of_base = place < self.base.n_terms;
        Error::ensure(is_of_base, "ids of a segment", "terms that it speaks of", "others")?;
        let (group, place) = self.base.group_at(&self.bytes, place)?;
        Runs::split(group.run(place)?)
    }

    /// The segment that introduced a term.
    fn brought(&self, id: usize) -> Option<&Segment> {
        let next = self.segments.partition_point(|segment| segment.new_ids().end <= id);
        self.segments.get(next).filter(|segment| segment.new_ids().contains(&id))
    }

    /// The fingerprint of a term.
    pub fn fingerprint(&self, id: TermId) -> Result<u64> {
        let id = id as usize;
        if let Some((fingerprint, _)) = self.logged(id) {
            return Ok(fingerprint);
        }
        match self.brought(id) {
            Some(segment) => segment.fingerprint(&self.bytes, id),
            None => self.base.fingerprint(&self.bytes, id),
        }
    }

    /// The text of a term.
    pub fn text(&self, id: TermId) -> Result<&str> {
        let id = id as usize;
        if let Some((_, text)) = self.logged(id) {
            return Ok(text);
        }
        let Some(segment) = self.brought(id) else { return self.base.text(&self.bytes, id) };
        let found = segment.part.find(&self.bytes, segment.fingerprint(&self.bytes, id)?)?;
        let (place, _) = found
            .ok_or_else(|| Error::inconsistent("ids of a segment", "terms that it speaks of", "others"))?;
        segment.part.text(&self.bytes, place)
    }

    /// Fingerprint and text of a term that the log introduced.
    fn logged(&self, id: usize) -> Option<(u64, &str)> {
        self.overlay.new_terms.get(id.checked_sub(self.n_known)?)
    }

    /// Touches the data that looking up these terms will read, so that cache misses overlap.
    pub fn touch(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        let segments = self.segments.iter().map(|segment| &segment.part);
        segments.chain([&self.base]).for_each(|part| part.touch(&self.bytes, fingerprints.clone()));
    }
}

/// Reads slots and log of a file whose sections end at `end` and whose header has the checksum `seed`. Also returns the
/// bytes of the file with all of its segments.
fn read_appended(
    bytes: ModelBytes,
    mapped: Option<MappedFile<'_>>,
    end: usize,
    seed: u32,
) -> Result<(ModelBytes, SegmentSlots, Vec<u8>)> {
    let read = |bytes: &ModelBytes, at: usize, most: usize| match mapped {
        Some(file) => file.read_from(at, most),
        None => Ok(bytes.get(at..).map_or_else(Vec::new, |rest| rest[..rest.len().min(most)].to_vec())),
    };
    let slots = || SegmentSlots::read(&read(&bytes, end, SegmentSlots::reach(end))?, end, seed);
    let slots = slots().and_then(|read| if read.is_torn { slots() } else { Ok(read) })?;
    let start = slots.log_start();
    let bytes = match mapped {
        Some(file) => file.map_more(bytes, start)?,
        None => bytes,
    };
    let log = read(&bytes, start, log::LIMIT + 1)?;
    Ok((bytes, slots, log))
}

impl Counts for Store {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.n_known + self.overlay.new_terms.len()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        self.cells_of(term, self.runs(term)?, visit)
    }
}

impl ClassWeights for Store {
    type Error = Error;

    fn for_each_weight(&self, term: TermId, mut visit: impl FnMut(ClassId, f64)) -> Result<()> {
        let mut outcome = Ok(());
        self.for_each_value(term, |weight| match self.real_weight(weight) {
            Ok(value) => visit(weight.class, value),
            Err(error) => outcome = Err(error),
        })?;
        outcome
    }
}
