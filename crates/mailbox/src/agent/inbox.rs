//! Sorts what arrives in the inbox, and learns from what is moved back there.

use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{counted, note, say, seconds_now, shown};

use crate::agent::state::{Agent, Correction};
use crate::imap::commands::{Fetched, Mailbox};
use crate::imap::failure::Failure;
use crate::ledger::entry::{Event, Id, Place, Sorting};
use crate::ledger::known::Known;
use crate::model::judge::Opinion;
use crate::model::message::Summary;
use crate::settings::account::{Action, Folder};

/// Number of messages that are fetched at a time.
const BATCH: usize = 20;

/// A message that arrived this many seconds before the inbox was last read has been moved there. Clocks differ.
const SLACK: i64 = 3_600;

/// How long a message that comes back may still be in the folder it comes from: programs that cannot move copy it first.
const ON_ITS_WAY: Duration = Duration::from_secs(30);
const A_MOMENT: Duration = Duration::from_secs(2);

/// What to do with a message of the inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// It is dealt with.
    Nothing,
    /// It has arrived: judge it.
    Judge,
    /// It is known, and stays.
    Leave,
    /// Its copy is elsewhere, but it was not yet removed from here.
    Remove,
    /// It was moved back by a person, or it is a second copy.
    Return,
}

impl Agent<'_> {
    /// Sorts what is new in the inbox.
    ///
    /// # Errors
    /// If the server, the model or the ledger fails. What was not dealt with then is dealt with the next time.
    pub(crate) async fn look_into_inbox(&mut self) -> Result<()> {
        let begun = seconds_now();
        let Some(inbox) = self.mailbox(&self.account.inbox) else { return Ok(()) };
        let opened = self.server.have_open(&inbox, true).await?;
        let known = self.ledger.positions.folders.get(&inbox.name).copied();
        let first = match known {
            Some(position) if position.validity == opened.validity => position.next_uid,
            // all messages are new then; those that did not just arrive stay
            Some(_) => 1,
            None => {
                note!(
                    "{}: leaves the {} of the inbox where they are, and sorts those that arrive from now on",
                    self.account.name,
                    counted(u64::from(opened.messages), "message")
                );
                opened.next_uid
            }
        };
        let uids = self.server.uids_from(first).await?;
        let mut next_uid = uids.last().map_or(opened.next_uid.max(first), |last| last.saturating_add(1));
        for batch in uids.chunks(BATCH) {
            let fetched = self.server.fetch(batch).await?;
            let waits = self.sort(&inbox, opened.validity, fetched).await?;
            self.server.have_open(&inbox, true).await?;
            next_uid = next_uid.min(waits.unwrap_or(u32::MAX));
            let done = batch.last().map_or(first, |last| last.saturating_add(1)).min(next_uid);
            self.advance(&inbox.name, opened, done)?;
        }
        self.advance(&inbox.name, opened, next_uid)?;
        if !self.is_dry && (known.is_none() || !uids.is_empty() || self.is_stale(begun)) {
            self.ledger.positions.inbox_read_at = Some(begun);
            self.keep_positions()?;
        }
        Ok(())
    }

    /// Whether it is a while since it was noted that the inbox was read.
    fn is_stale(&self, now: i64) -> bool {
        self.ledger.positions.inbox_read_at.is_none_or(|at| now - at > SLACK / 4)
    }

    /// Deals with messages. Returns the UID of the first that has to wait.
    async fn sort(&mut self, inbox: &Mailbox, validity: u32, fetched: Vec<Fetched>) -> Result<Option<u32>> {
        let (mut corrections, mut waits) = (Vec::new(), None);
        for message in fetched.into_iter().filter(|message| !message.is_deleted) {
            let id = Id::of(&message.bytes);
            let place = Place { folder: inbox.name.clone(), validity, uid: message.uid };
            let known = self.ledger.messages.get(id).cloned();
            let read_at = self.ledger.positions.inbox_read_at;
            match next(known.as_ref(), &place, message.arrived, read_at) {
                Next::Nothing => {}
                Next::Leave => self.note([(id, Event::Left { place })])?,
                Next::Judge => self.judge_and_sort(inbox, id, place, &message).await?,
                Next::Remove => {
                    self.server.have_open(inbox, true).await?;
                    self.server.delete_message(message.uid).await?;
                }
                Next::Return => {
                    let since = *self.memory.waiting.entry(id).or_insert_with(Instant::now);
                    let is_elsewhere = self.is_still_elsewhere(known.as_ref(), inbox).await?;
                    if is_elsewhere && !self.memory.looks_once && since.elapsed() < ON_ITS_WAY {
                        waits = Some(waits.unwrap_or(message.uid));
                        continue;
                    }
                    self.memory.waiting.remove(&id);
                    if is_elsewhere {
                        // a second copy of what was sorted: whoever made it wants it here
                        self.note([(id, Event::Left { place })])?;
                    } else {
                        let label = self.account.label_of(&inbox.name).map(str::to_owned);
                        let left_at = Some(place);
                        corrections.push(Correction { id, bytes: message.bytes, label, left_at });
                    }
                }
            }
        }
        self.learn(&corrections)?;
        Ok(waits)
    }

    /// Whether a message is still in the other folder that it is known to have been in. An agent that looks once waits a
    /// moment for it to be removed there.
    async fn is_still_elsewhere(&mut self, known: Option<&Known>, inbox: &Mailbox) -> Result<bool> {
        let Some(place) = known.and_then(|known| known.place.as_ref()) else { return Ok(false) };
        let elsewhere = self.mailboxes.iter().find(|mailbox| mailbox.name == place.folder).cloned();
        let Some(elsewhere) = elsewhere.filter(|elsewhere| elsewhere.name != inbox.name) else {
            return Ok(false);
        };
        let opened = self.server.open(&elsewhere, false).await?;
        let mut is_there =
            opened.validity == place.validity && self.server.is_read(place.uid).await?.is_some();
        if is_there && self.memory.looks_once {
            tokio::time::sleep(A_MOMENT).await;
            is_there = self.server.is_read(place.uid).await?.is_some();
        }
        Ok(is_there)
    }

    async fn judge_and_sort(
        &mut self,
        inbox: &Mailbox,
        id: Id,
        place: Place,
        message: &Fetched,
    ) -> Result<()> {
        let opinion = self.judge.judge(&message.bytes)?;
        let target = opinion.and_then(|opinion| {
            let folder = self.account.destination(&opinion.label, opinion.probability)?.clone();
            Some((opinion, folder))
        });
        let Some((mut opinion, folder)) = target else { return self.note([(id, Event::Left { place })]) };
        let Some(to) = self.mailbox(&folder.name) else { return self.note([(id, Event::Left { place })]) };
        self.judge.explain(&message.bytes, &mut opinion)?;
        let summary = Summary::of(&message.bytes);
        self.tell(&opinion, &folder, &summary);
        if self.is_dry {
            return Ok(());
        }
        self.server.have_open(inbox, true).await?;
        self.ledger.note([(
            id,
            Event::Sorting(Box::new(sorting(self.action, &place, &folder, opinion, summary))),
        )])?;
        let done = self.act(&place, &folder, &to).await;
        let event = match done {
            Ok(Some(at)) => {
                let at = at.map(|(validity, uid)| Place { folder: folder.name, validity, uid });
                Event::Sorted { place: if self.action == Action::Flag { Some(place) } else { at } }
            }
            // someone else was faster
            Ok(None) => Event::Left { place },
            Err(failure @ Failure::Refused { .. }) if !failure.is_throttling() => {
                say!("{}: {failure}; the message stays in the inbox", self.account.name);
                Event::Left { place }
            }
            Err(failure) => return Err(failure.into()),
        };
        self.ledger.note([(id, event)])
    }

    async fn act(
        &mut self,
        place: &Place,
        folder: &Folder,
        to: &Mailbox,
    ) -> Result<Option<Option<(u32, u32)>>, Failure> {
        match self.action {
            Action::Move => self.server.move_message(place.uid, to).await,
            Action::Copy => self.server.copy_message(place.uid, to).await,
            Action::Flag => {
                let is_junk = self.account.junk.as_deref() == Some(&folder.name);
                let keyword = keyword(is_junk, folder.label.as_deref().unwrap_or_default());
                self.server.flag(place.uid, &keyword).await.map(|()| Some(None))
            }
        }
    }

    fn tell(&self, opinion: &Opinion, folder: &Folder, summary: &Summary) {
        let verb = match (self.is_dry, self.action) {
            (true, _) => "would go to",
            (false, Action::Move) => "goes to",
            (false, Action::Copy) => "is copied to",
            (false, Action::Flag) => "is flagged as for",
        };
        note!(
            "{}: {} from {} {verb} {} ({:.4})",
            self.account.name,
            shown(&format!("\"{}\"", summary.subject)),
            shown(&summary.sender),
            shown(&folder.name),
            opinion.probability
        );
    }
}

