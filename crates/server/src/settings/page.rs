//! `[page]`: the page for people.

use serde::Deserialize;

use crate::settings::SocketMode;
use crate::settings::address::Address;
use crate::settings::user::{GroupId, UserId};

/// `[page]`: a page in the browser, behind the password of `http.password`.
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PageSettings {
    /// Where to listen; nowhere if empty, which is the default.
    pub listen: Vec<Address>,
    /// The mode of Unix sockets; 0660 by default.
    pub mode: SocketMode,
    /// The owner of Unix sockets; that of the server by default.
    pub owner: Option<UserId>,
    /// The group of Unix sockets; that of the server by default.
    pub group: Option<GroupId>,
    /// What is kept of messages, in memory alone; `terms` by default.
    pub history: HistoryContent,
    /// Maximum number of messages that are kept; 1,000 by default.
    pub messages: usize,
    /// Maximum bytes that they take; 16 MiB by default.
    pub bytes: usize,
}

/// What is kept of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum HistoryContent {
    /// Nothing.
    None,
    /// The counts of its terms.
    Terms,
    /// Its subject and sender too.
    Headers,
}

impl PageSettings {
    /// What is kept of messages; nothing without the page.
    pub(crate) fn kept(&self) -> HistoryContent {
        if self.listen.is_empty() { HistoryContent::None } else { self.history }
    }
}

impl Default for PageSettings {
    fn default() -> Self {
        PageSettings {
            listen: Vec::new(),
            mode: SocketMode::default(),
            owner: None,
            group: None,
            history: HistoryContent::Terms,
            messages: 1_000,
            bytes: 16 << 20,
        }
    }
}
