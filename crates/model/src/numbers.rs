//! Numerics: log-sum-exp and softmax, the gamma function, random numbers, double-double sums.

mod gamma;
mod logs;
mod random;
mod twofold;

pub(crate) use gamma::{gamma_upper, ln_gamma};
pub(crate) use logs::{argmax, log_smoothed, sigmoid, softmax_and_sum, softplus, softplus_and_sigmoid};
pub use logs::{log_normalize, log_sum_exp, softmax};
pub(crate) use random::{SplitMix64, scramble};
pub(crate) use twofold::Twofold;
