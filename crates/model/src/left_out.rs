//! Validation on left-out documents: leave-one-out, cross-validation folds, stacking, and the choice of smoothing.

pub(crate) mod documents;
pub(crate) mod folds;
pub(crate) mod held_out;
pub(crate) mod leave_one_out;
pub(crate) mod smoothing_choice;
pub(crate) mod stacking;
