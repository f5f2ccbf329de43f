//! Learns from what is moved into folders.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::agent::confirm::PAUSE;
use crate::agent::state::{Agent, FiledMessage};
use crate::imap::messages::{FetchedMessage, Location, Marks, keyword};
use crate::imap::session::FolderStatus;
use crate::ledger::entry::{Event, Id};
use crate::ledger::header::{Header, addresses};
use crate::ledger::journal::FolderPosition;
use crate::ledger::messages::MessageState;
use crate::settings::{Account, FolderSettings};

/// Number of messages that are fetched and learned at a time. Each may take 256 KiB.
const BATCH: usize = 40;

/// Bytes of a sent message that are read, for the addresses in its header.
const MOST_OF_SENT: usize = 4 << 10;

/// What the place of a message, or how it is marked, says about it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Evidence {
    /// Nothing new.
    None,
    /// It is known, or an agent put it here, which proves nothing until it has been read and left here.
    Own,
    /// The provider put it here, which proves nothing until it has been read, or stayed for a while.
    Provider,
    /// It is to be learned, or forgotten.
    Correction(Option<String>),
}

impl Agent<'_> {
    /// Learns from what is new in all folders but the inbox, and from what is marked in all.
    pub(crate) async fn look_into_folders(&mut self) -> Result<()> {
        let account = self.account;
        for folder in account.folders.iter().filter(|folder| folder.name != account.inbox) {
            let looked = self.look_into(folder).await;
            self.unless_refused(looked)?;
        }
        for folder in &account.folders {
            let looked = self.look_for_marks(folder).await;
            self.unless_refused(looked)?;
        }
        let looked = self.look_into_sent().await;
        self.unless_refused(looked).map(drop)
    }

    /// Reads to whom the owner has written.
    async fn look_into_sent(&mut self) -> Result<()> {
        let Some(sent) = &self.account.sent else { return Ok(()) };
        let Some((opened, uids)) = self.news(sent, true).await? else { return Ok(()) };
        for batch in uids.chunks(BATCH) {
            let fetched = self.server.fetch_first(batch, MOST_OF_SENT).await?;
            let addresses = fetched.iter().flat_map(|message| addresses(&Header::parse(&message.bytes).to));
            let new: BTreeSet<Id> =
                addresses.filter(|it| !self.ledger.messages.correspondents.contains(it)).collect();
            self.note(new.into_iter().map(|address| (address, Event::Correspondent)))?;
        }
        self.advance(sent, opened, opened.next_uid)
    }

    /// Opens a folder that has something new. Returns the UIDs of that; of a folder that was never read, the newest, or none.
    async fn news(&mut self, folder: &str, with_old: bool) -> Result<Option<(FolderStatus, Vec<u32>)>> {
        let Some(mailbox) = self.mailbox(folder) else { return Ok(None) };
        let status = self.server.status(&mailbox).await?;
        let known = self.ledger.positions.folders.get(folder).copied();
        let known = known.filter(|position| position.validity == status.validity);
        let first = match known {
            Some(position) if position.next_uid >= status.next_uid => return Ok(None),
            Some(position) => position.next_uid,
            None if with_old => 1,
            None => status.next_uid,
        };
        let opened = self.server.open(&mailbox, false).await?;
        let mut uids = self.server.uids_from(first).await?;
        if known.is_none() {
            let surplus = uids.len().saturating_sub(self.account.newest as usize);
            uids.drain(..surplus);
        }
        Ok(Some((FolderStatus { next_uid: status.next_uid, ..opened }, uids)))
    }

    async fn look_into(&mut self, folder: &FolderSettings) -> Result<()> {
        // without a label, only messages that arrive from now on matter
        let Some((opened, uids)) = self.news(&folder.name, folder.label.is_some()).await? else {
            return Ok(());
        };
        for batch in uids.chunks(BATCH) {
            let fetched = self.server.fetch(batch).await?;
            self.learn_from(folder, opened, fetched, true)?;
            self.advance(&folder.name, opened, batch.last().map_or(0, |last| last.saturating_add(1)))?;
        }
        self.advance(&folder.name, opened, opened.next_uid)
    }

    /// Learns from what other programs have marked in a folder since it was read for that, or mark no longer. A server that
    /// counts no changes is asked once in a while.
    async fn look_for_marks(&mut self, folder: &FolderSettings) -> Result<()> {
        let known = self.ledger.positions.folders.get(&folder.name).copied();
        let (Some(known), Some(mailbox)) = (known, self.mailbox(&folder.name)) else { return Ok(()) };
        let status = self.server.status(&mailbox).await?;
        let is_time = || self.memory.confirmed_at.is_none_or(|at| at.elapsed() >= PAUSE);
        let may_differ = status.modseq.map_or_else(is_time, |n| known.modseq != Some(n));
        if !may_differ || known.validity != status.validity {
            return Ok(());
        }
        self.server.open(&mailbox, false).await?;
        let mut marked = self.server.flags(status.modseq.and(known.modseq)).await?;
        let there = self.ledger.messages.in_folder(&folder.name, status.validity);
        let before = |uid: &u32| there.get(uid).map(|known| known.marks).unwrap_or_default();
        marked.retain(|it| it.uid < known.next_uid && it.marks != before(&it.uid));
        marked.drain(..marked.len().saturating_sub(self.account.newest as usize));
        for batch in marked.chunks(BATCH) {
            let uids: Vec<u32> = batch.iter().map(|it| it.uid).collect();
            let fetched = self.server.fetch(&uids).await?;
            self.learn_from(folder, status, fetched, false)?;
        }
        self.advance(&folder.name, status, known.next_uid)
    }

    /// Learns from messages that are new in a folder, or marked in another way.
    fn learn_from(
        &mut self,
        folder: &FolderSettings,
        opened: FolderStatus,
        fetched: Vec<FetchedMessage>,
        are_new: bool,
    ) -> Result<()> {
        let junk = self.account.junk.as_deref().zip(self.account.junk_label());
        let (mut corrections, mut events) = (Vec::new(), Vec::new());
        let label = folder.label.as_deref();
        for message in self.ledger.messages.of_others(fetched) {
            let place = Location { folder: folder.name.clone(), validity: opened.validity, uid: message.uid };
            let id = Id::hash(&message.bytes);
            let is_junk = junk.is_some_and(|(junk, _)| junk == folder.name);
            let may_be_theirs = self.account.others && !message.is_read && !is_junk;
            let by_agent =
                may_be_theirs || message.keyword.is_some() && message.keyword == label.map(keyword);
            let known = self.ledger.messages.get(id);
            let at_place = || evidence(known, &place, label, junk, by_agent);
            let evidence = match by_marks(self.account, known, &folder.name, message.marks) {
                Evidence::None | Evidence::Correction(None) if are_new => at_place(),
                by_marks => by_marks,
            };
            events.extend(self.ledger.messages.new_marks(id, &message));
            match evidence {
                Evidence::None => {}
                Evidence::Own => events.push((id, Event::Sorted { place: Some(place) })),
                Evidence::Provider => events.push((id, Event::Left { place, opinion: None })),
                Evidence::Correction(label) => corrections.push(FiledMessage { id, message, label, place }),
            }
        }
        // a mark that is noted was heard
        self.learn(&corrections)?;
        self.note(events)
    }

    /// Notes that a folder was handled up to a UID.
    pub(crate) fn advance(&mut self, folder: &str, opened: FolderStatus, next_uid: u32) -> Result<()> {
        let positions = &mut self.ledger.positions.folders;
        let before = positions.get(folder).copied();
        let known = before.filter(|position| position.validity == opened.validity);
        let next_uid = known.map_or(next_uid, |position| position.next_uid.max(next_uid));
        let modseq = opened.modseq.or(known.and_then(|position| position.modseq));
        let position = FolderPosition { validity: opened.validity, next_uid, modseq };
        positions.insert(folder.to_owned(), position);
        if before == Some(position) { Ok(()) } else { self.keep_positions() }
    }
}

