//! What the journal says about each message.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use tamis_model::clopper_pearson;

use crate::imap::messages::{FetchedMessage, Location, Marks};
use crate::ledger::entry::{Cause, Event, Id, JournalEntry, Opinion, Sorting};
use crate::ledger::header::Header;
use crate::settings::{Account, SortAction};

/// Thresholds that a folder may get.
const THRESHOLDS: [f64; 9] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99];

/// Minimum number of messages of a mailing list that decide about the next.
const LEAST_OF_LIST: u32 = 3;

/// How many of the last messages say what arrives.
const RECENT_ARRIVALS: usize = 200;

/// How many messages the assumed share of a label in what arrives counts as.
const USUAL_ARRIVALS: f64 = 5.0;

/// What is known about a message.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct MessageState {
    /// Where it was last seen, or put, and when.
    pub(crate) place: Option<Location>,
    pub(crate) placed_at: String,
    /// Whether an agent, this one or another, put it there.
    pub(crate) by_agent: bool,
    /// What the filter did with it last.
    pub(crate) sorted: Option<LastSorting>,
    /// What the model said of it when it arrived.
    pub(crate) opinion: Option<Opinion>,
    /// The label it was learned under.
    pub(crate) learned: Option<String>,
    /// What other messages may refer to.
    pub(crate) links: Vec<Id>,
    /// Whether learning or forgetting it began, and may not have finished.
    pub(crate) is_being_taught: bool,
    /// Whether it was moved back after sorting, or was about to be.
    pub(crate) is_undone: bool,
    /// Whether its owner has moved it from where the filter put it.
    pub(crate) is_corrected: bool,
    /// How its owner's other programs had marked it when that was looked at last.
    pub(crate) marks: Marks,
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

    /// The filter's move that may not have happened: the program ended in between, or the server refused.
    pub(crate) fn unfinished(&self) -> Option<&Sorting> {
        self.sorted.as_ref().filter(|sorted| !sorted.is_done && !self.is_undone).map(|sorted| &*sorted.what)
    }
}

/// All messages.
#[derive(Default, Debug)]
pub(crate) struct MessageStates {
    states: HashMap<Id, MessageState>,
    /// How many messages that can be referred to in this way were learned under each label.
    links: HashMap<Id, BTreeMap<String, u32>>,
    /// The addresses that the owner has written to, hashed.
    pub(crate) correspondents: HashSet<Id>,
    /// The last messages that the model has judged, the oldest first.
    arrivals: VecDeque<Id>,
    /// The digests that were sent, by their links.
    digests: HashSet<Id>,
}

impl MessageStates {
    pub(crate) fn get(&self, id: Id) -> Option<&MessageState> {
        self.states.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &MessageState)> {
        self.states.iter().map(|(id, known)| (*id, known))
    }

    /// The messages that are known to be in a folder, by UID.
    pub(crate) fn in_folder(&self, folder: &str, validity: u32) -> HashMap<u32, &MessageState> {
        let placed = self.states.values().filter_map(|known| Some((known.place.as_ref()?, known)));
        let there = placed.filter(|(place, _)| place.folder == folder && place.validity == validity);
        there.map(|(place, known)| (place.uid, known)).collect()
    }

    /// What the journal says if the marks of a message are other ones than before.
    pub(crate) fn new_marks(&self, id: Id, message: &FetchedMessage) -> Option<(Id, Event)> {
        let before = self.get(id).map(|known| known.marks).unwrap_or_default();
        (before != message.marks).then_some((id, Event::Marked(message.marks)))
    }

    /// Those of messages that are not marked as deleted, without digests.
    pub(crate) fn of_others(&self, mut fetched: Vec<FetchedMessage>) -> Vec<FetchedMessage> {
        fetched.retain(|message| !message.is_deleted && !self.is_digest(&message.bytes));
        fetched
    }

    /// Whether a message is a digest, which is neither sorted nor learned.
    pub(crate) fn is_digest(&self, bytes: &[u8]) -> bool {
        !self.digests.is_empty() && Header::parse(bytes).links.iter().any(|it| self.digests.contains(it))
    }

    /// The labels of the messages that can be referred to in this way; `None` if there are none.
    pub(crate) fn labels_of(&self, link: Id) -> Option<impl Iterator<Item = &str>> {
        let labels = self.links.get(&link).filter(|labels| !labels.is_empty())?;
        Some(labels.keys().map(|label| &**label))
    }

