//! Learns what has stayed where it is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{DAY, at, seconds_now};

use crate::agent::state::{Agent, FiledMessage};
use crate::imap::messages::Location;
use crate::ledger::entry::{Id, Sorting};
use crate::ledger::messages::MessageState;
use crate::settings::SortAction;

/// How often to check, and for marks where the server counts no changes.
pub(crate) const PAUSE: Duration = Duration::from_secs(3_600);

/// Days after which a message that is still unread is no longer checked.
const MOST_DAYS: i64 = 30;

/// Days after which what the provider put into the junk counts unread: its owner has left it there.
const JUNK_DAYS: i64 = 7;

/// Number of messages that are fetched and learned at a time. Each may take 256 KiB.
const BATCH: usize = 40;

/// What a message waits for: to be read or answered before it is learned; to be learned; to be sorted, which was refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Wait {
    Read,
    Learn,
    Sort,
}

impl Agent<'_> {
    /// Learns messages that have been read or answered some days ago and are still in place, and sorts those that the server
    /// refused to move.
    pub(crate) async fn confirm(&mut self) -> Result<()> {
        if self.memory.confirmed_at.is_some_and(|at| at.elapsed() < PAUSE) {
            return Ok(());
        }
        self.memory.confirmed_at = Some(Instant::now());
        let mut all: BTreeMap<_, BTreeMap<u32, Id>> = BTreeMap::new();
        for (id, known) in self.ledger.messages.iter() {
            if let (Some(place), Some(wait)) = (&known.place, self.wait(known, seconds_now())) {
                all.entry((place.folder.clone(), place.validity, wait)).or_default().insert(place.uid, id);
            }
        }
        for ((folder, validity, wait), waiting) in all {
            let confirmed = self.confirm_in(&folder, validity, wait, &waiting).await;
            self.unless_refused(confirmed)?;
        }
        Ok(())
    }

    async fn confirm_in(
        &mut self,
        folder: &str,
        validity: u32,
        wait: Wait,
        waiting: &BTreeMap<u32, Id>,
    ) -> Result<()> {
        let Some(mailbox) = self.mailbox(folder) else { return Ok(()) };
        if self.server.have_open(&mailbox, wait == Wait::Sort).await?.validity != validity {
            return Ok(());
        }
        let uids: Vec<u32> = waiting.keys().copied().collect();
        let uids = self.server.still_there(&uids, wait == Wait::Read).await?;
        for batch in uids.chunks(BATCH) {
            self.server.have_open(&mailbox, wait == Wait::Sort).await?;
            let mut fetched = self.server.fetch(batch).await?;
            fetched.retain(|message| waiting.get(&message.uid) == Some(&Id::hash(&message.bytes)));
            if wait == Wait::Sort {
                self.sort(&mailbox, validity, fetched).await?;
                continue;
            }
            let label = self.account.label_of(folder).map(str::to_owned);
            let learned = fetched.into_iter().map(|message| FiledMessage {
                id: Id::hash(&message.bytes),
                label: label.clone(),
                place: Location { folder: folder.to_owned(), validity, uid: message.uid },
                message,
            });
            self.learn(&learned.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// What a message waits for now, in seconds since 1970.
    fn wait(&self, known: &MessageState, now: i64) -> Option<Wait> {
        let place = known.place.as_ref()?;
        let is_since = |days: i64| known.placed_at <= at(now - days * DAY);
        if let Some(sorting) = known.unfinished() {
            return (sorting.from == *place).then_some(Wait::Sort);
        }
        // what was flagged has not moved, and what was read before says nothing now
        let says_nothing = |sorting: &Sorting| sorting.action == SortAction::Flag || sorting.was_read;
        let says_nothing = known.sorted.as_ref().is_some_and(|sorted| says_nothing(&sorted.what));
        if known.learned.is_some() || says_nothing || self.account.label_of(&place.folder).is_none() {
            return None;
        }
        let is_junk = self.account.junk.as_ref() == Some(&place.folder);
        if is_junk && !known.by_agent && is_since(JUNK_DAYS) {
            return Some(Wait::Learn);
        }
        (is_since(i64::from(self.account.confirm_days)) && !is_since(MOST_DAYS)).then_some(Wait::Read)
    }
}
