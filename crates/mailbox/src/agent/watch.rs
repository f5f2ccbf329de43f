//! Looks once, or again and again, and comes back after failures.

use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{say, told};

use crate::agent::state::{Agent, Memory};
use crate::imap::commands::Server;
use crate::imap::failure::Failure;
use crate::ledger::journal::Ledger;
use crate::model::judge::Judge;
use crate::settings::account::{Account, Action};
use crate::settings::places;

/// The first and the longest pause after a failure; each is twice the one before. Providers count logins.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

/// The first pause after a server asked for time.
const THROTTLED_PAUSE: Duration = Duration::from_secs(60);

/// How long to wait in one piece: servers close connections that are silent for half an hour, routers earlier.
const LONGEST_WAIT: Duration = Duration::from_secs(240);

/// How an account is looked after.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Manner {
    /// What to do instead of what the settings say.
    pub(crate) action: Option<Action>,
    /// Whether to tell only.
    pub(crate) is_dry: bool,
    /// Whether to end after one look.
    pub(crate) once: bool,
}

/// Looks after an account: once, or until the server refuses the login.
///
/// # Errors
/// If there is no model, the login is refused, or, with one look, if that fails.
pub(crate) async fn watch(account: &Account, manner: Manner) -> Result<()> {
    let judge = Judge::open(account)?;
    let mut ledger = Ledger::open(&places::state(account)?)?;
    ledger.put_down();
    let (mut memory, mut pause) = (Memory { looks_once: manner.once, ..Memory::default() }, FIRST_PAUSE);
    loop {
        memory.has_looked = false;
        let Err(error) = connected(account, manner, &judge, &mut ledger, &mut memory).await else {
            return Ok(());
        };
        if memory.has_looked {
            pause = FIRST_PAUSE;
        }
        let failure = error.downcast_ref::<Failure>();
        if manner.once || matches!(failure, Some(Failure::Login(_))) {
            return Err(error);
        }
        if failure.is_some_and(Failure::is_throttling) {
            pause = pause.max(THROTTLED_PAUSE);
        }
        say!("{}: {}; tries again in {} s", account.name, told(&error), pause.as_secs());
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

async fn connected(
    account: &Account,
    manner: Manner,
    judge: &Judge,
    ledger: &mut Ledger,
    memory: &mut Memory,
) -> Result<()> {
    let mut server = Server::connect(account).await?;
    let (mailboxes, _) = server.mailboxes().await?;
    let action = manner.action.unwrap_or(account.action);
    let mut agent =
        Agent { account, action, is_dry: manner.is_dry, server, mailboxes, judge, ledger, memory };
    loop {
        agent.taken_up(Look::Everywhere).await?;
        agent.memory.has_looked = true;
        if manner.once {
            agent.server.log_out().await;
            return Ok(());
        }
        let next = Instant::now() + Duration::from_secs(account.poll_seconds);
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            agent.server.wait(left.min(LONGEST_WAIT)).await?;
            agent.taken_up(Look::Inbox).await?;
        }
    }
}

/// Where to look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Everywhere,
    Inbox,
}

impl Agent<'_> {
    /// Looks while other programs are locked out.
    async fn taken_up(&mut self, look: Look) -> Result<()> {
        self.ledger.take_up()?;
        let looked = self.look(look).await;
        self.ledger.put_down();
        looked
    }

    async fn look(&mut self, look: Look) -> Result<()> {
        self.judge.reload()?;
        if look == Look::Inbox {
            return self.look_into_inbox().await;
        }
        // what arrives is sorted even if nothing can be learned at the moment
        let learned = self.look_into_folders().await;
        if learned.as_ref().is_err_and(|error| error.is::<Failure>()) {
            return learned;
        }
        let confirmed = if learned.is_ok() { self.confirm().await } else { Ok(()) };
        // last, since it is waited in the inbox
        self.look_into_inbox().await?;
        learned.and(confirmed)
    }
}
