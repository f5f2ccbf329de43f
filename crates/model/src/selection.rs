//! Parameter selection on left-out documents: smoothing, stacking weights, calibration.

mod held_out;
pub(crate) mod smoothing_choice;
mod stacking;
mod targets;

pub use held_out::HeldOut;
pub(crate) use smoothing_choice::{SampleTerms, min_per_class, sample_size};
pub use smoothing_choice::{SmoothingChoice, WeightedLoss, is_worse, is_worse_by};
pub(crate) use stacking::StackingInput;
pub(crate) use targets::Targets;
