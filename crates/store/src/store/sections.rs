//! The sections of a file or segment, read in place: terms by fingerprint, documents by digest.

use std::ops::Range;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::error::{Error, Result};
use crate::file::container::Section;
use crate::file::documents::{DocumentKey, DocumentRecord};
use crate::file::terms::{GROUP, GroupRecord, NEAR, TermGroup, prefix, take_run};

/// The five sections of terms and documents, each sorted.
pub(super) struct FileSections {
    directory: Section,
    terms: Section,
    texts: Section,
    documents: Section,
    vectors: Section,
    pub(super) n_terms: usize,
}

impl FileSections {
    /// Creates sections of `n_terms` terms, given in the order of the file.
    pub(super) fn new(
        [directory, terms, texts, documents, vectors]: [Section; 5],
        n_terms: usize,
    ) -> Result<Self> {
        entries::<DocumentRecord>(&documents)?;
        let n_groups = entries::<GroupRecord>(&directory)?;
        let expected = format_args!("groups of {n_terms} terms");
        Error::ensure(n_groups == n_terms.div_ceil(GROUP), directory.name(), expected, n_groups)?;
        Ok(FileSections { directory, terms, texts, documents, vectors, n_terms })
    }

    pub(super) fn sections(&self) -> [&Section; 5] {
        [&self.directory, &self.terms, &self.texts, &self.documents, &self.vectors]
    }

    pub(super) fn n_documents(&self) -> usize {
        self.documents.len() / size_of::<DocumentRecord>()
    }

