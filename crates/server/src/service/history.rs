//! The latest messages, as counts of their terms, in memory alone: what the page shows, and what it teaches from.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use tamis_mail::{Limits, Message};
use tamis_train::CountedDocument;

use crate::models::request::{Feedback, ModelId};
use crate::record::{Door, MessageOutcome};
use crate::service::answer::TermReason;
use crate::settings::page::{HistoryContent, PageSettings};

/// Maximum bytes of a field that is kept, and of a header that is searched for it.
const MOST_FIELD: usize = 512;
const MOST_HEADER: usize = 64 << 10;

/// A message that was scored.
pub(crate) struct HistoryEntry {
    /// Its number since the start.
    pub(crate) id: u64,
    pub(crate) time: SystemTime,
    pub(crate) door: Door,
    /// The model that was asked for.
    pub(crate) model: ModelName,
    pub(crate) label: String,
    pub(crate) outcome: MessageOutcome,
    pub(crate) log_odds: f64,
    /// The fields `Subject` and `From` as they came, if they are kept.
    fields: Vec<u8>,
    pub(crate) counted: CountedDocument,
    /// The terms that weigh most, once there was time to find them.
    pub(crate) reasons: OnceLock<Vec<TermReason>>,
    taught: Mutex<Option<Taught>>,
}

/// A model of a request, for later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModelName {
    Shared,
    User(String),
    Named(String),
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

impl ModelName {
    pub(crate) fn new(model: ModelId<'_>) -> Self {
        match model {
            ModelId::Shared => ModelName::Shared,
            ModelId::User(user) => ModelName::User(user.to_owned()),
            ModelId::Named(name) => ModelName::Named(name.to_owned()),
        }
    }

    pub(crate) fn id(&self) -> ModelId<'_> {
        match self {
            ModelName::Shared => ModelId::Shared,
            ModelName::User(user) => ModelId::User(user),
            ModelName::Named(name) => ModelId::Named(name),
        }
    }
}

impl HistoryEntry {
    /// The subject and the sender, decoded; empty if they are not kept.
    pub(crate) fn subject_and_sender(&self) -> [String; 2] {
        let message = Message::parse(&self.fields, &Limits::default());
        ["subject", "from"].map(|name| message.header(name).unwrap_or_default().to_owned())
    }

    pub(crate) fn taught(&self) -> Option<Taught> {
        self.lock_taught().clone()
    }

    pub(crate) fn set_taught(&self, taught: Option<Taught>) {
        *self.lock_taught() = taught;
    }

    fn lock_taught(&self) -> MutexGuard<'_, Option<Taught>> {
        self.taught.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn n_bytes(&self) -> usize {
        size_of::<Self>() + self.counted.n_bytes() + self.fields.len() + self.label.len()
    }
}

/// The latest messages, within bounds of number and bytes.
pub(crate) struct History {
    settings: PageSettings,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    next: u64,
    n_bytes: usize,
    kept: VecDeque<Arc<HistoryEntry>>,
}

/// What is known of a message when it has been scored.
pub(crate) struct ScoredMessage<'a> {
    pub(crate) door: Door,
    pub(crate) model: ModelId<'a>,
    pub(crate) label: &'a str,
    pub(crate) outcome: MessageOutcome,
    pub(crate) log_odds: f64,
    pub(crate) raw: &'a [u8],
    pub(crate) counted: CountedDocument,
}

impl History {
    pub(crate) fn new(settings: &PageSettings) -> Self {
        History { settings: settings.clone(), entries: Mutex::default() }
    }

    /// Whether messages are kept.
    pub(crate) fn is_on(&self) -> bool {
        self.settings.kept() != HistoryContent::None
    }

    /// Keeps a message; the oldest make room for it. Returns its number.
    pub(crate) fn push(&self, message: ScoredMessage<'_>) -> u64 {
        let has_fields = self.settings.kept() == HistoryContent::Headers;
        let mut entry = HistoryEntry {
            id: 0,
            time: SystemTime::now(),
            door: message.door,
            model: ModelName::new(message.model),
            label: message.label.to_owned(),
            outcome: message.outcome,
            log_odds: message.log_odds,
            fields: if has_fields { subject_and_sender(message.raw) } else { Vec::new() },
            counted: message.counted,
            reasons: OnceLock::new(),
            taught: Mutex::default(),
        };
        let n_bytes = entry.n_bytes();
        let mut dropped = Vec::new();
        let mut entries = self.entries();
        entry.id = entries.next;
        entries.next += 1;
        entries.n_bytes += n_bytes;
        entries.kept.push_back(Arc::new(entry));
        while entries.kept.len() > self.settings.messages.max(1)
            || entries.n_bytes > self.settings.bytes && entries.kept.len() > 1
        {
            let Some(oldest) = entries.kept.pop_front() else { break };
            entries.n_bytes -= oldest.n_bytes();
            dropped.push(oldest);
        }
        // what is dropped is freed without the lock
        entries.next - 1
    }

