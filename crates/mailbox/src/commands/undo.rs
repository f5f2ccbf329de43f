//! `undo`

use std::io::Write;

use anyhow::Result;
use tamis_program::{counted, done};

use crate::agent::state::{Agent, Memory};
use crate::agent::undo::Undone;
use crate::commands::arguments::UndoArgs;
use crate::commands::runtime::runtime;
use crate::commands::since;
use crate::imap::commands::Server;
use crate::ledger::journal::Ledger;
use crate::model::judge::Judge;
use crate::settings::account::Account;
use crate::settings::places;

pub(crate) fn run(args: &UndoArgs, account: &Account) -> Result<()> {
    let since = since::since(args.since.as_deref())?;
    let undone = runtime()?.block_on(undo(args, account, &since))?;
    let mut out = done();
    let would = if args.dry_run { "would move" } else { "moved" };
    writeln!(out, "{}: {would} {} back", account.name, counted(undone.back, "message"))?;
    if undone.gone > 0 {
        writeln!(out, "{} not where they were put any more", counted(undone.gone, "message"))?;
    }
    Ok(())
}

async fn undo(args: &UndoArgs, account: &Account, since: &str) -> Result<Undone> {
    let judge = Judge::open(account)?;
    let mut ledger = Ledger::open(&places::state(account)?)?;
    let mut server = Server::connect(account).await?;
    let (mailboxes, _) = server.mailboxes().await?;
    let mut agent = Agent {
        account,
        action: account.action,
        is_dry: args.dry_run,
        server,
        mailboxes,
        judge: &judge,
        ledger: &mut ledger,
        memory: &mut Memory::default(),
    };
    let undone = agent.undo(since).await?;
    agent.server.log_out().await;
    Ok(undone)
}
