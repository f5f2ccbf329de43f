//! Evaluation: thresholds, folds, comparisons, reports.

mod compare;
mod decisions;
mod folds;
mod report;
