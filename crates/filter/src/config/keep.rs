//! What a model remembers of documents.

use serde::{Deserialize, Serialize};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to know a document again. The default for text.
    Digests,
    /// Their terms as well (about 1 kB a mail): enough to forget one that is not at hand. The default for mail.
    Vectors,
}
