//! The server: opens its doors, serves until it is told to stop, and finishes what was begun.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::door;
use crate::fleet::follower::Follower;
use crate::fleet::sender;
use crate::models::background;
use crate::net::connection::{Connection, Stopping};
use crate::net::listener::{Handed, Listener};
use crate::record::metrics::Door;
use crate::service::serving::Service;
use crate::settings::address::Address;
use crate::settings::file::{Settings, socket_mode};

/// How often the files of models are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, as when the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// SIGXFSZ: a file exceeds the limit of the process. Without a handler it ends the process.
const FILE_TOO_LARGE: i32 = 25;

/// What the server says about itself goes here, a line at a time.
type Say = fn(&str);

/// What all tasks share.
struct Server {
    service: RwLock<Arc<Service>>,
    stopping: watch::Receiver<bool>,
    /// Each task holds a copy: when the last is dropped, all have ended.
    alive: mpsc::Sender<()>,
    say: Say,
}

impl Server {
    fn service(&self) -> Arc<Service> {
        self.service.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves until SIGTERM or SIGINT. SIGHUP reads the settings again from `file`, if there is one; new connections are
/// served by them, except that the same sockets stay open.
///
/// # Errors
/// If a door cannot be opened or there is no path for the shared model.
pub async fn serve(settings: Settings, file: Option<&Path>, say: Say) -> Result<()> {
    let (stop, stopping) = watch::channel(false);
    let (alive, mut ended) = mpsc::channel(1);
    let limit = settings.limits.stop();
    background::start();
    let service = Arc::new(Service::new(settings)?);
    let server = Arc::new(Server { service: RwLock::new(service), stopping, alive, say });
    let listeners = open(server.service().settings()).await?;
    for (door, listener) in listeners {
        say(&format!("{} at {}", door.name(), listener.at));
        tokio::spawn(accept(door, server.clone(), listener));
    }
    if let Err(failure) = server.service().ready() {
        say(&format!("{failure}; until then, the answer to every message is to try again later"));
    }
    tokio::spawn(follow(server.clone()));
    join_fleet(&server)?;
    notify(&[sd_notify::NotifyState::Ready]);
    until_stopped(&server, file).await?;
    notify(&[sd_notify::NotifyState::Stopping]);
    let _ = stop.send(true);
    drop(server);
    if timeout(limit, ended.recv()).await.is_err() {
        say("stopped before all connections had ended");
    }
    Ok(())
}

/// Sends what is learned here to the fleet, and applies what the others have learned.
fn join_fleet(server: &Arc<Server>) -> Result<()> {
    let service = server.service();
    let (Some(fleet), Some(outbox)) = (&service.settings().fleet, service.outbox()) else { return Ok(()) };
    let folder = service.fleet_folder(fleet);
    let follower = Follower::new(folder.clone(), fleet.clone(), server.say)
        .with_context(|| format!("{}: fleet-position.json", folder.display()))?;
    tokio::spawn(sender::run(outbox.clone(), fleet.clone(), server.say));
    let (server, mut stopping) = (server.clone(), Stopping::new(server.stopping.clone()));
    tokio::spawn(async move {
        tokio::select! {
            () = follower.run(|| server.service()) => (),
            () = stopping.wait() => (),
        }
    });
    Ok(())
}

/// Opens every door of the settings.
async fn open(settings: &Settings) -> Result<Vec<(Door, Listener)>> {
    let mut handed = Handed::from_environment();
    let doors: [(Door, &[Address], &str); 3] = [
        (Door::Spamd, &settings.spamd.listen, &settings.spamd.mode),
        (Door::Milter, &settings.milter.listen, &settings.milter.mode),
        (Door::Http, &settings.http.listen, &settings.http.mode),
    ];
    let mut listeners = Vec::new();
    for (door, addresses, mode) in doors {
        for address in addresses {
            listeners.push((door, Listener::bind(address, socket_mode(mode)?, &mut handed).await?));
        }
    }
    if listeners.is_empty() {
        anyhow::bail!(
            "expected at least one address to listen at: spamd.listen, milter.listen or http.listen"
        );
    }
    Ok(listeners)
}

/// Accepts connections until the server stops. The listener is dropped first, so that its file is gone when the server is.
async fn accept(door: Door, server: Arc<Server>, listener: Listener) {
    let mut stopping = Stopping::new(server.stopping.clone());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.wait() => return,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let service = server.service();
        let mut connection = Connection { stream, peer, stopping: stopping.clone() };
        let open = service.connections(door, 1);
        let alive = server.alive.clone();
        let guard = Open { door, service: service.clone() };
        tokio::spawn(async move {
            let _open = guard;
            if open > service.settings().limits.connections as u64 {
                service.refused();
                // a client that does not read this loses nothing by it
                let full = match door {
                    Door::Spamd => door::spamd::FULL,
                    Door::Milter => door::milter::FULL,
                    Door::Http => door::http::FULL,
                };
                let _ = connection.write(full, Duration::from_secs(1)).await;
            } else {
                match door {
                    Door::Spamd => door::spamd::serve(connection, service).await,
                    Door::Milter => door::milter::serve(connection, service).await,
                    Door::Http => door::http::serve(connection, service).await,
                }
            }
            drop(alive);
        });
    }
}

/// Counts an open connection until it is dropped, by a panic too.
struct Open {
    door: Door,
    service: Arc<Service>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.service.connections(self.door, -1);
    }
}

/// Looks every second whether models have changed.
async fn follow(server: Arc<Server>) {
    let mut stopping = Stopping::new(server.stopping.clone());
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Vec::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => (),
            () = stopping.wait() => return,
        }
        let service = server.service();
        let Ok(failures) = tokio::task::spawn_blocking(move || service.follow()).await else { continue };
        // each once, until it changes
        failures.iter().filter(|failure| !told.contains(*failure)).for_each(|f| (server.say)(&f.to_string()));
        told = failures;
    }
}

/// Returns when the server is to stop; meanwhile reads the settings again when it is told to.
async fn until_stopped(server: &Server, file: Option<&Path>) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT")?;
    let mut hang_up = signal(SignalKind::hangup()).context("SIGHUP")?;
    // the write fails then, which is answered
    let _survived = signal(SignalKind::from_raw(FILE_TOO_LARGE)).context("SIGXFSZ")?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hang_up.recv() => (),
        }
        notify(&[sd_notify::NotifyState::Reloading]);
        match reconfigured(server, file) {
            Ok(service) => {
                *server.service.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(service);
                (server.say)("settings read again");
            }
            Err(error) => (server.say)(&format!("the settings stay as they are: {error:#}")),
        }
        notify(&[sd_notify::NotifyState::Ready]);
    }
}

fn reconfigured(server: &Server, file: Option<&Path>) -> Result<Service> {
    let before = server.service();
    let settings = match file {
        Some(file) => Settings::read(file)?,
        None => before.settings().clone(),
    };
    before.reconfigured(settings)
}

/// Tells systemd, if it asked to be told.
fn notify(states: &[sd_notify::NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
