//! Several servers with one model: each tells the others what it learned, through a stream in Redis or Valkey.
//!
//! The stream has one order for all. Each server applies every record in this order, its own too, so that all end at the
//! same counts; see `tamis_train::replication`. Without the store a server goes on by itself and catches up. A record that
//! cannot be applied is set aside and holds up no other.

pub(crate) mod store;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::sleep;

use crate::fleet::store::{PAUSE, StreamEntry, StreamStore, order};
use crate::models::request::{FeedbackOutcome, ServiceError};
use crate::record::log::append;
use crate::service::Service;
use crate::settings::FleetSettings;

/// Follows the stream: applies what it says, in its order.
pub(crate) struct Follower {
    folder: PathBuf,
    settings: FleetSettings,
    position: StreamPosition,
    say: fn(&str),
}

impl Follower {
    /// # Errors
    /// If the position cannot be read.
    pub(crate) fn new(folder: PathBuf, settings: FleetSettings, say: fn(&str)) -> io::Result<Self> {
        let position = StreamPosition::load(&folder)?;
        Ok(Follower { folder, settings, position, say })
    }

    /// Applies records as they arrive, until stopped. `service` is asked each time, as the settings may be read again.
    pub(crate) async fn run(mut self, service: impl Fn() -> Arc<Service>) {
        let mut told = String::new();
        loop {
            // ends only by an error
            let Err(error) = self.follow(&service).await else { continue };
            if told != error {
                (self.say)(&format!("fleet: {error}; trying again"));
                told = error;
            }
            sleep(PAUSE).await;
        }
    }

    async fn follow(&mut self, service: &impl Fn() -> Arc<Service>) -> Result<(), String> {
        let store = StreamStore::connect(&self.settings).await;
        let mut store = store.map_err(|error| format!("the store is away ({error})"))?;
        self.check_extent(&mut store).await?;
        loop {
            let read = store.read(&self.position.id).await;
            let entries = read.map_err(|error| format!("reading the stream: {error}"))?;
            if !entries.is_empty() {
                let applied = self.apply(entries, &service()).await;
                let saved = self.position.save(&self.folder);
                applied.and(saved.map_err(|error| format!("fleet-position.json: {error}")))?;
            }
        }
    }

    /// Tells if records are gone that this server has not read, and starts over if the stream did.
    async fn check_extent(&mut self, store: &mut StreamStore) -> Result<(), String> {
        let extent = store.extent().await.map_err(|error| error.to_string())?;
        let Some(extent) = extent else { return Ok(()) };
        let read = order(&self.position.id);
        if order(&extent.last) < read {
            (self.say)(
                "fleet: the stream begins anew; what other servers learned before and have not sent is lost",
            );
            self.position.id = StreamPosition::default().id;
        } else if extent.removed.is_some_and(|removed| order(&removed) > read) {
            (self.say)(
                "fleet: records are gone that this server has not read; copy the models and fleet-position.json of \
                 another server here while both are stopped",
            );
        }
        Ok(())
    }

    /// Applies entries in their order, as many at a time as a model may have waiting beside those of its clients.
    async fn apply(&mut self, entries: Vec<StreamEntry>, service: &Service) -> Result<(), String> {
        let most = service.settings().limits.waiting_to_learn.div_ceil(2);
        let (mut ahead, mut learning) = (self.position.clone(), VecDeque::new());
        for streamed in entries {
            if learning.len() >= most
                && let Some((first, outcome)) = learning.pop_front()
            {
                self.settle(first, outcome, service).await?;
            }
            let wanted = streamed.entry.as_ref().filter(|entry| ahead.note(entry.sender, entry.number));
            let outcome = wanted.map(|entry| service.enqueue_record(&entry.model, entry.record.clone()));
            learning.push_back((streamed, outcome));
        }
        for (streamed, outcome) in learning {
            self.settle(streamed, outcome, service).await?;
        }
        Ok(())
    }

