//! How the last month would have been sorted by a model of what came before.

use std::io::Write;

use anyhow::{Context, Result};
use tamis_program::{DAY, clean, counted, day, grouped, shown};
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, HeldOutScore};
use tamis_train::{Document, Filter, Scratch};

use crate::model::judge::likeliest;
use crate::model::message::Summary;
use crate::settings::account::Account;
use crate::training::learn::{Example, read, train};
use crate::training::spool::arrival;

/// What a month is, in days, and the least number of messages it must have; else the newest tenth is taken.
const DAYS: i64 = 30;
const LEAST: usize = 50;

/// How the messages of a month would have been sorted.
pub(crate) struct Replay {
    filter: Filter,
    outcomes: Vec<HeldOutScore>,
    messages: Vec<Replayed>,
    since: i64,
}

/// A message that was sorted again.
struct Replayed {
    arrived: i64,
    summary: Summary,
    /// Where it is, and where it would have gone: none if it would have stayed in the inbox.
    label: String,
    verdict: Option<String>,
}

/// The examples of a month, with the time each arrived (seconds since 1970), and those before it.
struct Split {
    before: Vec<Example>,
    month: Vec<(i64, Example)>,
}

/// Splits examples at the last month; `None` if one side is too small.
fn split(examples: &[Example]) -> Result<Option<Split>> {
    let mut dated = Vec::with_capacity(examples.len());
    for example in examples {
        dated.push((arrival(&example.path)?, example.clone()));
    }
    dated.sort_by(|a, b| (a.0, &a.1.path).cmp(&(b.0, &b.1.path)));
    let Some((newest, _)) = dated.last() else { return Ok(None) };
    let since = newest - DAYS * DAY;
    let mut first = dated.partition_point(|(arrived, _)| *arrived < since);
    // a mailbox that was filled the other day, or hardly any mail since
    if first < dated.len() / 2 || dated.len() - first < LEAST {
        first = dated.len() - dated.len() / 10;
    }
    let month = dated.split_off(first);
    let is_enough = month.len() >= 10 && !dated.is_empty();
    Ok(is_enough.then(|| Split { before: dated.into_iter().map(|(_, example)| example).collect(), month }))
}

impl Replay {
    /// Trains on all but the last month, and sorts that month. `None` if there are too few messages.
    ///
    /// # Errors
    /// If a message cannot be read, or training fails.
    pub(crate) fn of(examples: &[Example], account: &Account) -> Result<Option<Replay>> {
        let Some(Split { before, month }) = split(examples)? else { return Ok(None) };
        let mut labels: Vec<&str> = before.iter().map(|example| &*example.label).collect();
        labels.sort_unstable();
        labels.dedup();
        if labels.len() < 2 {
            return Ok(None);
        }
        let filter = train(&before, &labels)?.into_filter()?;
        let (mut scratch, mut outcomes, mut messages) = (Scratch::default(), Vec::new(), Vec::new());
        let since = month.first().map_or(0, |(arrived, _)| *arrived);
        for (arrived, example) in month {
            let bytes = read(&example.path)?;
            // a label that is new this month cannot be known
            let Some(class) = filter.classes().index(&example.label).filter(|_| !bytes.is_empty()) else {
                continue;
            };
            let score = filter.score(Document::Mail(&bytes), &mut scratch)?;
            let known = likeliest(&filter, &scratch).filter(|_| score.known_terms > 0);
            let verdict =
                known.filter(|(label, p)| account.destination(label, *p).is_some()).map(|(label, _)| label);
            outcomes.push(HeldOutScore::new(class, score, scratch.probabilities()[usize::from(class)]));
            messages.push(Replayed { arrived, summary: Summary::of(&bytes), label: example.label, verdict });
        }
        Ok(Some(Replay { filter, outcomes, messages, since }))
    }

    /// Prints what would have happened, with the messages that would have gone elsewhere.
    ///
    /// # Errors
    /// If they cannot be printed.
    pub(crate) fn print(&self, out: &mut impl Write, account: &Account, most: usize) -> Result<()> {
        let is_inbox =
            |label: &str| account.folder_of(label).is_some_and(|folder| folder.name == account.inbox);
        let is_right = |message: &&Replayed| match &message.verdict {
            Some(verdict) => *verdict == message.label,
            None => is_inbox(&message.label),
        };
        let right = self.messages.iter().filter(is_right).count();
        let stays = |message: &&Replayed| message.verdict.is_none() && !is_inbox(&message.label);
        let stay = self.messages.iter().filter(stays).count();
        let wrong: Vec<&Replayed> =
            self.messages.iter().filter(|message| message.verdict.is_some() && !is_right(message)).collect();
        writeln!(
            out,
            "Of the {} since {}, {} would have gone where you put them and {} would have stayed in the inbox; {} would \
             have gone elsewhere{}",
            counted(self.messages.len() as u64, "message"),
            day(self.since),
            grouped(right as u64),
            grouped(stay as u64),
            grouped(wrong.len() as u64),
            if wrong.is_empty() { "." } else { ":" }
        )?;
        if wrong.is_empty() {
            return Ok(());
        }
        let cut = |text: &str, width: usize| clean(text).chars().take(width).collect::<String>();
        writeln!(out, "{:<10}  {:<16}  {:<16}  {:<24}  subject", "arrived", "is in", "would go to", "from")?;
        for message in wrong.iter().rev().take(most) {
            let (label, verdict) =
                (shown(&message.label), shown(message.verdict.as_deref().unwrap_or_default()));
            let (sender, subject) = (cut(&message.summary.sender, 24), cut(&message.summary.subject, 60));
            let date = day(message.arrived);
            writeln!(
                out,
                "{date}  {:<16}  {:<16}  {sender:<24}  {subject}",
                cut(&label, 16),
                cut(&verdict, 16)
            )?;
        }
        if wrong.len() > most {
            writeln!(out, "and {} more, the older ones (--all)", grouped((wrong.len() - most) as u64))?;
        }
        Ok(())
    }

    /// The page with pictures.
    pub(crate) fn html(&self, account: &Account) -> String {
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
            classes,
            spam: self.filter.spam(),
            outcomes: &self.outcomes,
            evaluation: &evaluation,
            decision: self.filter.is_spam_filter().then(|| self.filter.decision()),
            learning: &[],
            mislabels: &mislabels,
        };
        report.page().to_html()
    }

    /// Writes the page to a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_html(&self, account: &Account, path: &std::path::Path) -> Result<()> {
        crate::ledger::positions::replace(path, self.html(account).as_bytes()).context("--html")
    }
}
