//! Mailboxes: mbox files and Maildirs.

pub mod maildir;
pub mod mbox;
