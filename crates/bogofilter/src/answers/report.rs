//! bogofilter's tables of words (`-vv`, `-vvv`, `-R`), with the words and counts of the tamis model.

use std::fmt::Write as _;

use anyhow::Result;
use tamis_program::shown;
use tamis_train::options::RobinsonFisher;
use tamis_train::{Document, Filter, Scratch};

use crate::answers::layout::{Bogosity, MailClass};
use crate::answers::numbers::Notation;
use crate::options::settings::BogofilterSettings;

/// What makes the lines of a table.
type TableLines = fn(&WordTable) -> Vec<String>;

/// The table that is asked for.
fn table_lines(settings: &BogofilterSettings, class: MailClass) -> Option<TableLines> {
    let BogofilterSettings { verbose, quiet, dataframe, unsure_stats, .. } = *settings;
    match verbose.saturating_add(u8::from(settings.passthrough)) {
        _ if quiet => None,
        _ if dataframe => Some(|table| table.rows(true)),
        _ if verbose == 0 => None,
        3.. => Some(|table| table.rows(false)),
        2 => Some(WordTable::histogram),
        _ if unsure_stats && class == MailClass::Unsure => Some(WordTable::histogram),
        _ => None,
    }
}

/// The lines of the table that is asked for, if any.
pub(crate) fn lines(
    settings: &BogofilterSettings,
    filter: &Filter,
    mail: &[u8],
    verdict: Bogosity,
) -> Result<Vec<String>> {
    let Some(table_lines) = table_lines(settings, verdict.class) else { return Ok(Vec::new()) };
    let explanation = filter.explain(Document::Mail(mail), &mut Scratch::default())?;
    let totals = filter.information().totals;
    // ham first
    let spam = usize::from(filter.spam().unwrap_or(1));
    let parameters = settings.robinson;
    let messages = [1 - spam, spam].map(|class| totals[class].documents as f64);
    let word = |term: &tamis_train::TermContribution| {
        let counts = [1 - spam, spam].map(|class| term.document_frequencies[class] as f64);
        WordRow::new(&term.term, counts, messages, &parameters)
    };
    let mut words: Vec<WordRow> = explanation.terms.iter().map(word).collect();
    words.sort_by(|a, b| a.fw.total_cmp(&b.fw).then_with(|| a.text.cmp(&b.text)));
    let in_header = settings.stats_in_header;
    let table = WordTable { words, parameters, spamicity: verdict.spamicity, in_header };
    Ok(table_lines(&table))
}

/// A word of a message.
struct WordRow {
    text: String,
    /// Number of messages with the word.
    n: f64,
    /// Shares of the ham and of the spam messages with the word.
    shares: [f64; 2],
    /// The word's probability of spam, drawn towards `robx` with the weight `robs` (Gary Robinson, "A statistical
    /// approach to the spam problem", 2003).
    fw: f64,
    is_used: bool,
}

impl WordRow {
    /// A word, with the number of ham and spam messages that contain it, among `messages`.
    fn new(text: &str, counts: [f64; 2], messages: [f64; 2], parameters: &RobinsonFisher) -> Self {
        let RobinsonFisher { robs, robx, min_dev } = parameters;
        let n = counts[0] + counts[1];
        let shares = [0, 1].map(|class| counts[class] / messages[class].max(1.0));
        let fw = match n == 0.0 {
            true => *robx,
            false => (robs * robx + n * shares[1] / (shares[0] + shares[1])) / (robs + n),
        };
        WordRow { text: shown(text).into_owned(), n, shares, fw, is_used: (fw - 0.5).abs() > *min_dev }
    }
}

/// The words of a message, by increasing probability of spam, and what is printed with them.
struct WordTable {
    words: Vec<WordRow>,
    parameters: RobinsonFisher,
    spamicity: f64,
    in_header: bool,
}

/// Maximum number of signs in a row of the histogram.
const WIDTH: usize = 48;

/// The column width of a word.
const WORD: usize = 30;

