//! The figures, one per file. Each turns numbers into a drawing, a sentence and tables.

pub(crate) mod bars;
pub(crate) mod confusion;
pub(crate) mod costs;
pub(crate) mod learning;
pub(crate) mod legend;
pub(crate) mod log_odds;
pub(crate) mod mixed_up;
pub(crate) mod order;
pub(crate) mod reliability;
pub(crate) mod roc;
pub(crate) mod two;
