//! What can go wrong with a server, by what to do about it.

use std::fmt;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// A failure of a server or of the way to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The connection was lost, or could not be made: try again later.
    Lost(String),
    /// The server did not let the user in: trying again would be refused as well, and may lock the account.
    Login(String),
    /// The server refused a command.
    Refused {
        /// What was asked, in words.
        what: String,
        /// What it said.
        answer: String,
    },
}

impl Failure {
    /// Whether the server asks for more time between commands.
    pub fn is_throttling(&self) -> bool {
        let (Failure::Refused { answer: text, .. } | Failure::Lost(text) | Failure::Login(text)) = self;
        let text = text.to_ascii_lowercase();
        ["throttl", "unavailable", "limit", "too many", "try again", "in use", "inuse"]
            .iter()
            .any(|sign| text.contains(sign))
    }

    /// Whether the mailbox is full.
    pub fn is_over_quota(&self) -> bool {
        matches!(self, Failure::Refused { answer, .. } if answer.to_ascii_lowercase().contains("quota"))
    }
}

/// The outcome of `work`, which parses what a server says. The parser (imap-proto 0.17) panics on some answers that are not
/// valid; what it was working on must not be used after that.
///
/// # Errors
/// If it panics.
pub(crate) async fn guarded<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.map_err(|_| Failure::Lost("the server's answer cannot be parsed".to_owned()))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Lost(why) => write!(f, "no connection: {why}"),
            Failure::Login(answer) => write!(f, "the server refuses the login: {answer}"),
            Failure::Refused { what, answer } if self.is_over_quota() => {
                write!(f, "{what}: the mailbox is full ({answer})")
            }
            Failure::Refused { what, answer } => write!(f, "{what}: the server refuses: {answer}"),
        }
    }
}

impl std::error::Error for Failure {}
