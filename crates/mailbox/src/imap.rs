//! The server: a connection with limits and deadlines, and the commands that sorting a mailbox takes.

pub(crate) mod bounded;
pub(crate) mod commands;
pub(crate) mod connect;
pub(crate) mod failure;
pub(crate) mod fuzzed;
pub(crate) mod names;
