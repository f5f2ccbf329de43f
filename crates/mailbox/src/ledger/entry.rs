//! The journal's lines.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// The identity of a message: a hash of its first 256 KiB as the server stores them. Two deliveries of one message differ
/// in their Received fields; a message that is moved stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Id(u128);

impl Id {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Id(xxh3_128(bytes))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Id)
    }
}

/// A message in a folder.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Place {
    pub(crate) folder: String,
    pub(crate) validity: u32,
    pub(crate) uid: u32,
}

/// A line of the journal.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Entry {
    /// The time (UTC), as `2026-03-02T08:15:00Z`.
    pub(crate) at: String,
    pub(crate) id: Id,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// What happened to a message, or is about to happen.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event {
    /// It was seen in the inbox and stays there.
    Left { place: Place },
    /// It is about to be moved, copied or flagged.
    Sorting(Box<Sorting>),
    /// It was; where the copy is, if the server says.
    Sorted { place: Option<Place> },
    /// It is about to be learned or forgotten.
    Teaching,
    /// It was learned under a label, or forgotten.
    Taught { label: Option<String> },
    /// It is about to go back where it was.
    Undoing,
    /// It went back.
    Undone { place: Option<Place> },
}

/// What was decided about a message, and why.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Sorting {
    pub(crate) action: crate::settings::account::Action,
    pub(crate) from: Place,
    pub(crate) to: String,
    pub(crate) label: String,
    pub(crate) probability: f64,
    /// The label's log-odds against all others, in nats.
    pub(crate) log_odds: f64,
    /// The Message-ID, for those whose server does not say where a message went.
    pub(crate) message_id: String,
    pub(crate) sender: String,
    pub(crate) subject: String,
    /// The terms that spoke most for the label, with what each adds in nats.
    pub(crate) reasons: Vec<(String, f64)>,
}

#[cfg(test)]
impl Sorting {
    /// A decision about some message.
    pub(crate) fn example(action: crate::settings::account::Action, from: Place, to: &str) -> Self {
        Sorting {
            action,
            from,
            to: to.to_owned(),
            label: "spam".to_owned(),
            probability: 1.0,
            log_odds: 9.0,
            message_id: String::new(),
            sender: String::new(),
            subject: String::new(),
            reasons: Vec::new(),
        }
    }
}
