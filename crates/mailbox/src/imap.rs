//! The server: a connection with limits and deadlines, and the commands that sorting a mailbox takes.

pub(crate) mod bounded;
pub(crate) mod connect;
pub(crate) mod folders;
pub(crate) mod fuzzed;
pub(crate) mod messages;
pub(crate) mod oauth;
mod redirect;
pub(crate) mod session;
mod trust;
