//! Where messages are kept: files of many, and folders.

pub mod maildir;
pub mod mbox;
