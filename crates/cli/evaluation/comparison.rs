//! The output of `tamis compare`: models side by side, and which one is better.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use serde_json::json;
use tamis_model::Interval;
use tamis_model::metrics::{bootstrap_interval, mcnemar_exact, one_minus_roc_auc_percent};
use tamis_program::{counted, grouped, shown};

/// Number of samples for an interval, and the seed they are drawn with.
const ROUNDS: usize = 1_000;
const SEED: u64 = 1;

/// The significance level: a difference counts if its probability by chance is below this.
const LEVEL: f64 = 0.05;

/// The outcome of a document.
#[derive(Clone, Debug)]
pub(crate) struct ComparedVerdict {
    /// Its label.
    pub(crate) truth: String,
    /// The label it was given; `None` if unsure.
    pub(crate) verdict: Option<String>,
    /// In a spam filter, the score it is ranked by and whether it is spam.
    pub(crate) ranking: Option<(f64, bool)>,
}

impl ComparedVerdict {
    fn is_right(&self) -> bool {
        self.verdict.as_deref() == Some(&self.truth)
    }
}

/// One contender of the comparison.
pub(crate) struct Side {
    pub(crate) name: char,
    pub(crate) what: String,
    /// The spam label, in a spam filter.
    pub(crate) spam: Option<String>,
    /// The outcomes of the documents, which are the same on all sides.
    pub(crate) outcomes: BTreeMap<OsString, ComparedVerdict>,
}

/// The figures of one side.
struct Figures {
    wrong: u64,
    unsure: u64,
    /// In a spam filter, the numbers of ham called spam and of spam not called spam.
    lost_and_missed: Option<[u64; 2]>,
    /// In a spam filter, 1 - ROC AUC in percent.
    one_minus_roca: Option<f64>,
}

/// A side compared with the first.
struct Pair {
    /// The positions of both sides.
    sides: [usize; 2],
    /// Number of documents that only the one or only the other has right.
    only: [u64; 2],
    /// The p-value of McNemar's exact test, multiplied by the number of comparisons.
    p: f64,
    /// The difference in 1 - ROC AUC (percent), the first minus the second: above 0 if the second ranks better.
    ranking: Option<(f64, Interval)>,
}

