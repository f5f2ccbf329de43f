//! Evaluation: thresholds, folds, comparisons, reports.

mod compare;
mod decisions;
mod drift;
mod folds;
mod report;
mod suggest;
