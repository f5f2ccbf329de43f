//! Verification of a model file: checksums, and consistency of its sections. A copy of it is verified too.

use std::borrow::Cow;
use std::ops::Range;

use tamis_model::{Cell, ClassWeights, Correction, Counts, Statistics, VectorStatistics};
use tamis_tokenizer::{TermId, fingerprint};
use zerocopy::little_endian::U32;

use crate::config::recipe::Keep;
use crate::disk::spool::{Spool, spill};
use crate::error::{Error, Reason, Result};
use crate::file::documents::DocumentRecord;
use crate::file::fitted::{FittedScoring, columns_of_terms, summarize_columns};
use crate::file::header;
use crate::file::terms::{Runs, Size, fingerprint_of, take_run};
use crate::store::opened::Store;
use crate::store::sections::FileSections;
use crate::store::segment::Segment;

impl Store {
    /// Checks every checksum, then the consistency of the sections.
    pub fn verify(&self) -> Result<()> {
        self.check_all(&self.bytes)?;
        self.verify_terms()?;
        self.segments.iter().try_for_each(|segment| self.verify_segment(segment))?;
        let statistics = self.statistics()?;
        let are_equal = statistics.totals() == self.totals;
        Error::ensure(are_equal, "terms", "sums equal to the header's totals", "other sums")?;
        let (expected, got) = (self.n_features(), statistics.n_features() as u64);
        Error::ensure(expected == got, "log", expected, got)?;
        if let FittedScoring::NaiveBayes { parameters, summary } = &self.header.scoring {
            let Ok(expected) = parameters.summarize(&statistics);
            let is_equal = *summary == expected;
            Error::ensure(is_equal, "header", "the summary of the counts", "another summary")?;
        }
        if let Some(table) = self.header.scoring.table() {
            let recipe = &self.header.recipe;
            let columns = columns_of_terms(recipe, &statistics, |id| self.text(id))?;
            let groups = summarize_columns(recipe, &statistics, &columns);
            table.verify(&recipe.columns, &self.header.totals, &groups)?;
        }
        self.verify_documents(&statistics)
    }

    /// All counts in memory, including those of the log.
    pub fn statistics(&self) -> Result<Statistics> {
        let documents = self.totals.iter().map(|t| t.documents);
        let mut statistics = Statistics::with_documents(documents);
        for id in 0..self.n_terms() as TermId {
            let mut pushed = Ok(());
            self.for_each_cell(id, |cell| {
                if pushed.is_ok() {
                    pushed = statistics.push_cell(id, cell);
                }
            })?;
            pushed?;
        }
        Ok(statistics)
    }

    /// Checks the numbers of terms, cells and weights against the header, and that each term has its text.
    fn verify_terms(&self) -> Result<()> {
        let mut size = Size::default();
        self.base.verify_groups(&self.bytes, |print, text, run| {
            verify_text(print, text)?;
            size.add(self.verify_runs(Runs::split(run)?)?);
            Ok(())
        })?;
        let got = self.header.size;
        Error::ensure(size == got, "header", format_args!("{size:?}"), format_args!("{got:?}"))
    }

    /// Checks the cells and weights of a term, and counts them.
    fn verify_runs(&self, runs: Runs<'_>) -> Result<Size> {
        let mut size = Size { terms: 1, ..Size::default() };
        runs.for_each_cell(self.header.totals.len(), |_| size.cells += 1)?;
        runs.for_each_weight(self.header.classes.len(), |_| size.weights += 1)?;
        Ok(size)
    }

    /// Checks that known terms have their ids, that new terms occur in no earlier part and have their text, and that
    /// digests increase strictly.
    fn verify_segment(&self, segment: &Segment) -> Result<()> {
        let (new, mut n_new) = (segment.new_ids(), 0);
        let ensure = |is_well, expected: &str| Error::ensure(is_well, "ids of a segment", expected, "others");
        segment.part.verify_groups(&self.bytes, |print, text, run| {
            let (id, runs) = Runs::split_segment(run)?;
            self.verify_runs(runs)?;
            let is_right = (id as usize) < new.end && self.fingerprint(id)? == print;
            ensure(is_right, "those of its terms")?;
            if !new.contains(&(id as usize)) {
                return ensure(text.is_some_and(<[u8]>::is_empty), "texts of new terms only");
            }
            n_new += 1;
            let is_new = self.base.find(&self.bytes, print)?.is_none();
            ensure(is_new, "new terms that no other section knows")?;
            verify_text(print, text)
        })?;
        ensure(n_new == new.len(), "new terms that it speaks of")?;
        for i in 1..segment.part.n_documents() {
            let [before, key] =
                [i - 1, i].map(|i| segment.part.record(&self.bytes, i).map(DocumentRecord::key));
            Error::ensure(before? < key?, "documents of a segment", "increasing digests", "others")?;
        }
        Ok(())
    }

