//! Moves back what the filter moved.

use std::cmp::Reverse;

use anyhow::Result;
use tamis_program::{note, shown};

use crate::agent::state::Agent;
use crate::imap::folders::Mailbox;
use crate::imap::messages::{JUNK, Location};
use crate::ledger::entry::{Event, Id, Sorting};
use crate::ledger::messages::{LastSorting, MessageState};
use crate::settings::SortAction;

impl Agent<'_> {
    /// Moves back everything that was moved since a time (as in the journal), the latest first. Returns the number of messages
    /// that are back, and of those that are no longer where the filter put them.
    ///
    /// # Errors
    /// If the server or the ledger fails. Messages that were moved back until then stay there.
    pub(crate) async fn undo(&mut self, since: &str) -> Result<[u64; 2]> {
        let [mut back, mut gone] = [0; 2];
        let is_moved = |known: &MessageState, sorted: &LastSorting| {
            let from = &sorted.what.from.folder;
            let is_back = known.place.as_ref().is_some_and(|place| place.folder == *from);
            sorted.what.action == SortAction::Move && *sorted.at >= *since && !is_back
        };
        let sorted = self.ledger.messages.iter().filter_map(|(id, known)| {
            let sorted = known.sorted.as_ref().filter(|sorted| is_moved(known, sorted))?;
            Some((id, known.place.clone(), sorted.clone()))
        });
        let mut moved: Vec<_> = sorted.collect();
        // the latest first
        moved.sort_unstable_by_key(|(.., sorted)| Reverse((sorted.at.clone(), sorted.what.from.uid)));
        for (id, place, LastSorting { what, .. }) in moved {
            let (Some(from), Some(to)) = (self.mailbox(&what.from.folder), self.mailbox(&what.to)) else {
                continue;
            };
            let Some(uid) = self.find(id, place, &what, &to).await? else {
                gone += 1;
                continue;
            };
            if self.mode.dry_run {
                note!("{}: {} would go back", self.account.name, shown(&what.message.subject));
                back += 1;
                continue;
            }
            self.ledger.note([(id, Event::Undoing)])?;
            self.unmark(&to, uid).await?;
            match self.server.move_message(uid, &from).await? {
                None => gone += 1,
                Some(place) => {
                    self.ledger.note([(id, Event::Undone { place })])?;
                    back += 1;
                }
            }
        }
        Ok([back, gone])
    }

    /// Takes the mark of junk from a message that an agent has sorted, if the server lets it.
    pub(crate) async fn unmark(&mut self, at: &Mailbox, uid: u32) -> Result<()> {
        self.server.have_open(at, true).await?;
        let unmarked = self.server.flag(uid, &format!("-FLAGS.SILENT ({JUNK})"), None).await;
        self.unless_refused(unmarked.map_err(Into::into)).map(drop)
    }

    /// The UID of a message in the folder it was moved to; if it is there more than once, the lowest.
    pub(crate) async fn find(
        &mut self,
        id: Id,
        place: Option<Location>,
        what: &Sorting,
        to: &Mailbox,
    ) -> Result<Option<u32>> {
        let opened = self.server.have_open(to, true).await?;
        let noted = place.filter(|place| place.folder == to.name && place.validity == opened.validity);
        let candidates = match noted {
            Some(place) => vec![place.uid],
            None => self.server.uids_of(&what.message.message_id).await?,
        };
        for uid in candidates {
            let fetched = self.server.fetch(&[uid]).await?;
            if fetched.iter().any(|message| !message.is_deleted && Id::hash(&message.bytes) == id) {
                return Ok(Some(uid));
            }
        }
        Ok(None)
    }
}