    /// Waits until an entry is learned, if it has to be, and moves on behind it. One that cannot be learned is set aside.
    ///
    /// # Errors
    /// If it may be learned later.
    async fn settle(
        &mut self,
        streamed: StreamEntry,
        outcome: Option<Result<impl Future<Output = Result<FeedbackOutcome, ServiceError>>, ServiceError>>,
        service: &Service,
    ) -> Result<(), String> {
        let outcome = match outcome {
            Some(Ok(outcome)) => outcome.await.map(drop),
            Some(Err(failure)) => Err(failure),
            None => Ok(()),
        };
        match (&streamed, outcome) {
            (StreamEntry { entry: Some(entry), .. }, Err(failure)) => {
                if may_pass(&failure, &entry.model) {
                    return Err(failure.to_string());
                }
                self.set_aside(&streamed, &format!("for the model {:?}: {failure}", entry.model), service)?;
            }
            (StreamEntry { entry: None, bytes: Some(_), .. }, _) => {
                self.set_aside(&streamed, "expected a whole record, got another checksum", service)?;
            }
            _ => (),
        }
        if let Some(entry) = streamed.entry {
            self.position.note(entry.sender, entry.number);
        }
        self.position.id = streamed.id;
        Ok(())
    }

    /// Keeps an entry in a file of its own, with the reason.
    fn set_aside(&self, streamed: &StreamEntry, reason: &str, service: &Service) -> Result<(), String> {
        let bytes = BASE64_STANDARD_NO_PAD.encode(streamed.bytes.as_deref().unwrap_or_default());
        let line = json!({ "id": streamed.id, "reason": reason, "entry": bytes });
        let path = self.folder.join("fleet-set-aside");
        append(&path, &format!("{line}\n")).map_err(|error| format!("{}: {error}", path.display()))?;
        service.metrics.fleet_set_aside.fetch_add(1, Relaxed);
        (self.say)(&format!("fleet: a record is set aside: {reason}"));
        Ok(())
    }
}

/// Whether a record may be applied later. The model that all share is waited for; a user's holds up no others.
fn may_pass(failure: &ServiceError, model: &str) -> bool {
    match failure {
        ServiceError::Busy | ServiceError::NoModel(_) => true,
        failure => failure.is_temporary() && !model.starts_with("user/"),
    }
}

/// How far a server has read the stream. Copied together with its models, it lets another server start from there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct StreamPosition {
    /// The id of the last entry that was applied.
    pub(crate) id: String,
    /// The number of the last record of each sender. A record that was sent twice is skipped the second time.
    pub(crate) last: BTreeMap<u64, u64>,
}

impl Default for StreamPosition {
    fn default() -> Self {
        StreamPosition { id: "0-0".to_owned(), last: BTreeMap::new() }
    }
}

/// The file of the position.
const POSITION: &str = "fleet-position.json";

impl StreamPosition {
    /// The position of a folder; the beginning of the stream if none is stored.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a position.
    pub(crate) fn load(folder: &Path) -> io::Result<Self> {
        match fs::read(folder.join(POSITION)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(Into::into),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StreamPosition::default()),
            Err(error) => Err(error),
        }
    }

    /// Stores the position. If the machine stops before it is on the disk, records are applied again, in order.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let (path, new) = (folder.join(POSITION), folder.join(".fleet-position.json.new"));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // otherwise the renamed file could be empty after a crash
        file.sync_data()?;
        fs::rename(new, path)
    }

    /// Notes a record; false if it was noted before.
    pub(crate) fn note(&mut self, sender: u64, number: u64) -> bool {
        let last = self.last.entry(sender).or_default();
        let is_new = number > *last;
        *last = number.max(*last);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_sent_twice_is_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut position = StreamPosition::load(folder.path()).unwrap();
        assert!(position.note(7, 1) && position.note(7, 2) && position.note(8, 1));
        position.id = "5-1".to_owned();
        position.save(folder.path()).unwrap();
        let mut position = StreamPosition::load(folder.path()).unwrap();
        assert_eq!(position.id, "5-1");
        assert!(!position.note(7, 1) && !position.note(7, 2) && position.note(7, 3));
    }
}