    /// The entry of the document at a position.
    pub(super) fn record<'a>(&self, file: &'a [u8], i: usize) -> Result<&'a DocumentRecord> {
        entry(&self.documents, file, i)
    }

    /// The stored vector and name of the document at a position.
    pub(super) fn vector<'a>(&self, file: &'a [u8], i: usize) -> Result<&'a [u8]> {
        let before = i.checked_sub(1).map(|before| self.record(file, before)).transpose()?;
        let start = before.map_or(0, |before| before.vector_end.get() as usize);
        self.vectors.get(file, start..self.record(file, i)?.vector_end.get() as usize)
    }

    /// The position of a document.
    pub(super) fn find_document(&self, file: &[u8], key: DocumentKey) -> Result<Option<usize>> {
        let (mut low, mut high) = (0, self.n_documents());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.record(file, middle)?.key().cmp(&key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
            }
        }
        Ok(None)
    }

    /// An entry of the directory.
    pub(super) fn group_record<'a>(&self, file: &'a [u8], g: usize) -> Result<&'a GroupRecord> {
        entry(&self.directory, file, g)
    }

    /// The position of the term with this fingerprint, and its group.
    #[inline]
    pub(super) fn find<'a>(
        &self,
        file: &'a [u8],
        fingerprint: u64,
    ) -> Result<Option<(usize, TermGroup<'a>)>> {
        let Some((g, group)) = self.group_of(file, fingerprint)? else { return Ok(None) };
        let place = group.fingerprints.iter().position(|print| print.get() == fingerprint);
        Ok(place.map(|place| (g * GROUP + place, group)))
    }

    /// The last group that begins at or before a fingerprint, by interpolation search. Fingerprints are uniform, so the
    /// guess is nearly always within a few entries. A binary search would touch blocks all over the directory.
    #[inline]
    fn group_of<'a>(&self, file: &'a [u8], fingerprint: u64) -> Result<Option<(usize, TermGroup<'a>)>> {
        let (n, prefix) = (self.n_groups(), prefix(fingerprint));
        if n == 0 {
            return Ok(None);
        }
        let guess = self.guess(file, fingerprint);
        let Range { mut start, mut end } = self.around(guess);
        let mut step = NEAR;
        let records = loop {
            let records = self.records(file, start..end)?;
            let [first, last] =
                [records.first(), records.last()].map(|record| record.map_or(prefix, |r| r.prefix.get()));
            // keep every group with the same prefix in the window
            if end < n && last <= prefix {
                start = if last < prefix { end - 1 } else { start };
                end = n.min(end + step);
            } else if start > 0 && first >= prefix {
                end = if first > prefix { start + 1 } else { end };
                start = start.saturating_sub(step);
            } else {
                break records;
            }
            step *= 2;
        };
        let mut next = records.partition_point(|record| record.prefix.get() < prefix);
        if records.get(next).is_some_and(|record| record.prefix.get() == prefix) {
            let beyond = records.partition_point(|record| record.prefix.get() <= prefix);
            next = self.first_beyond(file, fingerprint, start + next..start + beyond)? - start;
        }
        let Some(g) = next.checked_sub(1) else { return Ok(None) };
        let group = match records.get(g..g + 2) {
            Some(records) => self.group_between(file, start + g, records),
            None => self.group(file, start + g),
        };
        Ok(Some((start + g, group?)))
    }

    /// Estimates the position of the last group that begins at or before a fingerprint. The search only starts there,
    /// so the entry read for it needs no verification.
    #[inline]
    fn guess(&self, file: &[u8], fingerprint: u64) -> usize {
        let (n, prefix) = (self.n_groups(), prefix(fingerprint));
        let first = ((u128::from(fingerprint) * n as u128) >> 64) as usize;
        let start = first * size_of::<GroupRecord>();
        let record = self.directory.unchecked(file, start..start + size_of::<GroupRecord>());
        let record = record.and_then(|record| GroupRecord::read_from_bytes(record).ok());
        let off = i64::from(prefix) - record.map_or(0, |record| i64::from(record.prefix.get()));
        // both are below 2^32 in magnitude, so the product fits; the sum is clamped to the groups
        (first as i64 + ((off * n as i64) >> 32)).clamp(0, n as i64 - 1) as usize
    }

    /// The groups with entries in the same block as the guess.
    #[inline]
    fn around(&self, guess: usize) -> Range<usize> {
        let start = guess - guess % NEAR;
        start..self.n_groups().min(start + NEAR)
    }

    /// Touches the data that looking up these terms will read, so that cache misses overlap.
    pub(super) fn touch(&self, file: &[u8], fingerprints: impl Iterator<Item = u64> + Clone) {
        let size = size_of::<GroupRecord>();
        if self.n_groups() == 0 {
            return;
        }
        let guesses: Vec<_> = fingerprints.clone().map(|fingerprint| self.guess(file, fingerprint)).collect();
        for guess in &guesses {
            self.directory.touch(file, guess * size);
        }
        for (fingerprint, guess) in fingerprints.zip(guesses) {
            let Range { start, end } = self.around(guess);
            let records = self.directory.unchecked(file, start * size..end * size);
            let records =
                records.and_then(|records| <[GroupRecord]>::ref_from_bytes(records).ok()).unwrap_or_default();
            let next = records.partition_point(|record| record.prefix.get() <= prefix(fingerprint));
            if let Some(record) = next.checked_sub(1).and_then(|g| records.get(g)) {
                self.terms.touch(file, record.start.get() as usize);
            }
        }
    }

    /// The first of `groups` that begins beyond the fingerprint, or their end. All of them have its prefix.
    #[cold]
    fn first_beyond(&self, file: &[u8], fingerprint: u64, groups: Range<usize>) -> Result<usize> {
        let Range { start: mut low, end: mut high } = groups;
        while low < high {
            let middle = low + (high - low) / 2;
            let begins_up_to = |first: &U64| first.get() <= fingerprint;
            if self.group(file, middle)?.fingerprints.first().is_some_and(begins_up_to) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Entries of the directory.
    #[inline]
    fn records<'a>(&self, file: &'a [u8], groups: Range<usize>) -> Result<&'a [GroupRecord]> {
        let size = size_of::<GroupRecord>();
        let bytes = self.directory.get(file, groups.start * size..groups.end * size)?;
        <[GroupRecord]>::ref_from_bytes(bytes)
            .map_err(|_| Error::inconsistent(self.directory.name(), groups.len() * size, bytes.len()))
    }

    pub(super) fn n_groups(&self) -> usize {
        self.n_terms.div_ceil(GROUP)
    }

    #[inline]
    pub(super) fn group<'a>(&self, file: &'a [u8], g: usize) -> Result<TermGroup<'a>> {
        self.group_between(file, g, self.records(file, g..self.n_groups().min(g + 2))?)
    }

    /// A group, given its directory entry and the next one, if there is one.
    #[inline]
    fn group_between<'a>(&self, file: &'a [u8], g: usize, records: &[GroupRecord]) -> Result<TermGroup<'a>> {
        let start = |record: &GroupRecord| record.start.get() as usize;
        let range = records.first().map_or(0, start)..records.get(1).map_or(self.terms.len(), start);
        let bytes = self.terms.get(file, range)?;
        let n = GROUP.min(self.n_terms.saturating_sub(g * GROUP));
        let parts = U32::read_from_prefix(bytes).ok().and_then(|(text_start, rest)| {
            let (fingerprints, runs) = <[U64]>::ref_from_prefix_with_elems(rest, n).ok()?;
            Some(TermGroup { text_start: text_start.get(), fingerprints, runs })
        });
        parts.ok_or_else(|| Error::inconsistent("terms", format!("a group of {n} terms"), bytes.len()))
    }

    /// The group of the term at a position, and its index in the group.
    pub(super) fn group_at<'a>(&self, file: &'a [u8], place: usize) -> Result<(TermGroup<'a>, usize)> {
        Ok((self.group(file, place / GROUP)?, place % GROUP))
    }

    /// The fingerprint of the term at a position.
    pub(super) fn fingerprint(&self, file: &[u8], place: usize) -> Result<u64> {
        let (group, at) = self.group_at(file, place)?;
        let fingerprint = group.fingerprints.get(at).map(|print| print.get());
        fingerprint.ok_or_else(|| Error::inconsistent("terms", format!("a term {place}"), self.n_terms))
    }

    /// Visits the fingerprint and the run of every term.
    pub(super) fn for_each_run<'a>(
        &self,
        file: &'a [u8],
        mut visit: impl FnMut(u64, &'a [u8]),
    ) -> Result<()> {
        for g in 0..self.n_groups() {
            let mut group = self.group(file, g)?;
            for print in group.fingerprints {
                visit(print.get(), group.take_run()?);
            }
        }
        Ok(())
    }

    /// The texts of a group.
    pub(super) fn texts<'a>(&self, file: &'a [u8], g: usize) -> Result<&'a [u8]> {
        let start = self.group(file, g)?.text_start as usize;
        let is_last = g + 1 == self.n_groups();
        let end = if is_last { self.texts.len() } else { self.group(file, g + 1)?.text_start as usize };
        self.texts.get(file, start..end)
    }

    /// The text of the term at a position.
    pub(super) fn text<'a>(&self, file: &'a [u8], place: usize) -> Result<&'a str> {
        let mut texts = self.texts(file, place / GROUP)?;
        let text = (0..=place % GROUP).try_fold(&[][..], |_, _| take_run(&mut texts));
        let text =
            text.ok_or_else(|| Error::inconsistent("texts", "a text of every term", "too few bytes"))?;
        std::str::from_utf8(text).map_err(|e| Error::inconsistent("texts", "UTF-8", e))
    }
}

/// The entry at position `i` of a section.
pub(super) fn entry<'a, T: FromBytes + KnownLayout + Immutable + Unaligned>(
    section: &Section,
    file: &'a [u8],
    i: usize,
) -> Result<&'a T> {
    let size = size_of::<T>();
    let bytes = section.get(file, i * size..(i + 1) * size)?;
    T::ref_from_bytes(bytes).map_err(|_| Error::inconsistent(section.name(), size, bytes.len()))
}

/// The number of entries in a section, whose length must be a multiple of the size of an entry.
pub(super) fn entries<T>(section: &Section) -> Result<usize> {
    let size = size_of::<T>();
    let (expected, got) = (format_args!("whole entries of {size} bytes"), section.len());
    Error::ensure(got.is_multiple_of(size), section.name(), expected, got)?;
    Ok(section.len() / size)
}
