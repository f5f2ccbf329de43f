//! `run` and `undo`: what the agent does.

use std::io::Write;
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, anyhow};
use tamis_program::{counted, done, say, told};
use tokio::runtime::{Builder, Runtime};

use crate::agent::state::{Agent, Memory, RunMode};

use crate::agent::watch::watch;
use crate::commands::arguments::{UndoArgs, since};
use crate::ledger::journal::Ledger;
use crate::model::AccountModel;
use crate::settings::{Account, state_folder};

/// A runtime for one account, on the calling thread.
pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("starting")
}

/// Looks after all accounts, each on a thread of its own. Ends when none is left.
pub(crate) fn run(mode: RunMode, path: &Path, accounts: &[Account]) -> Result<()> {
    let one = |account: &Account| runtime()?.block_on(watch(path, account, mode));
    if let [account] = accounts {
        return one(account);
    }
    // said at once, since the others may go on for years
    let one = |account| one(account).inspect_err(|error| say!("{}: {}", account.name, told(error)));
    // a defect ends the account that it is in, not the others
    thread::scope(|scope| {
        let working: Vec<_> = accounts.iter().map(|account| scope.spawn(move || one(account))).collect();
        let defect = |_| Err(anyhow!("ended by a defect"));
        let ended: Vec<_> = working.into_iter().map(|it| it.join().unwrap_or_else(defect)).collect();
        ended.into_iter().collect()
    })
}

/// Moves back what was moved, and prints how much.
pub(crate) fn undo(args: &UndoArgs, account: &Account) -> Result<()> {
    let since = since(args.since.as_deref())?;
    let model = AccountModel::open(account)?;
    let mut ledger = Ledger::open(&state_folder(account)?)?;
    let (mode, mut memory) = (RunMode { dry_run: args.dry_run, ..RunMode::default() }, Memory::default());
    let [back, gone] = runtime()?.block_on(async {
        let mut agent = Agent::connect(account, mode, &model, &mut ledger, &mut memory).await?;
        let undone = agent.undo(&since).await?;
        agent.server.log_out().await;
        anyhow::Ok(undone)
    })?;
    let mut out = done();
    let would = if args.dry_run { "would move" } else { "moved" };
    writeln!(out, "{}: {would} {} back", account.name, counted(back, "message"))?;
    if gone > 0 {
        writeln!(out, "{} not where they were put any more", counted(gone, "message"))?;
    }
    Ok(())
}
