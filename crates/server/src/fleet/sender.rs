//! Sends what was learned here to the stream.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::fleet::store::StreamStore;
use crate::record::outbox::Outbox;
use crate::settings::FleetSettings;

/// Entries sent at a time.
const AT_ONCE: usize = 100;

/// The pause after the store could not be reached.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Sends entries as they arrive, until stopped. Calls `say` when the store disconnects and when it is back.
pub(crate) async fn run(outbox: Arc<Outbox>, settings: FleetSettings, say: fn(&str)) {
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
