//! Learns messages that were sorted and left in place for some days, if `confirm_days` is set.

use std::time::{Duration, Instant};

use anyhow::Result;
use tamis_program::{DAY, day, seconds_now};

use crate::agent::state::{Agent, FiledMessage};
use crate::imap::messages::Location;
use crate::ledger::entry::Id;

/// How often to check.
const PAUSE: Duration = Duration::from_secs(3_600);

/// Days after which a message that is still unread is no longer checked.
const MOST_DAYS: i64 = 30;

impl Agent<'_> {
    /// Learns messages that were sorted some days ago, have been read, and are still in place.
    ///
    /// # Errors
    /// If the server, the model or the ledger fails.
    pub(crate) async fn confirm(&mut self) -> Result<()> {
        let Some(days) = self.account.confirm_days else { return Ok(()) };
        if self.memory.confirmed_at.is_some_and(|at| at.elapsed() < PAUSE) {
            return Ok(());
        }
        self.memory.confirmed_at = Some(Instant::now());
        for (id, place, label) in self.due(i64::from(days)) {
            let Some(mailbox) = self.mailbox(&place.folder) else { continue };
            let opened = self.server.have_open(&mailbox, false).await?;
            if opened.validity != place.validity || self.server.is_read(place.uid).await? != Some(true) {
                continue;
            }
            for message in
                self.server.fetch(&[place.uid]).await?.into_iter().filter(|m| Id::hash(&m.bytes) == id)
            {
                let label = Some(label.clone());
                self.learn(&[FiledMessage { id, bytes: message.bytes, label, left_at: None }])?;
            }
        }
        Ok(())
    }

    /// The messages to check, by folder.
    fn due(&self, days: i64) -> Vec<(Id, Location, String)> {
        let now = seconds_now();
        let (newest, oldest) = (day(now - days * DAY), day(now - (days + MOST_DAYS) * DAY));
        let mut due: Vec<_> = self
            .ledger
            .messages
            .iter()
            .filter(|(_, known)| known.learned.is_none() && known.put_into().is_some())
            .filter_map(|(id, known)| {
                let sorted = known.sorted.as_ref()?;
                let at = sorted.at.get(..10)?;
                let is_due = at <= &*newest && at >= &*oldest;
                let place = known.place.clone().filter(|place| is_due && place.folder == sorted.what.to)?;
                Some((id, place, sorted.what.opinion.label.clone()))
            })
            .collect();
        due.sort_unstable_by(|a, b| (&a.1.folder, a.1.uid).cmp(&(&b.1.folder, b.1.uid)));
        due
    }
}
