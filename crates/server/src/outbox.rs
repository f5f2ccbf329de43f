//! What this server has learned and the fleet has not been told yet, on the disk.

pub(crate) mod entry;
pub(crate) mod file;
