//! What all doors ask of the server: to score, explain, learn and forget, within its limits.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod serving;
