//! A message in the inbox, once a day: what was filed, and what was unsure.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;
use chrono::DateTime;
use tamis_program::{DAY, at, clean, counted, seconds_now};

use crate::agent::state::Agent;
use crate::imap::messages::Location;
use crate::ledger::entry::{Event, Id, MessageSummary, Opinion};
use crate::ledger::header::Header;
use crate::ledger::messages::MessageState;

/// Maximum number of messages of a folder that are listed, and of those that were unsure.
const MOST_OF_FOLDER: usize = 50;
const MOST_UNSURE: usize = 5;

/// Bytes of a message that are read for its sender and subject.
const MOST_OF_MESSAGE: usize = 16 << 10;

impl Agent<'_> {
    /// Sends a digest if it is asked for and the last is a day old. It is tried once a day, whatever comes of it.
    pub(crate) async fn send_digest(&mut self) -> Result<()> {
        let (now, last) = (seconds_now(), self.ledger.positions.digest_at);
        if !self.account.digest || self.mode.dry_run || last.is_some_and(|last| now - last < DAY) {
            return Ok(());
        }
        self.ledger.positions.digest_at = Some(now);
        self.keep_positions()?;
        let (Some(since), Some(inbox)) = (last, self.mailbox(&self.account.inbox)) else { return Ok(()) };
        let filed = self.filed(&at(since));
        let unsure = self.unsure(&at(since));
        let n_filed: usize = filed.values().map(Vec::len).sum();
        if n_filed + unsure.len() == 0 {
            return Ok(());
        }
        let mut body = String::new();
        for (folder, lines) in &filed {
            writeln!(body, "{} ({})", clean(folder), lines.len())?;
            lines.iter().take(MOST_OF_FOLDER).try_for_each(|line| writeln!(body, "  {line}"))?;
            if lines.len() > MOST_OF_FOLDER {
                writeln!(body, "  and {} more (tamis mailbox log)", lines.len() - MOST_OF_FOLDER)?;
            }
        }
        let opened = self.server.have_open(&inbox, false).await?;
        if !unsure.is_empty() {
            writeln!(body, "\nLeft in the inbox, unsure: {}. The least sure:", unsure.len())?;
        }
        let least = unsure.iter().filter(|(place, _)| place.validity == opened.validity).take(MOST_UNSURE);
        for (place, opinion) in least {
            for message in self.server.fetch_first(&[place.uid], MOST_OF_MESSAGE).await? {
                let summary = Header::parse(&message.bytes).summary;
                writeln!(body, "  {:.2} {}?  {}", opinion.probability, opinion.label, line(&summary))?;
            }
        }
        let subject = format!("{} filed, {} unsure", counted(n_filed as u64, "message"), unsure.len());
        let digest = self.message(now, &subject, &body);
        // it is neither sorted nor learned
        let id = Header::parse(digest.as_bytes()).links[0];
        self.ledger.note([(id, Event::Digest)])?;
        let sent = self.server.append(&inbox, digest.as_bytes()).await;
        self.unless_refused(sent.map_err(Into::into)).map(drop)
    }

    /// What was filed since a time, by folder.
    fn filed(&self, since: &str) -> BTreeMap<String, Vec<String>> {
        let mut filed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let sorted = self.ledger.messages.iter().filter_map(|(_, known)| known.sorted.as_ref());
        for sorted in sorted.filter(|sorted| sorted.is_done && *sorted.at >= *since) {
            let told = format!("{}  {}", sorted.what.why(), line(&sorted.what.message));
            filed.entry(sorted.what.to.clone()).or_default().push(told);
        }
        filed.values_mut().for_each(|lines| lines.sort_unstable());
        filed
    }

    /// What has stayed in the inbox since a time although it may belong elsewhere, the least sure first.
    fn unsure(&self, since: &str) -> Vec<(Location, Opinion)> {
        let label = self.account.label_of(&self.account.inbox);
        let is_sure = |it: &Opinion| Some(&*it.label) == label && it.probability >= self.account.threshold;
        let unsure = |known: &MessageState| {
            let place = known.place.clone().filter(|place| place.folder == self.account.inbox)?;
            let is_open = known.learned.is_none() && known.sorted.is_none() && *known.placed_at >= *since;
            Some((place, known.opinion.clone().filter(|it| is_open && !is_sure(it))?))
        };
        let mut found: Vec<_> = self.ledger.messages.iter().filter_map(|(_, known)| unsure(known)).collect();
        found.sort_by(|a, b| a.1.probability.total_cmp(&b.1.probability).then(a.0.uid.cmp(&b.0.uid)));
        found
    }

    fn message(&self, now: i64, subject: &str, body: &str) -> String {
        let account = self.account;
        let to = if account.name.contains('@') { &account.name } else { &account.user };
        let date = DateTime::from_timestamp(now, 0).unwrap_or_default().to_rfc2822();
        // by its text, so that nobody can guess it
        let id = String::from(Id::hash(format!("{now} {to} {body}").as_bytes()));
        let text = format!(
            "From: tamis mailbox <{to}>\nTo: {to}\nSubject: tamis: {subject}\nDate: {date}\nMessage-ID: <{id}@tamis>\n\
             MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{body}\n\
             tamis mailbox undo --since 1d moves back what was filed.\n"
        );
        text.replace('\n', "\r\n")
    }
}

fn line(summary: &MessageSummary) -> String {
    clean(&format!("{}: {}", summary.sender, summary.subject)).into_owned()
}
