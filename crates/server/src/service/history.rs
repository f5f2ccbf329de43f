//! The latest messages, as counts of their terms, in memory alone: what the page shows, and what it teaches from.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use tamis_mail::Message;
use tamis_train::CountedDocument;

use crate::lock::lock;
use crate::models::request::Feedback;
use crate::record::{Door, MessageOutcome};
use crate::service::answer::TermReason;
use crate::settings::page::{HistoryContent, PageSettings};

/// A message that was scored.
pub(crate) struct HistoryEntry {
    /// Its number since the start; set by [`History::push`].
    pub(crate) id: u64,
    pub(crate) time: SystemTime,
    pub(crate) door: Door,
    /// The [name](ModelId::name) of the model that was asked for.
    pub(crate) model: String,
    pub(crate) label: String,
    pub(crate) outcome: MessageOutcome,
    /// The rule that applied, if one did.
    pub(crate) rule: Option<String>,
    pub(crate) log_odds: f64,
    /// Its subject and its sender; empty if they are not kept.
    pub(crate) fields: [String; 2],
    pub(crate) counted: CountedDocument,
    /// The terms that weigh most, once there was time to find them.
    pub(crate) reasons: OnceLock<Vec<TermReason>>,
    /// Held while somebody teaches it, so that others wait.
    pub(crate) teaching: tokio::sync::Mutex<()>,
    /// What somebody has taught of it.
    pub(crate) taught: Mutex<Option<Taught>>,
}

/// What somebody has taught of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Taught {
    /// The label; `None` if it was forgotten.
    pub(crate) label: Option<String>,
    /// What puts it back to what was known before; only what the page has taught can be taken back.
    pub(crate) back: Option<Feedback>,
    pub(crate) by: String,
}

impl HistoryEntry {
    fn n_bytes(&self) -> usize {
        let fields: usize = self.fields.iter().map(String::len).sum();
        size_of::<Self>() + self.counted.n_bytes() + fields + self.label.len()
    }
}

/// Messages that are kept in a second: counting what is kept takes a tenth of the time of a score, and nobody looks at
/// more.
const PER_SECOND: usize = 200;

/// Bytes that messages take on average at most.
const MEAN_BYTES: usize = 16 << 10;

/// The latest messages, within bounds of number and bytes.
pub(crate) struct History {
    settings: PageSettings,
    entries: Mutex<Entries>,
    /// Messages that are still kept in this second, and the number of those that were not.
    room: AtomicUsize,
    pub(crate) n_left_out: AtomicUsize,
}

#[derive(Default)]
struct Entries {
    next: u64,
    n_bytes: usize,
    kept: VecDeque<Arc<HistoryEntry>>,
}

impl History {
    pub(crate) fn new(settings: &PageSettings) -> Self {
        let (settings, entries) = (settings.clone(), Mutex::default());
        History { settings, entries, room: PER_SECOND.into(), n_left_out: 0.into() }
    }

    /// Begins a second.
    pub(crate) fn tick(&self) {
        self.room.store(PER_SECOND, Relaxed);
    }

    /// Whether the next message is kept.
    pub(crate) fn takes_one(&self) -> bool {
        let is_on = self.kept() != HistoryContent::None;
        let takes = is_on && self.room.try_update(Relaxed, Relaxed, |room| room.checked_sub(1)).is_ok();
        self.n_left_out.fetch_add(usize::from(is_on && !takes), Relaxed);
        takes
    }

    /// What is kept of messages.
    pub(crate) fn kept(&self) -> HistoryContent {
        self.settings.kept()
    }

    /// Keeps a message; the oldest make room for it. Returns its number.
    pub(crate) fn push(&self, mut entry: HistoryEntry) -> u64 {
        let mut entries = lock(&self.entries);
        entry.id = entries.next;
        entries.next += 1;
        entries.n_bytes += entry.n_bytes();
        entries.kept.push_back(Arc::new(entry));
        while entries.kept.len() > self.settings.messages
            || entries.n_bytes > self.settings.messages * MEAN_BYTES && entries.kept.len() > 1
        {
            let Some(oldest) = entries.kept.pop_front() else { break };
            entries.n_bytes -= oldest.n_bytes();
        }
        entries.next - 1
    }

    /// The messages, the latest first.
    pub(crate) fn latest(&self) -> Vec<Arc<HistoryEntry>> {
        lock(&self.entries).kept.iter().rev().cloned().collect()
    }

    /// The message of a number, if it is still kept.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<HistoryEntry>> {
        let entries = lock(&self.entries);
        let place = entries.kept.binary_search_by_key(&id, |entry| entry.id).ok()?;
        Some(entries.kept[place].clone())
    }

    /// Notes what somebody has taught a model of a message, by its Message-ID.
    pub(crate) fn note(&self, message_id: &str, model: &str, taught: &Taught) {
        for entry in self.latest() {
            if !message_id.is_empty() && entry.counted.name() == message_id && entry.model == model {
                *lock(&entry.taught) = Some(taught.clone());
            }
        }
    }
}

/// Maximum characters of a field that are kept.
const MOST_FIELD: usize = 200;

/// The Message-ID of a message, without its angle brackets; empty if there is none.
pub(crate) fn message_id(raw: &[u8]) -> String {
    Message::parse_header(raw).header("message-id").map_or_else(String::new, tamis_train::document_name)
}

/// The beginnings of the subject and the sender of a message; empty if it has none.
pub(super) fn subject_and_sender(raw: &[u8]) -> [String; 2] {
    let header = Message::parse_header(raw);
    ["subject", "from"].map(|name| header.header(name).unwrap_or_default().chars().take(MOST_FIELD).collect())
}
