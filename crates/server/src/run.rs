//! The server: opens its doors, serves until it is told to stop, and finishes what was begun.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use sd_notify::{NotifyState, notify};
use tamis_train::{return_large_blocks, survive_lost_pages};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::door::accept;
use crate::fleet::Follower;
use crate::fleet::store::send_entries;
use crate::models::learning::step_back;
use crate::net::{Listener, SocketFile, SystemdSockets};
use crate::record::Door;
use crate::service::{CurrentService, Service};
use crate::settings::ServerSettings;
use crate::settings::address::Address;

/// How often the files of models are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// SIGXFSZ: a file exceeds the limit of the process. Without a handler it ends the process.
const FILE_TOO_LARGE: i32 = 25;

/// What the server says about itself goes here, a line at a time.
type Say = fn(&str);

/// What all tasks share.
struct Daemon {
    service: CurrentService,
    /// Where it listens, whatever the settings say meanwhile.
    listening: Vec<Address>,
    stopping: CancellationToken,
    /// Each task holds a copy: when the last is dropped, all have ended.
    alive: mpsc::Sender<()>,
    say: Say,
}

/// Serves until SIGTERM or SIGINT. SIGHUP reads the settings again from `file`, if there is one; they apply from the next
/// message on, of connections that are open too, except that the same sockets stay open.
///
/// # Errors
/// If a setting cannot be, a door cannot be opened or there is no path for the shared model.
pub async fn serve(settings: ServerSettings, file: Option<&Path>, say: Say) -> Result<()> {
    settings.check()?;
    // first: a server that said anything can be stopped as any other
    let signals = signals()?;
    let stopping = CancellationToken::new();
    // cancelled also if this future is dropped
    let stop = stopping.clone().drop_guard();
    let (alive, mut ended) = mpsc::channel(1);
    let limit = settings.limits.stop;
    // these threads retrain models: nothing else here runs in parallel. If the program that embeds the server has started
    // them, they stay as they are
    let _ = rayon::ThreadPoolBuilder::new().start_handler(|_| step_back()).build_global();
    // a file of a model that shrinks is an error of one answer
    survive_lost_pages();
    // what one large message took is free for others
    return_large_blocks();
    settings.raise_descriptor_limit().iter().for_each(|missing| say(missing));
    let listening = settings.doors().concat();
    let service = CurrentService::new(Service::new(settings)?);
    let daemon = Arc::new(Daemon { service, listening, stopping, alive, say });
    let listeners = open(daemon.service.get().settings()).await?;
    for (door, listener) in listeners {
        say(&format!("{} at {}", door.name(), listener.at));
        let (service, stopping, alive) =
            (daemon.service.clone(), daemon.stopping.clone(), daemon.alive.clone());
        tokio::spawn(accept(door, listener, service, stopping, alive));
    }
    if let Err(failure) = daemon.service.get().ready() {
        say(&format!("{failure}; until then, the answer to every message is to try again later"));
    }
    tokio::spawn(follow(daemon.clone()));
    join_fleet(&daemon)?;
    // systemd, if it asked to be told
    let _ = notify(&[NotifyState::Ready]);
    until_stopped(signals, &daemon, file).await;
    let _ = notify(&[NotifyState::Stopping]);
    drop(stop);
    drop(daemon);
    if timeout(limit, ended.recv()).await.is_err() {
        say("stopped before all connections had ended");
    }
    Ok(())
}

/// Sends what is learned here to the fleet, and applies what the others have learned.
fn join_fleet(daemon: &Arc<Daemon>) -> Result<()> {
    let service = daemon.service.get();
    let (Some(fleet), Some(outbox)) = (&service.settings().fleet, service.outbox()) else { return Ok(()) };
    let follower = Follower::new(outbox.folder.clone(), fleet.clone(), daemon.say)
        .with_context(|| format!("{}: fleet-position.json", outbox.folder.display()))?;
    tokio::spawn(send_entries(outbox.clone(), fleet.clone(), daemon.say));
    let daemon = daemon.clone();
    tokio::spawn(async move {
        daemon.stopping.run_until_cancelled(follower.run(|| daemon.service.get())).await;
    });
    Ok(())
}

/// Opens every door of the settings.
async fn open(settings: &ServerSettings) -> Result<Vec<(Door, Listener)>> {
    let mut handed = SystemdSockets::from_environment();
    let ServerSettings { spamd, milter, http, .. } = settings;
    let files = [
        SocketFile { mode: spamd.mode.0, owner: spamd.owner, group: spamd.group },
        SocketFile { mode: milter.mode.0, owner: milter.owner, group: milter.group },
        SocketFile { mode: http.mode.0, owner: http.owner, group: http.group },
        SocketFile { mode: 0o660, owner: None, group: None },
    ];
    let mut listeners = Vec::new();
    for ((door, addresses), like) in Door::ALL.into_iter().zip(settings.doors()).zip(files) {
        for address in addresses {
            listeners.push((door, Listener::bind(address, like, &mut handed).await?));
        }
    }
    Ok(listeners)
}

/// Looks every second whether models have changed.
async fn follow(daemon: Arc<Daemon>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Vec::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => (),
            () = daemon.stopping.cancelled() => return,
        }
        let service = daemon.service.get();
        service.metrics.tick();
        let Ok(failures) = tokio::task::spawn_blocking(move || service.follow()).await else { continue };
        // each once, until it changes
        failures.iter().filter(|failure| !told.contains(*failure)).for_each(|f| (daemon.say)(&f.to_string()));
        told = failures;
    }
}

