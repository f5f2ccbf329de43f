//! `tamis expire`

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Args;
use tamis_program::{DAY, counted, done, grouped, named, shown, shown_path, today};
use tamis_train::Known;
use tamis_train::{ClassId, ErrorKind, Learner, split_labels};

use crate::args::{ChangeArgs, ModelArg};
use crate::output::report_change;

#[derive(Args)]
#[command(after_help = "\
Forgetting removes exactly what learning added, all in one step. The date is that of the message. If it has none, or one \
in the future, it is the day on which tamis learn learned it. Documents without either stay. Nothing expires automatically.

Example:
  tamis expire --before 2023-01-01 --dry-run
  tamis expire --older-than 1y
  tamis expire --keep 20000")]
pub(crate) struct ExpireArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Forget documents written before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present_any = ["keep", "older_than"])]
    pub(crate) before: Option<Day>,
    /// Forget documents older than this: a number of days (d), weeks (w), months (m) or years (y)
    #[arg(long, value_name = "AGE", conflicts_with = "before")]
    pub(crate) older_than: Option<Age>,
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
        // written like the date of a message, for which a parser exists
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

/// An age in seconds; a month has 30 days and a year 365.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Age(pub(crate) i64);

impl std::str::FromStr for Age {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        const DAYS: [(char, i64); 4] = [('d', 1), ('w', 7), ('m', 30), ('y', 365)];
        let parsed = || {
            let (_, unit) = DAYS.into_iter().find(|(unit, _)| s.ends_with(*unit))?;
            let number: i64 = s[..s.len() - 1].parse().ok().filter(|number| *number > 0)?;
            number.checked_mul(unit * DAY).map(Age)
        };
        parsed().ok_or_else(|| format!("expected an age such as 90d, 12w, 6m or 1y, got {s:?}"))
    }
}

pub(crate) fn run(args: &ExpireArgs) -> Result<u8> {
    let path = args.model.path()?;
    // fails if there is no model
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let known: Vec<Known> = learner.filter().documents().collect::<tamis_train::Result<_>>()?;
    let filter = learner.filter();
    let all = filter.classes().iter().map(|(class, _)| class).filter(|_| !filter.has_many_labels());
    let classes: BTreeSet<ClassId> = all.chain(known.iter().map(|known| known.class)).collect();
    let labels: Vec<_> = classes.iter().map(|class| filter.learned_label(*class).to_owned()).collect();
    let today = today();
    // ignore dates in the future
    let date_of = |known: &Known| known.date.filter(|date| *date <= today);
    let undated = known.iter().filter(|known| date_of(known).is_none()).count();
    let before_day = args.before.map(|day| day.0).or(args.older_than.map(|age| today - age.0));
    let mut old = Vec::new();
    for class in &classes {
        let mut dated: Vec<_> = known
            .iter()
            .filter(|known| known.class == *class)
            .filter_map(|known| Some((date_of(known)?, known.digest)))
            .collect();
        dated.sort_unstable_by_key(|document| Reverse(*document));
        let is_new = |date: i64| before_day.is_none_or(|day| date >= day);
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
    let each = labels.iter().zip(&old).map(|(label, old)| {
        let labels = split_labels(label).collect::<Vec<_>>().join(",");
        format!("{} {}", grouped(old.len() as u64), shown(&labels))
    });
    let (verb, each) = (if args.dry_run { "would forget" } else { "forgot" }, each.collect::<Vec<_>>());
    writeln!(out, "{verb} {} ({})", counted(n_old, "document"), each.join(", "))?;
    if undated > 0 {
        let undated = counted(undated as u64, "document");
        writeln!(out, "kept {undated} without a date, or with one in the future")?;
    }
    if !args.dry_run && n_old > 0 {
        report_change(&mut out, before, learner.filter())?;
    }
    Ok(0)
}
