//! Applies what the stream says, in its order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::sleep;

use crate::fleet::position::Position;
use crate::fleet::sender::PAUSE;
use crate::fleet::store::{Store, Streamed, order};
use crate::outbox::entry::Entry;
use crate::service::serving::Service;
use crate::settings::file::FleetSettings;

/// Follows the stream.
pub(crate) struct Follower {
    folder: PathBuf,
    settings: FleetSettings,
    position: Position,
    say: fn(&str),
}

impl Follower {
    /// # Errors
    /// If the position cannot be read.
    pub(crate) fn new(folder: PathBuf, settings: FleetSettings, say: fn(&str)) -> io::Result<Self> {
        let position = Position::load(&folder)?;
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
        let store = Store::connect(&self.settings).await;
        let mut store = store.map_err(|error| format!("the store is away ({error})"))?;
        self.check_extent(&mut store).await?;
        loop {
            let read = store.read(&self.position.id).await;
            let entries = read.map_err(|error| format!("reading the stream: {error}"))?;
            if !entries.is_empty() {
                self.take_in(entries, &service()).await?;
            }
        }
    }

    /// Tells if records are gone that this server has not read, and starts over if the stream did.
    async fn check_extent(&mut self, store: &mut Store) -> Result<(), String> {
        let extent = store.extent().await.map_err(|error| error.to_string())?;
        let Some(extent) = extent else { return Ok(()) };
        let read = order(&self.position.id);
        if order(&extent.last) < read {
            (self.say)(
                "fleet: the stream begins anew; what other servers learned before and have not sent is lost",
            );
            self.position.id = Position::default().id;
        } else if extent.removed.is_some_and(|removed| order(&removed) > read) {
            (self.say)(
                "fleet: records are gone that this server has not read; copy the models and fleet-position.json of \
                 another server here while both are stopped",
            );
        }
        Ok(())
    }

    /// Applies entries, and stores how far the stream is read. Entries of one model that follow one another are written
    /// together.
    async fn take_in(&mut self, entries: Vec<Streamed>, service: &Service) -> Result<(), String> {
        let mut position = self.position.clone();
        let mut wanted: Vec<Entry> = Vec::new();
        for Streamed { id, entry } in entries {
            position.id = id;
            wanted.extend(entry.filter(|entry| position.note(entry.sender, entry.number)));
        }
        for of_model in wanted.chunk_by(|a, b| a.model == b.model) {
            self.apply(of_model, service).await?;
        }
        position.save(&self.folder).map_err(|error| format!("fleet-position.json: {error}"))?;
        self.position = position;
        Ok(())
    }

    /// Applies entries of one model, in their order.
    async fn apply(&self, entries: &[Entry], service: &Service) -> Result<(), String> {
        let mut waiting = Vec::new();
        for Entry { model, record, .. } in entries {
            waiting.push(service.take_in(model, record.clone()));
        }
        for enqueued in waiting {
            let outcome = match enqueued {
                Ok(enqueued) => enqueued.answer().await,
                Err(failure) => Err(failure),
            };
            match outcome {
                Ok(_) => (),
                // all are applied again, in order
                Err(failure) if failure.is_temporary() => return Err(failure.to_string()),
                Err(failure) => (self.say)(&format!("fleet: a record is skipped: {failure}")),
            }
        }
        Ok(())
    }
}
