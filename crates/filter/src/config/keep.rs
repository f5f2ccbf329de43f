//! What a model remembers of documents.

use serde::{Deserialize, Serialize};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to recognise a document. The default for text.
    Digests,
    /// Their terms as well (about 1 kB per mail): enough to forget a document by its digest, and to retrain. The
    /// default for mail.
    Vectors,
}
