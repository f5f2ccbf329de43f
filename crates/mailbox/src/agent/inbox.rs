//! Sorts what arrives in the inbox, and learns from what is moved back there.

use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{DAY, counted, note, seconds_now, shown};

use crate::agent::decide::{Verdict, decide};
use crate::agent::labels::{Evidence, by_marks};
use crate::agent::state::{Agent, FiledMessage};
use crate::imap::folders::Mailbox;
use crate::imap::messages::{FetchedMessage, JUNK, Location, Transfer, keyword};
use crate::imap::session::ImapError;
use crate::ledger::entry::{Cause, Event, Id, Opinion, Sorting};
use crate::ledger::header::Header;
use crate::ledger::messages::MessageState;
use crate::settings::SortAction;

/// Number of messages that are fetched at a time.
const BATCH: usize = 20;

/// A message that arrived this many seconds before the inbox was last read has been moved there. Clocks differ.
const SLACK: i64 = 3_600;

/// How long a returning message may still be in its old folder: programs that cannot move it copy it first.
const ON_ITS_WAY: Duration = Duration::from_secs(30);
const A_MOMENT: Duration = Duration::from_secs(2);

/// What to do with a message of the inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InboxStep {
    /// Nothing is left to do.
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
    pub(crate) async fn look_into_inbox(&mut self) -> Result<()> {
        let begun = seconds_now();
        let Some(inbox) = self.mailbox(&self.account.inbox) else { return Ok(()) };
        let opened = self.server.have_open(&inbox, true).await?;
        let known = self.ledger.positions.folders.get(&inbox.name).copied();
        let first = match known {
            _ if self.mode.existing => 1,
            Some(position) if position.validity == opened.validity => position.next_uid,
            // the server has renumbered all messages; those that did not just arrive stay
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
        if self.mode.dry_run {
            note!("{}: looks at {} of the inbox", self.account.name, counted(uids.len() as u64, "message"));
        }
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
        let is_stale = self.ledger.positions.inbox_read_at.is_none_or(|at| begun - at > SLACK / 4);
        if !self.mode.dry_run && (known.is_none() || !uids.is_empty() || is_stale) {
            self.ledger.positions.inbox_read_at = Some(begun);
            self.keep_positions()?;
        }
        Ok(())
    }

    /// Handles messages. Returns the UID of the first that has to wait.
    pub(crate) async fn sort(
        &mut self,
        inbox: &Mailbox,
        validity: u32,
        fetched: Vec<FetchedMessage>,
    ) -> Result<Option<u32>> {
        let (mut corrections, mut waits) = (Vec::new(), None);
        for message in self.ledger.messages.of_others(fetched) {
            let id = Id::hash(&message.bytes);
            let place = Location { folder: inbox.name.clone(), validity, uid: message.uid };
            let known = self.ledger.messages.get(id).cloned();
            let read_at = self.ledger.positions.inbox_read_at;
            let by_another = message.keyword.as_ref().map(|_| self.action());
            let mut step = next(known.as_ref(), &place, message.arrived, read_at, by_another);
            // its owner has read it and left it there while no agent ran
            let left_at = seconds_now() - i64::from(self.account.confirm_days) * DAY;
            let is_new = step == InboxStep::Judge && known.is_none();
            if is_new && message.is_read && message.arrived.is_some_and(|at| at < left_at) {
                step = InboxStep::Leave;
            }
            // what its owner has marked stays
            let marked = by_marks(self.account, known.as_ref(), &inbox.name, message.marks);
            if let (Evidence::Correction(label @ Some(_)), false) = (marked, step == InboxStep::Remove) {
                corrections.push(FiledMessage { id, message, label, place });
                continue;
            }
            let may_judge = self.may_sort_again(known.as_ref(), by_another);
            match step {
                InboxStep::Nothing | InboxStep::Leave if may_judge => {
                    self.judge_and_sort(inbox, id, place, &message).await?;
                }
                InboxStep::Nothing => {}
                // it stays known that this agent sorted it
                InboxStep::Leave if known.as_ref().is_some_and(|known| known.is_undone) => {
                    self.note([(id, Event::Undone { place: Some(place) })])?;
                }
                InboxStep::Leave => self.note([(id, Event::Left { place, opinion: None })])?,
                InboxStep::Judge => self.judge_and_sort(inbox, id, place, &message).await?,
                InboxStep::Remove => {
                    self.server.have_open(inbox, true).await?;
                    self.server.delete_message(message.uid).await?;
                }
                InboxStep::Return => {
                    let since = *self.memory.waiting.entry(id).or_insert_with(Instant::now);
                    let is_elsewhere = self.is_still_elsewhere(known.as_ref(), inbox).await?;
                    // one that only another agent knows may be about to be moved by it
                    let may_leave = is_elsewhere || known.is_none();
                    if may_leave && !self.mode.once && since.elapsed() < ON_ITS_WAY {
                        waits = Some(waits.unwrap_or(message.uid));
                        continue;
                    }
                    self.memory.waiting.remove(&id);
                    if is_elsewhere {
                        // a second copy of what was sorted: whoever made it wants it here
                        self.note([(id, Event::Left { place, opinion: None })])?;
                    } else {
                        if message.keyword.is_some() && !self.mode.dry_run {
                            self.unmark(inbox, message.uid).await?;
                        }
                        let label = self.account.label_of(&inbox.name).map(str::to_owned);
                        corrections.push(FiledMessage { id, message, label, place });
                    }
                }
            }
        }
        self.learn(&corrections)?;
        Ok(waits)
    }

    /// Whether to sort a message that has been in the inbox before: if that was asked for, unless its owner has put it back
    /// there, it was sorted already, or it was learned elsewhere.
    fn may_sort_again(&self, known: Option<&MessageState>, by_another: Option<SortAction>) -> bool {
        let label = self.account.label_of(&self.account.inbox);
        let is_new = |known: &MessageState| {
            let is_of_inbox = known.learned.is_none() || known.learned.as_deref() == label;
            is_of_inbox && known.sorted.is_none() && !known.is_undone && !known.is_corrected
        };
        self.mode.existing && by_another.is_none() && known.is_none_or(is_new)
    }

    /// Whether a message is still in the other folder that it is known to have been in. An agent that looks once waits a
    /// moment for it to be removed there.
    async fn is_still_elsewhere(&mut self, known: Option<&MessageState>, inbox: &Mailbox) -> Result<bool> {
        let Some(place) = known.and_then(|known| known.place.as_ref()) else { return Ok(false) };
        let elsewhere = self.mailboxes.iter().find(|mailbox| mailbox.name == place.folder).cloned();
        let Some(elsewhere) = elsewhere.filter(|elsewhere| elsewhere.name != inbox.name) else {
            return Ok(false);
        };
        let opened = self.server.open(&elsewhere, false).await.map_err(Into::into);
        let Some(opened) = self.unless_refused(opened)? else { return Ok(false) };
        let mut is_there = opened.validity == place.validity
            && !self.server.still_there(&[place.uid], false).await?.is_empty();
        if is_there && self.mode.once {
            tokio::time::sleep(A_MOMENT).await;
            is_there = !self.server.still_there(&[place.uid], false).await?.is_empty();
        }
        Ok(is_there)
    }

    async fn judge_and_sort(
        &mut self,
        inbox: &Mailbox,
        id: Id,
        from: Location,
        message: &FetchedMessage,
    ) -> Result<()> {
        let header = Header::parse(&message.bytes);
        let is_learned = self.ledger.messages.get(id).is_some_and(|known| known.learned.is_some());
        let opinion = self.model.judge(self.account, &self.ledger.messages, &message.bytes, is_learned)?;
        let verdict = decide(self.account, &self.ledger.messages, &header, opinion.as_ref())
            .filter(|verdict| !(message.marks.not_junk && self.account.is_junk(&verdict.label)));
        let target = verdict.and_then(|verdict| Some((self.mailbox(&verdict.folder)?, verdict)));
        let Some((to, Verdict { label, cause, .. })) = target else {
            if is_learned {
                return Ok(());
            }
            return self.note([(id, Event::Left { place: from, opinion })]);
        };
        let (opinion, reasons) = match opinion {
            Some(opinion) if cause == Cause::Score => (opinion, self.model.reasons(&message.bytes, &label)?),
            // what the model says of the folder that others chose is not known
            _ => (Opinion { label, probability: 1.0, log_odds: 0.0 }, Vec::new()),
        };
        let (to_name, was_read) = (to.name.clone(), message.is_read);
        let (action, summary, modseq) = (self.action(), header.summary, message.modseq);
        let sorting =
            Sorting { action, from, to: to_name, cause, was_read, opinion, message: summary, reasons };
        self.announce(&sorting);
        if self.mode.dry_run {
            return Ok(());
        }
        if is_learned {
            let (message, place) = (message.clone(), sorting.from.clone());
            self.learn(&[FiledMessage { id, message, label: None, place }])?;
        }
        self.server.have_open(inbox, true).await?;
        self.ledger.note([(id, Event::Sorting(Box::new(sorting.clone())))])?;
        let event = match self.act(&sorting, &to, modseq).await {
            // someone else was faster
            Ok(None) => Event::Left { place: sorting.from, opinion: None },
            Ok(Some(Some(own))) if action == SortAction::Move => {
                Event::Sorted { place: Some(self.first_copy(id, &sorting, &to, own).await?) }
            }
            Ok(Some(place)) => Event::Sorted { place },
            // if refused, it stays in the inbox and is unfinished, so it is tried again later
            Err(error) => return self.unless_refused(Err::<(), _>(error.into())).map(drop),
        };
        self.ledger.note([(id, event)])
    }

    /// The first copy of a message in a folder. Agents of a server that can neither move nor tell that another changes a
    /// message may make one each; this one is removed if there is another before.
    async fn first_copy(
        &mut self,
        id: Id,
        sorting: &Sorting,
        to: &Mailbox,
        own: Location,
    ) -> Result<Location> {
        let is_only = self.server.can("MOVE") || self.server.can("CONDSTORE");
        let first = if is_only { None } else { self.find(id, None, sorting, to).await? };
        let Some(uid) = first.filter(|first| *first < own.uid) else { return Ok(own) };
        // a server that numbers the folder anew means another message by that number
        if self.server.have_open(to, true).await?.validity != own.validity {
            return Ok(own);
        }
        self.server.delete_message(own.uid).await?;
        Ok(Location { uid, ..own })
    }

    async fn act(
        &mut self,
        sorting: &Sorting,
        to: &Mailbox,
        modseq: Option<u64>,
    ) -> Result<Transfer, ImapError> {
        let (uid, action) = (sorting.from.uid, sorting.action);
        let is_junk = self.account.junk.as_deref() == Some(&sorting.to);
        // where there are no new keywords, the mark alone would be the owner's
        let is_fixed = self.server.open.as_ref().is_some_and(|(.., opened)| opened.is_fixed);
        let mark = if is_junk && !is_fixed { format!("{JUNK} ") } else { String::new() };
        let change = format!("+FLAGS.SILENT ({mark}{})", keyword(&sorting.opinion.label));
        match self.server.flag(uid, &change, modseq).await {
            // of several agents, only one gets it
            Ok(false) => return Ok(None),
            // a server without keywords: other agents take the move for their owner's
            Err(error) if action == SortAction::Flag || !error.is_refusal() => return Err(error),
            _ => {}
        }
        match action {
            SortAction::Flag => Ok(Some(Some(sorting.from.clone()))),
            SortAction::Copy => self.server.copy_message(uid, to).await,
            SortAction::Move => self.server.move_message(uid, to).await,
        }
    }

    fn announce(&self, sorting: &Sorting) {
        let verb = match (self.mode.dry_run, sorting.action) {
            (true, _) => "would go to",
            (false, SortAction::Move) => "goes to",
            (false, SortAction::Copy) => "is copied to",
            (false, SortAction::Flag) => "is flagged as for",
        };
        note!(
            "{}: {} from {} {verb} {} ({})",
            self.account.name,
            shown(&format!("\"{}\"", sorting.message.subject)),
            shown(&sorting.message.sender),
            shown(&sorting.to),
            sorting.why()
        );
    }
}

