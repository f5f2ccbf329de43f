//! `[page]`: the page for people.

use serde::Deserialize;

use crate::settings::address::Address;

/// `[page]`: a page in the browser, behind the password of `http.password`.
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PageSettings {
    /// Where to listen; nowhere if empty, which is the default.
    pub listen: Vec<Address>,
    /// What is kept of messages, in memory alone; `terms` by default.
    pub history: HistoryContent,
    /// Maximum number of messages that are kept; 1,000 by default. They take 16 KiB on average at most: beyond that there are
    /// fewer.
    pub messages: usize,
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
        PageSettings { listen: Vec::new(), history: HistoryContent::Terms, messages: 1_000 }
    }
}
