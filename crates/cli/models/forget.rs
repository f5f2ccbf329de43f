//! `tamis forget`, `tamis expire` and `tamis retrain`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use tamis_program::{DAY, ERROR, commit, counted, done, grouped, named, say, shown, shown_path};
use tamis_train::{
    ErrorKind, Filter, KnownDocument, LearnOptions, Learner, Scoring, document_name, split_labels,
};

use crate::args::{ChangeArgs, InputArgs, ModelArg, needs_terms};
use crate::formats::labels::learned_as;
use crate::input::SourceScope;
use crate::models::learn::{ProgressArgs, corpus, for_each};
use crate::output::{print_expectation, report_change};

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
    #[arg(long, value_name = "HEX", conflicts_with = "files_from", value_parser = parse_digest)]
    pub(crate) digest: Vec<[u8; 16]>,
    /// Forget the message with this Message-ID; its file is not needed
    #[arg(long, value_name = "MESSAGE-ID", conflicts_with = "files_from", allow_hyphen_values = true)]
    pub(crate) name: Vec<String>,
    /// Forget the messages that a message forwards as attachments, as `tamis learn --forwarded` learns them
    #[arg(long)]
    pub(crate) forwarded: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Parses the digest of a document, 32 hexadecimal digits.
fn parse_digest(s: &str) -> Result<[u8; 16], String> {
    let number = (s.len() == 32).then(|| u128::from_str_radix(s, 16).ok()).flatten();
    number.map(u128::to_be_bytes).ok_or_else(|| format!("expected 32 hexadecimal digits, got {s:?}"))
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
        let known = filter.classes().to_string();
        bail!("{}: expected a label ({}) or a path, got neither", shown_path(first), shown(&known));
    }
    let paths = if label.is_some() { &args.paths[1..] } else { &args.paths[..] };
    let is_at_hand = args.digest.is_empty() && args.name.is_empty() || !paths.is_empty();
    let corpus =
        is_at_hand.then(|| corpus(paths, SourceScope::Documents, &args.input, Some(&filter))).transpose()?;
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let (mut forgotten, mut unknown, mut name) = (0, 0, None);
    for digest in &args.digest {
        name = learner.forget_digest(label, *digest)?;
        forgotten += 1;
    }
    for (digest, label) in documents_of_names(&args.name, label, learner.filter())? {
        name = learner.forget_digest(Some(&label), digest)?;
        forgotten += 1;
    }
    let mut unreadable = 0;
    if let Some(mut corpus) = corpus {
        let (progress, forwarded) = (&args.progress, args.forwarded);
        unreadable =
            for_each(&mut corpus, &mut learner, progress, forwarded, |learner, item, _, document| {
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
fn documents_of_names(
    names: &[String],
    label: Option<&str>,
    filter: &Filter,
) -> Result<BTreeSet<([u8; 16], String)>> {
    let names: BTreeMap<_, _> = names.iter().map(|typed| (document_name(typed), typed)).collect();
    let (mut documents, mut missing) = (BTreeSet::new(), names.clone());
    for known in filter.documents().filter(|_| !names.is_empty()) {
        let KnownDocument { digest, class, name, .. } = known?;
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
Forgetting removes exactly what learning added, all in one step. The date is the day on which tamis learn or a server \
learned the document; of what train learned, that of the message. Documents without either, or with one in the future, stay. \
Nothing expires automatically.

Example:
  tamis expire --before 2023-01-01 --dry-run
  tamis expire --older-than 1y
  tamis expire --keep 20000")]
pub(crate) struct ExpireArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Forget documents from before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present_any = ["keep", "older_than"], value_parser = parse_day)]
    pub(crate) before: Option<i64>,
    /// Forget documents older than this: a number of days (d), weeks (w), months (m) or years (y)
    #[arg(long, value_name = "AGE", conflicts_with = "before", value_parser = parse_age)]
    pub(crate) older_than: Option<i64>,
    /// Forget all but the N newest documents of each label
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only show what would be forgotten
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Parses a day, as seconds from 1970 to its beginning (UTC).
fn parse_day(s: &str) -> Result<i64, String> {
    // written like the date of a message, for which a parser exists
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parsed = || {
        let [year, month, day] = s.split('-').collect::<Vec<_>>().try_into().ok()?;
        let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
        let date = format!("Date: {day} {month} {year} 00:00:00 +0000\n\n");
        let message = tamis_mail::Message::parse(date.as_bytes(), &tamis_mail::Limits::default());
        message.date().filter(|_| s.len() == 10)
    };
    parsed().ok_or_else(|| format!("expected a day such as 2023-01-31, got {s:?}"))
}

/// Parses an age, as seconds; a month has 30 days and a year 365.
fn parse_age(s: &str) -> Result<i64, String> {
    const DAYS: [(char, i64); 4] = [('d', 1), ('w', 7), ('m', 30), ('y', 365)];
    let parsed = || {
        let (number, days) = DAYS.into_iter().find_map(|(unit, days)| Some((s.strip_suffix(unit)?, days)))?;
        number.parse().ok().filter(|number: &i64| *number > 0)?.checked_mul(days * DAY)
    };
    parsed().ok_or_else(|| format!("expected an age such as 90d, 12w, 6m or 1y, got {s:?}"))
}

pub(crate) fn expire(args: &ExpireArgs) -> Result<u8> {
    let path = args.model.path()?;
    // fails if there is no model
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let (old, undated) = old_documents(args, learner.filter())?;
    let before = learner.filter().information().expected;
    let n_old = old.iter().map(|(_, old)| old.len() as u64).sum();
    if !args.dry_run && n_old > 0 {
        let hint = ", got one with digests only; nothing was forgotten. Train it again with --documents";
        for (label, digest) in old.iter().flat_map(|(label, old)| old.iter().map(move |old| (label, old.1))) {
            learner.forget_digest(Some(label), digest).map_err(needs_terms(shown_path(&path), hint))?;
        }
        // all in one step, with new thresholds
        learner.compact()?;
    }
    let mut out = done();
    let each = old.iter().map(|(label, old)| {
        let labels = split_labels(label).collect::<Vec<_>>().join(",");
        format!("{} {}", grouped(old.len() as u64), shown(&labels))
    });
    let (verb, each) = (if args.dry_run { "would forget" } else { "forgot" }, each.collect::<Vec<_>>());
    writeln!(out, "{verb} {} ({})", counted(n_old, "document"), each.join(", "))?;
    if undated > 0 {
        let undated = counted(undated, "document");
        writeln!(out, "kept {undated} without a date, or with one in the future")?;
    }
    if !args.dry_run && n_old > 0 {
        report_change(&mut out, before, learner.filter())?;
    }
    Ok(0)
}

/// The date and the digest of a document.
type DatedDocument = (i64, [u8; 16]);

/// The documents of each label.
type DocumentsByLabel = Vec<(String, Vec<DatedDocument>)>;

/// The documents to forget of each label, and the number of those without a date.
fn old_documents(args: &ExpireArgs, filter: &Filter) -> Result<(DocumentsByLabel, u64)> {
    let (mut dated, mut undated, today) = (BTreeMap::new(), 0, LearnOptions::today());
    if !filter.has_many_labels() {
        dated.extend(filter.classes().iter().map(|(class, _)| (class, Vec::new())));
    }
    for document in filter.documents() {
        let KnownDocument { class, date, digest, .. } = document?;
        let of_class = dated.entry(class).or_default();
        // ignore dates in the future
        match date.filter(|date| *date <= today) {
            Some(date) => of_class.push((date, digest)),
            None => undated += 1,
        }
    }
    let day = args.before.or(args.older_than.map(|age| today - age));
    let old = dated.into_iter().map(|(class, mut documents)| {
        documents.sort_unstable_by_key(|document| Reverse(*document));
        let newest = documents.iter().take(args.keep.unwrap_or(usize::MAX));
        let n_new = newest.take_while(|(date, _)| day.is_none_or(|day| *date >= day)).count();
        (filter.learned_label(class).to_owned(), documents.split_off(n_new))
    });
    Ok((old.collect(), undated))
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
    learner.retrain().map_err(needs_terms(shown_path(&path), "; train it again"))?;
    let information = learner.filter().information();
    let documents = information.size.documents as u64;
    if matches!(information.scoring, Scoring::RobinsonFisher(_)) {
        let until = "until it has learned 100 messages of each label";
        writeln!(done(), "not retrained: it answers as bogofilter does {until}")?;
        return Ok(0);
    }
    writeln!(done(), "retrained on {}", counted(documents, "document"))?;
    print_expectation(&mut done(), learner.filter())?;
    Ok(0)
}
