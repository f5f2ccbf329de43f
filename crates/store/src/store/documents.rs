//! The stored documents of a model, in sections, segments and the log.

use std::collections::BTreeMap;

use crate::config::recipe::Keep;
use crate::error::{Error, Result};
use crate::file::documents::{
    DocumentKey, DocumentRecord, StoredDocument, decode_coefficients, decode_dense, decode_name,
    decode_vector,
};
use crate::store::opened::Store;
use crate::store::overlay::LogDocument;
use crate::store::sections::FileSections;
use crate::store::segment::Segment;

/// Where the state of a document is.
#[derive(Clone, Copy)]
pub(super) enum DocumentState<'a> {
    /// At this position of sections or a segment.
    Recorded(&'a FileSections, usize),
    /// In the log; `None` if it was forgotten.
    Logged(&'a Option<LogDocument>),
}

impl Store {
    /// The number of documents, log included.
    pub fn n_documents(&self) -> usize {
        self.base.n_documents().saturating_add_signed(self.overlay.n_documents() as isize)
    }

    /// Whether the terms of a known document are stored. In the log they always are.
    pub fn has_vector(&self, key: DocumentKey) -> bool {
        self.header.stored.keep == Keep::Vectors || self.overlay.documents.contains_key(&key)
    }

    /// The parts that have documents, oldest first. Later parts override earlier ones.
    fn parts(&self) -> impl DoubleEndedIterator<Item = &FileSections> {
        std::iter::once(&self.base).chain(self.segments.iter().map(|segment| &segment.part))
    }

    /// Returns the stored document with this digest and class.
    pub fn document(&self, key: DocumentKey) -> Result<Option<StoredDocument>> {
        if let Some(state) = self.overlay.documents.get(&key) {
            return state.as_ref().map(LogDocument::document).transpose();
        }
        for part in self.parts().rev() {
            if let Some(i) = part.find_document(&self.bytes, key)? {
                return self.recorded_at(part, i);
            }
        }
        Ok(None)
    }

    /// Visits the message and digest of every stored document, in no particular order. Includes some that were
    /// forgotten since.
    pub fn for_each_message(&self, mut visit: impl FnMut(u64, [u8; 16])) -> Result<()> {
        for part in self.parts() {
            for i in 0..part.n_documents() {
                let record = part.record(&self.bytes, i)?;
                visit(record.message.get(), record.digest);
            }
        }
        self.overlay.documents.values().flatten().try_for_each(|known| {
            let StoredDocument { message, digest, .. } = known.document()?;
            visit(message, digest);
            Ok(())
        })
    }

    /// The stored documents in the order of digests. Their vectors are empty if only digests are kept.
    pub fn documents(&self) -> impl Iterator<Item = Result<StoredDocument>> + '_ {
        let (mut at, mut changed) = (0, None);
        let mut next = move || -> Result<Option<StoredDocument>> {
            let changed = match &mut changed {
                Some(changed) => changed,
                none => none.insert(self.changed_documents(&self.segments)?.into_iter().peekable()),
            };
            loop {
                let is_left = at < self.base.n_documents();
                let key = if is_left { Some(self.base.record(&self.bytes, at)?.key()) } else { None };
                let state = match changed.next_if(|(of, _)| key.is_none_or(|key| *of <= key)) {
                    Some((of, state)) => {
                        at += usize::from(key == Some(of));
                        state
                    }
                    None if is_left => {
                        at += 1;
                        DocumentState::Recorded(&self.base, at - 1)
                    }
                    None => return Ok(None),
                };
                let document = match state {
                    DocumentState::Recorded(part, i) => self.recorded_at(part, i)?,
                    DocumentState::Logged(state) => state.as_ref().map(LogDocument::document).transpose()?,
                };
                if document.is_some() {
                    return Ok(document);
                }
            }
        };
        let mut has_failed = false;
        std::iter::from_fn(move || {
            let document = if has_failed { None } else { next().transpose() };
            has_failed |= matches!(document, Some(Err(_)));
            document
        })
    }

    /// The documents in the log and in `segments`, in the order of digests, each in its newest state.
    pub(super) fn changed_documents<'a>(
        &'a self,
        segments: &'a [Segment],
    ) -> Result<Vec<(DocumentKey, DocumentState<'a>)>> {
        let logged = self.overlay.documents.iter();
        let mut changed: Vec<_> = logged.map(|(key, state)| (*key, DocumentState::Logged(state))).collect();
        for Segment { part, .. } in segments.iter().rev() {
            for i in 0..part.n_documents() {
                changed.push((part.record(&self.bytes, i)?.key(), DocumentState::Recorded(part, i)));
            }
        }
        // stable, so that of equal documents the newest comes first
        changed.sort_by_key(|(key, _)| *key);
        changed.dedup_by_key(|(key, _)| *key);
        Ok(changed)
    }

    /// The stored documents that can be read, in the order of digests. If the newest state of a document cannot be
    /// read, an older one takes its place.
    pub fn readable_documents(&self) -> Vec<StoredDocument> {
        let mut found: BTreeMap<DocumentKey, Option<StoredDocument>> = BTreeMap::new();
        for part in self.parts() {
            for i in 0..part.n_documents() {
                let key = part.record(&self.bytes, i).map(DocumentRecord::key);
                if let (Ok(key), Ok(document)) = (key, self.recorded_at(part, i)) {
                    found.insert(key, document);
                }
            }
        }
        for (key, state) in &self.overlay.documents {
            if let Ok(document) = state.as_ref().map(LogDocument::document).transpose() {
                found.insert(*key, document);
            }
        }
        found.into_values().flatten().collect()
    }

    /// Returns the document at position `i`, unless it was forgotten. In a segment, a forgotten document has no copies.
    fn recorded_at(&self, part: &FileSections, i: usize) -> Result<Option<StoredDocument>> {
        let record = part.record(&self.bytes, i)?;
        if record.multiplicity.get() == 0 && !std::ptr::eq(part, &self.base) {
            return Ok(None);
        }
        let n_classes = self.header.totals.len();
        let (expected, got) = (format_args!("a class below {n_classes}"), record.class.get());
        Error::ensure(usize::from(got) < n_classes, "documents", expected, got)?;
        let mut bytes = part.vector(&self.bytes, i)?;
        let name = decode_name(&mut bytes)?;
        let coefficients = match self.header.scoring.has_coefficients() {
            true => decode_coefficients(&mut bytes)?,
            false => Vec::new(),
        };
        let dense = match self.header.recipe.vectors.is_some() && self.header.stored.keep == Keep::Vectors {
            true => decode_dense(&mut bytes)?,
            false => Box::default(),
        };
        let vector = decode_vector(bytes, self.n_known)?;
        Ok(Some(StoredDocument::new(record, name, coefficients, (vector, dense))))
    }
}
