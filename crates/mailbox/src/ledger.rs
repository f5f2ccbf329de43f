//! What is known of the messages of an account, kept so that a crash at any point repeats nothing that counts twice.

pub(crate) mod entry;
pub(crate) mod journal;
pub(crate) mod messages;
