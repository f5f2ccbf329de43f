//! `tamis forget`, `tamis expire` and `tamis retrain`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use tamis_program::{
    DAY, ERROR, commit, counted, done, expectation, grouped, named, say, shown, shown_path, today,
};
use tamis_train::{ClassId, ErrorKind, Filter, Known, Learner, Scoring, document_name, split_labels};

use crate::args::{ChangeArgs, InputArgs, ModelArg};
use crate::formats::labels::learned_as;
use crate::input::Selection;
use crate::models::learn::{ProgressArgs, corpus, for_each};
use crate::output::{labels, report_change};

#[derive(Args)]
#[command(after_help = "\
Forgetting removes exactly what learning added. The first argument is a label if the model knows \
it; write ./spam for a file of that name.

Example:
  tamis forget < message.eml
  tamis forget spam message.eml
  tamis forget --name '<1@example.org>'
  tamis forget --digest 0123456789abcdef0123456789abcdef")]
pub(crate) struct ForgetArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Optional label that the documents must have been learned under, then files, folders, mboxes, Maildirs. Standard
    /// input by default
    #[arg(value_name = "[LABEL] PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Forget the document with this digest, as `inspect --suspects` prints it; its file is not needed
    #[arg(long, value_name = "HEX", conflicts_with = "files_from")]
    pub(crate) digest: Vec<DigestArg>,
    /// Forget the message with this Message-ID; its file is not needed
    #[arg(long, value_name = "MESSAGE-ID", conflicts_with = "files_from", allow_hyphen_values = true)]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// The digest of a document, 32 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DigestArg(pub(crate) [u8; 16]);

impl std::str::FromStr for DigestArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let number = (s.len() == 32).then(|| u128::from_str_radix(s, 16).ok()).flatten();
        let number = number.ok_or_else(|| format!("expected 32 hexadecimal digits, got {s:?}"))?;
        Ok(DigestArg(number.to_be_bytes()))
    }
}

