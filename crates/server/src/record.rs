//! What the server records: numbers to watch it by, and a line for each verdict.

pub(crate) mod log;
pub(crate) mod metrics;
