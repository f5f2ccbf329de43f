//! What a fit tried, and how well it did on held-out documents. Kept for the record only.

use serde::{Deserialize, Serialize};

use crate::bayes::Smoothing;

/// A smoothing and power of idf that were tried, and their loss on left-out documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedSmoothing {
    /// The smoothing.
    pub alpha: Smoothing,
    /// The power of idf.
    pub idf_power: f64,
    /// The mean log loss of exact leave-one-out, in nats per document.
    pub loss: f64,
}

/// A share of the counts that the correction was tried with, and the loss of the two together on held-out documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedTau {
    /// The share, see [`Choices::tau`](crate::Choices::tau).
    pub tau: f64,
    /// The mean log loss of held-out documents, in nats per document.
    pub loss: f64,
}

/// How well three models predict held-out documents, each adding a part to the one before, and how far the additions
/// are trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriedParts {
    /// The number of held-out documents.
    pub documents: f64,
    /// The mean log loss of the class shares alone, in nats per document.
    pub shares: f64,
    /// The mean log loss with the counts.
    pub counts: f64,
    /// The mean log loss with counts and correction; that of the counts if there is no correction.
    pub correction: f64,
    /// How far counts and correction are trusted, from 0 (class shares alone) to 1.
    pub belief: f64,
    /// How far their fitted ratio is trusted, from 0 (the default ratio) to 1.
    pub belief_in_ratio: f64,
}
