//! Learns from what is moved into folders.

use anyhow::Result;

use crate::agent::state::{Agent, FiledMessage};
use crate::imap::messages::{FetchedMessage, Location};
use crate::imap::session::FolderStatus;
use crate::ledger::entry::{Event, Id};
use crate::ledger::journal::FolderPosition;
use crate::ledger::messages::MessageState;
use crate::settings::FolderSettings;

/// Number of messages that are fetched and learned at a time. Each may take 256 KiB.
const BATCH: usize = 40;

/// What the place of a message says about it.
#[derive(PartialEq, Eq, Debug)]
enum Evidence {
    /// Nothing new.
    None,
    /// The filter put it here itself, which proves nothing.
    Own,
    /// It is to be learned, or forgotten.
    Correction(Option<String>),
}

impl Agent<'_> {
    /// Learns from what is new in all folders but the inbox.
    ///
    /// # Errors
    /// If the server, the model or the ledger fails. What was learned until then stays.
    pub(crate) async fn look_into_folders(&mut self) -> Result<()> {
        let account = self.account;
        for folder in account.folders.iter().filter(|folder| folder.name != account.inbox) {
            self.look_into(folder).await?;
        }
        Ok(())
    }

    async fn look_into(&mut self, folder: &FolderSettings) -> Result<()> {
        let Some(mailbox) = self.mailbox(&folder.name) else { return Ok(()) };
        let status = self.server.status(&mailbox).await?;
        let known = self.ledger.positions.folders.get(&folder.name).copied();
        let known = known.filter(|position| position.validity == status.validity);
        let first = match known {
            Some(position) if position.next_uid >= status.next_uid => return Ok(()),
            Some(position) => position.next_uid,
            // without a label, only messages that arrive from now on matter
            None if folder.label.is_none() => status.next_uid,
            None => 1,
        };
        let opened = self.server.open(&mailbox, false).await?;
        let mut uids = self.server.uids_from(first).await?;
        if known.is_none() {
            let surplus = uids.len().saturating_sub(self.account.newest as usize);
            uids.drain(..surplus);
        }
        for batch in uids.chunks(BATCH) {
            let fetched = self.server.fetch(batch).await?;
            self.learn_from(folder, opened, fetched)?;
            self.advance(&folder.name, opened, batch.last().map_or(0, |last| last.saturating_add(1)))?;
        }
        self.advance(&folder.name, opened, status.next_uid)
    }

    fn learn_from(
        &mut self,
        folder: &FolderSettings,
        opened: FolderStatus,
        fetched: Vec<FetchedMessage>,
    ) -> Result<()> {
        let junk = self.account.junk.as_deref().filter(|junk| *junk != folder.name);
        let junk = junk.map(|junk| (junk, self.account.label_of(junk).unwrap_or_default()));
        let (mut corrections, mut own) = (Vec::new(), Vec::new());
        for message in fetched.into_iter().filter(|message| !message.is_deleted) {
            let place = Location { folder: folder.name.clone(), validity: opened.validity, uid: message.uid };
            let id = Id::hash(&message.bytes);
            match evidence(self.ledger.messages.get(id), &place, folder.label.as_deref(), junk) {
                Evidence::None => {}
                Evidence::Own => own.push((id, Event::Sorted { place: Some(place) })),
                Evidence::Correction(label) => {
                    corrections.push(FiledMessage { id, bytes: message.bytes, label, left_at: None });
                }
            }
        }
        self.note(own)?;
        self.learn(&corrections)
    }

    /// Notes that a folder was handled up to a UID.
    pub(crate) fn advance(&mut self, folder: &str, opened: FolderStatus, next_uid: u32) -> Result<()> {
        let positions = &mut self.ledger.positions.folders;
        let before = positions.get(folder).copied();
        let known = before.filter(|position| position.validity == opened.validity);
        let next_uid = known.map_or(next_uid, |position| position.next_uid.max(next_uid));
        let position = FolderPosition { validity: opened.validity, next_uid };
        positions.insert(folder.to_owned(), position);
        if before == Some(position) { Ok(()) } else { self.keep_positions() }
    }
}

