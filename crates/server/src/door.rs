//! The doors: each speaks a protocol, and asks the service.

pub(crate) mod http;
pub(crate) mod milter;
pub(crate) mod spamd;
