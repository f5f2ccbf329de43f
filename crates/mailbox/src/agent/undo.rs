//! Moves back what the filter moved.

use anyhow::Result;
use tamis_program::{note, shown};

use crate::agent::state::Agent;
use crate::imap::folders::Mailbox;
use crate::imap::messages::{Location, Transfer};
use crate::ledger::entry::{Event, Id, Sorting};
use crate::settings::SortAction;

/// How undoing went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct UndoCounts {
    /// Messages that are back.
    pub(crate) back: u64,
    /// Messages that are no longer where the filter put them.
    pub(crate) gone: u64,
}

impl Agent<'_> {
    /// Moves back everything that was moved since a time (as in the journal), the latest first.
    ///
    /// # Errors
    /// If the server or the ledger fails. What is back then stays back.
    pub(crate) async fn undo(&mut self, since: &str) -> Result<UndoCounts> {
        let mut undone = UndoCounts::default();
        let mut moved: Vec<_> = self
            .ledger
            .messages
            .iter()
            .filter_map(|(id, known)| {
                let sorted = known.sorted.as_ref().filter(|sorted| sorted.what.action == SortAction::Move)?;
                let is_back =
                    known.place.as_ref().is_some_and(|place| place.folder == sorted.what.from.folder);
                (*sorted.at >= *since && !is_back).then(|| {
                    (sorted.at.clone(), sorted.what.from.uid, id, known.place.clone(), sorted.what.clone())
                })
            })
            .collect();
        moved.sort_unstable_by(|a, b| (&b.0, b.1).cmp(&(&a.0, a.1)));
        for (_, _, id, place, what) in moved {
            let (Some(from), Some(to)) = (self.mailbox(&what.from.folder), self.mailbox(&what.to)) else {
                continue;
            };
            let Some(uid) = self.find(id, place, &what, &to).await? else {
                undone.gone += 1;
                continue;
            };
            if self.mode.is_dry {
                note!("{}: {} would go back", self.account.name, shown(&what.message.subject));
                undone.back += 1;
                continue;
            }
            self.ledger.note([(id, Event::Undoing)])?;
            self.server.have_open(&to, true).await?;
            match self.server.move_message(uid, &from).await? {
                Transfer::Gone => undone.gone += 1,
                transfer => {
                    self.ledger.note([(id, Event::Undone { place: transfer.location() })])?;
                    undone.back += 1;
                }
            }
        }
        Ok(undone)
    }

    /// The UID of a message in the folder it was moved to.
    async fn find(
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
