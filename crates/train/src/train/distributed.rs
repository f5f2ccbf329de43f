//! Distributed fitting: documents stay in partitions, which exchange weight changes with a lead in rounds.

pub(crate) mod lead;
pub(crate) mod messages;
pub(crate) mod plan;

#[cfg(test)]
mod tests;
