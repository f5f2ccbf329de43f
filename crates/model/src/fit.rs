//! Fitting the correction: one-vs-rest logistic regression by dual coordinate ascent, with cross-validation. A fit can
//! be divided into partitions of the documents.

mod ascent;
mod calibration;
mod competitors;
mod cross_validation;
mod held_rows;
mod newton;
mod online_step;
mod partition;
mod problem;
mod training;

#[doc(hidden)]
pub use calibration::LEAST_BELIEF;
pub use calibration::TAUS;
pub(crate) use calibration::{least_belief, shrinkage};
pub use online_step::Lesson;
pub use partition::{Partition, ROUNDS, RoundChange, is_sampled};
pub use problem::{Beside, FitProblem, WeightedFit};
