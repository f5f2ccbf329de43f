//! The journal's lines.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::imap::messages::{Location, Marks};
use crate::settings::SortAction;

/// The identity of a message: a hash of its first 256 KiB as the server stores them. Two deliveries of one message differ
/// in their Received fields; a message that is moved stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Id(u128);

impl Id {
    pub(crate) fn hash(bytes: &[u8]) -> Self {
        Id(xxh3_128(bytes))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        format!("{:032x}", id.0)
    }
}

impl TryFrom<String> for Id {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(Id)
    }
}

/// A line of the journal.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct JournalEntry {
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
    /// It was seen at a place, and stays there until its owner decides; what the model said of it, if it was judged.
    Left {
        place: Location,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opinion: Option<Opinion>,
    },
    /// It is about to be moved, copied or flagged.
    Sorting(Box<Sorting>),
    /// It was; where the copy is, if the server says.
    Sorted { place: Option<Location> },
    /// It is about to be learned or forgotten.
    Teaching,
    /// It was learned under a label, or forgotten; where it was seen, and what other messages may refer to.
    Taught {
        label: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Location>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<Id>,
    },
    /// Its owner's other programs were seen to have marked it, or no longer.
    Marked(Marks),
    /// It is about to go back where it was.
    Undoing,
    /// It went back.
    Undone { place: Option<Location> },
    /// Not a message: the owner has written to the address with this hash.
    Correspondent,
    /// Not a message of others: the Message-ID of a digest has this hash.
    Digest,
}

/// Why a message goes where it goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cause {
    #[default]
    Score,
    Rule,
    /// It answers a message that the owner has filed there.
    Thread,
    /// All messages of its mailing list are filed there.
    List,
}

/// What was decided about a message, and why.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Sorting {
    pub(crate) action: SortAction,
    pub(crate) from: Location,
    pub(crate) to: String,
    #[serde(default)]
    pub(crate) cause: Cause,
    /// Whether its owner had read it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) was_read: bool,
    #[serde(flatten)]
    pub(crate) opinion: Opinion,
    #[serde(flatten)]
    pub(crate) message: MessageSummary,
    /// The terms that speak most for the label, with what each adds in nats.
    pub(crate) reasons: Vec<(String, f64)>,
}

/// What a model says about a message.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub(crate) struct Opinion {
    /// The likeliest label.
    pub(crate) label: String,
    pub(crate) probability: f64,
    /// The label's log-odds against all others, in nats.
    pub(crate) log_odds: f64,
}

/// What lists of messages show.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub(crate) struct MessageSummary {
    /// The Message-ID, for servers that do not say where a message went.
    pub(crate) message_id: String,
    pub(crate) sender: String,
    pub(crate) subject: String,
}

impl Sorting {
    /// Why it was decided so, in a word or the probability.
    pub(crate) fn why(&self) -> String {
        match self.cause {
            Cause::Score => format!("{:.4}", self.opinion.probability),
            Cause::Rule => "by a rule".to_owned(),
            Cause::Thread => "answers a message there".to_owned(),
            Cause::List => "its mailing list is there".to_owned(),
        }
    }
}

#[cfg(test)]
impl Sorting {
    /// A decision about some message.
    pub(crate) fn example(action: SortAction, from: Location, to: &str) -> Self {
        Sorting {
            action,
            from,
            to: to.to_owned(),
            cause: Cause::Score,
            was_read: false,
            opinion: Opinion { label: "spam".to_owned(), probability: 1.0, log_odds: 9.0 },
            message: MessageSummary::default(),
            reasons: Vec::new(),
        }
    }
}
