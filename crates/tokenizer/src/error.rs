//! Errors of the tokenizer, each with the expected and the actual value.

/// An unknown name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{fault}: expected {expected}, got {got:?}")]
pub struct ParseNameError {
    /// What is wrong with it.
    pub(crate) fault: &'static str,
    /// The known names.
    pub(crate) expected: String,
    pub(crate) got: String,
}

/// Tokenizer options out of range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// An n-gram range that is empty or exceeds 1 to 8.
    #[error("sequences (n-grams): expected lengths from 1 to 8, the smaller one first, got {min}-{max}")]
    NgramRange {
        /// The smallest n given.
        min: u8,
        /// The largest n given.
        max: u8,
    },
    /// A `max_chars` outside 1 to 256.
    #[error("longest word (max_chars): expected 1 to 256 characters, got {got}")]
    MaxChars {
        /// The value given.
        got: u16,
    },
    /// A `min_chars` outside 1 to `max_chars`.
    #[error("shortest word (min_chars): expected 1 to {max_chars} characters (max_chars), got {got}")]
    MinChars {
        /// The value given.
        got: u16,
        /// The largest value allowed.
        max_chars: u16,
    },
}

/// No term id is left: the vocabulary holds 2^32 - 1 terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("vocabulary is full: expected at most {} terms, got one more", u32::MAX)]
#[non_exhaustive]
pub struct VocabularyFull;

/// Why counts were refused for a vector.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// Different numbers of ids and counts.
    #[error("expected one count for each of {ids} term ids, got {counts} counts")]
    Lengths {
        /// Number of ids.
        ids: usize,
        /// Number of counts.
        counts: usize,
    },
    /// Ids that are not strictly increasing within a row.
    #[error("expected a term id above {previous}, got {got}: ids must be strictly increasing")]
    Order {
        /// The id before it.
        previous: u32,
        /// The id given.
        got: u32,
    },
    /// A count of zero.
    #[error("expected a count of at least 1, got 0 for term id {id}")]
    Zero {
        /// The term with that count.
        id: u32,
    },
    /// Overflow: counts of one term sum to more than `u32::MAX`.
    #[error("expected a count of at most {}, got more for term id {id}", u32::MAX)]
    Overflow {
        /// The term.
        id: u32,
    },
}
