//! Numerics: log-sum-exp and softmax, the gamma function, random numbers, double-double sums, Cholesky factors.

mod cholesky;
mod logs;
mod random;
mod twofold;

pub use cholesky::{Cholesky, SingularPivot, dot};
pub use logs::{argmax, log_normalize, log_sum_exp, softmax};
pub(crate) use logs::{
    gamma_upper, ln_gamma, log_smoothed, sigmoid, softmax_and_sum, softplus, softplus_and_sigmoid,
};
pub use random::SplitMix64;
pub(crate) use random::scramble;
pub use twofold::Twofold;