pub(crate) fn forget(args: &ForgetArgs) -> Result<u8> {
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let first = args.paths.first().and_then(|first| first.to_str());
    let label = first.filter(|first| knows(&filter, first)).map(|first| learned_as(&filter, first));
    let label = label.as_deref();
    if let (None, Some(first)) = (label, args.paths.first())
        && first != "-"
        && !Path::new(first).exists()
    {
        let known = labels(filter.classes()).join(", ");
        bail!("{}: expected a label ({}) or a path, got neither", shown_path(first), shown(&known));
    }
    let paths = if label.is_some() { &args.paths[1..] } else { &args.paths[..] };
    let is_at_hand = args.digest.is_empty() && args.name.is_empty() || !paths.is_empty();
    let corpus =
        is_at_hand.then(|| corpus(paths, Selection::Documents, &args.input, Some(&filter))).transpose()?;
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let (mut forgotten, mut unknown, mut name) = (0, 0, None);
    for digest in &args.digest {
        name = learner.forget_digest(label, digest.0)?;
        forgotten += 1;
    }
    for (digest, label) in of_names(&args.name, label, learner.filter())? {
        name = learner.forget_digest(Some(&label), digest)?;
        forgotten += 1;
    }
    let mut unreadable = 0;
    if let Some(mut corpus) = corpus {
        unreadable = for_each(&mut corpus, &mut learner, &args.progress, |learner, item, _, document| {
            match learner.forget(label, document) {
                Ok(its) => (forgotten, name) = (forgotten + 1, its),
                Err(error) if error.kind() == ErrorKind::NotLearned => {
                    say!("tamis: {}: {error}", shown_path(&item.name()));
                    unknown += 1;
                }
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })?;
    }
    commit(&mut learner)?;
    let name = name.filter(|_| forgotten == 1).map_or(String::new(), |name| format!(": {}", shown(&name)));
    let usual = format!("forgot {}{name}", counted(forgotten, "document"));
    args.progress.print_last("Forgot", forgotten, forgotten + unknown, &usual)?;
    Ok(if unknown > 0 { ERROR } else { unreadable })
}

/// Whether the model knows a label, or each of several.
fn knows(filter: &Filter, label: &str) -> bool {
    split_labels(&learned_as(filter, label)).all(|label| filter.classes().index(label).is_some())
}

/// The digests and labels of the documents with these names, restricted to `label` if it is given.
fn of_names(names: &[String], label: Option<&str>, filter: &Filter) -> Result<BTreeSet<([u8; 16], String)>> {
    let names: BTreeMap<_, _> = names.iter().map(|typed| (document_name(typed), typed)).collect();
    let (mut documents, mut missing) = (BTreeSet::new(), names.clone());
    for known in filter.documents().filter(|_| !names.is_empty()) {
        let Known { digest, class, name, .. } = known?;
        let own = filter.learned_label(class);
        let name = name.filter(|name| names.contains_key(name) && label.is_none_or(|label| label == own));
        if let Some(name) = name {
            documents.insert((digest, own.to_owned()));
            missing.remove(&name);
        }
    }
    if let Some(typed) = missing.values().next() {
        let under = label.map_or(String::new(), |label| format!(" as {}", shown(label)));
        let hint =
            if filter.information().stored.names { "" } else { "; this model remembers none (--no-names)" };
        let got = shown(typed);
        bail!(
            "--name: expected a Message-ID learned{under}, as inspect --suspects prints it, got {got}{hint}"
        );
    }
    Ok(documents)
}

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
    pub(crate) before: Option<DayArg>,
    /// Forget documents older than this: a number of days (d), weeks (w), months (m) or years (y)
    #[arg(long, value_name = "AGE", conflicts_with = "before")]
    pub(crate) older_than: Option<AgeArg>,
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
pub(crate) struct DayArg(pub(crate) i64);

impl std::str::FromStr for DayArg {
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
            (s.len() == 10 && parts.next().is_none()).then(|| message.date().map(DayArg)).flatten()
        };
        parsed().ok_or_else(|| format!("expected a day such as 2023-01-31, got {s:?}"))
    }
}

/// An age in seconds; a month has 30 days and a year 365.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AgeArg(pub(crate) i64);

impl std::str::FromStr for AgeArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        const DAYS: [(char, i64); 4] = [('d', 1), ('w', 7), ('m', 30), ('y', 365)];
        let parsed = || {
            let (_, unit) = DAYS.into_iter().find(|(unit, _)| s.ends_with(*unit))?;
            let number: i64 = s[..s.len() - 1].parse().ok().filter(|number| *number > 0)?;
            number.checked_mul(unit * DAY).map(AgeArg)
        };
        parsed().ok_or_else(|| format!("expected an age such as 90d, 12w, 6m or 1y, got {s:?}"))
    }
}

pub(crate) fn expire(args: &ExpireArgs) -> Result<u8> {
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

/// Refits what incremental learning leaves unchanged.
#[derive(Args)]
#[command(after_help = "\
Learning documents one by one does not change the correction, the calibration and the thresholds. \
This command fits them to all documents that the model remembers, as train does.")]
pub(crate) struct RetrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

pub(crate) fn retrain(args: &RetrainArgs) -> Result<u8> {
    let path = args.model.path()?;
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    learner.retrain().map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => anyhow!(
            "{}: expected a model that remembers the terms of its documents and has no --windows; train it again",
            shown_path(&path)
        ),
        _ => error.into(),
    })?;
    let information = learner.filter().information();
    let documents = information.size.documents as u64;
    if matches!(information.scoring, Scoring::RobinsonFisher(_)) {
        let until = "until it has learned 100 messages of each label";
        writeln!(done(), "not retrained: it answers as bogofilter does {until}")?;
        return Ok(0);
    }
    writeln!(done(), "retrained on {}", counted(documents, "document"))?;
    if let Some(expectation) = expectation(learner.filter()) {
        writeln!(done(), "{expectation}")?;
    }
    Ok(0)
}
