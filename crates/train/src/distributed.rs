//! Training on many machines: counts that add up, and a fit of their documents where they are.
//!
//! Each machine counts its documents into a [`Partial`]. For naive Bayes, merged partials are
//! enough; [`DistributedTrainer`] fits weighted scoring to documents that stay apart.

pub(crate) mod lead;
pub(crate) mod messages;
pub(crate) mod partial;
pub(crate) mod plan;

#[cfg(test)]
pub(crate) mod tests;

pub use lead::DistributedTrainer;
pub use partial::Partial;
pub use plan::{FitPlan, PartitionRound};
