//! Compaction: merges the log, and segments not much larger than it, into one segment.
//!
//! This keeps segments few, and the cost of compaction depends only on what was learned since the last rewrite.

use zerocopy::IntoBytes;

use crate::config::recipe::Keep;
use crate::error::Result;
use crate::file::documents::{
    DocumentRecord, StoredDocument, encode_coefficients, encode_dense, encode_name, encode_vector,
};
use crate::file::header::ModelHeader;
use crate::file::slots;
use crate::file::terms::{Runs, TermSections, TermsWriter, limited};
use crate::store::documents::DocumentState;
use crate::store::opened::Store;
use crate::store::segment::{self, Segment, SegmentHeader};

/// A segment is kept if it has at least this many times the terms of all later ones together.
const RATIO: usize = 4;

/// Approximate size of a term in a segment, in bytes.
const TERM_BYTES: usize = 24;

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
        for id in first_new..self.n_known + self.overlay.new_terms.len() {
            ids.extend_from_slice(&self.fingerprint(limited("terms", id as u64)?)?.to_le_bytes());
        }
        let (documents, vectors) = self.compacted_documents(merged)?;
        let changes = self.overlay.n_changes();
        let header = SegmentHeader {
            generation: self.slots.generation + 1,
            totals: self.totals.clone(),
            vectors: self.vectors.clone(),
            features: self.overlay.features,
            changes,
            first_new: first_new as u64,
            n_terms: size.terms,
            lengths: Default::default(),
        };
        segment::write(header, [&directory, &terms, &texts, &documents, &vectors, &ids], self.checksum)
    }

    fn compacted_terms(&self, merged: &[Segment], first_new: usize) -> Result<TermSections> {
        // the newest first; those of the log have no run
        let mut known: Vec<(u64, Option<&[u8]>)> = Vec::new();
        for id in self.overlay.changed() {
            known.push((self.fingerprint(id)?, None));
        }
        for segment in merged.iter().rev() {
            segment.part.for_each_run(&self.bytes, |print, run| known.push((print, Some(run))))?;
        }
        known.sort_by_key(|(print, _)| *print);
        known.dedup_by_key(|(print, _)| *print);
        let mut writer = TermsWriter::default();
        for (print, run) in known {
            let Some(run) = run else {
                self.write_changed(print, first_new, &mut writer)?;
                continue;
            };
            let (id, _) = Runs::split_segment(run)?;
            let text = if id as usize >= first_new { self.text(id)? } else { "" };
            writer.push_run(print, text, run)?;
        }
        writer.finish()
    }

    /// Writes the current counts and weights of a term that the log changes.
    fn write_changed(&self, print: u64, first_new: usize, writer: &mut TermsWriter) -> Result<()> {
        let Some((id, runs)) = self.look_up(print)? else { return Ok(()) };
        let (mut cells, mut weights) = (Vec::new(), Vec::new());
        self.read((id, runs), &mut cells, &mut weights)?;
        let weights = weights.into_iter().map(|weight| (weight.class, weight.units));
        let text = if id as usize >= first_new { self.text(id)? } else { "" };
        writer.begin_changed(id);
        writer.push(print, text, cells.into_iter(), weights)
    }

    /// Writes the sections `documents` and `vectors`.
    fn compacted_documents(&self, merged: &[Segment]) -> Result<(Vec<u8>, Vec<u8>)> {
        let (mut records, mut vectors) = (Vec::new(), Vec::new());
        for (key, state) in self.changed_documents(merged)? {
            let record = match state {
                DocumentState::Recorded(part, i) => {
                    vectors.extend_from_slice(part.vector(&self.bytes, i)?);
                    let vector_end = (vectors.len() as u64).into();
                    DocumentRecord { vector_end, ..*part.record(&self.bytes, i)? }
                }
                DocumentState::Logged(Some(logged)) => {
                    let document = logged.document()?;
                    self.header.encode_document(&document, &mut vectors)
                }
                DocumentState::Logged(None) => DocumentRecord::forgotten(key, vectors.len() as u64),
            };
            records.extend_from_slice(record.as_bytes());
        }
        Ok((records, vectors))
    }
}

impl ModelHeader {
    /// Appends what a model with this header stores of a document: name, coefficients and terms. Returns its record.
    pub fn encode_document(&self, document: &StoredDocument, vectors: &mut Vec<u8>) -> DocumentRecord {
        encode_name(if self.stored.names { &document.name } else { "" }, vectors);
        if self.scoring.has_coefficients() {
            encode_coefficients(&document.coefficients, vectors);
        }
        if self.stored.keep == Keep::Vectors {
            if self.recipe.vectors.is_some() {
                encode_dense(&document.dense, vectors);
            }
            encode_vector(document.vector.row(), vectors);
        }
        document.record(vectors.len() as u64)
    }
}
