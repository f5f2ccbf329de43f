//! Looks once or repeatedly, and reconnects after failures.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{note, say, told};

use crate::agent::state::{Agent, Memory, RunMode};
use crate::imap::session::ImapError;
use crate::ledger::journal::Ledger;
use crate::model::AccountModel;
use crate::settings::{Account, MailboxSettings, state_folder};

/// The first and the longest pause after a failure; each is twice the one before. Providers count logins.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

/// The first pause after a server asked to slow down.
const THROTTLED_PAUSE: Duration = Duration::from_secs(60);

/// The longest single wait: servers close connections that are silent for half an hour, routers earlier.
const LONGEST_WAIT: Duration = Duration::from_secs(240);

/// Looks after an account: once, or until the server refuses the login. Follows changes of its settings.
///
/// # Errors
/// If there is no model or the login is refused; with a single look, also if that fails.
pub(crate) async fn watch(path: &Path, account: &Account, mode: RunMode) -> Result<()> {
    let mut account = account.clone();
    let mut model = AccountModel::open(&account)?;
    let mut ledger = Ledger::open(&state_folder(&account)?)?;
    ledger.unlock();
    let (mut memory, mut pause, mut trouble) = (Memory::default(), FIRST_PAUSE, String::new());
    model.compare_labels(&account);
    loop {
        if let Some(changed) = changed(path, &account, &mut memory) {
            note!("{}: goes on with the changed settings", account.name);
            (account, model) = changed;
            model.compare_labels(&account);
        }
        memory.has_looked = false;
        let agent = Agent::connect(&account, mode, &model, &mut ledger, &mut memory);
        let error = match async { agent.await?.look_until_lost(path).await }.await {
            Ok(()) if mode.once => return Ok(()),
            Ok(()) => continue,
            Err(error) => error,
        };
        if memory.has_looked {
            pause = FIRST_PAUSE;
            trouble.clear();
        }
        let failure = error.downcast_ref::<ImapError>();
        if mode.once || matches!(failure, Some(ImapError::Login(_))) {
            return Err(error);
        }
        if failure.is_some_and(ImapError::is_throttling) {
            pause = pause.max(THROTTLED_PAUSE);
        }
        // a trouble of days is one line
        if trouble != told(&error) {
            trouble = told(&error);
            say!("{}: {trouble}; tries again until it works", account.name);
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// The account's settings with their model, if they are no longer `account`. Settings that cannot be used are reported.
fn changed(path: &Path, account: &Account, memory: &mut Memory) -> Option<(Account, AccountModel)> {
    let read = || {
        let all = MailboxSettings::read(path)?.accounts;
        let found = all.into_iter().find(|it| it.name == account.name && it != account);
        found.map(|found| AccountModel::open(&found).map(|model| (found, model))).transpose()
    };
    read().unwrap_or_else(|error: anyhow::Error| {
        let trouble = told(&error);
        memory.report(account, true, &trouble, &trouble);
        None
    })
}

/// Where to look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Everywhere,
    Inbox,
}

impl Agent<'_> {
    /// Looks once, or repeatedly until something fails or the settings change.
    async fn look_until_lost(mut self, path: &Path) -> Result<()> {
        loop {
            self.look_alone(Look::Everywhere).await?;
            self.memory.has_looked = true;
            if self.mode.once || changed(path, self.account, self.memory).is_some() {
                self.server.log_out().await;
                return Ok(());
            }
            let next = Instant::now() + Duration::from_secs(self.account.poll_seconds);
            loop {
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                self.server.wait(left.min(LONGEST_WAIT)).await?;
                self.look_alone(Look::Inbox).await?;
            }
        }
    }

    /// Looks while other programs are locked out.
    async fn look_alone(&mut self, look: Look) -> Result<()> {
        self.ledger.lock()?;
        let looked = self.look(look).await;
        self.ledger.unlock();
        looked
    }

    async fn look(&mut self, look: Look) -> Result<()> {
        self.model.reload()?;
        if look == Look::Inbox {
            return self.look_into_inbox().await;
        }
        // folders come and go
        (self.mailboxes, _) = self.server.mailboxes().await?;
        // new mail is sorted even if learning fails
        let learned = self.look_into_folders().await;
        if learned.as_ref().is_err_and(|error| error.is::<ImapError>()) {
            return learned;
        }
        let confirmed = if learned.is_ok() { self.confirm().await } else { Ok(()) };
        // last, since the inbox stays open for waiting
        self.look_into_inbox().await?;
        self.send_digest().await?;
        learned.and(confirmed)
    }
}
