//! The commands.

pub(crate) mod arguments;
pub(crate) mod log;
pub(crate) mod propose;
pub(crate) mod runtime;
pub(crate) mod setup;
pub(crate) mod since;
pub(crate) mod train;
pub(crate) mod undo;
pub(crate) mod watching;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tamis_program::{Volume, shown, shown_path};

use crate::commands::arguments::{Arguments, Command};
use crate::settings::account::{Account, Settings};
use crate::settings::places;

/// Runs a command.
///
/// # Errors
/// Those of the settings, the server and the model.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.quiet {
        Volume::Quiet.set();
    }
    let path = match &arguments.settings {
        Some(path) => path.clone(),
        None => places::settings()?,
    };
    match &arguments.command {
        Command::Setup(setup) => setup::run(setup, &path),
        Command::Train(train) => {
            accounts(&path, &arguments.account)?.iter().try_for_each(|it| train::run(train, it))
        }
        Command::Run(run) => watching::run(run, &accounts(&path, &arguments.account)?),
        Command::Undo(undo) => {
            accounts(&path, &arguments.account)?.iter().try_for_each(|it| undo::run(undo, it))
        }
        Command::Log(log) => accounts(&path, &arguments.account)?.iter().try_for_each(|it| log::run(log, it)),
    }
}

/// The accounts that are named, or all.
fn accounts(path: &PathBuf, names: &[String]) -> Result<Vec<Account>> {
    let settings = Settings::read(path).with_context(|| {
        format!("{}: no settings to read (tamis mailbox setup ADDRESS writes them)", shown_path(path))
    })?;
    if let Some(unknown) = names.iter().find(|name| settings.accounts.iter().all(|it| it.name != **name)) {
        bail!("{}: there is no account {}", shown_path(path), shown(unknown));
    }
    let is_named = |account: &Account| names.is_empty() || names.contains(&account.name);
    let accounts: Vec<Account> = settings.accounts.into_iter().filter(is_named).collect();
    if accounts.is_empty() {
        bail!("{}: there is no account", shown_path(path));
    }
    Ok(accounts)
}
