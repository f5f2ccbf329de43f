//! Errors of the tokenizer, each with the expected and the actual value.

use std::error::Error;
use std::fmt;

/// Implements `Display` and `Error` for an enum: a message for each variant, which may name the variant's fields.
#[doc(hidden)]
#[macro_export]
macro_rules! error_messages {
    ($error:ident { $($variant:pat => $message:literal $(, $value:expr)*;)+ }) => {
        impl ::std::fmt::Display for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                use $error::*;
                match self { $($variant => ::std::write!(f, $message $(, $value)*),)+ }
            }
        }

        impl ::std::error::Error for $error {}
    };
}

/// An unknown name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseNameError {
    /// What is wrong with it.
    pub(crate) fault: &'static str,
    /// The known names.
    pub(crate) expected: String,
    pub(crate) got: String,
}

impl fmt::Display for ParseNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseNameError { fault, expected, got } = self;
        write!(f, "{fault}: expected {expected}, got {got:?}")
    }
}

impl Error for ParseNameError {}

/// Tokenizer options out of range.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OptionsError {
    /// An n-gram range that is empty or exceeds 1 to 8.
    NgramRange {
        /// The smallest n given.
        min: u8,
        /// The largest n given.
        max: u8,
    },
    /// A `max_chars` outside 1 to 256.
    MaxChars {
        /// The value given.
        got: u16,
    },
    /// A `min_chars` outside 1 to `max_chars`.
    MinChars {
        /// The value given.
        got: u16,
        /// The largest value allowed.
        max_chars: u16,
    },
}

error_messages! {
    OptionsError {
        NgramRange { min, max } =>
            "sequences (n-grams): expected lengths from 1 to 8, the smaller one first, got {min}-{max}";
        MaxChars { got } => "longest word (max_chars): expected 1 to 256 characters, got {got}";
        MinChars { got, max_chars } =>
            "shortest word (min_chars): expected 1 to {max_chars} characters (max_chars), got {got}";
    }
}

/// No term id is left: the vocabulary holds 2^32 - 1 terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct VocabularyFull;

impl fmt::Display for VocabularyFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vocabulary is full: expected at most {} terms, got one more", u32::MAX)
    }
}

impl Error for VocabularyFull {}

/// Why counts were refused for a vector or matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CountError {
    /// Different numbers of ids and counts.
    Lengths {
        /// Number of ids.
        ids: usize,
        /// Number of counts.
        counts: usize,
    },
    /// Ids that are not strictly increasing within a row.
    Order {
        /// The id before it.
        previous: u32,
        /// The id given.
        got: u32,
    },
    /// A count of zero.
    Zero {
        /// The term with that count.
        id: u32,
    },
    /// Overflow: counts of one term sum to more than `u32::MAX`.
    Overflow {
        /// The term.
        id: u32,
    },
}

error_messages! {
    CountError {
        Lengths { ids, counts } => "expected one count for each of {ids} term ids, got {counts} counts";
        Order { previous, got } =>
            "expected a term id above {previous}, got {got}: ids must be strictly increasing";
        Zero { id } => "expected a count of at least 1, got 0 for term id {id}";
        Overflow { id } => "expected a count of at most {}, got more for term id {id}", u32::MAX;
    }
}
