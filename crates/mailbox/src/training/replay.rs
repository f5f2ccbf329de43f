//! Sorts the last month as the agent would have: with a model trained on the mail before it, and learning as it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use tamis_model::clopper_pearson;
use tamis_program::{DAY, clean, counted, day, grouped, shown};
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, HeldOutScore};
use tamis_train::{Document, Filter, LearnOptions, Learner, Lock, Scratch};

use crate::agent::decide::decide;
use crate::files::replace;
use crate::ledger::entry::{Event, Id, JournalEntry, MessageSummary};
use crate::ledger::header::Header;
use crate::ledger::messages::MessageStates;
use crate::model::{learn, likeliest};
use crate::settings::Account;
use crate::training::learn::{SpooledMessage, read, train};
use crate::training::spool::arrival;

/// Length of the month in days, and the minimum number of its messages. With fewer, the newest tenth is taken.
const DAYS: i64 = 30;
const LEAST: usize = 50;

/// How the messages of a month would have been sorted.
pub(crate) struct Replay {
    filter: Filter,
    outcomes: Vec<HeldOutScore>,
    messages: Vec<ReplayedMessage>,
    since: i64,
}

/// A message that was sorted again.
struct ReplayedMessage {
    arrived: i64,
    summary: MessageSummary,
    /// Its label, and the label it would have been sorted by; `None` if it would have stayed in the inbox.
    label: String,
    verdict: Option<String>,
    /// The likeliest label, sure or not.
    likeliest: Option<String>,
}

/// Messages that the agent learns at a time.
const BATCH: usize = 20;

/// Messages, each with the time it arrived (seconds since 1970).
type DatedMessages = Vec<(i64, SpooledMessage)>;

/// Splits messages into those before the last month and those of it; `None` if one side is too small.
fn split(messages: &[SpooledMessage]) -> Result<Option<[DatedMessages; 2]>> {
    let dated = messages.iter().map(|message| Ok((arrival(&message.path)?, message.clone())));
    let mut dated = dated.collect::<Result<DatedMessages>>()?;
    dated.sort_by(|a, b| (a.0, &a.1.path).cmp(&(b.0, &b.1.path)));
    let Some((newest, _)) = dated.last() else { return Ok(None) };
    let since = newest - DAYS * DAY;
    let mut first = dated.partition_point(|(arrived, _)| *arrived < since);
    // the mailbox is new, or has hardly any recent mail
    if first < dated.len() / 2 || dated.len() - first < LEAST {
        first = dated.len() - dated.len() / 10;
    }
    let month = dated.split_off(first);
    let is_enough = month.len() >= 10 && !dated.is_empty();
    Ok(is_enough.then_some([dated, month]))
}

fn entry(bytes: &[u8], event: Event) -> JournalEntry {
    JournalEntry { at: String::new(), id: Id::hash(bytes), event }
}

impl Replay {
    /// Trains on all but the last month, and sorts that month while it learns it. `None` if there are too few messages. The
    /// model is in the folder `spool` meanwhile.
    pub(crate) fn run(
        messages: &[SpooledMessage],
        account: &Account,
        spool: &Path,
    ) -> Result<Option<Replay>> {
        let Some([before, month]) = split(messages)? else { return Ok(None) };
        let before: Vec<SpooledMessage> = before.into_iter().map(|(_, message)| message).collect();
        let labels: BTreeSet<&str> = before.iter().map(|message| &*message.label).collect();
        if labels.len() < 2 {
            return Ok(None);
        }
        let path = spool.join("replay.tamis");
        let model = train(&before)?;
        let mut options = LearnOptions::default();
        // twice as fast, and the same but for one message in five hundred
        options.retrain = false;
        Lock::wait(&path, options.lock_timeout)?.save(&model)?;
        let mut learner = Learner::open(&path, options)?;
        let mut known = MessageStates::default();
        for message in &before {
            let bytes = read(&message.path)?;
            known.apply(entry(&bytes, Header::parse(&bytes).taught(Some(&message.label), &message.place)));
        }
        let (mut scratch, mut outcomes, mut replayed) = (Scratch::default(), Vec::new(), Vec::new());
        let since = month.first().map_or(0, |(arrived, _)| *arrived);
        for batch in month.chunks(BATCH) {
            let mut events = Vec::new();
            for (arrived, message) in batch {
                let (bytes, filter) = (read(&message.path)?, learner.filter());
                // the model cannot know a label that is new this month
                let class = filter.classes().index(&message.label).filter(|_| !bytes.is_empty());
                let Some(class) = class else { continue };
                let score = filter.score(Document::Mail(&bytes), &mut scratch)?;
                outcomes.push(HeldOutScore::new(class, score, scratch.probabilities()[usize::from(class)]));
                let opinion = likeliest(account, &known, filter, &scratch, &score);
                let header = Header::parse(&bytes);
                let verdict = decide(account, &known, &header, opinion.as_ref());
                let left = Event::Left { place: message.place.clone(), opinion: opinion.clone() };
                events.push(entry(&bytes, left));
                events.push(entry(&bytes, header.taught(Some(&message.label), &message.place)));
                replayed.push(ReplayedMessage {
                    arrived: *arrived,
                    summary: header.summary,
                    label: message.label.clone(),
                    verdict: verdict.map(|verdict| verdict.label),
                    likeliest: opinion.map(|opinion| opinion.label),
                });
                learn(&mut learner, Document::Mail(&bytes), Some(&message.label))?;
            }
            learner.commit()?;
            events.into_iter().for_each(|event| known.apply(event));
        }
        Ok(Some(Replay { filter: learner.into_filter(), outcomes, messages: replayed, since }))
    }

