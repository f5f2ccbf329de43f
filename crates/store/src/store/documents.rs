//! The stored documents of a model, in sections, segments and the log.

use std::collections::BTreeMap;

use crate::config::keep::Keep;
use crate::error::{Error, Result};
use crate::file::documents::{DocumentKey, DocumentRecord, Remembered, decode_coefficients, decode_vector};
use crate::file::names;
use crate::store::opened::Store;
use crate::store::overlay::Logged;
use crate::store::sections::Sections;

impl Store {
    /// The number of documents, log included.
    pub fn n_documents(&self) -> usize {
        self.base.n_documents().saturating_add_signed(self.overlay.n_documents() as isize)
    }

    /// Whether the terms of a known document are stored. In the log they always are.
    pub fn has_vector(&self, key: DocumentKey) -> bool {
        self.header.stored.keep == Keep::Vectors || self.overlay.documents().contains_key(&key)
    }

    /// The parts that have documents, oldest first. Later parts override earlier ones.
    fn parts(&self) -> impl DoubleEndedIterator<Item = &Sections> {
        std::iter::once(&self.base).chain(self.segments.iter().map(|segment| &segment.part))
    }

    /// Returns the stored document with this digest and class.
    pub fn document(&self, key: DocumentKey) -> Result<Option<Remembered>> {
        if let Some(state) = self.overlay.documents().get(&key) {
            return state.as_ref().map(Logged::document).transpose();
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
        self.overlay.documents().values().flatten().try_for_each(|known| {
            let Remembered { message, digest, .. } = known.document()?;
            visit(message, digest);
            Ok(())
        })
    }

    /// The stored documents in the order of digests. Their vectors are empty if only digests are kept.
    pub fn documents(&self) -> impl Iterator<Item = Result<Remembered>> + '_ {
        let mut parts: Vec<_> = self.parts().map(|part| (part, 0)).collect();
        let mut logged = self.overlay.documents().iter().peekable();
        let mut next = move || -> Result<Option<Remembered>> {
            loop {
                // of equal documents, the newest counts
                let mut first: Option<(DocumentKey, usize)> = None;
                for (number, (part, at)) in
                    parts.iter().enumerate().filter(|(_, (part, at))| *at < part.n_documents())
                {
                    let key = part.record(&self.bytes, *at)?.key();
                    if first.is_none_or(|(first, _)| key <= first) {
                        first = Some((key, number));
                    }
                }
                let of_log = logged.next_if(|(key, _)| first.is_none_or(|(first, _)| **key <= first));
                let Some(key) = of_log.map(|(key, _)| *key).or(first.map(|(key, _)| key)) else {
                    return Ok(None);
                };
                let logged = of_log.and_then(|(_, state)| state.as_ref());
                let mut document = logged.map(Logged::document).transpose()?;
                for (number, (part, at)) in parts.iter_mut().enumerate() {
                    if *at < part.n_documents() && part.record(&self.bytes, *at)?.key() == key {
                        if of_log.is_none() && first.is_some_and(|(_, newest)| newest == number) {
                            document = self.recorded_at(part, *at)?;
                        }
                        *at += 1;
                    }
                }
                if document.is_some() {
                    return Ok(document);
                }
            }
        };
        let mut has_failed = false;
        std::iter::from_fn(move || {
            if has_failed {
                return None;
            }
            let document = next().transpose();
            has_failed = matches!(document, Some(Err(_)));
            document
        })
    }

    /// The stored documents that can be read, in the order of digests. If the newest state of a document cannot be
    /// read, an older one takes its place.
    pub fn readable_documents(&self) -> Vec<Remembered> {
        let mut found: BTreeMap<DocumentKey, Option<Remembered>> = BTreeMap::new();
        for part in self.parts() {
            for i in 0..part.n_documents() {
                let key = part.record(&self.bytes, i).map(DocumentRecord::key);
                if let (Ok(key), Ok(document)) = (key, self.recorded_at(part, i)) {
                    found.insert(key, document);
                }
            }
        }
        for (key, state) in self.overlay.documents() {
            if let Ok(document) = state.as_ref().map(Logged::document).transpose() {
                found.insert(*key, document);
            }
        }
        found.into_values().flatten().collect()
    }

    /// Returns the document at position `i`, unless it was forgotten. In a segment, a forgotten document has no copies.
    fn recorded_at(&self, part: &Sections, i: usize) -> Result<Option<Remembered>> {
        let record = part.record(&self.bytes, i)?;
        if record.multiplicity.get() == 0 && !std::ptr::eq(part, &self.base) {
            return Ok(None);
        }
        let n_classes = self.header.totals.len();
        if usize::from(record.class.get()) >= n_classes {
            let expected = format!("a class below {n_classes}");
            return Err(Error::inconsistent("documents", expected, record.class));
        }
        let mut bytes = part.vector(&self.bytes, i)?;
        let name = names::decode(&mut bytes)?;
        let coefficients = match self.header.scoring.has_coefficients() {
            true => decode_coefficients(&mut bytes)?,
            false => Vec::new(),
        };
        let vector = decode_vector(bytes, self.n_known)?;
        Ok(Some(Remembered::new(record, name, coefficients, vector)))
    }
}
