//! `tamis expire`

use std::cmp::Reverse;
use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use tamis_filter::{ErrorKind, Known, Learner};

use crate::args::model::{ChangeArgs, ModelArg};
use crate::output::expected::report_change;
use crate::output::numbers::{counted, grouped};
use crate::output::shown::{named, shown, shown_path};
use crate::output::volume::done;

#[derive(Args)]
#[command(after_help = "\
Forgetting removes exactly what learning added, all in one step. Documents without a date stay. \
Nothing expires by itself.

Example:
  tamis expire --before 2023-01-01 --dry-run
  tamis expire --keep 20000")]
pub(crate) struct ExpireArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Forget documents written before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "keep")]
    pub(crate) before: Option<Day>,
    /// Forget all but the N newest documents of each label
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only show what would be forgotten
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// A day, as seconds from 1970 to its beginning (UTC).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Day(pub(crate) i64);

impl std::str::FromStr for Day {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        // as in a message, whose date can be read already
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let parsed = || {
            let mut parts = s.split('-');
            let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
            let month: usize = month.parse().ok()?;
            let date =
                format!("Date: {day} {} {year} 00:00:00 +0000\n\n", MONTHS.get(month.checked_sub(1)?)?);
            let message = tamis_mail::Message::parse(date.as_bytes(), &tamis_mail::Limits::default());
            (s.len() == 10 && parts.next().is_none()).then(|| message.date().map(Day)).flatten()
        };
        parsed().ok_or_else(|| format!("expected a day such as 2023-01-31, got {s:?}"))
    }
}

pub(crate) fn run(args: &ExpireArgs) -> Result<u8> {
    let path = args.model.path()?;
    // fails if there is no model
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let known: Vec<Known> = learner.filter().documents().collect::<tamis_filter::Result<_>>()?;
    let labels: Vec<String> = learner.filter().classes().iter().map(|(_, label)| label.to_owned()).collect();
    let undated = known.iter().filter(|known| known.date.is_none()).count();
    let mut old = Vec::new();
    for class in 0..labels.len() {
        let mut dated: Vec<_> = known
            .iter()
            .filter(|known| usize::from(known.class) == class)
            .filter_map(|known| Some((known.date?, known.digest)))
            .collect();
        dated.sort_unstable_by_key(|document| Reverse(*document));
        let is_new = |date: i64| args.before.is_none_or(|day| date >= day.0);
        let n_new =
            dated.iter().take(args.keep.unwrap_or(usize::MAX)).take_while(|(date, _)| is_new(*date)).count();
        old.push(dated.split_off(n_new));
    }
    let before = learner.filter().information().expected;
    for (label, old) in labels.iter().zip(&old).filter(|_| !args.dry_run) {
        for (_, digest) in old {
            learner.forget_digest(Some(label), *digest).map_err(|error| match error.kind() {
                ErrorKind::TermsNotStored => anyhow!(
                    "{}: expected a model that remembers the terms of its documents, got one with digests only; \
                    nothing was forgotten. Train it again with --documents",
                    shown_path(&path)
                ),
                _ => error.into(),
            })?;
        }
    }
    let n_old = old.iter().map(|old| old.len() as u64).sum();
    if !args.dry_run && n_old > 0 {
        // all in one step, with new thresholds
        learner.compact()?;
    }
    let mut out = done();
    let each =
        labels.iter().zip(&old).map(|(label, old)| format!("{} {}", grouped(old.len() as u64), shown(label)));
    let (verb, each) = (if args.dry_run { "would forget" } else { "forgot" }, each.collect::<Vec<_>>());
    writeln!(out, "{verb} {} ({})", counted(n_old, "document"), each.join(", "))?;
    if undated > 0 {
        writeln!(out, "kept {} without a date", counted(undated as u64, "document"))?;
    }
    if !args.dry_run && n_old > 0 {
        report_change(&mut out, before, learner.filter())?;
    }
    Ok(0)
}
