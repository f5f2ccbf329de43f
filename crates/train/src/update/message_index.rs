//! Finds the stored documents of a message: the mail with the header fields it had when it was learned.

use std::collections::BTreeSet;

use tamis_store::error::Result;
use tamis_store::store::opened::Store;

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