pub(crate) struct Comparison<'a> {
    sides: &'a [Side],
    figures: Vec<Figures>,
    pairs: Vec<Pair>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(sides: &'a [Side]) -> Self {
        let n_pairs = sides.len().saturating_sub(1);
        let pairs = (1..sides.len()).map(|other| pair(sides, [0, other], n_pairs)).collect();
        Comparison { sides, figures: sides.iter().map(figures).collect(), pairs }
    }

    fn n_documents(&self) -> u64 {
        self.sides.first().map_or(0, |side| side.outcomes.len() as u64)
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> Result<()> {
        let n = self.n_documents();
        writeln!(out, "{}, each scored by all", counted(n, "document"))?;
        for side in self.sides {
            writeln!(out, "{}  {}", side.name, shown(&side.what))?;
        }
        let header: String = self.sides.iter().map(|side| format!("  {:>16}", side.name)).collect();
        writeln!(out, "\n{:<21}{header}", "")?;
        let count = |n_of: u64| format!("{} ({:.2} %)", grouped(n_of), 100.0 * n_of as f64 / n.max(1) as f64);
        self.row(out, "wrong or unsure", |f| Some(count(f.wrong)))?;
        self.row(out, "unsure", |f| Some(count(f.unsure)))?;
        self.row(out, "ham called spam", |f| f.lost_and_missed.map(|both| grouped(both[0])))?;
        self.row(out, "spam missed or unsure", |f| f.lost_and_missed.map(|both| grouped(both[1])))?;
        self.row(out, "1-ROCA", |f| f.one_minus_roca.map(|share| format!("{share:.4}%")))?;
        for pair in &self.pairs {
            writeln!(out)?;
            self.print_pair(out, pair)?;
        }
        Ok(())
    }

    /// Prints a line of the table, unless no side has the figure.
    fn row(&self, out: &mut impl Write, name: &str, of: impl Fn(&Figures) -> Option<String>) -> Result<()> {
        let cells: Vec<_> = self.figures.iter().map(&of).collect();
        if cells.iter().any(Option::is_some) {
            let cells: String =
                cells.iter().map(|cell| format!("  {:>16}", cell.as_deref().unwrap_or("-"))).collect();
            writeln!(out, "{name:<21}{cells}")?;
        }
        Ok(())
    }

    fn print_pair(&self, out: &mut impl Write, pair: &Pair) -> Result<()> {
        let [a, b] = pair.sides.map(|place| self.sides[place].name);
        let [only_a, only_b] = pair.only.map(grouped);
        let p = if pair.p < 0.000_1 { format!("{:.1e}", pair.p) } else { format!("{:.4}", pair.p) };
        writeln!(out, "only {a} right: {only_a}; only {b} right: {only_b}; p = {p} (McNemar's exact test)")?;
        if let Some((difference, Interval { low, high })) = pair.ranking {
            write!(out, "1-ROCA of {a} minus that of {b}: {difference:+.4}% ")?;
            writeln!(out, "({low:+.4} to {high:+.4}; 95 % interval, paired bootstrap)")?;
        }
        for line in self.conclusion(pair) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Says which side is better, and how sure that is: by verdicts, then by ranking.
    fn conclusion(&self, pair: &Pair) -> Vec<String> {
        let [a, b] = pair.sides.map(|place| self.sides[place].name);
        let wrong = pair.sides.map(|place| self.figures[place].wrong);
        let better = if wrong[1] < wrong[0] { b } else { a };
        let [fewer, more] = [wrong[0].min(wrong[1]), wrong[0].max(wrong[1])].map(grouped);
        let share = format!("in {} such comparisons.", share_text(pair.p));
        let counts = format!("{better} has fewer wrong or unsure ({fewer}, not {more}); chance alone");
        let verdicts = if wrong[0] == wrong[1] {
            format!("By verdicts, neither is better: both have {fewer} wrong or unsure.")
        } else if pair.p < LEVEL {
            format!("{better} is better by verdicts: {counts} would do so {share}")
        } else {
            format!("By verdicts, it is open which is better: {counts} would do so {share}")
        };
        let ranking = pair.ranking.map(|(_, Interval { low, high })| match if low > 0.0 { b } else { a } {
            better if low > 0.0 || high < 0.0 => {
                format!("{better} is better by ranking: the interval does not include 0.")
            }
            _ if low == high => "By ranking, neither is better: both rank alike.".to_owned(),
            _ => "By ranking, it is open which is better: the interval includes 0.".to_owned(),
        });
        let is_open =
            verdicts.contains("open") && ranking.as_ref().is_none_or(|ranking| ranking.contains("open"));
        let advice = is_open.then(|| "More documents may settle it.".to_owned());
        [verdicts].into_iter().chain(ranking).chain(advice).collect()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let side = |(side, figures): (&Side, &Figures)| {
            let both = figures.lost_and_missed;
            json!({
                "name": side.name, "model": side.what, "wrong": figures.wrong, "unsure": figures.unsure,
                "ham_called_spam": both.map(|both| both[0]), "spam_missed": both.map(|both| both[1]),
                "one_minus_roc_auc_percent": figures.one_minus_roca,
            })
        };
        let pair = |pair: &Pair| {
            json!({
                "first": self.sides[pair.sides[0]].name, "second": self.sides[pair.sides[1]].name,
                "only_first_right": pair.only[0], "only_second_right": pair.only[1], "mcnemar_p": pair.p,
                "one_minus_roc_auc_percent_difference": pair.ranking.map(|(difference, _)| difference),
                "one_minus_roc_auc_percent_difference_interval":
                    pair.ranking.map(|(_, Interval { low, high })| [low, high]),
                "conclusion": self.conclusion(pair),
            })
        };
        json!({
            "documents": self.n_documents(),
            "models": self.sides.iter().zip(&self.figures).map(side).collect::<Vec<_>>(),
            "comparisons": self.pairs.iter().map(pair).collect::<Vec<_>>(),
        })
    }
}

fn figures(side: &Side) -> Figures {
    let count = |which: &dyn Fn(&ComparedVerdict) -> bool| {
        side.outcomes.values().filter(|outcome| which(outcome)).count() as u64
    };
    let lost_and_missed = side.spam.as_ref().map(|spam| {
        let called = |outcome: &ComparedVerdict| outcome.verdict.as_ref() == Some(spam);
        [
            count(&|outcome| outcome.truth != *spam && called(outcome)),
            count(&|outcome| outcome.truth == *spam && !called(outcome)),
        ]
    });
    Figures {
        wrong: count(&|outcome| !outcome.is_right()),
        unsure: count(&|outcome| outcome.verdict.is_none()),
        lost_and_missed,
        one_minus_roca: rankings(side).and_then(|scores| one_minus_roc_auc_percent(&scores)),
    }
}

/// The scores that rank the documents of a spam filter.
fn rankings(side: &Side) -> Option<Vec<(f64, bool)>> {
    side.outcomes.values().map(|outcome| outcome.ranking).collect()
}

fn pair(sides: &[Side], places: [usize; 2], n_pairs: usize) -> Pair {
    let [first, second] = places.map(|place| &sides[place]);
    let right =
        || first.outcomes.values().zip(second.outcomes.values()).map(|(a, b)| [a.is_right(), b.is_right()]);
    let only =
        [[true, false], [false, true]].map(|wanted| right().filter(|both| *both == wanted).count() as u64);
    let p = (mcnemar_exact(only[0], only[1]) * n_pairs as f64).min(1.0);
    let ranking = rankings(first).zip(rankings(second)).and_then(|(a, b)| {
        let difference = |sample: &[usize]| {
            let of = |scores: &[(f64, bool)]| {
                one_minus_roc_auc_percent(&sample.iter().map(|i| scores[*i]).collect::<Vec<_>>())
            };
            Some(of(&a)? - of(&b)?)
        };
        let all: Vec<usize> = (0..a.len()).collect();
        difference(&all).zip(bootstrap_interval(a.len(), SEED, ROUNDS, difference))
    });
    Pair { sides: places, only, p, ranking }
}

/// A probability as a share of comparisons, in everyday words.
fn share_text(p: f64) -> String {
    match p {
        _ if p < 0.000_001 => "fewer than one in a million".to_owned(),
        _ if p > 0.99 => "nearly all".to_owned(),
        _ if p < 0.01 => format!("one in {}", grouped((1.0 / p).round() as u64)),
        _ => format!("{:.0} of 100", (100.0 * p).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: char, verdicts: &str) -> Side {
        let outcome = |(place, verdict): (usize, char)| {
            let truth = if place.is_multiple_of(2) { "ham" } else { "spam" };
            let other = if truth == "ham" { "spam" } else { "ham" };
            let (label, score) = match verdict {
                '+' => (Some(truth), 1.0),
                '-' => (Some(other), -1.0),
                _ => (None, 0.0),
            };
            let score = if truth == "spam" { score } else { -score };
            let outcome = ComparedVerdict {
                truth: truth.to_owned(),
                verdict: label.map(str::to_owned),
                ranking: Some((score, truth == "spam")),
            };
            (OsString::from(format!("{place:04}")), outcome)
        };
        let outcomes = verdicts.chars().enumerate().map(outcome).collect();
        Side { name, what: name.to_string(), spam: Some("spam".to_owned()), outcomes }
    }

    #[test]
    fn a_sure_difference_is_told_from_an_open_one() {
        let said = |a: &str, b: &str| {
            let sides = [side('A', a), side('B', b)];
            let comparison = Comparison::new(&sides);
            comparison.conclusion(&comparison.pairs[0]).join(" ")
        };
        let (good, bad) = ("+".repeat(40), format!("{}{}", "-".repeat(20), "+".repeat(20)));
        assert!(
            said(&bad, &good).starts_with("B is better by verdicts: B has fewer wrong or unsure (0, not 20)")
        );
        assert!(said(&good, &bad).contains("A is better by ranking"));
        assert!(
            said(&good, &good).starts_with("By verdicts, neither is better: both have 0 wrong or unsure.")
        );
        let one = format!("-{}", "+".repeat(39));
        assert!(
            said(&one, &good).starts_with(
                "By verdicts, it is open which is better: B has fewer wrong or unsure (0, not 1)"
            )
        );
        assert!(said(&one, &good).ends_with("More documents may settle it."));
    }

    #[test]
    fn unsure_is_not_right_and_not_lost() {
        let sides = [side('A', "++??--"), side('B', "++++++")];
        let comparison = Comparison::new(&sides);
        let Figures { wrong, unsure, lost_and_missed, .. } = comparison.figures[0];
        assert_eq!((wrong, unsure, lost_and_missed), (4, 2, Some([1, 2])));
        assert_eq!(comparison.pairs[0].only, [0, 4]);
        assert!((comparison.pairs[0].p - 0.125).abs() < 1e-9);
    }

    #[test]
    fn more_comparisons_ask_for_more() {
        let sides = [side('A', "++----"), side('B', "++++++"), side('C', "++++++")];
        assert!((Comparison::new(&sides).pairs[1].p - 0.25).abs() < 1e-9);
    }
}
