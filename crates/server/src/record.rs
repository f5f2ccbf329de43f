//! What the server records: numbers to watch it by, as OpenMetrics text, none of them about a user; its
//! [log](log::Log); and what the [fleet](outbox::Outbox) has not been told yet.

pub(crate) mod log;
pub(crate) mod outbox;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::lock;

/// A way into the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// spamd's protocol.
    Spamd,
    /// The milter protocol.
    Milter,
    /// HTTP.
    Http,
    /// The page for people.
    Page,
}

impl Door {
    /// All doors.
    pub const ALL: [Door; 4] = [Door::Spamd, Door::Milter, Door::Http, Door::Page];

    /// The door's name.
    pub fn name(self) -> &'static str {
        ["spamd", "milter", "http", "page"][self as usize]
    }
}

/// What came of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageOutcome {
    Spam,
    Ham,
    Unsure,
    /// A label of a model that is not a spam filter.
    Label,
    Error,
    /// A rule left it alone.
    Skipped,
}

/// What can come of a message, by name.
pub(crate) const OUTCOMES: [&str; 6] = ["spam", "ham", "unsure", "label", "error", "skipped"];

/// Upper bounds of the histogram of seconds.
const BOUNDS: [f64; 10] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// Counters since the server started.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Messages by door and outcome.
    messages: [[AtomicU64; OUTCOMES.len()]; Door::ALL.len()],
    /// Messages by the time they took to score, one more than bounds.
    seconds: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
    /// Messages learned, forgotten, and corrections refused.
    pub(crate) learned: AtomicU64,
    pub(crate) forgotten: AtomicU64,
    /// Requests refused because the server was full.
    pub(crate) refused: AtomicU64,
    /// Requests that a defect of ours ended.
    pub(crate) defects: AtomicU64,
    /// Passwords that were wrong.
    pub(crate) wrong_passwords: AtomicU64,
    /// By door, what each open connection holds a copy of.
    pub(crate) connections: [Arc<()>; Door::ALL.len()],
    /// Messages by outcome, second by second, of the last minute.
    seconds_ago: Mutex<VecDeque<[u64; OUTCOMES.len()]>>,
    /// Commits of what was learned, and models retrained.
    pub(crate) commits: AtomicU64,
    pub(crate) retrained: AtomicU64,
    /// Records of the fleet's stream that were applied.
    pub(crate) fleet_applied: AtomicU64,
    /// Records that could not be applied, and were set aside.
    pub(crate) fleet_set_aside: AtomicU64,
}

/// A gauge of the page: its name, its help and its value.
pub(crate) type Gauge = (&'static str, &'static str, f64);

impl Metrics {
    /// Counts a message.
    pub(crate) fn count(&self, door: Door, outcome: MessageOutcome, took: Duration) {
        self.messages[door as usize][outcome as usize].fetch_add(1, Relaxed);
        let seconds = took.as_secs_f64();
        self.seconds[BOUNDS.partition_point(|bound| *bound < seconds)].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Messages over all doors: spam, ham, unsure, other labels, errors, skipped.
    pub(crate) fn scored(&self) -> [u64; OUTCOMES.len()] {
        std::array::from_fn(|outcome| self.messages.iter().map(|door| door[outcome].load(Relaxed)).sum())
    }

    /// The number of open connections of a door.
    pub(crate) fn open_connections(&self, door: Door) -> usize {
        Arc::strong_count(&self.connections[door as usize]) - 1
    }

    /// Notes the messages so far; called every second.
    pub(crate) fn tick(&self) {
        let mut seconds = lock(&self.seconds_ago);
        seconds.push_back(self.scored());
        let too_many = seconds.len().saturating_sub(60);
        seconds.drain(..too_many);
    }

    /// Messages of the last minute, as [`scored`](Self::scored).
    pub(crate) fn last_minute(&self) -> [u64; OUTCOMES.len()] {
        let seconds = lock(&self.seconds_ago);
        let before = seconds.front().copied().unwrap_or_default();
        let now = self.scored();
        std::array::from_fn(|outcome| now[outcome] - before[outcome])
    }

    /// The time within which this share of messages was scored, rounded up to a bound of the histogram, in seconds;
    /// infinite beyond the last.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let counts = self.seconds.each_ref().map(|n| n.load(Relaxed));
        let wanted = counts.iter().sum::<u64>() as f64 * share;
        let mut sum = 0;
        let place = counts.iter().position(|n| {
            sum += n;
            sum as f64 >= wanted
        });
        place.and_then(|place| BOUNDS.get(place)).copied().unwrap_or(f64::INFINITY)
    }

    /// Writes the counters and some gauges as OpenMetrics text.
    pub(crate) fn write(&self, page: &mut String, gauges: &[Gauge]) -> std::fmt::Result {
        writeln!(page, "# TYPE tamis_messages counter\n# HELP tamis_messages Messages by door and verdict.")?;
        for door in Door::ALL {
            for (outcome, n) in OUTCOMES.iter().zip(&self.messages[door as usize]) {
                let n = n.load(Relaxed);
                writeln!(page, "tamis_messages_total{{door=\"{}\",verdict=\"{outcome}\"}} {n}", door.name())?;
            }
        }
        writeln!(page, "# TYPE tamis_seconds histogram\n# UNIT tamis_seconds seconds")?;
        writeln!(page, "# HELP tamis_seconds Time to score a message.")?;
        let mut n = 0;
        let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.seconds) {
            n += count.load(Relaxed);
            writeln!(page, "tamis_seconds_bucket{{le=\"{bound}\"}} {n}")?;
        }
        let seconds = self.nanoseconds.load(Relaxed) as f64 / 1e9;
        writeln!(page, "tamis_seconds_sum {seconds}\ntamis_seconds_count {n}")?;
        for (name, help, n) in [
            ("learned", "Messages learned.", &self.learned),
            ("forgotten", "Messages forgotten.", &self.forgotten),
            ("refused", "Requests refused because the server was full.", &self.refused),
            ("defects", "Requests ended by a defect of the server.", &self.defects),
            ("commits", "Writes of what was learned.", &self.commits),
            ("retrained", "Models retrained.", &self.retrained),
            ("wrong_passwords", "Passwords that were wrong.", &self.wrong_passwords),
            ("fleet_applied", "Records of the fleet that were applied.", &self.fleet_applied),
            ("fleet_set_aside", "Records of the fleet that could not be applied.", &self.fleet_set_aside),
        ] {
            writeln!(page, "# TYPE tamis_{name} counter\n# HELP tamis_{name} {help}")?;
            writeln!(page, "tamis_{name}_total {}", n.load(Relaxed))?;
        }
        writeln!(page, "# TYPE tamis_connections gauge\n# HELP tamis_connections Open connections by door.")?;
        for door in Door::ALL {
            let n = self.open_connections(door);
            writeln!(page, "tamis_connections{{door=\"{}\"}} {n}", door.name())?;
        }
        for (name, help, value) in gauges {
            writeln!(page, "# TYPE tamis_{name} gauge\n# HELP tamis_{name} {help}\ntamis_{name} {value}")?;
        }
        writeln!(page, "# EOF")
    }
}
