//! bogofilter's tables of words (`-vv`, `-vvv`, `-R`), with the words and counts of the tamis model.

use std::fmt::Write as _;

use anyhow::Result;
use tamis_filter::{Document, Explanation, Filter, Scratch};
use tamis_program::shown;

use crate::answers::numbers::Notation;
use crate::answers::outcome::Outcome;
use crate::options::settings::Settings;

/// A word of a message, with its counts.
struct Word {
    text: String,
    /// Number of ham and spam messages with the word.
    counts: [f64; 2],
    /// The word's probability of spam, after Robinson.
    fw: f64,
    is_used: bool,
}

/// The table that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Histogram,
    Words,
    DataFrame,
}

fn table(settings: &Settings, outcome: Outcome) -> Option<Table> {
    let verbose = settings.verbose.saturating_add(u8::from(settings.passthrough));
    match verbose {
        _ if settings.quiet => None,
        _ if settings.dataframe => Some(Table::DataFrame),
        3.. if settings.verbose > 0 => Some(Table::Words),
        2.. if settings.verbose > 0 => Some(Table::Histogram),
        _ if settings.verbose > 0 && settings.unsure_stats && outcome == Outcome::Unsure => {
            Some(Table::Histogram)
        }
        _ => None,
    }
}

/// The lines of the table that is asked for, if any.
pub(crate) fn lines(
    settings: &Settings,
    filter: &Filter,
    mail: &[u8],
    (outcome, spamicity): (Outcome, f64),
) -> Result<Vec<String>> {
    let Some(table) = table(settings, outcome) else { return Ok(Vec::new()) };
    let explanation = filter.explain(Document::Mail(mail), &mut Scratch::default())?;
    let totals = filter.information().totals;
    // ham first
    let spam = usize::from(filter.spam().unwrap_or(1));
    let messages = [1 - spam, spam].map(|class| totals[class].documents as f64);
    let words = words(settings, &explanation, spam, messages);
    Ok(match table {
        Table::Histogram => histogram(settings, &words),
        Table::Words => all(settings, &words, messages, spamicity, false),
        Table::DataFrame => all(settings, &words, messages, spamicity, true),
    })
}

/// The words of a message, by increasing probability of spam.
fn words(settings: &Settings, explanation: &Explanation, spam: usize, messages: [f64; 2]) -> Vec<Word> {
    let word = |term: &tamis_filter::TermContribution| {
        let counts = [1 - spam, spam].map(|class| term.document_frequencies[class] as f64);
        let fw = probability(settings, counts, messages);
        let is_used = (fw - 0.5).abs() > settings.min_dev;
        Word { text: shown(&term.term).into_owned(), counts, fw, is_used }
    };
    let mut words: Vec<Word> = explanation.terms.iter().map(word).collect();
    words.sort_by(|a, b| a.fw.total_cmp(&b.fw).then_with(|| a.text.cmp(&b.text)));
    words
}

/// The probability of spam of a word with these counts, drawn towards `robx` with the weight `robs` (Gary Robinson, "A
/// statistical approach to the spam problem", 2003).
fn probability(settings: &Settings, [ham, spam]: [f64; 2], messages: [f64; 2]) -> f64 {
    let n = ham + spam;
    if n == 0.0 {
        return settings.robx;
    }
    let [in_ham, in_spam] = [ham / messages[0].max(1.0), spam / messages[1].max(1.0)];
    (settings.robs * settings.robx + n * in_spam / (in_ham + in_spam)) / (settings.robs + n)
}

/// The beginning of each line.
fn indent(settings: &Settings) -> &'static str {
    if settings.stats_in_header { "  " } else { "# " }
}

/// Maximum number of signs in a row of the histogram.
const WIDTH: usize = 48;

fn histogram(settings: &Settings, words: &[Word]) -> Vec<String> {
    let used: Vec<f64> = words.iter().filter(|word| word.is_used).map(|word| word.fw).collect();
    let row_of = |fw: &f64| ((fw * 10.0) as usize).min(9);
    let counts: Vec<usize> = (0..10).map(|row| used.iter().filter(|fw| row_of(fw) == row).count()).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let indent = indent(settings);
    let mut lines = Vec::new();
    lines.extend((!settings.stats_in_header).then(String::new));
    lines.push(format!("{indent}{:>4} {:>4} {:>6}  {:>9} histogram", "int", "cnt", "prob", "spamicity"));
    for (row, count) in counts.iter().enumerate() {
        let of_row = used.iter().filter(|fw| row_of(fw) == row);
        let mean = if *count == 0 { 0.0 } else { of_row.sum::<f64>() / *count as f64 };
        let below: Vec<f64> = used.iter().copied().filter(|fw| row_of(fw) <= row).collect();
        let bar = if most > WIDTH { (count * WIDTH).div_ceil(most) } else { *count };
        let combined = combined(settings, &below, used.len());
        let start = row as f64 / 10.0;
        lines.push(format!("{indent}{start:.2} {count:4} {mean:.6} {combined:.6} {}", "#".repeat(bar)));
    }
    lines
}

