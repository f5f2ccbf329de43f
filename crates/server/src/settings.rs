//! Settings: what a file in TOML may say, with defaults for everything.

pub(crate) mod address;
pub(crate) mod file;
pub(crate) mod password;
pub(crate) mod unknown;
