//! What the journal says about each message.

use std::collections::HashMap;

use crate::imap::messages::Location;
use crate::ledger::entry::{Event, Id, JournalEntry, Sorting};
use crate::settings::SortAction;

/// What is known about a message.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct MessageState {
    /// Where it was last seen, or put.
    pub(crate) place: Option<Location>,
    /// What the filter did with it last.
    pub(crate) sorted: Option<LastSorting>,
    /// The label it was learned under.
    pub(crate) learned: Option<String>,
    /// Whether learning or forgetting it began, and may not have finished.
    pub(crate) is_being_taught: bool,
    /// Whether it was moved back after sorting, or was about to be.
    pub(crate) is_undone: bool,
}

/// What the filter did with a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LastSorting {
    pub(crate) at: String,
    pub(crate) what: Box<Sorting>,
    /// Whether this is known to have finished.
    pub(crate) is_done: bool,
}

impl MessageState {
    /// The folder that the filter has put it into, unless it was moved back.
    pub(crate) fn put_into(&self) -> Option<&str> {
        let sorted = self.sorted.as_ref().filter(|_| !self.is_undone)?;
        (sorted.what.action != SortAction::Flag).then_some(&*sorted.what.to)
    }

    /// The filter's move that may not have happened: the program ended in between.
    pub(crate) fn unfinished(&self) -> Option<&Sorting> {
        self.sorted.as_ref().filter(|sorted| !sorted.is_done && !self.is_undone).map(|sorted| &*sorted.what)
    }
}

/// All messages.
#[derive(Default, Debug)]
pub(crate) struct MessageStates(HashMap<Id, MessageState>);

impl MessageStates {
    pub(crate) fn get(&self, id: Id) -> Option<&MessageState> {
        self.0.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &MessageState)> {
        self.0.iter().map(|(id, known)| (*id, known))
    }

    pub(crate) fn apply(&mut self, entry: JournalEntry) {
        let known = self.0.entry(entry.id).or_default();
        match entry.event {
            Event::Left { place } => (known.place, known.sorted) = (Some(place), None),
            Event::Sorting(what) => {
                known.place = Some(what.from.clone());
                known.sorted = Some(LastSorting { at: entry.at, what, is_done: false });
                known.is_undone = false;
            }
            Event::Sorted { place } => {
                known.place = place;
                if let Some(sorted) = &mut known.sorted {
                    sorted.is_done = true;
                }
            }
            Event::Teaching => known.is_being_taught = true,
            Event::Taught { label } => {
                known.learned = label;
                known.is_being_taught = false;
            }
            Event::Undoing => known.is_undone = true,
            Event::Undone { place } => {
                known.place = place;
                known.is_undone = true;
            }
        }
    }
}