    /// The two labels that are most often mistaken for one another, if that happens more than a quarter of the time with a
    /// confidence of 95 %; the number of mistakes, and that of their messages. Junk and the inbox do not count.
    pub(crate) fn confusable(&self, account: &Account) -> Option<([&str; 2], usize, usize)> {
        let mut mistakes: BTreeMap<[&str; 2], usize> = BTreeMap::new();
        for message in &self.messages {
            let likeliest = message.likeliest.as_deref().unwrap_or(&message.label);
            let mut pair = [&*message.label, likeliest];
            pair.sort_unstable();
            *mistakes.entry(pair).or_default() += usize::from(pair[0] != pair[1]);
        }
        let n_of = |pair: &[&str; 2]| self.messages.iter().filter(|it| pair.contains(&&*it.label)).count();
        let pairs = mistakes.into_iter().filter(|(pair, n)| {
            let share = clopper_pearson(*n as u64, n_of(pair) as u64, 0.9);
            let is_topic = |label| !account.is_junk(label) && account.label_of(&account.inbox) != Some(label);
            share.low > 0.25 && pair.iter().all(|label| is_topic(*label))
        });
        let (pair, n) = pairs.max_by_key(|(_, n)| *n)?;
        Some((pair, n, n_of(&pair)))
    }

    /// Prints what would have happened, with the messages that would have gone elsewhere.
    pub(crate) fn print(&self, out: &mut impl Write, account: &Account, most: usize) -> Result<()> {
        let is_inbox = |label| account.folder_of(label).is_some_and(|folder| folder.name == account.inbox);
        let [mut right, mut stay, mut wrong] = [const { Vec::new() }; 3];
        for message in &self.messages {
            match &message.verdict {
                Some(verdict) if *verdict == message.label => right.push(message),
                Some(_) => wrong.push(message),
                None if is_inbox(&message.label) => right.push(message),
                None => stay.push(message),
            }
        }
        writeln!(
            out,
            "Of the {} since {}, {} would have gone where you put them and {} would have stayed in the inbox; {} would \
             have gone elsewhere{}",
            counted(self.messages.len() as u64, "message"),
            day(self.since),
            grouped(right.len() as u64),
            grouped(stay.len() as u64),
            grouped(wrong.len() as u64),
            if wrong.is_empty() { "." } else { ":" }
        )?;
        if wrong.is_empty() {
            return Ok(());
        }
        let cut = |text: &str, width: usize| clean(text).chars().take(width).collect::<String>();
        writeln!(out, "{:<10}  {:<16}  {:<16}  {:<24}  subject", "arrived", "is in", "would go to", "from")?;
        for message in wrong.iter().rev().take(most) {
            let label = |label: Option<&str>| cut(&shown(label.unwrap_or_default()), 16);
            let (is_in, goes_to) = (label(Some(&message.label)), label(message.verdict.as_deref()));
            let (sender, subject) = (cut(&message.summary.sender, 24), cut(&message.summary.subject, 60));
            let date = day(message.arrived);
            writeln!(out, "{date}  {is_in:<16}  {goes_to:<16}  {sender:<24}  {subject}")?;
        }
        if wrong.len() > most {
            writeln!(out, "and {} more, the older ones (--all)", grouped((wrong.len() - most) as u64))?;
        }
        Ok(())
    }

    /// Writes the page with pictures to a file.
    pub(crate) fn write_html(&self, account: &Account, path: &Path) -> Result<()> {
        let classes = self.filter.classes();
        let evaluation = Evaluation::new(classes, self.filter.spam(), &self.outcomes);
        let name = |place: usize| {
            let summary = &self.messages[place].summary;
            format!("{}: {}", summary.sender, summary.subject)
        };
        let mislabels = Mislabel::of_outcomes(classes, &self.outcomes, 50, name);
        let title = format!("{} since {}", account.name, day(self.since));
        let report = EvaluationReport {
            title: &title,
            evaluation: &evaluation,
            decision: self.filter.is_spam_filter().then(|| self.filter.decision()),
            mislabels: &mislabels,
        };
        replace(path, report.page().to_html().as_bytes()).context("--html")
    }
}
