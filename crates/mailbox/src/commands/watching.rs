//! `run`

use std::thread;

use anyhow::{Result, anyhow};
use tamis_program::{say, told};

use crate::agent::watch::{Manner, watch};
use crate::commands::arguments::RunArgs;
use crate::commands::runtime::runtime;
use crate::settings::account::Account;

/// Looks after all accounts, each on a thread of its own. Ends when none is left.
pub(crate) fn run(args: &RunArgs, accounts: &[Account]) -> Result<()> {
    let manner = Manner { action: args.action(), is_dry: args.dry_run, once: args.once };
    let one = |account: &Account| runtime()?.block_on(watch(account, manner));
    if let [account] = accounts {
        return one(account);
    }
    // a defect ends the account that it is in, not the others
    thread::scope(|scope| {
        let working: Vec<_> =
            accounts.iter().map(|account| (account, scope.spawn(move || one(account)))).collect();
        let mut last = Ok(());
        for (account, working) in working {
            let ended = working.join().unwrap_or_else(|_| Err(anyhow!("ended by a defect")));
            if let Err(error) = ended {
                say!("{}: {}", account.name, told(&error));
                last = Err(error);
            }
        }
        last
    })
}
