//! How good scores are: metrics, confidence, thresholds that hold.

pub(crate) mod binomial;
pub mod metrics;
