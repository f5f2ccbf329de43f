//! Finds the stored records of a document: by its digest and, for mail, by what does not change in transit.

use tamis_filter::extract::document::Document;
use tamis_model::ClassId;
use tamis_store::error::Result;
use tamis_store::file::documents::StoredDocument;

use super::Learner;

impl Learner {
    /// The labels that a document is known under, by its terms or as a message; none if it is not known, or has no
    /// terms.
    ///
    /// # Errors
    /// If the document is not of the model's kind, or the model is damaged in a part that is read.
    pub fn known_labels(&mut self, document: Document<'_>) -> Result<Vec<String>> {
        let document = self.read(None, document)?;
        if self.is_nothing(document.digest) {
            return Ok(Vec::new());
        }
        let known = self.known_as(&document, None)?;
        let mut labels: Vec<_> = known.iter().map(|known| self.label(known.class)).collect();
        labels.sort();
        labels.dedup();
        Ok(labels)
    }

    /// The stored records of a digest, under any class.
    pub(super) fn known(&self, digest: [u8; 16]) -> Result<Vec<StoredDocument>> {
        let classes = 0..self.filter.store().header.classes.len() as ClassId;
        classes.filter_map(|class| self.filter.store().document((digest, class)).transpose()).collect()
    }

    /// The stored records of a document, under any class: those of its digest, then others of the same message. The
    /// latter are not searched if the digest is known under `class` alone, or if it is that of documents without terms.
    pub(super) fn known_as(
        &mut self,
        document: &StoredDocument,
        class: Option<ClassId>,
    ) -> Result<Vec<StoredDocument>> {
        let mut known = self.known(document.digest)?;
        let is_enough = matches!(&known[..], [one] if Some(one.class) == class);
        if is_enough || self.is_nothing(document.digest) {
            return Ok(known);
        }
        for digest in self.messages.digests(self.filter.store(), document.message)? {
            if digest != document.digest {
                let others = self.known(digest)?;
                known.extend(others.into_iter().filter(|other| other.message == document.message));
            }
        }
        Ok(known)
    }

    /// Whether a record can be subtracted: its terms are stored, or they are those of `document`.
    pub(super) fn can_forget(&self, known: &StoredDocument, document: &StoredDocument) -> bool {
        known.digest == document.digest || self.filter.store().has_vector(known.key())
    }
}
