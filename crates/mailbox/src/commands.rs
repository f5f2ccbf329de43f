//! The commands.

pub(crate) mod agent;
pub(crate) mod arguments;
pub(crate) mod log;
pub(crate) mod propose;
pub(crate) mod setup;
pub(crate) mod train;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use tamis_program::{Volume, say, shown, shown_path, told};

use crate::commands::arguments::{AgentArgs, AgentCommand};
use crate::settings::{Account, MailboxSettings, settings_file};

/// Runs a command.
///
/// # Errors
/// Those of the settings, the server and the model.
pub fn run(args: &AgentArgs) -> Result<()> {
    if args.quiet {
        Volume::Quiet.set();
    }
    let path = args.settings.clone().map_or_else(settings_file, Ok)?;
    let accounts = || accounts(&path, &args.account);
    let for_each = |run: &dyn Fn(&Account) -> Result<()>| {
        let accounts = accounts()?;
        let mut failed = accounts.iter().map(run).filter_map(Result::err);
        let first = failed.next();
        failed.for_each(|error| say!("{}", told(&error)));
        first.map_or(Ok(()), Err)
    };
    match &args.command {
        AgentCommand::Setup(setup) => agent::runtime()?.block_on(setup::run(setup, &path)),
        AgentCommand::Run(run) => agent::run(*run, &path, &accounts()?),
        AgentCommand::Train(train) => for_each(&|account| train::run(train, &path, account)),
        AgentCommand::Undo(undo) => for_each(&|account| agent::undo(undo, account)),
        AgentCommand::Log(log) => for_each(&|account| log::run(log, account)),
    }
}

/// The named accounts, or all if none is named.
fn accounts(path: &Path, names: &[String]) -> Result<Vec<Account>> {
    let settings = MailboxSettings::read(path).with_context(|| {
        format!("{}: expected settings, as tamis mailbox setup ADDRESS writes them", shown_path(path))
    })?;
    if let Some(unknown) = names.iter().find(|name| settings.accounts.iter().all(|it| it.name != **name)) {
        bail!("{}: there is no account {}", shown_path(path), shown(unknown));
    }
    let is_named = |account: &Account| names.is_empty() || names.contains(&account.name);
    let accounts: Vec<Account> = settings.accounts.into_iter().filter(is_named).collect();
    ensure!(!accounts.is_empty(), "{}: there is no account", shown_path(path));
    Ok(accounts)
}
