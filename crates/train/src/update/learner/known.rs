//! Finds the stored records of a document: by its digest and, for mail, by what does not change in transit.

use std::collections::BTreeSet;

use tamis_model::ClassId;
use tamis_store::error::Result;
use tamis_store::file::documents::StoredDocument;
use tamis_store::store::opened::Store;

use super::Learner;

impl Learner {
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

/// The digests of documents by message. The first lookup reads the file; the second one builds an index, which may
/// contain documents that were forgotten.
#[derive(Default)]
pub(crate) struct MessageIndex {
    was_asked: bool,
    index: Option<BTreeSet<(u64, [u8; 16])>>,
}

impl MessageIndex {
    /// The digests of a message; none if `message` is 0.
    pub(crate) fn digests(&mut self, store: &Store, message: u64) -> Result<Vec<[u8; 16]>> {
        let mut found = BTreeSet::new();
        if message == 0 {
            return Ok(Vec::new());
        }
        if !std::mem::replace(&mut self.was_asked, true) {
            store.for_each_message(|of, digest| {
                found.extend(Some((of, digest)).filter(|_| of == message));
            })?;
        } else if self.index.is_none() {
            store.for_each_message(|of, digest| {
                found.extend(Some((of, digest)).filter(|_| of > 0));
            })?;
            self.index = Some(std::mem::take(&mut found));
        }
        let range = (message, [0; 16])..=(message, [u8::MAX; 16]);
        let found = self.index.as_ref().unwrap_or(&found).range(range);
        Ok(found.map(|(_, digest)| *digest).collect())
    }

    /// Adds a document to the index, if there is one.
    pub(crate) fn add(&mut self, message: u64, digest: [u8; 16]) {
        if let Some(index) = self.index.as_mut().filter(|_| message > 0) {
            index.insert((message, digest));
        }
    }
}
