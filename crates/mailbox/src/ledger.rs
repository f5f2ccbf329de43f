//! What is known about the messages of an account, on the disk. After a crash at any point, nothing counts twice.

pub(crate) mod entry;
pub(crate) mod header;
pub(crate) mod journal;
pub(crate) mod messages;
