//! The stream in Redis or Valkey, and the task that sends there what was learned here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::streams::{StreamReadOptions, StreamReadReply};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, FromRedisValue, RedisError, Value};
use tokio::time::sleep;

use crate::record::outbox::{Outbox, OutboxEntry};
use crate::settings::FleetSettings;

/// How long the store may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// How long a read waits for new entries.
const WAIT: Duration = Duration::from_secs(2);

/// Entries read at a time.
const READ: usize = 500;

/// A connection to the stream.
pub(crate) struct StreamStore {
    connection: MultiplexedConnection,
    stream: String,
    keep: u64,
}

/// An entry of the stream.
pub(crate) struct StreamEntry {
    pub(crate) id: String,
    /// Its bytes; `None` if it is not one of ours.
    pub(crate) bytes: Option<Vec<u8>>,
    /// What they say, if they are whole.
    pub(crate) entry: Option<OutboxEntry>,
}

/// What is left of the stream.
pub(crate) struct StreamExtent {
    /// The highest id that was removed, if the store says it (Redis since 7, Valkey).
    pub(crate) removed: Option<String>,
    /// The highest id that was ever added.
    pub(crate) last: String,
}

impl StreamStore {
    /// Connects.
    ///
    /// # Errors
    /// If the address is not one, or the store does not answer.
    pub(crate) async fn connect(settings: &FleetSettings) -> Result<Self, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER))
            .set_response_timeout(Some(WAIT + ANSWER));
        let client = Client::open(settings.url.as_str())?;
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(StreamStore { connection, stream: settings.stream.clone(), keep: settings.keep })
    }

    /// Adds entries to the end of the stream, in their order.
    ///
    /// # Errors
    /// If the store cannot take them; some may be there.
    pub(crate) async fn send(&mut self, entries: &[OutboxEntry]) -> Result<(), RedisError> {
        let mut commands = redis::pipe();
        for entry in entries {
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            commands.cmd("XADD").arg(&self.stream).arg("MAXLEN").arg("~").arg(self.keep);
            commands.arg("*").arg("entry").arg(bytes).ignore();
        }
        commands.query_async(&mut self.connection).await
    }

    /// The entries after `id`; waits for some if there are none yet, and returns none after a while.
    ///
    /// # Errors
    /// If the store does not answer.
    pub(crate) async fn read(&mut self, id: &str) -> Result<Vec<StreamEntry>, RedisError> {
        let options = StreamReadOptions::default().count(READ).block(WAIT.as_millis() as usize);
        let reply: Option<StreamReadReply> =
            self.connection.xread_options(&[&self.stream], &[id], &options).await?;
        let entries = reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids);
        let streamed = entries.map(|mut entry| {
            let bytes = entry.map.remove("entry").and_then(|value| Vec::<u8>::from_redis_value(value).ok());
            let read = bytes.as_deref().and_then(OutboxEntry::read).map(|(entry, _)| entry);
            StreamEntry { id: entry.id, bytes, entry: read }
        });
        Ok(streamed.collect())
    }

    /// What is left of the stream; `None` if there is no stream yet.
    ///
    /// # Errors
    /// If the store does not answer.
    pub(crate) async fn extent(&mut self) -> Result<Option<StreamExtent>, RedisError> {
        let exists: bool = self.connection.exists(&self.stream).await?;
        if !exists {
            return Ok(None);
        }
        let facts: HashMap<String, Value> =
            redis::cmd("XINFO").arg("STREAM").arg(&self.stream).query_async(&mut self.connection).await?;
        let fact = |name| facts.get(name).and_then(|fact| String::from_redis_value(fact.clone()).ok());
        let last = fact("last-generated-id").unwrap_or_else(|| "0-0".to_owned());
        Ok(Some(StreamExtent { removed: fact("max-deleted-entry-id"), last }))
    }
}

/// An id as numbers, which have its order.
pub(crate) fn order(id: &str) -> (u64, u64) {
    let (time, number) = id.split_once('-').unwrap_or((id, "0"));
    (time.parse().unwrap_or(0), number.parse().unwrap_or(0))
}

/// Entries sent at a time.
const AT_ONCE: usize = 100;

/// The pause after the store could not be reached.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Sends entries as they arrive, until stopped. Calls `say` when the store disconnects and when it is back.
pub(crate) async fn send_entries(outbox: Arc<Outbox>, settings: FleetSettings, say: fn(&str)) {
    let mut store = None;
    let mut is_away = false;
    loop {
        let entries = outbox.first(AT_ONCE);
        if entries.is_empty() {
            outbox.more.notified().await;
            continue;
        }
        let sent = async {
            let store = match &mut store {
                Some(store) => store,
                none => none.insert(StreamStore::connect(&settings).await?),
            };
            store.send(&entries).await
        };
        match sent.await {
            Ok(()) => {
                if let Err(error) = outbox.remove(entries.len()) {
                    say(&format!("fleet: the outbox: {error}"));
                }
                if std::mem::take(&mut is_away) {
                    say("fleet: the store is back");
                }
            }
            Err(error) => {
                store = None;
                if !std::mem::replace(&mut is_away, true) {
                    say(&format!("fleet: the store is away ({error}); what is learned here is sent later"));
                }
                sleep(PAUSE).await;
            }
        }
    }
}