    /// The messages, the latest first.
    pub(crate) fn latest(&self) -> Vec<Arc<HistoryEntry>> {
        self.entries().kept.iter().rev().cloned().collect()
    }

    /// The message of a number, if it is still kept.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<HistoryEntry>> {
        let entries = self.entries();
        let place = entries.kept.binary_search_by_key(&id, |entry| entry.id).ok()?;
        Some(entries.kept[place].clone())
    }

    /// Notes what somebody has taught a model of a message, by its Message-ID.
    pub(crate) fn note(&self, message_id: &str, model: ModelId<'_>, taught: &Taught) {
        if message_id.is_empty() {
            return;
        }
        let latest = self.latest();
        let same =
            latest.iter().filter(|entry| entry.counted.name() == message_id && entry.model.id() == model);
        same.for_each(|entry| entry.set_taught(Some(taught.clone())));
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first fields `Subject` and `From` of a message as they came, the beginning of long ones.
fn subject_and_sender(raw: &[u8]) -> Vec<u8> {
    let (mut kept, mut is_in, mut wanted) = (Vec::new(), false, vec![&b"subject:"[..], b"from:"]);
    let mut room = 0;
    for line in raw[..raw.len().min(MOST_HEADER)].split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let begins =
                |name: &&[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
            let place = wanted.iter().position(begins);
            (is_in, room) = (place.is_some(), MOST_FIELD);
            place.map(|place| wanted.swap_remove(place));
        }
        if line.trim_ascii().is_empty() || wanted.is_empty() && !is_in {
            break;
        }
        if is_in {
            let part = &line[..line.len().min(room)];
            room -= part.len();
            kept.extend_from_slice(part);
            if !part.is_empty() && !part.ends_with(b"\n") {
                kept.push(b'\n');
            }
        }
    }
    kept.push(b'\n');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};

    #[test]
    fn history_is_bounded_in_number_and_bytes() {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
        trainer.add("ham", Document::Mail(b"Subject: a\n\nsoup\n")).unwrap();
        trainer.add("spam", Document::Mail(b"Subject: b\n\npills\n")).unwrap();
        let (filter, mut scratch) = (trainer.finish().unwrap().into_filter().unwrap(), Scratch::default());
        scratch.keep_counts();
        let raw = b"subject: one\n two\nX: y\nFROM: =?utf-8?q?J=C3=B6?= <j@x>\nSubject: three\n\npills\n";
        let push = |history: &History, scratch: &mut Scratch| {
            filter.score_mail(raw, scratch).unwrap();
            let (door, model, outcome) = (Door::Http, ModelId::User("joe"), MessageOutcome::Ham);
            let counted = filter.counted(scratch);
            history.push(ScoredMessage { door, model, label: "ham", outcome, log_odds: 0.0, raw, counted })
        };
        let listen = vec!["tcp:127.0.0.1:1".to_owned().try_into().unwrap()];
        let settings =
            PageSettings { listen, history: HistoryContent::Headers, messages: 3, ..Default::default() };
        let history = History::new(&settings);
        (0..5).for_each(|n| assert_eq!(push(&history, &mut scratch), n));
        let ids: Vec<u64> = history.latest().iter().map(|entry| entry.id).collect();
        assert_eq!((ids, history.get(1).is_none()), (vec![4, 3, 2], true));
        assert_eq!(history.get(3).unwrap().subject_and_sender(), ["one two", "Jö <j@x>"]);
        let n_bytes = history.get(3).unwrap().n_bytes();
        let small = History::new(&PageSettings { bytes: 2 * n_bytes, messages: 9, ..settings.clone() });
        (0..5).for_each(|n| assert_eq!(push(&small, &mut scratch), n));
        assert_eq!(small.latest().len(), 2);
        let terms = History::new(&PageSettings { history: HistoryContent::Terms, ..settings });
        push(&terms, &mut scratch);
        assert_eq!(terms.latest()[0].subject_and_sender(), ["", ""]);
        assert!(!History::new(&PageSettings::default()).is_on());
    }
}
