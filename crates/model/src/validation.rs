//! Documents that a model is chosen by: read in blocks, dealt into folds, left out one by one or a fold at a time; and
//! the numbers that predict them best, smoothing, stacking weights and calibration.

mod copies;
mod documents;
mod folds;
mod left_out;
mod near_duplicates;
mod one_vs_rest;
mod predictions;
mod reader;
mod smoothing;
mod stacking;
mod two_classes;

pub(crate) use copies::{Copies, MAX_COPIES, Repeats};
pub use documents::{BLOCK, Block, Documents, Example, Label, Stretch, windows};
pub(crate) use documents::{BlockRow, TermScales};
pub use folds::assign_folds;
pub(crate) use folds::{Fold, Groups, cross_validate};
pub(crate) use left_out::LeaveOneOut;
pub use near_duplicates::NearDuplicates;
pub use predictions::Prediction;
pub(crate) use predictions::{ColumnPrediction, Targets};
pub(crate) use reader::BlockReader;
pub use reader::block_len;
#[cfg(test)]
pub(crate) use smoothing::Grid;
pub(crate) use smoothing::{SampleTerms, Sampled, min_per_class, sample_size};
pub use smoothing::{SmoothingChoice, WeightedLoss, is_worse, is_worse_by, paired_difference};
pub(crate) use stacking::StackingInput;
pub(crate) use two_classes::Points;
