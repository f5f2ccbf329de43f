//! `tamis stats`: counts the lines that `--log` has written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use tamis_program::{Stream, grouped, json_line, note, shown, shown_path};

use crate::input::open;
use crate::output::{Canvas, Entry, What, bar, parse_line};

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
#[derive(Default, serde::Serialize)]
struct Day {
    verdicts: BTreeMap<String, u64>,
    learned: BTreeMap<String, u64>,
}

type Days = BTreeMap<String, Day>;

pub(crate) fn run(args: &StatsArgs) -> Result<u8> {
    let mut days = Days::new();
    let input = [PathBuf::from("-")];
    for file in if args.files.is_empty() { &input[..] } else { &args.files } {
        for_each_entry(file, |entry| count(entry, &mut days)).with_context(|| shown_path(file))?;
    }
    let mut out = std::io::stdout().lock();
    if days.is_empty() {
        note!("no lines logged by tamis");
    } else if args.json {
        for (day, Day { verdicts, learned }) in &days {
            let object = serde_json::json!({"day": day, "verdicts": verdicts, "learned": learned});
            writeln!(out, "{}", json_line(object.to_string()))?;
        }
    } else {
        print(&mut out, &days, Canvas::of_stdout())?;
    }
    Ok(0)
}

/// Visits the lines of a log that tamis or tamisd has written.
pub(crate) fn for_each_entry(file: &Path, mut visit: impl FnMut(Entry<'_>)) -> Result<()> {
    let mut reader = if file.as_os_str() == "-" { Stream::of(file)?.into_reader()? } else { open(file)? };
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        parse_line(&String::from_utf8_lossy(line.trim_ascii_end())).into_iter().for_each(&mut visit);
        line.clear();
    }
    Ok(())
}

/// Counts a line of a log.
fn count(Entry { day, what }: Entry<'_>, days: &mut Days) {
    let day = days.entry(day.into_owned()).or_default();
    let (counts, label) = match what {
        What::Verdict(label, _) => (&mut day.verdicts, label),
        What::Learned(label) => (&mut day.learned, label),
    };
    *counts.entry(label.into_owned()).or_default() += 1;
}

/// Prints a table with a row for each day and, on a terminal, a bar for its verdicts.
fn print(out: &mut impl Write, days: &Days, canvas: Option<Canvas>) -> Result<()> {
    let labels = |of: fn(&Day) -> &BTreeMap<String, u64>| {
        days.values().flat_map(|day| of(day).keys().cloned()).collect::<BTreeSet<String>>()
    };
    let (verdicts, learned) = (labels(|day| &day.verdicts), labels(|day| &day.learned));
    let mut rows = vec![vec!["day".to_owned(), "messages".to_owned()]];
    rows[0].extend(verdicts.iter().map(|label| shown(label).into_owned()));
    rows[0].extend(learned.iter().map(|label| format!("learned {}", shown(label))));
    let total = |day: &Day| day.verdicts.values().sum::<u64>();
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
