//! What the agent holds: a connection, a model and a ledger.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use anyhow::Result;
use tamis_program::{note, say, shown};

use crate::imap::commands::{Mailbox, Server};
use crate::ledger::entry::{Event, Id, Place};
use crate::ledger::journal::Ledger;
use crate::model::judge::Judge;
use crate::model::teach::{Lesson, teach};
use crate::settings::account::{Account, Action};

/// An account at work.
pub(crate) struct Agent<'a> {
    pub(crate) account: &'a Account,
    pub(crate) action: Action,
    /// Whether it only tells what it would do.
    pub(crate) is_dry: bool,
    pub(crate) server: Server,
    pub(crate) mailboxes: Vec<Mailbox>,
    pub(crate) judge: &'a Judge,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) memory: &'a mut Memory,
}

/// What outlives a connection.
#[derive(Default)]
pub(crate) struct Memory {
    /// Folders that were said to be missing.
    pub(crate) missing: HashSet<String>,
    /// Messages that may be on their way out of another folder, since when.
    pub(crate) waiting: HashMap<Id, Instant>,
    /// When messages that were sorted were last looked at for confirmation.
    pub(crate) confirmed_at: Option<Instant>,
    /// Whether there is only one look.
    pub(crate) looks_once: bool,
    /// Whether the last connection was good for a whole look.
    pub(crate) has_looked: bool,
}

/// A correction that waits to be learned.
pub(crate) struct Correction {
    pub(crate) id: Id,
    pub(crate) bytes: Vec<u8>,
    /// The label it is to have; none if it is to be forgotten.
    pub(crate) label: Option<String>,
    /// Where it was seen, if that is the inbox.
    pub(crate) left_at: Option<Place>,
}

impl Agent<'_> {
    /// A folder on the server; `None` if it is not there, which is told once.
    pub(crate) fn mailbox(&mut self, name: &str) -> Option<Mailbox> {
        let found = self.mailboxes.iter().find(|mailbox| mailbox.name == name).cloned();
        if found.is_none() && self.memory.missing.insert(name.to_owned()) {
            say!("{}: there is no folder {} (any more)", self.account.name, shown(name));
        }
        found
    }

    /// Learns corrections, all or none, and knows it from then on.
    ///
    /// # Errors
    /// If the model or the ledger cannot be written.
    pub(crate) fn learn(&mut self, corrections: &[Correction]) -> Result<()> {
        if corrections.is_empty() {
            return Ok(());
        }
        if self.is_dry {
            for correction in corrections {
                note!(
                    "{}: would learn a message as {}",
                    self.account.name,
                    named(correction.label.as_deref())
                );
            }
            return Ok(());
        }
        self.ledger.note(corrections.iter().map(|correction| (correction.id, Event::Teaching)))?;
        let lessons: Vec<Lesson<'_>> =
            corrections.iter().map(|c| Lesson { bytes: &c.bytes, label: c.label.as_deref() }).collect();
        teach(&self.judge.path, self.judge.shared(), &lessons)?;
        let mut events = Vec::new();
        for correction in corrections {
            events.push((correction.id, Event::Taught { label: correction.label.clone() }));
            events.extend(correction.left_at.clone().map(|place| (correction.id, Event::Left { place })));
        }
        self.ledger.note(events)?;
        let mut counts: HashMap<Option<&str>, u64> = HashMap::new();
        corrections
            .iter()
            .for_each(|correction| *counts.entry(correction.label.as_deref()).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        for (label, n) in counts {
            note!(
                "{}: learned {} as {}",
                self.account.name,
                tamis_program::counted(n, "message"),
                named(label)
            );
        }
        self.judge.reload()
    }

    /// Writes to the ledger, unless nothing is to be changed.
    pub(crate) fn note(&mut self, events: impl IntoIterator<Item = (Id, Event)>) -> Result<()> {
        if self.is_dry { Ok(()) } else { self.ledger.note(events) }
    }

    /// Writes the positions, unless nothing is to be changed.
    pub(crate) fn keep_positions(&self) -> Result<()> {
        if self.is_dry { Ok(()) } else { self.ledger.keep_positions() }
    }
}

fn named(label: Option<&str>) -> String {
    label.map_or_else(|| "nothing (forgotten)".to_owned(), |label| shown(label).into_owned())
}