    /// The label under which most messages were learned that are in the folders of a label; `None` if there are none.
    pub(crate) fn usual_label(&self, account: &Account, label: &str) -> Option<&str> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        let label_at = |place: &Option<Location>| account.label_of(&place.as_ref()?.folder);
        let there = self.states.values().filter(|known| label_at(&known.place) == Some(label));
        for learned in there.filter_map(|known| known.learned.as_deref()) {
            *counts.entry(learned).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, n)| *n).map(|(learned, _)| learned)
    }

    /// The label of the messages that one refers to, if they have only one.
    pub(crate) fn label_by_links(&self, header: &Header) -> Option<(&str, Cause)> {
        header.refers_to.iter().find_map(|(cause, link)| {
            let mut labels = self.links.get(link)?.iter();
            let ((label, n), None) = (labels.next()?, labels.next()) else { return None };
            (*cause == Cause::Thread || *n >= LEAST_OF_LIST).then_some((&**label, *cause))
        })
    }

    /// The probability from which messages go to the folder of a label: the lowest at which, with a confidence of 95 %, at
    /// most a share `max_wrong` is moved away again. `start` until there is evidence for a lower or a higher one.
    pub(crate) fn threshold(&self, label: &str, start: f64, max_wrong: f64) -> f64 {
        let outcome = |known: &MessageState| {
            let opinion = known.opinion.as_ref().filter(|opinion| opinion.label == label)?;
            match &known.learned {
                Some(learned) => Some((opinion.probability, learned != label)),
                None => known.put_into().map(|_| (opinion.probability, false)),
            }
        };
        let outcomes: Vec<(f64, bool)> = self.states.values().filter_map(outcome).collect();
        let wrong = |threshold: f64| {
            let sorted = || outcomes.iter().filter(|(probability, _)| *probability >= threshold);
            let wrong = sorted().filter(|(_, is_wrong)| *is_wrong).count();
            // each limit with 95 %
            clopper_pearson(wrong as u64, sorted().count() as u64, 0.9)
        };
        let lower = THRESHOLDS.into_iter().filter(|it| *it < start).find(|it| wrong(*it).high <= max_wrong);
        let above = THRESHOLDS.into_iter().filter(|it| *it > start);
        let higher = || [start].into_iter().chain(above).find(|it| wrong(*it).low <= max_wrong);
        lower.or_else(higher).unwrap_or(1.0)
    }

    /// The share of a label in what has arrived of late: by what the owner says or, until then, the model. A share of `usual`
    /// counts as [`USUAL_ARRIVALS`] messages.
    pub(crate) fn share_of_arrivals(&self, label: &str, usual: f64) -> f64 {
        let (mut of_label, mut all) = (usual * USUAL_ARRIVALS, USUAL_ARRIVALS);
        for known in self.arrivals.iter().filter_map(|id| self.states.get(id)) {
            let Some(opinion) = &known.opinion else { continue };
            let learned = known.learned.as_ref().map(|learned| f64::from(u8::from(learned == label)));
            of_label += learned.unwrap_or(if opinion.label == label { opinion.probability } else { 0.0 });
            all += 1.0;
        }
        of_label / all
    }

    pub(crate) fn apply(&mut self, entry: JournalEntry) {
        let others = match entry.event {
            Event::Correspondent => Some(&mut self.correspondents),
            Event::Digest => Some(&mut self.digests),
            _ => None,
        };
        if let Some(others) = others {
            others.insert(entry.id);
            return;
        }
        let is_judged = matches!(entry.event, Event::Left { opinion: Some(_), .. } | Event::Sorting(_));
        if is_judged && !self.arrivals.contains(&entry.id) {
            self.arrivals.push_back(entry.id);
            self.arrivals.drain(..self.arrivals.len().saturating_sub(RECENT_ARRIVALS));
        }
        let known = self.states.entry(entry.id).or_default();
        match entry.event {
            Event::Left { place, opinion } => {
                (known.place, known.placed_at, known.sorted) = (Some(place), entry.at, None);
                (known.is_undone, known.by_agent) = (false, false);
                known.opinion = opinion.or_else(|| known.opinion.take());
            }
            Event::Sorting(what) => {
                known.place = Some(what.from.clone());
                known.opinion = (what.cause == Cause::Score).then(|| what.opinion.clone());
                known.sorted = Some(LastSorting { at: entry.at, what, is_done: false });
                known.is_undone = false;
            }
            Event::Sorted { place } => {
                (known.place, known.placed_at, known.by_agent) = (place, entry.at, true);
                if let Some(sorted) = &mut known.sorted {
                    sorted.is_done = true;
                }
            }
            Event::Teaching => known.is_being_taught = true,
            Event::Marked(marks) => known.marks = marks,
            Event::Taught { label, place, links } => {
                for link in known.learned.iter().flat_map(|_| &known.links) {
                    let labels = self.links.entry(*link).or_default();
                    labels.retain(|it, n| {
                        *n -= u32::from(Some(it) == known.learned.as_ref());
                        *n > 0
                    });
                }
                if !links.is_empty() {
                    known.links = links;
                }
                for (link, label) in known.links.iter().filter_map(|link| Some((link, label.as_ref()?))) {
                    *self.links.entry(*link).or_default().entry(label.clone()).or_default() += 1;
                }
                if known.sorted.as_ref().is_some_and(|it| label.as_ref() != Some(&it.what.opinion.label)) {
                    known.sorted = None;
                    known.is_corrected = true;
                }
                if place.is_some() {
                    (known.place, known.placed_at) = (place, entry.at);
                }
                known.learned = label;
                (known.is_being_taught, known.is_undone) = (false, false);
            }
            Event::Undoing => known.is_undone = true,
            Event::Undone { place } => {
                (known.place, known.placed_at) = (place, entry.at);
                (known.is_undone, known.by_agent) = (true, false);
            }
            Event::Correspondent | Event::Digest => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(label: &str, links: &[Id]) -> Event {
        Event::Taught { label: Some(label.to_owned()), place: None, links: links.to_vec() }
    }

    fn known(events: impl IntoIterator<Item = (u64, Event)>) -> MessageStates {
        let mut messages = MessageStates::default();
        for (n, event) in events {
            messages.apply(JournalEntry { at: String::new(), id: Id::hash(&n.to_le_bytes()), event });
        }
        messages
    }

    #[test]
    fn answers_follow_what_was_filed_and_follow_its_corrections() {
        let (thread, list) = (Id::hash(b"thread"), Id::hash(b"list"));
        let refers = |cause, link| Header { refers_to: vec![(cause, link)], ..Header::default() };
        let label = |messages: &MessageStates, header: &Header| {
            messages.label_by_links(header).map(|(it, _)| it.to_owned())
        };
        let (of_thread, of_list) = (refers(Cause::Thread, thread), refers(Cause::List, list));
        let mut events = vec![(1, learned("rust", &[thread, list])), (2, learned("rust", &[list]))];
        assert_eq!(label(&known(events.clone()), &of_thread).as_deref(), Some("rust"));
        assert_eq!(label(&known(events.clone()), &of_list), None, "two of a list are too few");
        events.push((3, learned("rust", &[list])));
        assert_eq!(label(&known(events.clone()), &of_list).as_deref(), Some("rust"));
        // the first is moved to another folder, and then forgotten
        events.push((1, learned("bills", &[])));
        assert_eq!(label(&known(events.clone()), &of_thread).as_deref(), Some("bills"));
        assert_eq!(label(&known(events.clone()), &of_list), None, "a list with two labels decides nothing");
        events.push((1, Event::Taught { label: None, place: None, links: Vec::new() }));
        assert_eq!(label(&known(events.clone()), &of_thread), None);
        events.push((4, learned("rust", &[list])));
        assert_eq!(label(&known(events), &of_list).as_deref(), Some("rust"));
    }

    #[test]
    fn the_share_of_what_arrives_is_not_that_of_the_folders() {
        let left = |label: &str, probability| Event::Left {
            place: Location { folder: "INBOX".to_owned(), validity: 1, uid: 1 },
            opinion: Some(Opinion { label: label.to_owned(), probability, log_odds: 0.0 }),
        };
        let share = |events: Vec<(u64, Event)>| known(events).share_of_arrivals("spam", 0.4);
        // two of five are assumed; what was only learned from a folder has not arrived
        assert_eq!(share(vec![(1, learned("spam", &[]))]), 0.4);
        let mut events: Vec<_> = (0..10).map(|n| (n, left("rust", 0.9))).collect();
        events.extend((10..15).map(|n| (n, left("spam", 0.8))));
        assert!((share(events.clone()) - 6.0 / 20.0).abs() < 1e-12);
        // what its owner says of it counts
        events.extend([(0, learned("spam", &[])), (10, learned("rust", &[]))]);
        assert!((share(events) - (6.0 + 1.0 - 0.8) / 20.0).abs() < 1e-12);
    }

    #[test]
    fn thresholds_follow_what_was_moved_away() {
        let place = Location { folder: "INBOX".to_owned(), validity: 1, uid: 1 };
        for (outcomes, expected) in [
            (vec![], 0.8),
            // too few to be sure, and enough
            (vec![(50, 0.65, "rust")], 0.8),
            (vec![(200, 0.65, "rust")], 0.5),
            // what is worse below .6 stays out; what is bad at .8 raises it
            (vec![(200, 0.65, "rust"), (10, 0.55, "bills")], 0.6),
            (vec![(15, 0.82, "rust"), (5, 0.82, "bills")], 0.85),
            (vec![(9, 1.0, "bills")], 1.0),
        ] {
            let mut events = Vec::new();
            for (n, probability, label) in outcomes {
                let opinion = Some(Opinion { label: "rust".to_owned(), probability, log_odds: 0.0 });
                let left = Event::Left { place: place.clone(), opinion };
                let first = events.len() as u64;
                events.extend(
                    (first..first + n).flat_map(|id| [(id, left.clone()), (id, learned(label, &[]))]),
                );
            }
            assert_eq!(known(events).threshold("rust", 0.8, 0.02), expected);
        }
    }
}
