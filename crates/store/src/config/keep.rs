//! What a model remembers of documents.

use serde::{Deserialize, Serialize};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to recognise a document.
    Digests,
    /// The terms as well, about two bytes each: enough to forget a document by its digest, and to fit the model again
    /// after it has learned more.
    Vectors,
}

/// By default, a model of text stores terms while its documents have at most this many in all, about 64 MB.
pub(crate) const MOST_TERMS_KEPT: usize = 1 << 25;
