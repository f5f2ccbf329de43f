//! Evaluation: metrics, confidence intervals, thresholds for a false-positive rate.

pub(crate) mod binomial;
pub mod metrics;