fn sorting(action: Action, place: &Place, folder: &Folder, opinion: Opinion, summary: Summary) -> Sorting {
    Sorting {
        action,
        from: place.clone(),
        to: folder.name.clone(),
        label: opinion.label,
        probability: opinion.probability,
        log_odds: opinion.log_odds,
        message_id: summary.message_id,
        sender: summary.sender,
        subject: summary.subject,
        reasons: opinion.reasons,
    }
}

/// The keyword for a label: an atom of IMAP.
fn keyword(is_junk: bool, label: &str) -> String {
    if is_junk {
        return "$Junk".to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("tamis-{}", label.chars().map(plain).collect::<String>())
}

/// What to do with a message at a place of the inbox.
fn next(known: Option<&Known>, place: &Place, arrived: Option<i64>, inbox_read_at: Option<i64>) -> Next {
    let Some(known) = known else {
        let was_there = arrived.zip(inbox_read_at).is_some_and(|(arrived, read)| arrived < read - SLACK);
        return if was_there { Next::Leave } else { Next::Judge };
    };
    let is_from_here = known.sorted.as_ref().is_some_and(|sorted| sorted.what.from == *place);
    if known.unfinished().is_some() && is_from_here {
        return Next::Judge;
    }
    if known.place.as_ref() == Some(place) && !known.is_being_taught {
        return Next::Nothing;
    }
    let is_numbered_anew =
        known.place.as_ref().is_some_and(|at| at.folder == place.folder && at.validity != place.validity);
    if known.is_undone || is_numbered_anew && !known.is_being_taught {
        return Next::Leave;
    }
    match known.sorted.as_ref().map(|sorted| sorted.what.action) {
        Some(Action::Move) if is_from_here => Next::Remove,
        Some(_) if is_from_here => Next::Nothing,
        _ => Next::Return,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::known::Sorted;

    fn at(folder: &str, validity: u32, uid: u32) -> Place {
        Place { folder: folder.to_owned(), validity, uid }
    }

    /// A message that was put into the junk from the inbox, where it had UID 5.
    fn sorted(action: Action, is_done: bool) -> Known {
        let what = Sorting::example(action, at("INBOX", 1, 5), "Junk");
        let place = Some(if is_done { at("Junk", 7, 1) } else { at("INBOX", 1, 5) });
        let sorted = Some(Sorted { at: String::new(), what: Box::new(what), is_done });
        Known { place, sorted, ..Known::default() }
    }

    #[test]
    fn what_arrives_is_judged_and_what_was_there_is_not() {
        let next = |arrived, read| next(None, &at("INBOX", 1, 5), arrived, read);
        assert_eq!(next(Some(10_000), Some(9_000)), Next::Judge);
        assert_eq!(next(Some(10_000), Some(10_000 + SLACK)), Next::Judge);
        assert_eq!(next(Some(10_000), Some(10_001 + SLACK)), Next::Leave);
        assert_eq!(next(None, Some(10_000)), Next::Judge);
        assert_eq!(next(Some(10_000), None), Next::Judge);
    }

    #[test]
    fn what_is_known_is_dealt_with_by_what_became_of_it() {
        let next = |known: &Known, validity, uid| next(Some(known), &at("INBOX", validity, uid), None, None);
        // the program ended before it moved the message, or between copying and removing it
        assert_eq!(next(&sorted(Action::Move, false), 1, 5), Next::Judge);
        assert_eq!(next(&sorted(Action::Move, true), 1, 5), Next::Remove);
        assert_eq!(next(&sorted(Action::Copy, true), 1, 5), Next::Nothing);
        // a person moved it back
        assert_eq!(next(&sorted(Action::Move, true), 1, 6), Next::Return);
        let undone = Known { is_undone: true, ..sorted(Action::Move, true) };
        assert_eq!(next(&undone, 1, 6), Next::Leave);
        // it stayed in the inbox, and is looked at once more: as it was, numbered anew, after it was away
        let left = Known { place: Some(at("INBOX", 1, 5)), ..Known::default() };
        assert_eq!(next(&left, 1, 5), Next::Nothing);
        assert_eq!(next(&left, 2, 5), Next::Leave);
        assert_eq!(next(&left, 1, 9), Next::Return);
        let being_taught = Known { is_being_taught: true, ..left };
        assert_eq!(next(&being_taught, 1, 5), Next::Return);
    }
}