/// What the marks of a message in a folder say, if they are others than before. What was learned by those before is forgotten if
/// they say nothing.
pub(crate) fn by_marks(account: &Account, known: Option<&MessageState>, at: &str, marks: Marks) -> Evidence {
    let (is_new, known) = (known.is_none(), known.cloned().unwrap_or_default());
    let label_by = |marks: Marks| account.label_by_mark(at, marks.say_junk(known.marks)?);
    let (usual, learned) = (account.label_of(at), known.learned.as_deref());
    let is_over = learned.is_some() && learned == label_by(known.marks) && learned != usual;
    match label_by(marks) {
        _ if marks == known.marks => Evidence::None,
        // its provider may have marked what arrives in the junk
        Some(label) if is_new && usual == Some(label) && account.is_junk(label) => Evidence::None,
        None if !is_over => Evidence::None,
        label => Evidence::Correction(label.map(str::to_owned)),
    }
}

/// What a message that is new at a place says, in a folder with this label. `junk` is the junk folder with its label.
/// `by_agent` is whether an agent, this one or another, put it there, or may have.
fn evidence(
    known: Option<&MessageState>,
    place: &Location,
    label: Option<&str>,
    junk: Option<(&str, &str)>,
    by_agent: bool,
) -> Evidence {
    let is_junk = junk.is_some_and(|(folder, _)| folder == place.folder);
    let Some(known) = known else {
        return match label {
            Some(_) if by_agent => Evidence::Own,
            Some(_) if is_junk => Evidence::Provider,
            Some(label) => Evidence::Correction(Some(label.to_owned())),
            None => Evidence::None,
        };
    };
    let Some(label) = label else {
        let was_junk = junk.is_some_and(|(folder, label)| {
            known.put_into() == Some(folder)
                || known.learned.as_deref() == Some(label)
                || known.is_being_taught
        });
        return if was_junk { Evidence::Correction(None) } else { Evidence::None };
    };
    // another UID of the same folder: it was moved away and back
    let is_other_uid =
        |at: &Location| at.folder == place.folder && at.validity == place.validity && at.uid != place.uid;
    let is_back = known.place.as_ref().is_some_and(is_other_uid);
    // what this agent did itself it knows better
    let by_agent = by_agent && known.sorted.is_none() || known.put_into() == Some(&place.folder);
    match &known.learned {
        _ if known.is_being_taught => Evidence::Correction(Some(label.to_owned())),
        Some(learned) if learned == label => Evidence::Own,
        None if by_agent && !is_back => Evidence::Own,
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

    fn taught(label: &str) -> Event {
        Event::Taught { label: Some(label.to_owned()), place: None, links: Vec::new() }
    }

    fn learn(label: &str) -> Evidence {
        Evidence::Correction(Some(label.to_owned()))
    }

    #[test]
    fn what_people_move_is_evidence_and_what_the_filter_moves_is_not() {
        let sorted = |uid| [sorting("Junk"), Event::Sorted { place: Some(place("Junk", uid)) }];
        let at_junk =
            |known: &MessageState, uid| evidence(Some(known), &place("Junk", uid), Some("spam"), JUNK, false);
        assert_eq!(evidence(None, &place("Rust", 5), Some("rust"), JUNK, false), learn("rust"));
        // moved by the filter, whether the program ended before it knew or not
        assert_eq!(at_junk(&after(sorted(5)), 5), Evidence::Own);
        assert_eq!(at_junk(&after([sorting("Junk")]), 5), Evidence::Own);
        // moved away and back by a person
        assert_eq!(at_junk(&after(sorted(5)), 6), learn("spam"));
        // moved on to another folder
        let known = after(sorted(5));
        assert_eq!(evidence(Some(&known), &place("Rust", 1), Some("rust"), JUNK, false), learn("rust"));
        // to a folder without a label: no longer junk
        assert_eq!(
            evidence(Some(&known), &place("Archive", 1), None, JUNK, false),
            Evidence::Correction(None)
        );
        // undone, and then put there by a person
        let mut undone = Vec::from(sorted(5));
        undone.extend([Event::Undoing, Event::Undone { place: None }]);
        assert_eq!(at_junk(&after(undone), 6), learn("spam"));
    }

    #[test]
    fn what_others_put_somewhere_is_not_its_owners_decision() {
        let at_junk = |known| evidence(known, &place("Junk", 5), Some("spam"), JUNK, false);
        let seen = after([Event::Left { place: place("INBOX", 1), opinion: None }]);
        assert_eq!((at_junk(None), at_junk(Some(&seen))), (Evidence::Provider, learn("spam")));
        // another agent, before and after this one has seen it in the inbox, and after it was taken back from there
        let by_agent = |known| evidence(known, &place("Rust", 5), Some("rust"), JUNK, true);
        assert_eq!((by_agent(None), by_agent(Some(&seen))), (Evidence::Own, Evidence::Own));
        assert_eq!(by_agent(Some(&after([taught("inbox")]))), learn("rust"));
    }

    #[test]
    fn what_its_owner_marks_outranks_its_place_until_it_is_moved_or_the_mark_is_gone() {
        let marks = |junk, not_junk| Event::Marked(Marks { junk, not_junk });
        let folders = [("INBOX", "inbox"), ("Rust", "rust"), ("Junk", "spam")];
        let account = Account { junk: Some("Junk".to_owned()), ..Account::example(&folders) };
        let forget = || Evidence::Correction(None);
        let by = |known: Option<&MessageState>, at: &str, junk, not_junk| {
            by_marks(&account, known, at, Marks { junk, not_junk })
        };
        for at in ["INBOX", "Rust", "Archive"] {
            assert_eq!(by(None, at, true, false), learn("spam"), "{at}");
            // it may be anything but junk
            assert_eq!(by(None, at, false, true), Evidence::None, "{at}");
        }
        // the provider's, until it was seen without
        assert_eq!(by(None, "Junk", true, false), Evidence::None);
        assert_eq!(by(Some(&after([sorting("Junk")])), "Junk", true, false), learn("spam"));
        assert_eq!(by(None, "Junk", false, true), learn("inbox"));
        let account =
            Account { junk: Some("Junk".to_owned()), ..Account::example(&[folders[0], folders[2]]) };
        let marked = Marks { junk: false, not_junk: true };
        assert_eq!(by_marks(&account, None, "INBOX", marked), learn("inbox"), "as it arrives");
        // as before, moved or not
        let marked = after([marks(true, false), taught("spam")]);
        assert_eq!(by(Some(&marked), "INBOX", true, false), Evidence::None);
        assert_eq!(by(Some(&marked), "Rust", true, false), Evidence::None);
        // gone, or no junk after all: what was learned by it is forgotten, what its place says is not
        assert_eq!(by(Some(&marked), "INBOX", false, false), forget());
        assert_eq!(by(Some(&marked), "Rust", false, true), forget());
        assert_eq!(by(Some(&marked), "Junk", false, false), Evidence::None);
        let moved = after([marks(true, false), taught("spam"), taught("rust")]);
        assert_eq!(by(Some(&moved), "Rust", false, false), Evidence::None);
        // both: the later
        assert_eq!(by(Some(&after([marks(false, true)])), "Rust", true, true), learn("spam"));
        assert_eq!(by(Some(&marked), "INBOX", true, true), forget());
    }

    #[test]
    fn what_was_learned_is_learned_once() {
        let taught = |label: &str| after([Event::Teaching, taught(label)]);
        let at = |known: &MessageState, folder: &str, label| {
            evidence(Some(known), &place(folder, 7), label, JUNK, false)
        };
        assert_eq!(at(&taught("rust"), "Rust", Some("rust")), Evidence::Own);
        assert_eq!(at(&taught("spam"), "Rust", Some("rust")), learn("rust"));
        assert_eq!(at(&taught("rust"), "Archive", None), Evidence::None);
        assert_eq!(at(&taught("spam"), "Archive", None), Evidence::Correction(None));
        // the program ended while it learned: again
        assert_eq!(at(&after([Event::Teaching]), "Rust", Some("rust")), learn("rust"));
    }
}