    /// Checks that digests increase strictly, that each class has as many documents as counted, and that their terms
    /// sum to the counts. There may be fewer documents if only digests are kept or some were never stored, and smaller
    /// sums in the latter case.
    fn verify_documents(&self, statistics: &Statistics) -> Result<()> {
        let n_classes = self.header.totals.len();
        let mut documents = vec![0u64; n_classes];
        let mut counted = Statistics::new(n_classes);
        let mut correction = Correction::default();
        let mut vectors = self.vectors.as_ref().map(VectorStatistics::emptied);
        let mut before = None;
        for document in self.documents() {
            let document = document?;
            let key = (document.digest, document.class);
            let is_next = before.is_none_or(|before| before < key);
            Error::ensure(is_next, "documents", "increasing digests", format_args!("{:02x?}", key.0))?;
            before = Some(key);
            let Some(count) = documents.get_mut(usize::from(document.class)) else {
                let expected = format_args!("a class below {n_classes}");
                return Err(Error::inconsistent("documents", expected, document.class));
            };
            *count += u64::from(document.multiplicity);
            counted.observe_times(document.class, document.vector.row(), document.multiplicity)?;
            correction.add(document.vector.row(), &document.coefficients)?;
            if let Some(vectors) = vectors.as_mut().filter(|_| !document.dense.is_empty()) {
                vectors.observe_times(document.class, &document.dense, document.multiplicity)?;
            }
        }
        let keeps_terms = self.header.stored.keep == Keep::Vectors;
        let is_well = !keeps_terms || vectors == self.vectors;
        Error::ensure(is_well, "vectors", "dense vectors that add up to their statistics", "others")?;
        let expected: Vec<u64> = self.totals.iter().map(|t| t.documents).collect();
        // an imported model may lack its documents, but has those it learned since
        let is_part = documents.iter().zip(&expected).all(|(known, counted)| known <= counted);
        let may_lack = !keeps_terms || self.header.unremembered;
        let is_well = documents == expected || is_part && may_lack;
        let (expected, got) = (format_args!("{expected:?} a class"), format_args!("{documents:?}"));
        Error::ensure(is_well, "documents", expected, got)?;
        let adds_up =
            if self.header.unremembered { is_within(&counted, statistics) } else { counted == *statistics };
        let is_well = adds_up || !keeps_terms;
        Error::ensure(is_well, "vectors", "terms that add up to the counts", "others")?;
        let n_terms = if keeps_terms { self.n_terms() as TermId } else { 0 };
        (0..n_terms).try_for_each(|id| self.verify_weights(id, &correction))
    }

    /// Checks that the weights of a term are the sums of its documents' coefficients.
    fn verify_weights(&self, id: TermId, correction: &Correction) -> Result<()> {
        if self.header.scoring.has_expected_counts() {
            return self.for_each_weight(id, |_, _| ());
        }
        let mut got = Vec::new();
        self.for_each_value(id, |weight| got.push(weight))?;
        let expected: Vec<_> = correction.weights(id).collect();
        Error::ensure(got == expected, "terms", format_args!("{expected:?}"), format_args!("{got:?}"))
    }
}

/// Bytes copied at a time.
const AT_ONCE: usize = 1 << 20;

