//! Load for a server that speaks spamd's protocol or rspamd's HTTP: clients that send mails and wait for the verdict.
//!
//! `load (--unix PATH | --tcp ADDRESS) [--http] [--clients N] [--seconds S] [--rate N] [--users N] FOLDER` sends the
//! mails of a folder round and round, one connection each, and prints a line of JSON. With `--rate`, mails are sent at
//! fixed times, and their latency counts from then.

#![allow(clippy::print_stdout, missing_docs, reason = "a program that prints what it measured")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Arguments {
    unix: Option<String>,
    tcp: Option<String>,
    http: bool,
    clients: usize,
    seconds: f64,
    rate: Option<f64>,
    users: usize,
    folder: PathBuf,
}

fn main() {
    let arguments = parse();
    let requests = requests(&arguments);
    assert!(!requests.is_empty(), "expected mails in {}", arguments.folder.display());
    let (next, errors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..arguments.clients)
            .map(|_| scope.spawn(|| client(&arguments, &requests, begun, &next, &errors)))
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place.min(latencies.len().saturating_sub(1))).map_or(0.0, |l| l.as_secs_f64() * 1e3)
    };
    println!(
        "{{\"messages\": {}, \"errors\": {}, \"per_second\": {:.0}, \"p50_ms\": {:.3}, \"p99_ms\": {:.3}, \"max_ms\": {:.3}}}",
        latencies.len(),
        errors.load(Relaxed),
        latencies.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn parse() -> Arguments {
    let mut parsed = Arguments { clients: 4, seconds: 5.0, ..Arguments::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value");
        match argument.as_str() {
            "--unix" => parsed.unix = Some(value()),
            "--tcp" => parsed.tcp = Some(value()),
            "--http" => parsed.http = true,
            "--clients" => parsed.clients = value().parse().expect("a number"),
            "--seconds" => parsed.seconds = value().parse().expect("seconds"),
            "--rate" => parsed.rate = Some(value().parse().expect("messages a second")),
            "--users" => parsed.users = value().parse().expect("a number"),
            folder => parsed.folder = folder.into(),
        }
    }
    parsed
}

/// The whole requests, one a mail; with users, each mail for each of up to 64 of them in turn.
fn requests(arguments: &Arguments) -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        fs::read_dir(&arguments.folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let mails: Vec<_> = files.iter().filter_map(|file| fs::read(file).ok()).collect();
    let n = mails.len().max(arguments.users);
    let request = |at: usize| {
        let mail = &mails[at % mails.len()];
        let user = if arguments.users > 0 {
            format!("User: user{}\r\n", at % arguments.users)
        } else {
            String::new()
        };
        let head = match arguments.http {
            true => format!(
                "POST /checkv2 HTTP/1.0\r\nHost: localhost\r\n{user}Content-Length: {}\r\n\r\n",
                mail.len()
            ),
            false => format!("CHECK SPAMC/1.5\r\n{user}Content-length: {}\r\n\r\n", mail.len()),
        };
        [head.as_bytes(), mail].concat()
    };
    if mails.is_empty() { Vec::new() } else { (0..n).map(request).collect() }
}

fn client(
    arguments: &Arguments,
    requests: &[Vec<u8>],
    begun: Instant,
    next: &AtomicUsize,
    errors: &AtomicUsize,
) -> Vec<Duration> {
    let end = begun + Duration::from_secs_f64(arguments.seconds);
    let mut latencies = Vec::new();
    loop {
        let at = next.fetch_add(1, Relaxed);
        let mut sent = Instant::now();
        if let Some(rate) = arguments.rate {
            let due = begun + Duration::from_secs_f64(at as f64 / rate);
            std::thread::sleep(due.saturating_duration_since(sent));
            sent = due;
        }
        if sent >= end {
            return latencies;
        }
        match exchange(arguments, &requests[at % requests.len()]) {
            Ok(true) => latencies.push(sent.elapsed()),
            _ => {
                errors.fetch_add(1, Relaxed);
            }
        }
    }
}

/// Whether the answer has a verdict.
fn exchange(arguments: &Arguments, request: &[u8]) -> io::Result<bool> {
    let mut answer = Vec::new();
    if let Some(path) = &arguments.unix {
        let mut stream = UnixStream::connect(path)?;
        stream.write_all(request)?;
        stream.shutdown(Shutdown::Write)?;
        stream.read_to_end(&mut answer)?;
    } else {
        let mut stream = TcpStream::connect(arguments.tcp.as_deref().unwrap_or("127.0.0.1:7783"))?;
        stream.set_nodelay(true)?;
        stream.write_all(request)?;
        if !arguments.http {
            stream.shutdown(Shutdown::Write)?;
        }
        stream.read_to_end(&mut answer)?;
    }
    let has = |text: &str| answer.windows(text.len()).any(|part| part == text.as_bytes());
    Ok(if arguments.http { has("\"score\"") } else { has("EX_OK") && has("Spam: ") })
}
