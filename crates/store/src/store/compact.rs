//! Compaction: merges the log, and segments not much larger than it, into one segment.
//!
//! This keeps segments few, and the cost of compaction depends only on what was learned since the last rewrite.

use tamis_model::Cell;
use zerocopy::IntoBytes;

use crate::config::keep::Keep;
use crate::error::Result;
use crate::file::documents::{DocumentKey, DocumentRecord, Remembered, encode_coefficients, encode_vector};
use crate::file::terms::{Runs, TermSections, TermsWriter, limited};
use crate::file::{names, slots};
use crate::store::opened::Store;
use crate::store::segment::{self, Segment, SegmentHeader};

/// A segment is kept if it has at least this many times the terms of all later ones together.
const RATIO: usize = 4;

/// Approximate size of a term in a segment, in bytes.
const TERM_BYTES: usize = 24;

/// The newest source of an entry: the number of a segment, or [`LOG`].
type Newest = usize;
const LOG: Newest = usize::MAX;

impl Store {
    /// Returns how many segments stay when the others and the log are merged into one, and the approximate size of the
    /// merged segment in bytes, without the log's.
    pub fn kept_segments(&self) -> (usize, usize) {
        let (mut kept, mut terms) = (self.segments.len(), self.overlay.n_changed());
        let mut bytes = TERM_BYTES * terms;
        while let Some((last, segment)) = kept.checked_sub(1).map(|last| (last, &self.segments[last]))
            && (kept >= slots::MOST || segment.part.n_terms < RATIO.saturating_mul(terms))
        {
            (kept, terms, bytes) = (last, terms + segment.part.n_terms, bytes + segment.range.len());
        }
        (kept, bytes)
    }

    /// Merges the log and the segments from `kept` on into one segment.
    pub fn compacted(&self, kept: usize) -> Result<Vec<u8>> {
        let merged = &self.segments[kept..];
        let first_new = merged.first().map_or(self.n_known, |first| first.new_ids().start);
        let TermSections { directory, terms, texts, size } = self.compacted_terms(merged, first_new)?;
        let mut ids = Vec::new();
        for id in first_new..self.n_known + self.overlay.new_terms().len() {
            ids.extend_from_slice(&self.fingerprint(limited("terms", id as u64)?)?.to_le_bytes());
        }
        let (documents, vectors) = self.compacted_documents(merged)?;
        let (learned, forgotten) = self.overlay.learned_and_forgotten();
        let header = SegmentHeader {
            generation: self.slots.next_generation(),
            totals: self.totals.clone(),
            features: self.overlay.features(),
            learned,
            forgotten,
            first_new: first_new as u64,
            n_terms: size.terms,
            lengths: Default::default(),
        };
        segment::write(header, [&directory, &terms, &texts, &documents, &vectors, &ids], self.checksum)
    }

    fn compacted_terms(&self, merged: &[Segment], first_new: usize) -> Result<TermSections> {
        let mut known: Vec<(u64, Newest, &[u8])> = Vec::new();
        for (number, segment) in merged.iter().enumerate() {
            segment.part.for_each_run(&self.bytes, |print, run| known.push((print, number, run)))?;
        }
        for id in self.overlay.changed() {
            known.push((self.fingerprint(id)?, LOG, &[]));
        }
        known.sort_unstable_by_key(|(print, newest, _)| (*print, *newest));
        let mut writer = TermsWriter::default();
        for equal in known.chunk_by(|a, b| a.0 == b.0) {
            let [.., (print, newest, run)] = *equal else { continue };
            if newest == LOG {
                self.write_changed(print, first_new, &mut writer)?;
                continue;
            }
            let (id, _) = Runs::of_segment(run)?;
            let text = if id as usize >= first_new { self.text(id)? } else { "" };
            writer.push_run(print, text, run)?;
        }
        writer.finish()
    }

    /// Writes the current counts and weights of a term that the log changes.
    fn write_changed(&self, print: u64, first_new: usize, writer: &mut TermsWriter) -> Result<()> {
        let Some((id, runs)) = self.look_up(print)? else { return Ok(()) };
        let (mut cells, mut weights): (Vec<Cell>, Vec<_>) = (Vec::new(), Vec::new());
        self.cells_of(id, runs, |cell| cells.push(cell))?;
        self.values_of(id, runs, |class, units| {
            weights.push((class, units));
            Ok(())
        })?;
        let text = if id as usize >= first_new { self.text(id)? } else { "" };
        writer.push_changed(id, print, text, cells.into_iter(), weights.into_iter())
    }

    /// Writes the sections `documents` and `vectors`.
    fn compacted_documents(&self, merged: &[Segment]) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut known: Vec<(DocumentKey, Newest, usize)> = Vec::new();
        for (number, segment) in merged.iter().enumerate() {
            for i in 0..segment.part.n_documents() {
                known.push((segment.part.record(&self.bytes, i)?.key(), number, i));
            }
        }
        known.extend(self.overlay.documents().keys().map(|key| (*key, LOG, 0)));
        known.sort_unstable();
        let (mut records, mut vectors) = (Vec::new(), Vec::new());
        for equal in known.chunk_by(|a, b| a.0 == b.0) {
            let [.., (key, newest, i)] = *equal else { continue };
            let record = match merged.get(newest) {
                Some(segment) => {
                    vectors.extend_from_slice(segment.part.vector(&self.bytes, i)?);
                    DocumentRecord {
                        vector_end: (vectors.len() as u64).into(),
                        ..*segment.part.record(&self.bytes, i)?
                    }
                }
                None => match self.overlay.documents().get(&key).and_then(Option::as_ref) {
                    Some(logged) => {
                        let document = logged.document()?;
                        self.encode_kept(&document, &mut vectors);
                        document.record(vectors.len() as u64)
                    }
                    None => DocumentRecord::forgotten(key, vectors.len() as u64),
                },
            };
            records.extend_from_slice(record.as_bytes());
        }
        Ok((records, vectors))
    }

    /// Appends the stored terms and name of a document.
    fn encode_kept(&self, document: &Remembered, vectors: &mut Vec<u8>) {
        names::encode(&document.name, vectors);
        if self.header.scoring.has_coefficients() {
            encode_coefficients(&document.coefficients, vectors);
        }
        if self.header.stored.keep == Keep::Vectors {
            encode_vector(document.vector.row(), vectors);
        }
    }
}
