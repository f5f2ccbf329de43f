//! The tamis program: reads arguments and documents, prints verdicts.
//!
//! Results go to standard output, everything else to standard error. A message that is being passed through is copied
//! even if something fails.

// The rooms, lowest first: no room uses one that comes after it (tests/code/rooms.rs).
mod output;

mod formats;

mod args;

mod input;

mod commands;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, FromArgMatches, Parser};
use tamis_program::{
    ERROR, arm, asks_for_passthrough, is_closed_pipe, keep_lost_pages, passes_input_through, say, told,
};

use crate::args::VolumeArgs;
use crate::commands::{Cli, Command, passthrough};
use crate::output::usage_message;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    keep_lost_pages();
    if let Some(arguments) = of_bogofilter(&arguments) {
        return ExitCode::from(tamis_bogofilter::run(arguments));
    }
    if passes_input_through(bytes(&arguments)) {
        arm(libc::STDIN_FILENO);
    }
    let (command, volume) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error, &arguments),
    };
    volume.volume().set();
    match catch_unwind(AssertUnwindSafe(|| commands::run(command))) {
        Ok(Ok(status)) => ExitCode::from(status),
        Ok(Err(error)) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            say!("tamis: {}", told(&error));
            ExitCode::from(ERROR)
        }
        Err(_) => ExitCode::from(ERROR),
    }
}

/// The arguments of bogofilter, if it was called: by the program's name or by the first argument.
fn of_bogofilter(arguments: &[OsString]) -> Option<&[OsString]> {
    match arguments {
        [program, rest @ ..] if Path::new(program).file_name()? == "bogofilter" => Some(rest),
        [_, first, rest @ ..] if first == "bogofilter" => Some(rest),
        _ => None,
    }
}

/// Parses the arguments. Building the options of all commands would take a fifth of the time to score a message. So the
/// commands that run for every message are parsed on their own. If that fails, all commands are built for the error
/// message.
fn parse(arguments: &[OsString]) -> Result<(Command, VolumeArgs), clap::Error> {
    let alone = match arguments.get(1).and_then(|name| name.to_str()) {
        Some("score") => read_alone(arguments, Command::Score),
        Some("learn") => read_alone(arguments, Command::Learn),
        Some("forget") => read_alone(arguments, Command::Forget),
        _ => None,
    };
    if let Some(alone) = alone {
        return Ok(alone);
    }
    let Cli { command, volume } = Cli::try_parse_from(arguments)?;
    Ok((command, volume))
}

/// The arguments of a command, if they are valid and do not ask for help.
fn read_alone<A: Args>(
    arguments: &[OsString],
    command: impl FnOnce(A) -> Command,
) -> Option<(Command, VolumeArgs)> {
    let arguments_of = VolumeArgs::augment_args(A::augment_args(clap::Command::new("tamis")));
    let matches = arguments_of.try_get_matches_from(&arguments[1..]).ok()?;
    let given = A::from_arg_matches(&matches).ok()?;
    Some((command(given), VolumeArgs::from_arg_matches(&matches).ok()?))
}

/// Prints help, version or a usage error. Only the last is an error; after it, `score --passthrough` still lets the
/// message through.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        // if printing fails, nothing is left to do
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // the message repeats arguments unescaped
    usage_message(error, arguments).lines().for_each(|line| say!("{line}"));
    if asks_for_passthrough(bytes(arguments)) {
        passthrough::copy_input();
    }
    ExitCode::from(ERROR)
}

fn bytes(arguments: &[OsString]) -> impl Iterator<Item = &[u8]> + Clone {
    arguments.iter().map(|argument| argument.as_encoded_bytes())
}
