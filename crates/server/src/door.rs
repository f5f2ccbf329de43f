//! The doors: each speaks a protocol, and asks the service.

pub(crate) mod http;
pub(crate) mod milter;
pub(crate) mod spamd;

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::net::{Connection, Listener};
use crate::record::Door;
use crate::service::CurrentService;

/// The pause after a connection could not be accepted, as when the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections beyond the limit that are told so; further ones are closed at once, so that they take no descriptors.
const TOLD: usize = 16;

/// Accepts connections until the server stops. Each connection holds a copy of `alive` until it ends.
pub(crate) async fn accept(
    door: Door,
    listener: Listener,
    service: CurrentService,
    stopping: CancellationToken,
    alive: mpsc::Sender<()>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (now, service, alive) = (service.get(), service.clone(), alive.clone());
        // dropped by a panic too
        let open = now.metrics.connections[door as usize].clone();
        let n_open = now.metrics.open_connections(door);
        let most = now.settings().connections_per_door();
        if n_open > most {
            now.metrics.refused.fetch_add(1, Relaxed);
        }
        if n_open > most + TOLD {
            continue;
        }
        let connection = Connection { stream, peer, stopping: stopping.clone() };
        tokio::spawn(async move {
            let _held = (open, alive);
            match n_open > most {
                true => refuse(door, connection).await,
                false => serve(door, connection, service).await,
            }
        });
    }
    // before `alive`: the file of the socket is gone when the server is
    drop(listener);
}

/// Tells a client that its connection is one too many.
async fn refuse(door: Door, mut connection: Connection) {
    let full = match door {
        Door::Spamd => spamd::reply::FULL,
        // it is closed, and the MTA's default applies
        Door::Milter => b"",
        Door::Http | Door::Page => http::FULL,
    };
    // a client that does not read this loses nothing by it
    let _ = connection.write(full, Duration::from_secs(1)).await;
}

/// Serves a connection until it ends.
async fn serve(door: Door, connection: Connection, service: CurrentService) {
    match door {
        Door::Spamd => spamd::serve(connection, &service.get()).await,
        Door::Milter => milter::serve(connection, service).await,
        Door::Http | Door::Page => http::serve(door, connection, service).await,
    }
}
