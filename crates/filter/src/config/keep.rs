//! What a model remembers of documents.

use serde::{Deserialize, Serialize};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to recognise a document.
    Digests,
    /// Their terms as well, some two bytes each: enough to forget a document by its digest, and to fit the model again
    /// once it has learned more.
    Vectors,
}

/// Texts keep their terms unless told otherwise while all together have no more than these, some 64 MB.
pub(crate) const MOST_TERMS_KEPT: usize = 1 << 25;
