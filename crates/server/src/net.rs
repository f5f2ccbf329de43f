//! Connections: where they come from, and within which limits.

pub(crate) mod connection;
pub(crate) mod listener;
pub(crate) mod peer;
