//! The tamis program: reads arguments and documents, prints verdicts.
//!
//! Results go to standard output, everything else to standard error. A message that is being passed through is copied
//! even if something fails.

// The rooms, lowest first: no room uses one that comes after it (tests/code/rooms.rs).
mod output;

mod formats;

mod args;

mod input;

mod answers;

mod models;

mod evaluation;

mod commands;

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser};
use tamis_program::{
    ERROR, Passthrough, arm, asks_for_passthrough, is_closed_pipe, keep_lost_pages, passes_input_through,
    say, told,
};

use crate::args::{VolumeArgs, listed};
use crate::commands::{Cli, Command};

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
        // copy whatever can be read
        let _ = Passthrough::open(None).and_then(|mut message| message.write(None, &[], 0));
    }
    ExitCode::from(ERROR)
}

fn bytes(arguments: &[OsString]) -> impl Iterator<Item = &[u8]> + Clone {
    arguments.iter().map(|argument| argument.as_encoded_bytes())
}

/// The text of a usage error: what was expected and given for a wrong value, otherwise the parser's message.
fn usage_message(error: &clap::Error, arguments: &[OsString]) -> String {
    let is_of_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
    match of_value(error).filter(|_| is_of_value) {
        Some(said) => {
            let command =
                arguments.get(1).and_then(|name| name.to_str()).filter(|name| !name.starts_with('-'));
            let command = command.map_or(String::new(), |name| format!("{name} "));
            format!("tamis: {said}; see tamis {command}--help")
        }
        None => error.render().to_string().trim_end().to_owned(),
    }
}

fn of_value(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (argument, value) = (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    let got = if value.is_empty() { "none".to_owned() } else { format!("{value:?}") };
    let expected = match (error.get(ContextKind::ValidValue), error.source()) {
        (Some(ContextValue::Strings(values)), _) => listed(values, "or"),
        (_, Some(source)) => match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
            Some(IntErrorKind::PosOverflow) => "a smaller number".to_owned(),
            Some(_) => "a whole number".to_owned(),
            None if source.is::<ParseFloatError>() => "a number".to_owned(),
            // our own error message is complete
            None => return Some(format!("{argument}: {source}")),
        },
        _ => "a value".to_owned(),
    };
    Some(format!("{argument}: expected {expected}, got {got}"))
}
