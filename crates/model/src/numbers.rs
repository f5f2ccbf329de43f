//! Numerics: log-sum-exp and softmax, random numbers, double-double sums.

pub(crate) mod logs;
pub(crate) mod random;
pub(crate) mod twofold;
