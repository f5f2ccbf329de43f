//! Metrics of predictions: confusion matrix, ROC and ranking, calibration of probabilities, confidence intervals and
//! thresholds, bootstrap confidence intervals, a paired test, tests of two samples.

pub(crate) mod binomial;
mod bootstrap;
mod confusion;
mod paired;
mod probabilities;
mod ranking;
mod two_samples;

pub use bootstrap::bootstrap_interval;
pub use confusion::ConfusionMatrix;
pub use paired::mcnemar_exact;
pub use probabilities::{brier, expected_calibration_error, log_loss};
pub use ranking::{
    RocPoint, average_precision, caught_at_fpr, lam_percent, one_minus_roc_auc_percent, roc_auc, roc_curve,
};
pub use two_samples::{
    ChiSquare, Smirnov, chi_square_two_samples, population_stability, signed_log_likelihood, smirnov_lower,
};