/// What to do with a message at a place of the inbox. `by_another` is what agents do with messages, if another one has
/// sorted it.
fn next(
    known: Option<&MessageState>,
    place: &Location,
    arrived: Option<i64>,
    inbox_read_at: Option<i64>,
    by_another: Option<SortAction>,
) -> InboxStep {
    let Some(known) = known else {
        match by_another {
            Some(SortAction::Move) => return InboxStep::Return,
            Some(_) => return InboxStep::Leave,
            None => {}
        }
        let was_there = arrived.zip(inbox_read_at).is_some_and(|(arrived, read)| arrived < read - SLACK);
        return if was_there { InboxStep::Leave } else { InboxStep::Judge };
    };
    let is_from_here = known.sorted.as_ref().is_some_and(|sorted| sorted.what.from == *place);
    if known.unfinished().is_some() && is_from_here {
        return InboxStep::Judge;
    }
    if known.place.as_ref() == Some(place) && !known.is_being_taught {
        return InboxStep::Nothing;
    }
    let is_numbered_anew =
        known.place.as_ref().is_some_and(|at| at.folder == place.folder && at.validity != place.validity);
    if known.is_undone || is_numbered_anew && !known.is_being_taught {
        return InboxStep::Leave;
    }
    match known.sorted.as_ref().map(|sorted| sorted.what.action) {
        Some(SortAction::Move) if is_from_here => InboxStep::Remove,
        Some(_) if is_from_here => InboxStep::Nothing,
        _ => InboxStep::Return,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::messages::LastSorting;

    fn at(folder: &str, validity: u32, uid: u32) -> Location {
        Location { folder: folder.to_owned(), validity, uid }
    }

    /// A message that was put into the junk from the inbox, where it had UID 5.
    fn sorted(action: SortAction, is_done: bool) -> MessageState {
        let what = Sorting::example(action, at("INBOX", 1, 5), "Junk");
        let place = Some(if is_done { at("Junk", 7, 1) } else { at("INBOX", 1, 5) });
        let sorted = Some(LastSorting { at: String::new(), what: Box::new(what), is_done });
        MessageState { place, sorted, ..MessageState::default() }
    }

    #[test]
    fn what_arrives_is_judged_and_what_was_there_is_not() {
        let by_another = |action| next(None, &at("INBOX", 1, 5), Some(10_000), Some(9_000), Some(action));
        // another agent moved it away, and a person back
        assert_eq!(by_another(SortAction::Move), InboxStep::Return);
        assert_eq!(by_another(SortAction::Copy), InboxStep::Leave);
        let next = |arrived, read| next(None, &at("INBOX", 1, 5), arrived, read, None);
        assert_eq!(next(Some(10_000), Some(9_000)), InboxStep::Judge);
        assert_eq!(next(Some(10_000), Some(10_000 + SLACK)), InboxStep::Judge);
        assert_eq!(next(Some(10_000), Some(10_001 + SLACK)), InboxStep::Leave);
        assert_eq!(next(None, Some(10_000)), InboxStep::Judge);
        assert_eq!(next(Some(10_000), None), InboxStep::Judge);
    }

    #[test]
    fn what_is_known_is_dealt_with_by_what_became_of_it() {
        let next = |known: &MessageState, validity, uid| {
            next(Some(known), &at("INBOX", validity, uid), None, None, None)
        };
        // the program ended before it moved the message, or between copying and removing it
        assert_eq!(next(&sorted(SortAction::Move, false), 1, 5), InboxStep::Judge);
        assert_eq!(next(&sorted(SortAction::Move, true), 1, 5), InboxStep::Remove);
        assert_eq!(next(&sorted(SortAction::Copy, true), 1, 5), InboxStep::Nothing);
        // a person moved it back
        assert_eq!(next(&sorted(SortAction::Move, true), 1, 6), InboxStep::Return);
        let undone = MessageState { is_undone: true, ..sorted(SortAction::Move, true) };
        assert_eq!(next(&undone, 1, 6), InboxStep::Leave);
        // it stayed in the inbox, and is looked at once more: as it was, numbered anew, after it was away
        let left = MessageState { place: Some(at("INBOX", 1, 5)), ..MessageState::default() };
        assert_eq!(next(&left, 1, 5), InboxStep::Nothing);
        assert_eq!(next(&left, 2, 5), InboxStep::Leave);
        assert_eq!(next(&left, 1, 9), InboxStep::Return);
        let being_taught = MessageState { is_being_taught: true, ..left };
        assert_eq!(next(&being_taught, 1, 5), InboxStep::Return);
    }
}
