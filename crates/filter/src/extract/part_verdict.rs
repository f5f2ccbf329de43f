//! What parts of a document say beside the whole.

use std::ops::Range;

/// What parts of a document say, in log-odds of spam.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartVerdict {
    /// The part that decides, because it is worse than the whole, if there is one.
    pub(crate) deciding: Option<DecidingPart>,
    /// By how much it is worse, in nats.
    pub(crate) lift: f64,
    /// The log-odds of the worst window; minus infinity without windows.
    pub(crate) worst: f64,
    /// Its stretches.
    pub(crate) window: Range<usize>,
    /// The log-odds of the header alone, if it is enough to judge by.
    pub(crate) header: Option<f64>,
}

/// The part that decides about a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecidingPart {
    /// Its stretches; `None` for all that people see.
    pub(crate) stretches: Option<Range<usize>>,
    /// What its log-odds are lowered by, in nats.
    pub(crate) price: f64,
}

/// Where stretches lie: the number of their part of the body, counting empty ones, and their share of it.
pub(crate) struct PlaceInBody {
    pub(crate) number: usize,
    pub(crate) share: Range<f64>,
}
