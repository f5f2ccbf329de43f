//! `tamis drift` and `tamis stats`, which read the logs of verdicts too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use tamis_program::{Stream, counted, grouped, json_line, note, shown, shown_path};
use tamis_report::drift_page;
use tamis_train::Classes;
use tamis_train::evaluate::{Drift, DriftReference, DriftSample, MovedTerm, NewDocuments};

use crate::args::{InputArgs, ModelArg, needs_terms};
use crate::input::{Corpus, SourceScope, open};
use crate::output::{Canvas, LogEvent, StatsEntry, bar, file_name, parse_line, print_out, write_page};

/// Tells whether new documents differ from those that the model learned. Prints numbers and words, never a document.
#[derive(Args)]
#[command(after_help = "\
Every learned document is scored by a model without it. New documents are then compared with these \
by three tests: whether their scores are less sure, whether more of their words are unknown, and whether \
their labels have other shares. Any of them is enough for drift. The model must remember the terms of \
its documents (train --documents), and documents have one label each.

The population stability index (PSI) is shown because it is well known, and decides nothing: with few \
documents it is high by chance. Words of fewer than five documents are never shown.

Exit status: 0 no drift, or too few documents to tell (fewer than 20 new or 50 learned ones); 1 drift; \
3 error.

Example:
  tamis drift -m topics.tamis new/
  tamis drift tickets.csv --json
  tamis drift -m mail.tamis --log ~/tamis.log
  0 6 * * 1  tamis drift -q week.jsonl > drift.txt || mail -s drift anna < drift.txt")]
pub(crate) struct DriftArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// New documents: files, folders, mboxes, Maildirs, CSV, TSV, JSONL or a JSON array
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The paths are logs of verdicts, as score --log and tamisd write them: compares log-odds and labels, without words
    #[arg(long)]
    pub(crate) log: bool,
    /// Probability of reporting drift where there is none
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = level)]
    pub(crate) level: f64,
    /// Also write a report with pictures to this file (HTML)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The exit status of drift.
const DRIFT: u8 = 1;

/// Maximum number of labels printed.
const MOST_LABELS: usize = 20;

fn level(argument: &str) -> Result<f64, String> {
    let level = argument.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
    level.ok_or_else(|| format!("expected a number between 0 and 1, got {argument:?}"))
}

pub(crate) fn run(args: &DriftArgs) -> Result<u8> {
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let recipe = filter.information().recipe;
    let corpus = match args.log {
        true => None,
        false => Some(Corpus::find_for(&args.paths, SourceScope::WhatIsThere, &args.input, recipe)?),
    };
    let reference = DriftReference::new(&filter);
    let reference =
        reference.map_err(needs_terms(shown_path(&path), ", which tamis train --documents makes"))?;
    let (new, unreadable) = match &corpus {
        Some(corpus) => {
            let finished = corpus.for_each(
                &recipe.limits,
                || Ok(NewDocuments::new(&reference)),
                |new, _, _, document| Ok(new.add(document)?),
                |_, ()| Ok(()),
            )?;
            (finished.states, finished.unreadable)
        }
        None => (vec![read_logs(&args.input.list.add_to(&args.paths)?, &reference, filter.classes())?], 0),
    };
    let drift = reference.compare(new, args.level)?;
    filter.check_unchanged()?;
    if let Some(html) = &args.html {
        write_page(html, &drift_page(&file_name(path.as_os_str()), filter.classes(), &drift))?;
    }
    let stock = corpus.as_ref().map(Corpus::stock);
    let mut json = args.json.then(|| drift.to_json(filter.classes()));
    if let (Some(json), Some(stock)) = (&mut json, &stock) {
        json["found"] = serde_json::to_value(stock)?;
    }
    print_out(json, |out| print(out, &drift, filter.classes()))?;
    let status = corpus.map_or(0, |corpus| corpus.conclude(unreadable));
    Ok(if status == 0 && drift.is_found() == Some(true) { DRIFT } else { status })
}

/// Reads the verdicts of logs. Lines of labels that the model does not have are of another model.
fn read_logs<'a>(
    paths: &[OsString],
    reference: &'a DriftReference<'a>,
    classes: &Classes,
) -> Result<NewDocuments<'a>> {
    let mut new = NewDocuments::new(reference);
    let (mut n, mut n_others) = (0u64, 0u64);
    for path in paths {
        let path = Path::new(path);
        for_each_entry(path, |StatsEntry { what, .. }| {
            let LogEvent::Verdict(label, Some(log_odds)) = what else { return };
            n += 1;
            match classes.index(&label) {
                Some(class) => new.add_verdict(Some(class), log_odds),
                None if label == "unsure" => new.add_verdict(None, log_odds),
                None => n_others += 1,
            }
        })
        .with_context(|| shown_path(path))?;
    }
    if n_others > 0 {
        note!("left out {}, whose labels the model does not have", counted(n_others, "verdict"));
    }
    if n == 0 {
        note!("no verdicts logged by tamis");
    }
    Ok(new)
}

