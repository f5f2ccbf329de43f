//! Numbers: logarithms, chance, sums that lose nothing.

pub(crate) mod logs;
pub(crate) mod random;
pub(crate) mod twofold;
