//! Sorts a mailbox on an IMAP server by what its owner has filed, and learns from the messages that are moved.
//!
//! This library is the code of the program `tamis-mailbox`, for its tests.
#![deny(unsafe_code)]

#[cfg(not(unix))]
compile_error!("the agent is for Unix: models in files, and private folders");

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod files;

mod settings;

mod imap;

mod ledger;

mod model;

mod agent;

mod training;

mod commands;

pub use commands::arguments::AgentArgs;
pub use commands::run;
pub use imap::session::ImapError;
pub use settings::{Account, FolderSettings, MailboxSettings, SortAction, Tls};

/// A conversation with a server, for fuzzing.
#[doc(hidden)]
pub mod parsers {
    pub use crate::imap::fuzzed::converse;
}