/// The signals that the server answers: those to end, to be interrupted and to hang up. After the last, a write fails, which
/// is answered.
fn signals() -> Result<[Signal; 4]> {
    Ok([
        signal(SignalKind::terminate()).context("SIGTERM")?,
        signal(SignalKind::interrupt()).context("SIGINT")?,
        signal(SignalKind::hangup()).context("SIGHUP")?,
        signal(SignalKind::from_raw(FILE_TOO_LARGE)).context("SIGXFSZ")?,
    ])
}

/// Returns when the server is to stop; meanwhile reads the settings again when it is told to.
async fn until_stopped(signals: [Signal; 4], daemon: &Daemon, file: Option<&Path>) {
    let [mut terminate, mut interrupt, mut hang_up, _file_too_large] = signals;
    loop {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = interrupt.recv() => return,
            _ = hang_up.recv() => (),
        }
        let _ = notify(&[NotifyState::Reloading]);
        let before = daemon.service.get();
        let settings = file.map_or_else(|| Ok(before.settings().clone()), ServerSettings::read);
        match settings.and_then(|settings| before.reconfigured(settings)) {
            Ok(service) => {
                if service.settings().doors().concat() != daemon.listening {
                    (daemon.say)("listen has changed, which needs a restart; the same sockets stay open");
                }
                service.settings().raise_descriptor_limit().iter().for_each(|missing| (daemon.say)(missing));
                daemon.service.set(service);
                (daemon.say)("settings read again");
            }
            Err(error) => (daemon.say)(&format!("the settings stay as they are: {error:#}")),
        }
        let _ = notify(&[NotifyState::Ready]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use tamis_train::{Document, Kind, TrainOptions, Trainer};
    use tokio::task::spawn_blocking;

    use crate::hash_password;
    use crate::models::request::ModelId;
    use crate::service::MOST_LONG;

    const MAIL: &str =
        "From: a@example.org\r\nTo: b@example.org\r\nSubject: pears\r\n\r\nA pound of them\r\n";

    /// Asks over TCP; returns the answer, or why there was none.
    fn ask(address: &str, request: &[u8]) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    #[test]
    fn scorings_that_take_long_keep_no_connection_of_any_door_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.tamis");
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
        for label in ["ham", "spam"] {
            trainer.add(label, Document::Mail(format!("{MAIL}{label}").as_bytes())).unwrap();
        }
        trainer.finish().unwrap().save(&path).unwrap();
        let doors: String = ["spamd", "milter", "page", "http"]
            .map(|door| format!("[{door}]\nlisten = [\"tcp:127.0.0.1:0\"]\n"))
            .concat();
        let password = hash_password("secret").unwrap();
        let settings = format!("{doors}password = {password:?}\n[models]\nshared = {path:?}\n");
        let settings = ServerSettings::parse(&settings).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).max_blocking_threads(64).enable_all().build().unwrap();
        // to drop it would be to wait for what may hang
        let runtime = Box::leak(Box::new(runtime));
        let answers = runtime.block_on(async {
            let service = CurrentService::new(Service::new(settings).unwrap());
            let stopping = CancellationToken::new();
            let (alive, _ended) = mpsc::channel(1);
            let mut addresses = Vec::new();
            for (door, listener) in open(service.get().settings()).await.unwrap() {
                addresses.push((door.name(), listener.at.strip_prefix("tcp:").unwrap().to_owned()));
                tokio::spawn(accept(door, listener, service.clone(), stopping.clone(), alive.clone()));
            }
            // all but one turn is taken, and each waits until all connections have been answered
            let (begun, ended) = (Arc::new(AtomicUsize::new(1)), Arc::new(Barrier::new(MOST_LONG)));
            for _ in 1..MOST_LONG {
                let (service, begun, ended) = (service.get(), begun.clone(), ended.clone());
                tokio::spawn(async move {
                    let mail = vec![0; 100_000];
                    let wait = || (begun.fetch_add(1, Relaxed), ended.wait());
                    service.away_from_others(ModelId::Shared, Document::Mail(&mail), wait).await;
                });
            }
            let n_begun = || begun.load(Relaxed);
            tamis_testing::wait_for(|| n_begun() == MOST_LONG, || format!("{} have begun", n_begun()));
            let mut answers = Vec::new();
            for (door, address) in addresses {
                for mail in [MAIL.to_owned(), format!("{MAIL}{}", "more of them\r\n".repeat(10_000))] {
                    let json = format!("{{\"mail\": {mail:?}}}\n");
                    let requests = match door {
                        "spamd" => vec![format!("CHECK SPAMC/1.5\r\nContent-length: {}\r\n\r\n{mail}", mail.len())],
                        "milter" => vec!["\0\0\0\rO\0\0\0\u{6}\0\0\0\u{1}\0\0\0\0".to_owned()],
                        "page" => vec!["GET /try HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()],
                        _ => vec![
                            "GET /healthy HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
                            format!("POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{json}", json.len()),
                        ],
                    };
                    for request in requests {
                        let address = address.clone();
                        let answer = spawn_blocking(move || ask(&address, request.as_bytes())).await.unwrap();
                        answers.push((door, answer));
                    }
                }
            }
            spawn_blocking(move || ended.wait()).await.unwrap();
            answers
        });
        assert_eq!(answers.len(), 10);
        for (door, answer) in answers {
            let answer = answer.unwrap();
            let is_well = match door {
                "spamd" => answer.contains("0 EX_OK"),
                "milter" => answer.contains("O\0\0\0"),
                "page" => answer.starts_with("HTTP/1.1 303 "),
                _ => answer.starts_with("HTTP/1.1 200 "),
            };
            assert!(is_well, "{door}: {answer}");
        }
    }
}
