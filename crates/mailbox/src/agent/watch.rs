//! Looks once or repeatedly, and reconnects after failures.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{note, say, shown, told};

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
    let mut settings = account.clone();
    let mut model = AccountModel::open(&settings)?;
    let mut ledger = Ledger::open(&state_folder(&settings)?)?;
    ledger.unlock();
    let (mut memory, mut pause, mut trouble) = (Memory::default(), FIRST_PAUSE, String::new());
    loop {
        if let Some(changed) = changed(path, &settings, &mut memory) {
            note!("{}: goes on with the changed settings", settings.name);
            (settings, model) = changed;
        }
        let account = with_known_labels(&settings, &model, &ledger, &mut memory);
        memory.has_looked = false;
        let agent = Agent::connect(&account, mode, &model, &mut ledger, &mut memory);
        let error = match async { agent.await?.look_until_lost(path, &settings).await }.await {
            Ok(()) if mode.once && memory.has_looked => return Ok(()),
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
        // a trouble of days is one line, whatever times are in it
        let without_numbers = told(&error).replace(|c: char| c.is_ascii_digit(), "");
        if trouble != without_numbers {
            say!("{}: {}; tries again until it works", account.name, told(&error));
        }
        trouble = without_numbers;
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

/// The account with the labels that its model and journal have: one that was renamed in the settings keeps its old name there
/// until the next training. Reports that, and labels of the model that no folder has.
fn with_known_labels(
    settings: &Account,
    model: &AccountModel,
    ledger: &Ledger,
    memory: &mut Memory,
) -> Account {
    let (mut account, known) = (settings.clone(), model.labels());
    let mut report = |trouble: String| memory.report(settings, true, &trouble, &trouble);
    let unknown = settings.labels().into_iter().filter(|label| !known.iter().any(|it| it == label));
    let usual: Vec<_> = unknown.map(|new| (new, ledger.messages.usual_label(settings, new))).collect();
    for (new, old) in &usual {
        let old = old.filter(|old| known.iter().any(|it| it == old) && !account.labels().contains(old));
        // a label that became several has no new name
        let is_split = usual.iter().filter(|(_, other)| *other == old).count() > 1;
        let Some(old) = old.filter(|_| !is_split) else { continue };
        report(format!("takes the label {} for {}, its new name in the settings", shown(old), shown(new)));
        let renamed = account.folders.iter_mut().filter(|folder| folder.label.as_deref() == Some(*new));
        renamed.for_each(|folder| folder.label = Some(old.to_owned()));
    }
    for label in known.iter().filter(|label| !account.labels().contains(&&***label)) {
        report(format!(
            "no folder has the label {} of the model: what belongs there stays in the inbox (tamis mailbox train learns the \
             folders again)",
            shown(label)
        ));
    }
    account
}

impl Agent<'_> {
    /// Looks once, or repeatedly until something fails or the settings change.
    async fn look_until_lost(mut self, path: &Path, settings: &Account) -> Result<()> {
        'account: while self.look_alone(true, settings).await? {
            self.memory.has_looked = true;
            if self.mode.once || changed(path, settings, self.memory).is_some() {
                break;
            }
            let next = Instant::now() + Duration::from_secs(self.account.poll_seconds);
            loop {
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                self.server.wait(left.min(LONGEST_WAIT)).await?;
                if !self.look_alone(false, settings).await? {
                    break 'account;
                }
            }
        }
        self.server.log_out().await;
        Ok(())
    }

    /// Looks while other programs are locked out. Does nothing and returns `false` if the labels are other ones now.
    async fn look_alone(&mut self, everywhere: bool, settings: &Account) -> Result<bool> {
        self.ledger.lock()?;
        let looked = match self.model.reload() {
            Ok(()) if with_known_labels(settings, self.model, self.ledger, self.memory) != *self.account => {
                Ok(false)
            }
            Ok(()) => self.look(everywhere).await.map(|()| true),
            Err(error) => Err(error),
        };
        self.ledger.unlock();
        looked
    }

    async fn look(&mut self, everywhere: bool) -> Result<()> {
        if !everywhere {
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