impl WordTable {
    fn histogram(&self) -> Vec<String> {
        let used: Vec<f64> = self.words.iter().filter(|word| word.is_used).map(|word| word.fw).collect();
        let row_of = |fw: &f64| ((fw * 10.0) as usize).min(9);
        let counts: Vec<usize> =
            (0..10).map(|row| used.iter().filter(|fw| row_of(fw) == row).count()).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let indent = if self.in_header { "  " } else { "# " };
        let mut lines = if self.in_header { Vec::new() } else { vec![String::new()] };
        lines.push(format!("{indent}{:>4} {:>4} {:>6}  {:>9} histogram", "int", "cnt", "prob", "spamicity"));
        for (row, count) in counts.iter().enumerate() {
            let of_row = used.iter().filter(|fw| row_of(fw) == row);
            let mean = if *count == 0 { 0.0 } else { of_row.sum::<f64>() / *count as f64 };
            let below: Vec<f64> = used.iter().copied().filter(|fw| row_of(fw) <= row).collect();
            let bar = if most > WIDTH { (count * WIDTH).div_ceil(most) } else { *count };
            let combined = self.combined(&below, used.len());
            let start = row as f64 / 10.0;
            lines.push(format!("{indent}{start:.2} {count:4} {mean:.6} {combined:.6} {}", "#".repeat(bar)));
        }
        lines
    }

    /// The spamicity that `words`, out of `n`, contribute by geometric means.
    fn combined(&self, words: &[f64], n: usize) -> f64 {
        if n == 0 {
            return self.parameters.robx;
        }
        let mean =
            |of: fn(f64) -> f64| 1.0 - (words.iter().map(|fw| of(*fw).ln()).sum::<f64>() / n as f64).exp();
        let [p, q] = [mean(|fw| 1.0 - fw), mean(|fw| fw)];
        if p + q < f64::EPSILON { 0.0 } else { (1.0 + (p - q) / (p + q)) / 2.0 }
    }

    /// A row per word, and the summary.
    fn rows(&self, data_frame: bool) -> Vec<String> {
        let indent = if self.in_header { "  " } else { "" };
        let logs = if data_frame { "  invfwlog    fwlog " } else { "" };
        let empty = " ".repeat(WORD + 2);
        let mut lines = vec![format!("{indent}{empty} {:>6}    pgood     pbad      fw    {logs} U", "n")];
        for WordRow { text, n, shares: [in_ham, in_spam], fw, is_used } in &self.words {
            let gap = " ".repeat(WORD.saturating_sub(text.chars().count()).max(1));
            let mut line = format!("{indent}\"{text}\"{gap} {n:6}  {in_ham:8.6}  {in_spam:8.6}  {fw:8.6}");
            if data_frame {
                // writing to a String cannot fail
                let _ = write!(line, "{indent}{:10.5}{:10.5}", (1.0 - fw).ln(), fw.ln());
            }
            lines.push(format!("{line} {}", if *is_used { '+' } else { '-' }));
        }
        lines.extend(self.summary(data_frame).into_iter().map(|line| format!("{indent}{line}")));
        lines
    }

    /// The number of words used, the probabilities of ham and spam, the spamicity and the parameters.
    fn summary(&self, data_frame: bool) -> Vec<String> {
        const NAME: &str = "N_P_Q_S_s_x_md";
        let RobinsonFisher { robs, robx, min_dev } = self.parameters;
        let n = self.words.iter().filter(|word| word.is_used).count();
        let (spam, ham) = (self.spamicity, 1.0 - self.spamicity);
        if data_frame {
            let short = |value| format!("{:>9}", Notation::Scientific.write(value, 2));
            let values = [ham, spam, spam, robs, robx].map(short).join(" ");
            return vec![format!("{NAME:<24} {n:6} {values} {min_dev:5.3}")];
        }
        let width = WORD + 2;
        vec![
            format!("{NAME:<width$} {n:6} {ham:9.6} {spam:9.6} {spam:9.6}"),
            format!("{:<width$}        {robs:9.6} {robx:9.6} {min_dev:9.6}", ""),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_word_is_drawn_to_the_middle() {
        let of = |counts| WordRow::new("", counts, [80.0, 80.0], &RobinsonFisher::default()).fw;
        assert_eq!(of([0.0, 0.0]), 0.52);
        assert!((of([1.0, 0.0]) - 0.009_094).abs() < 1e-6);
        assert!((of([0.0, 4.0]) - 0.997_873).abs() < 1e-6);
        assert!((of([80.0, 80.0]) - 0.5).abs() < 1e-5);
    }

    #[test]
    fn a_table_is_made_where_one_is_asked_for() {
        let is_made = |verbose, passthrough, quiet| {
            let settings = BogofilterSettings { verbose, passthrough, quiet, ..BogofilterSettings::usual() };
            table_lines(&settings, MailClass::Ham).is_some()
        };
        assert!(!is_made(0, true, false) && !is_made(1, false, false) && !is_made(2, false, true));
        assert!(is_made(2, false, false) && is_made(1, true, false));
    }
}
