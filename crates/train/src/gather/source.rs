//! Where a merged term comes from.

use tamis_tokenizer::TermId;

/// A term of one of several parts that are merged: of a thread's counts, or of a model. Sorted sources have equal terms
/// together, and every term in the order of its new id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermSource {
    pub(crate) fingerprint: u64,
    /// The number of the part.
    pub(crate) part: u16,
    /// Its id there.
    pub(crate) id: TermId,
}
