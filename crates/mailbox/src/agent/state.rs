//! What the agent holds: a connection, a model and a ledger.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use anyhow::Result;
use tamis_program::{counted, note, say, shown};

use crate::imap::folders::Mailbox;
use crate::imap::messages::{FetchedMessage, Location};
use crate::imap::session::{ImapError, ImapSession};
use crate::ledger::entry::{Event, Id};
use crate::ledger::header::Header;
use crate::ledger::journal::Ledger;
use crate::model::AccountModel;
use crate::settings::{Account, SortAction};

// how an account is looked after, as `run` is told; a comment that is documentation would be its help
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(crate) struct RunMode {
    /// Look once, then end
    #[arg(long)]
    pub(crate) once: bool,
    /// Show what would be done, and do nothing; needs --once
    #[arg(short = 'n', long, requires = "once")]
    pub(crate) dry_run: bool,
    /// Sort also what already lies in the inbox, but nothing that you have put back there; needs --once. Look first at what
    /// --dry-run shows
    #[arg(long, requires = "once")]
    pub(crate) existing: bool,
    /// Do not move messages, but give them a keyword: $Junk or tamis-LABEL
    #[arg(long)]
    pub(crate) flag_only: bool,
    /// Copy messages instead of moving them
    #[arg(long, conflicts_with = "flag_only")]
    pub(crate) copy: bool,
}

/// An account while it is connected.
pub(crate) struct Agent<'a> {
    pub(crate) account: &'a Account,
    pub(crate) mode: RunMode,
    pub(crate) server: ImapSession,
    pub(crate) mailboxes: Vec<Mailbox>,
    pub(crate) model: &'a AccountModel,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) memory: &'a mut Memory,
}

/// What outlives a connection.
#[derive(Default)]
pub(crate) struct Memory {
    /// What was reported: each trouble once, until it is over.
    pub(crate) reported: HashSet<String>,
    /// Messages that may still be leaving another folder, and since when.
    pub(crate) waiting: HashMap<Id, Instant>,
    /// When sorted messages were last checked for confirmation.
    pub(crate) confirmed_at: Option<Instant>,
    /// Whether the last connection lasted for a whole look.
    pub(crate) has_looked: bool,
}

impl Memory {
    /// Reports a trouble, once until it is over. It is the same as long as `what` is: servers add times to what they say.
    pub(crate) fn report(&mut self, account: &Account, is_there: bool, what: &str, trouble: &str) {
        if !is_there {
            self.reported.remove(what);
        } else if self.reported.insert(what.to_owned()) {
            say!("{}: {trouble}", account.name);
        }
    }
}

/// A message to learn from.
pub(crate) struct FiledMessage {
    pub(crate) id: Id,
    pub(crate) message: FetchedMessage,
    /// The label to learn it under; `None` to forget it.
    pub(crate) label: Option<String>,
    /// Where it was seen.
    pub(crate) place: Location,
}

impl<'a> Agent<'a> {
    /// Connects to an account's server.
    pub(crate) async fn connect(
        account: &'a Account,
        mode: RunMode,
        model: &'a AccountModel,
        ledger: &'a mut Ledger,
        memory: &'a mut Memory,
    ) -> Result<Self> {
        let mut server = ImapSession::connect(account).await?;
        let (mailboxes, _) = server.mailboxes().await?;
        Ok(Agent { account, mode, server, mailboxes, model, ledger, memory })
    }

    /// What happens to a message that belongs elsewhere.
    pub(crate) fn action(&self) -> SortAction {
        match self.mode {
            RunMode { flag_only: true, .. } => SortAction::Flag,
            RunMode { copy: true, .. } => SortAction::Copy,
            _ => self.account.action,
        }
    }

    /// A folder on the server; `None` if it is missing, which is reported once.
    pub(crate) fn mailbox(&mut self, name: &str) -> Option<Mailbox> {
        let found = self.mailboxes.iter().find(|mailbox| mailbox.name == name).cloned();
        let trouble = format!("there is no folder {} (any more)", shown(name));
        self.memory.report(self.account, found.is_none(), &trouble, &trouble);
        found
    }

    /// What the server said about a folder; `None` if it refuses it for now, which is reported once.
    pub(crate) fn unless_refused<T>(&mut self, said: Result<T>) -> Result<Option<T>> {
        match said {
            Ok(said) => Ok(Some(said)),
            Err(error) => match error.downcast_ref() {
                Some(refused @ ImapError::Refused { what, .. }) if refused.is_refusal() => {
                    self.memory.report(self.account, true, what, &refused.to_string());
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }

    /// Learns from messages, all or none, and notes it in the ledger.
    pub(crate) fn learn(&mut self, messages: &[FiledMessage]) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let name = &self.account.name;
        if self.mode.dry_run {
            for message in messages {
                note!("{name}: would learn a message as {}", named(message.label.as_deref()));
            }
            return Ok(());
        }
        self.ledger.note(messages.iter().map(|message| (message.id, Event::Teaching)))?;
        self.model.learn(messages.iter().map(|it| (&*it.message.bytes, it.label.as_deref())))?;
        let (mut events, mut counts) = (Vec::new(), BTreeMap::<_, u64>::new());
        for FiledMessage { id, message, label, place } in messages {
            events.extend(self.ledger.messages.new_marks(*id, message));
            events.push((*id, Header::parse(&message.bytes).taught(label.as_deref(), place)));
            *counts.entry(label.as_deref()).or_default() += 1;
        }
        self.ledger.note(events)?;
        for (label, n) in counts {
            note!("{name}: learned {} as {}", counted(n, "message"), named(label));
        }
        self.model.reload()
    }

    /// Writes to the ledger, except in a dry run.
    pub(crate) fn note(&mut self, events: impl IntoIterator<Item = (Id, Event)>) -> Result<()> {
        if self.mode.dry_run { Ok(()) } else { self.ledger.note(events) }
    }

    /// Writes the positions, except in a dry run.
    pub(crate) fn keep_positions(&self) -> Result<()> {
        if self.mode.dry_run { Ok(()) } else { self.ledger.keep_positions() }
    }
}

fn named(label: Option<&str>) -> String {
    label.map_or_else(|| "nothing (forgotten)".to_owned(), |label| shown(label).into_owned())
}
