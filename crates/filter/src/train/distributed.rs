//! Fitting documents where they are: rounds in which partitions send changed weights, never documents.

pub(crate) mod lead;
pub(crate) mod messages;
pub(crate) mod plan;

#[cfg(test)]
mod tests;