fn print(out: &mut impl Write, drift: &Drift, classes: &Classes) -> Result<()> {
    let Drift { learned, new, log_odds, unknown, labels, .. } = drift;
    writeln!(out, "{}", verdict(drift))?;
    if drift.learned_again > 0 {
        let n = grouped(drift.learned_again);
        writeln!(out, "The model has learned {n} of the new documents, which hide drift.")?;
    }
    if drift.is_found().is_none() {
        return Ok(());
    }
    writeln!(out)?;
    let found = |p: f64| if drift.is_low(p) { "drift" } else { "" };
    let mut row = |name: &str, values: [String; 2], test: &str, p: Option<f64>| {
        let [learned, new] = values;
        let shown_p = |p| if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {p:.4}") };
        let p = p.map_or(String::new(), |p| format!("{:<10}  {}", shown_p(p), found(p)));
        let line = format!("{name:<14}  {learned:>9}  {new:>9}  {test:<16}  {p}");
        writeln!(out, "{}", line.trim_end())
    };
    row("", ["learned", "new"].map(str::to_owned), "", None)?;
    row("documents", [learned, new].map(|of| grouped(of.documents)), "", None)?;
    let d = |d: f64| format!("D {d:.3}");
    let means = [learned, new].map(|of| format!("{:+.3}", of.log_odds));
    row("log-odds", means, &d(log_odds.d), Some(log_odds.p))?;
    if let (Some(learned), Some(new)) = (learned.unknown, new.unknown) {
        row("unknown words", [learned, new].map(percent), &d(unknown.d), Some(unknown.p))?;
    }
    let chi_square = format!("chi2({}) {:.1}", labels.degrees, labels.statistic);
    row("labels", Default::default(), &chi_square, Some(labels.p))?;
    if learned.unsure + new.unsure > 0.0 {
        row("unsure", [learned, new].map(|of| percent(of.unsure)), "", None)?;
    }
    let psi = [drift.log_odds_psi, drift.labels_psi];
    writeln!(out, "\npopulation stability index: log-odds {:.3}, labels {:.3}", psi[0], psi[1])?;
    print_shares(out, "label", &label_shares(drift, classes))?;
    for (name, terms) in [("more frequent", &drift.risen), ("less frequent", &drift.fallen)] {
        let share = |of: &MovedTerm| (shown(&of.term).into_owned(), [of.learned, of.new]);
        print_shares(out, name, &terms.iter().map(share).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The result in a sentence.
fn verdict(drift: &Drift) -> String {
    let (new, learned) =
        (counted(drift.new.documents, "new document"), counted(drift.learned.documents, "learned one"));
    match drift.is_found() {
        Some(true) => format!("drift: {new} differ from {learned}"),
        Some(false) => format!("no drift found: {new}, {learned}"),
        None => format!(
            "too few documents to tell: expected 20 new documents and 50 learned ones, got {new}, {learned}"
        ),
    }
}

/// The name of something, and its shares among the learned and among the new documents.
type NamedShares = (String, [f64; 2]);

/// The shares of the labels that changed most.
fn label_shares(drift: &Drift, classes: &Classes) -> Vec<NamedShares> {
    let share = |sample: &DriftSample, n: u64| n as f64 / sample.documents.max(1) as f64;
    let numbers = drift.learned.labels.iter().zip(&drift.new.labels);
    let of = |((_, label), (learned, new)): ((_, &str), (&u64, &u64))| {
        (shown(label).into_owned(), [share(&drift.learned, *learned), share(&drift.new, *new)])
    };
    let change = |(_, [learned, new]): &NamedShares| (new - learned).abs();
    let mut shares: Vec<_> = classes.iter().zip(numbers).map(of).collect();
    shares.sort_by(|a, b| change(b).total_cmp(&change(a)));
    shares.truncate(MOST_LABELS);
    shares
}

fn print_shares(out: &mut impl Write, head: &str, shares: &[NamedShares]) -> Result<()> {
    if shares.is_empty() {
        return Ok(());
    }
    let width = shares.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(14);
    writeln!(out, "\n{head:<width$}  {:>9}  {:>9}", "learned", "new")?;
    for (name, both) in shares {
        let [learned, new] = both.map(percent);
        writeln!(out, "{name:<width$}  {learned:>9}  {new:>9}")?;
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Counts verdicts and corrections by day (UTC).
#[derive(Args)]
#[command(after_help = "\
Lines of other programs are skipped, so the whole system log can be given. The log of tamisd is counted too.

Example:
  tamis score --passthrough --log ~/tamis.log < message.eml
  tamis stats ~/tamis.log
  journalctl -t tamis | tamis stats")]
pub(crate) struct StatsArgs {
    /// Logs that --log has written, packed by gzip or zstd or not; standard input by default
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON object for each day: day, verdicts and learned, each with a number for each label
    #[arg(long)]
    pub(crate) json: bool,
}

/// The log of one day: how many documents got each verdict, and how many were learned under each label.
#[derive(Default)]
struct DayCounts {
    verdicts: BTreeMap<String, u64>,
    learned: BTreeMap<String, u64>,
}

type Days = BTreeMap<String, DayCounts>;

pub(crate) fn stats(args: &StatsArgs) -> Result<u8> {
    let mut days = Days::new();
    let input = [PathBuf::from("-")];
    for file in if args.files.is_empty() { &input[..] } else { &args.files } {
        for_each_entry(file, |entry| count(entry, &mut days)).with_context(|| shown_path(file))?;
    }
    let mut out = std::io::stdout().lock();
    if days.is_empty() {
        note!("no lines logged by tamis");
    } else if args.json {
        for (day, DayCounts { verdicts, learned }) in &days {
            let object = json!({"day": day, "verdicts": verdicts, "learned": learned});
            writeln!(out, "{}", json_line(object.to_string()))?;
        }
    } else {
        print_days(&mut out, &days, Canvas::of_stdout())?;
    }
    Ok(0)
}

/// Visits the lines of a log that tamis or tamisd has written.
fn for_each_entry(file: &Path, mut visit: impl FnMut(StatsEntry<'_>)) -> Result<()> {
    let mut reader = if file.as_os_str() == "-" { Stream::open(file)?.into_reader()? } else { open(file)? };
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        parse_line(&String::from_utf8_lossy(line.trim_ascii_end())).into_iter().for_each(&mut visit);
        line.clear();
    }
    Ok(())
}

/// Counts a line of a log.
fn count(StatsEntry { day, what }: StatsEntry<'_>, days: &mut Days) {
    let day = days.entry(day.into_owned()).or_default();
    let (counts, label) = match what {
        LogEvent::Verdict(label, _) => (&mut day.verdicts, label),
        LogEvent::Learned(label) => (&mut day.learned, label),
    };
    *counts.entry(label.into_owned()).or_default() += 1;
}

/// Prints a table with a row for each day and, on a terminal, a bar for its verdicts.
fn print_days(out: &mut impl Write, days: &Days, canvas: Option<Canvas>) -> Result<()> {
    let labels = |of: fn(&DayCounts) -> &BTreeMap<String, u64>| {
        days.values().flat_map(|day| of(day).keys().cloned()).collect::<BTreeSet<String>>()
    };
    let (verdicts, learned) = (labels(|day| &day.verdicts), labels(|day| &day.learned));
    let mut rows = vec![vec!["day".to_owned(), "messages".to_owned()]];
    rows[0].extend(verdicts.iter().map(|label| shown(label).into_owned()));
    rows[0].extend(learned.iter().map(|label| format!("learned {}", shown(label))));
    let total = |day: &DayCounts| day.verdicts.values().sum::<u64>();
    for (name, day) in days {
        let number = |counts: &BTreeMap<String, u64>, label| grouped(counts.get(label).copied().unwrap_or(0));
        let mut row = vec![shown(name).into_owned(), grouped(total(day))];
        row.extend(verdicts.iter().map(|label| number(&day.verdicts, label)));
        row.extend(learned.iter().map(|label| number(&day.learned, label)));
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let columns = canvas.and_then(|canvas| canvas.beside(widths.iter().map(|width| width + 2).sum(), 40));
    let most = days.values().map(total).max().unwrap_or(0).max(1);
    let bar_of = |day| columns.map(|columns| bar(total(day) as f64 / most as f64, columns));
    let bars = days.values().map(|day| bar_of(day).unwrap_or_default());
    for (row, bar) in rows.iter().zip(std::iter::once(String::new()).chain(bars)) {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        line.push_str("  ");
        line.push_str(&bar);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
