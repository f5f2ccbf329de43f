//! The doors: each speaks a protocol, and asks the service.

pub(crate) mod http;
pub(crate) mod milter;
pub(crate) mod spamd;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::net::{Connection, Listener, Stopping};
use crate::record::Door;
use crate::service::Service;

/// The pause after a connection could not be accepted, as when the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until the server stops. `service` is asked for each connection, as the settings may be read again. Each connection holds a copy of `alive`
/// until it ends.
pub(crate) async fn accept(
    door: Door,
    listener: Listener,
    service: impl Fn() -> Arc<Service>,
    mut stopping: Stopping,
    alive: mpsc::Sender<()>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.wait() => break,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, alive) = (service(), alive.clone());
        let connection = Connection { stream, peer, stopping: stopping.clone() };
        let open = OpenConnection { door, service: service.clone() };
        let n_open = 1 + service.metrics.connections[door as usize].fetch_add(1, Relaxed);
        tokio::spawn(async move {
            let _held = (open, alive);
            serve(door, connection, service, n_open).await;
        });
    }
    // before `alive`: the file of the socket is gone when the server is
    drop(listener);
}

/// Serves a connection until it ends, unless it is one too many.
async fn serve(door: Door, mut connection: Connection, service: Arc<Service>, n_open: u64) {
    if n_open > service.settings().limits.connections as u64 {
        service.metrics.refused.fetch_add(1, Relaxed);
        let full = match door {
            Door::Spamd => spamd::reply::FULL,
            // it is closed, and the MTA's default applies
            Door::Milter => b"",
            Door::Http => http::FULL,
        };
        // a client that does not read this loses nothing by it
        let _ = connection.write(full, Duration::from_secs(1)).await;
        return;
    }
    match door {
        Door::Spamd => spamd::serve(connection, service).await,
        Door::Milter => milter::serve(connection, service).await,
        Door::Http => http::serve(connection, service).await,
    }
}

/// Counts an open connection until it is dropped, by a panic too.
struct OpenConnection {
    door: Door,
    service: Arc<Service>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.service.metrics.connections[self.door as usize].fetch_sub(1, Relaxed);
    }
}
