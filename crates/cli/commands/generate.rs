//! `tamis generate`: recipes for mail programs; manual pages and completions for packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, Command, Subcommand};
use tamis_program::{day, shown_path};

use crate::commands::recipe::{self, RecipeArgs};
use crate::output::{command_page, format_page};

/// The completion scripts, by the file name that each shell looks for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("tamis.bash", include_str!("../../../contrib/completions/tamis.bash")),
    ("_tamis", include_str!("../../../contrib/completions/_tamis")),
    ("tamis.fish", include_str!("../../../contrib/completions/tamis.fish")),
];

#[derive(Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print a recipe for a mail program, with the path of this tamis, and with folders and settings
    Recipe(RecipeArgs),
    /// Write the manual pages: one per command, and tamis.5 for the model file
    Man(FolderArg),
    /// Write the completions for bash, zsh and fish
    Completions(FolderArg),
}

#[derive(Args)]
struct FolderArg {
    /// The folder to write into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl FolderArg {
    fn make(&self) -> Result<&Path> {
        fs::create_dir_all(&self.folder).with_context(|| shown_path(&self.folder))?;
        Ok(&self.folder)
    }
}

pub(crate) fn run(args: &GenerateArgs, mut program: Command) -> Result<u8> {
    match &args.what {
        What::Recipe(args) => return recipe::run(args),
        What::Man(folder) => {
            program.build();
            let (folder, date) = (folder.make()?, day(now()));
            manual(folder, &mut program, &date)?;
            write(&folder.join("tamis.5"), &format_page(&date))?;
        }
        What::Completions(folder) => {
            let folder = folder.make()?;
            for (name, script) in COMPLETIONS {
                write(&folder.join(name), script.as_bytes())?;
            }
        }
    }
    Ok(0)
}

/// Writes the manual pages of a command and its subcommands.
fn manual(folder: &Path, command: &mut Command, date: &str) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    write(&folder.join(format!("{name}.1")), &command_page(command, date))?;
    let inner = command.get_subcommands_mut();
    let mut shown = inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    shown.try_for_each(|inner| manual(folder, inner, date))
}

/// The time in seconds since 1970, or `$SOURCE_DATE_EPOCH` if set, so that packages can be reproduced byte for byte
/// (reproducible-builds.org/specs/source-date-epoch).
fn now() -> i64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64);
    given.unwrap_or_else(now)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| shown_path(path))
}
