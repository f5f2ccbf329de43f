//! `tamisd`: the tamis filter as a server.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use tamis_server::{ServerSettings, hash_password, serve};

const HELP: &str = "\
The tamis filter as a server: spamd's protocol, milter and HTTP.

Usage: tamisd [-c FILE] [--check] [--allow-root]
       tamisd --hash-password < PASSWORD

Without -c, serves your default model on 127.0.0.1: spamd's protocol at port 7783, milter at 7785, HTTP at 11333.

Options:
  -c, --config FILE    Settings, in TOML; tamisd.toml beside the program's source describes each
      --check          Check the settings, and exit
      --allow-root     Run as root; a user of its own is safer
      --hash-password  Read a password from standard input, and print its hash for http.password
  -h, --help           Print help
  -V, --version        Print version

SIGTERM stops the server after it has finished what was begun; SIGHUP reads the settings again.
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Tells what the server does, on standard error. A closed standard error is not a failure.
fn say(line: &str) {
    let line: String = line.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect();
    let _ = writeln!(std::io::stderr(), "tamisd: {line}");
}

fn run() -> Result<()> {
    let (mut config, mut is_check, mut allow_root) = (None, false, false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-c" | "--config") => {
                config = Some(PathBuf::from(arguments.next().context("--config: expected a file")?));
            }
            Some("--check") => is_check = true,
            Some("--allow-root") => allow_root = true,
            Some("--hash-password") => return print_hash(),
            Some("-h" | "--help") => return print(HELP),
            Some("-V" | "--version") => return print(concat!("tamisd ", env!("CARGO_PKG_VERSION"), "\n")),
            _ => bail!("unexpected argument {argument:?}; tamisd --help shows all"),
        }
    }
    let mut settings = match &config {
        Some(file) => ServerSettings::read(file)?,
        None => ServerSettings::loopback(),
    };
    settings.allow_root |= allow_root;
    if is_check {
        // the service may have another limit
        settings.raise_descriptor_limit().iter().for_each(|missing| say(missing));
        return Ok(());
    }
    if rustix::process::geteuid().is_root() && !settings.allow_root {
        bail!("running as root; run it as a user of its own, or add --allow-root");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("tamisd")
        // corrections of many users at the same time
        .max_blocking_threads(64)
        .enable_all()
        .build()
        .context("starting threads")?;
    let served = runtime.block_on(serve(settings, config.as_deref(), say));
    // connections that have not ended by now are cut
    runtime.shutdown_background();
    served
}

fn print_hash() -> Result<()> {
    let mut password = String::new();
    std::io::stdin().lock().read_line(&mut password).context("standard input")?;
    let password = password.trim_end_matches(['\r', '\n']);
    ensure!(!password.is_empty(), "expected a password on standard input, got nothing");
    print(&(hash_password(password)? + "\n"))
}

fn print(text: &str) -> Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("standard output")
}
