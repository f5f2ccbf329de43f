//! Numerics: log-sum-exp and softmax, the gamma function, random numbers, double-double sums.

mod gamma;
mod logs;
mod random;
mod twofold;

pub(crate) use gamma::{gamma_upper, ln_gamma};
pub use logs::{argmax, log_normalize, log_sum_exp, softmax};
pub(crate) use logs::{log_smoothed, sigmoid, softmax_and_sum, softplus, softplus_and_sigmoid};
pub use random::SplitMix64;
pub(crate) use random::scramble;
pub use twofold::Twofold;
