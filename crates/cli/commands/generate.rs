//! `tamis generate`: the manual pages and the completions, for packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, Command, ValueEnum};

use crate::output::dates::day;
use crate::output::manual::{command_page, format_page};
use crate::output::shown::shown_path;

/// What completes the program in each shell, by the name of the file that the shell looks for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("tamis.bash", include_str!("../../../contrib/completions/tamis.bash")),
    ("_tamis", include_str!("../../../contrib/completions/_tamis")),
    ("tamis.fish", include_str!("../../../contrib/completions/tamis.fish")),
];

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Manual pages: one a command, and tamis.5 for the model file
    Man,
    /// Completions for bash, zsh and fish
    Completions,
}

#[derive(Args)]
pub(crate) struct GenerateArgs {
    /// What to write
    what: What,
    /// The folder to write it into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: &GenerateArgs, program: Command) -> Result<u8> {
    fs::create_dir_all(&args.folder).with_context(|| shown_path(&args.folder))?;
    match args.what {
        What::Man => manual(&args.folder, program)?,
        What::Completions => {
            for (name, script) in COMPLETIONS {
                write(&args.folder.join(name), script.as_bytes())?;
            }
        }
    }
    Ok(0)
}

fn manual(folder: &Path, mut program: Command) -> Result<()> {
    program.build();
    let date = day(now());
    write(&folder.join("tamis.1"), &command_page(&mut program, &date))?;
    let commands = program.get_subcommands_mut();
    for command in commands.filter(|command| !command.is_hide_set() && command.get_name() != "help") {
        let name = format!("tamis-{}.1", command.get_name());
        write(&folder.join(name), &command_page(command, &date))?;
    }
    write(&folder.join("tamis.5"), &format_page(&date))
}

/// The time in seconds from 1970, or that of `$SOURCE_DATE_EPOCH`, so that packages can be made again byte for byte
/// (reproducible-builds.org/specs/source-date-epoch).
fn now() -> i64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64);
    given.unwrap_or_else(now)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| shown_path(path))
}
