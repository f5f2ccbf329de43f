//! The tamis filter as a server: spamd's protocol, milter and HTTP in front of one filter that learns while it scores.
//!
//! The program is `tamisd`; this library is what it consists of, for its tests and for those who want to run the server
//! within a program of their own.
#![deny(unsafe_code)]

#[cfg(not(unix))]
compile_error!("the server is for Unix: models in files, sockets and signals");

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod lock;

mod settings;

mod record;

mod models;

mod service;

mod fleet;

mod net;

mod door;

mod run;

pub use models::request::{Feedback, FeedbackOutcome, ModelId, ServiceError};
pub use record::Door;
pub use run::serve;
pub use service::admission::{Incoming, TooLong};
pub use service::answer::{Answer, REQUIRED, TermReason};
pub use service::rules::Envelope;
pub use service::state::ModelState;
pub use service::{Request, Service};
pub use settings::address::Address;
pub use settings::page::{HistoryContent, PageSettings};
pub use settings::password::hash as hash_password;
pub use settings::rules::{AddressList, HeaderText, Network, Rule, RuleVerdict};
pub use settings::user::{GroupId, MailServer, UserId};
pub use settings::{
    FleetSettings, HttpSettings, LimitSettings, LogSettings, MilterSettings, ModelSettings, OnError,
    ServerSettings, SocketMode, SpamdSettings, VerdictSettings,
};

/// Parsers of what clients send, for fuzzing.
#[doc(hidden)]
pub mod parsers {
    pub use crate::door::milter::packet as milter;
    pub use crate::door::spamd::request as spamd;
}