/// The spamicity that `words`, out of `n`, contribute by geometric means.
fn combined(settings: &Settings, words: &[f64], n: usize) -> f64 {
    if n == 0 {
        return settings.robx;
    }
    let mean = |of: fn(f64) -> f64| 1.0 - (words.iter().map(|fw| of(*fw).ln()).sum::<f64>() / n as f64).exp();
    let [p, q] = [mean(|fw| 1.0 - fw), mean(|fw| fw)];
    if p + q < f64::EPSILON { 0.0 } else { (1.0 + (p - q) / (p + q)) / 2.0 }
}

/// The column width of a word.
const WORD: usize = 30;

fn all(
    settings: &Settings,
    words: &[Word],
    messages: [f64; 2],
    spamicity: f64,
    data_frame: bool,
) -> Vec<String> {
    let indent = if settings.stats_in_header { "  " } else { "" };
    let logs = if data_frame { "  invfwlog    fwlog " } else { "" };
    let empty = " ".repeat(WORD + 2);
    let mut lines = vec![format!("{indent}{empty} {:>6}    pgood     pbad      fw    {logs} U", "n")];
    for Word { text, counts: [ham, spam], fw, is_used } in words {
        let missing = WORD.saturating_sub(text.chars().count()).max(1);
        let (n, sign) = (ham + spam, if *is_used { '+' } else { '-' });
        let [in_ham, in_spam] = [ham / messages[0].max(1.0), spam / messages[1].max(1.0)];
        let mut line =
            format!("{indent}\"{text}\"{} {n:6}  {in_ham:8.6}  {in_spam:8.6}  {fw:8.6}", " ".repeat(missing));
        if data_frame {
            // writing to a String cannot fail
            let _ = write!(line, "{indent}{:10.5}{:10.5}", (1.0 - fw).ln(), fw.ln());
        }
        lines.push(format!("{line} {sign}"));
    }
    lines.extend(summary(settings, words, spamicity, indent, data_frame));
    lines
}

/// The summary: the number of words used, the probabilities of ham and spam, the spamicity and the parameters.
fn summary(
    settings: &Settings,
    words: &[Word],
    spamicity: f64,
    indent: &str,
    data_frame: bool,
) -> Vec<String> {
    let n = words.iter().filter(|word| word.is_used).count();
    let (ham, Settings { robs, robx, min_dev, .. }) = (1.0 - spamicity, settings);
    let name = "N_P_Q_S_s_x_md";
    if data_frame {
        let short = |value| format!("{:>9}", Notation::Scientific.write(value, 2));
        let values = [ham, spamicity, spamicity, *robs, *robx].map(short).join(" ");
        return vec![format!("{indent}{name:<24} {n:6} {values} {min_dev:5.3}")];
    }
    let width = WORD + 2;
    vec![
        format!("{indent}{name:<width$} {n:6} {ham:9.6} {spamicity:9.6} {spamicity:9.6}"),
        format!("{indent}{:<width$}        {robs:9.6} {robx:9.6} {min_dev:9.6}", ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_word_is_drawn_to_the_middle() {
        let settings = Settings::default();
        let of = |counts| probability(&settings, counts, [80.0, 80.0]);
        assert_eq!(of([0.0, 0.0]), 0.52);
        assert!((of([1.0, 0.0]) - 0.009_094).abs() < 1e-6);
        assert!((of([0.0, 4.0]) - 0.997_873).abs() < 1e-6);
        assert!((of([80.0, 80.0]) - 0.5).abs() < 1e-5);
    }

    #[test]
    fn a_table_is_made_where_one_is_asked_for() {
        let table = |verbose, passthrough, quiet| {
            table(&Settings { verbose, passthrough, quiet, ..Settings::default() }, Outcome::Ham).is_some()
        };
        assert!(!table(0, true, false) && !table(1, false, false) && !table(2, false, true));
        assert!(table(2, false, false) && table(1, true, false));
    }
}
