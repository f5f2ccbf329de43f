//! What predicts documents that were left out: leave-one-out, folds (cross-validation), and what is chosen by them.

pub(crate) mod documents;
pub(crate) mod folds;
pub(crate) mod held_out;
pub(crate) mod leave_one_out;
pub(crate) mod smoothing_choice;
pub(crate) mod stacking;