/// What a message that is new at a place says, in a folder with this label. `junk` is the junk folder, if another one, with
/// its label.
fn evidence(
    known: Option<&MessageState>,
    place: &Location,
    label: Option<&str>,
    junk: Option<(&str, &str)>,
) -> Evidence {
    let nothing = MessageState::default();
    let known = known.unwrap_or(&nothing);
    let Some(label) = label else {
        let was_junk = junk.is_some_and(|(folder, label)| {
            known.put_into() == Some(folder)
                || known.learned.as_deref() == Some(label)
                || known.is_being_taught
        });
        return if was_junk { Evidence::Correction(None) } else { Evidence::None };
    };
    // another UID of the same folder: it was moved away and back
    let is_back = known
        .place
        .as_ref()
        .is_some_and(|at| at.folder == place.folder && at.validity == place.validity && at.uid != place.uid);
    match &known.learned {
        _ if known.is_being_taught => Evidence::Correction(Some(label.to_owned())),
        Some(learned) if learned == label => Evidence::None,
        None if known.put_into() == Some(&place.folder) && !is_back => Evidence::Own,
        _ => Evidence::Correction(Some(label.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::entry::{JournalEntry, Sorting};
    use crate::ledger::messages::MessageStates;
    use crate::settings::SortAction;

    fn place(folder: &str, uid: u32) -> Location {
        Location { folder: folder.to_owned(), validity: 1, uid }
    }

    fn sorting(to: &str) -> Event {
        Event::Sorting(Box::new(Sorting::example(SortAction::Move, place("INBOX", 1), to)))
    }

    fn after(events: impl IntoIterator<Item = Event>) -> MessageState {
        let (mut messages, id) = (MessageStates::default(), Id::hash(b"m"));
        for event in events {
            messages.apply(JournalEntry { at: String::new(), id, event });
        }
        messages.get(id).cloned().unwrap_or_default()
    }

    const JUNK: Option<(&str, &str)> = Some(("Junk", "spam"));

    fn learn(label: &str) -> Evidence {
        Evidence::Correction(Some(label.to_owned()))
    }

    #[test]
    fn what_people_move_is_evidence_and_what_the_filter_moves_is_not() {
        let sorted = |uid| [sorting("Junk"), Event::Sorted { place: Some(place("Junk", uid)) }];
        let at_junk =
            |known: &MessageState, uid| evidence(Some(known), &place("Junk", uid), Some("spam"), None);
        assert_eq!(evidence(None, &place("Junk", 5), Some("spam"), None), learn("spam"));
        // moved by the filter, whether the program ended before it knew or not
        assert_eq!(at_junk(&after(sorted(5)), 5), Evidence::Own);
        assert_eq!(at_junk(&after([sorting("Junk")]), 5), Evidence::Own);
        // moved away and back by a person
        assert_eq!(at_junk(&after(sorted(5)), 6), learn("spam"));
        // moved on to another folder
        let known = after(sorted(5));
        assert_eq!(evidence(Some(&known), &place("Rust", 1), Some("rust"), JUNK), learn("rust"));
        // to a folder without a label: no longer junk
        assert_eq!(evidence(Some(&known), &place("Archive", 1), None, JUNK), Evidence::Correction(None));
        // undone, and then put there by a person
        let mut undone = Vec::from(sorted(5));
        undone.extend([Event::Undoing, Event::Undone { place: None }]);
        assert_eq!(at_junk(&after(undone), 6), learn("spam"));
    }

    #[test]
    fn what_was_learned_is_learned_once() {
        let taught = |label: &str| after([Event::Teaching, Event::Taught { label: Some(label.to_owned()) }]);
        let at =
            |known: &MessageState, folder: &str, label| evidence(Some(known), &place(folder, 7), label, JUNK);
        assert_eq!(at(&taught("rust"), "Rust", Some("rust")), Evidence::None);
        assert_eq!(at(&taught("spam"), "Rust", Some("rust")), learn("rust"));
        assert_eq!(at(&taught("rust"), "Archive", None), Evidence::None);
        assert_eq!(at(&taught("spam"), "Archive", None), Evidence::Correction(None));
        // the program ended while it learned: again
        assert_eq!(at(&after([Event::Teaching]), "Rust", Some("rust")), learn("rust"));
    }
}