impl Store {
    /// Returns the file as it was when opened, log included, with nothing that was written to it since. The copy is
    /// checked. `read` returns the bytes of a range of the file.
    pub fn copy<'a>(&self, read: impl Fn(Range<usize>) -> Result<Cow<'a, [u8]>>) -> Result<Spool> {
        let mut whole = Spool::default();
        let copy = |range: Range<usize>, whole: &mut Spool| {
            range.clone().step_by(AT_ONCE).try_for_each(|start| {
                let end = range.end.min(start + AT_ONCE);
                let bytes = read(start..end)?;
                let (expected, got) = (range.end as u64, (start + bytes.len()) as u64);
                Reason::Length { expected, got }.unless(bytes.len() >= end - start)?;
                whole.push(&bytes).map_err(spill)
            })
        };
        copy(0..self.end, &mut whole)?;
        let (start, log) = (self.log.start as usize, &self.log.records);
        if !self.segments.is_empty() || !log.is_empty() {
            // the file's own slots may name segments written since
            let slots = self.slots.to_bytes(self.end, self.checksum);
            whole.push(&slots).map_err(spill)?;
            copy(self.end + slots.len()..start, &mut whole)?;
            whole.push(log).map_err(spill)?;
        }
        let map = whole.map().map_err(spill)?;
        self.check_all(map.as_deref().or(whole.in_memory()).unwrap_or_default())?;
        Ok(whole)
    }

    /// Checks that `bytes` have this model's header and segments, and verifies every checksum of the sections.
    pub fn check_all(&self, bytes: &[u8]) -> Result<()> {
        let (expected, got) = (self.checksum, header::checksum(bytes)?);
        Reason::Checksum { part: "header", offset: 0, expected, got }.unless(got == expected)?;
        self.segments.iter().try_for_each(|segment| segment.check_header(bytes, self.checksum))?;
        let of_segments = self.segments.iter().flat_map(Segment::sections);
        self.base.sections().into_iter().chain(of_segments).try_for_each(|section| section.verify(bytes))
    }
}

impl FileSections {
    /// Checks that groups follow one another without gaps and that fingerprints increase strictly. Visits the
    /// fingerprint, text and run of each term.
    fn verify_groups(
        &self,
        file: &[u8],
        mut visit: impl FnMut(u64, Option<&[u8]>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut before = None;
        let (mut start, mut text_start) = (0, 0);
        for g in 0..self.n_groups() {
            let record = self.group_record(file, g)?;
            let (group, mut texts) = (self.group(file, g)?, self.texts(file, g)?);
            let first = group.fingerprints.first().map(|print| (print.get() >> 32) as u32);
            let expected =
                (Some(record.prefix.get()), record.start.get() as usize, group.text_start as usize);
            let (is_next, got) = ((first, start, text_start) == expected, format_args!("group {g}"));
            Error::ensure(is_next, "directory", "groups one after another", got)?;
            start += size_of::<U32>() + size_of_val(group.fingerprints) + group.runs.len();
            text_start += texts.len();
            let mut runs = group.runs;
            for print in group.fingerprints.iter().map(|print| print.get()) {
                let is_next = before.is_none_or(|before| before < print);
                Error::ensure(is_next, "terms", "increasing fingerprints", format_args!("{print:016x}"))?;
                before = Some(print);
                visit(print, take_run(&mut texts), take_run(&mut runs).unwrap_or_default())?;
            }
            let is_end = runs.is_empty() && texts.is_empty();
            Error::ensure(is_end, "terms", "nothing after the last term", got)?;
        }
        let [_, terms, texts, ..] = self.sections();
        let (expected, got) = ((start, text_start), (terms.len(), texts.len()));
        Error::ensure(got == expected, "header", format_args!("{expected:?}"), format_args!("{got:?}"))
    }
}

/// Checks that a text has this fingerprint, or says that it is known by its fingerprint alone.
fn verify_text(print: u64, text: Option<&[u8]>) -> Result<()> {
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    let got = text.map(fingerprint);
    if got != Some(print) && text.map(fingerprint_of) != Some(print) {
        // never the term itself, which may come from someone's mail
        let expected = format!("a term of fingerprint {print:016x}");
        let got = got.map_or("none".to_owned(), |got| format!("one of {got:016x}"));
        return Err(Error::inconsistent("texts", expected, got));
    }
    Ok(())
}
/// Whether no count exceeds that of the same term and class in `others`.
fn is_within(counts: &Statistics, others: &Statistics) -> bool {
    let is_at_most =
        |cell: &Cell, other: &Cell| cell.class == other.class && cell.df <= other.df && cell.tf <= other.tf;
    (0..counts.n_terms() as TermId)
        .all(|id| counts.cells(id).all(|cell| others.cells(id).any(|other| is_at_most(&cell, &other))))
}
