//! Numerics: log-sum-exp and softmax, the gamma function, random numbers, double-double sums.

pub(crate) mod gamma;
pub(crate) mod logs;
pub(crate) mod random;
pub(crate) mod twofold;
