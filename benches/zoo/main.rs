//! Odd training sets, generated: on each the default scoring must not be worse than something simple.
//!
//!     cargo bench --bench zoo -- [--seeds N] [--only SUBSTRING]
//!
//! `sets.rs` makes the sets; the README beside this file tells the rule. Dated results are in `runs/`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs, unreachable_pub)]

mod sets;
#[path = "../mails/words.rs"]
mod words;

use tamis_train::options::{Likelihood, PieceLengths, WeightedOptions};
use tamis_train::{Kind, Result, Scoring, Scratch, TrainOptions, Trainer};

use sets::{Document, Set};
use words::Random;

/// How much accuracy the defaults may lose to the best of the simple ways.
const LEAST_ACCURACY: f64 = 0.02;

/// How much log loss they may add to the least of the simple ways, in nats.
const MOST_LOSS: f64 = 0.05;

/// Probabilities are clipped to this, so that one certain mistake is not infinite.
const LEAST_PROBABILITY: f64 = 1e-15;

/// The sets of a quick test.
const QUICK: [&str; 5] = [
    "few: 2 labels x 2",
    "few: 20 labels x 3",
    "100, 100 and 1 documents",
    "a third is empty",
    "one text, 9,000 and 1,000 times",
];

/// How well a way of scoring did.
#[derive(Clone, Copy)]
struct Figures {
    /// The share of documents whose likeliest label is the right one, whatever the thresholds.
    accuracy: f64,
    /// In nats.
    log_loss: f64,
    documents: usize,
}

impl Figures {
    /// Of each document, whether its label was the likeliest, and the probability of its label.
    fn new(answers: impl IntoIterator<Item = (bool, f64)>) -> Figures {
        let (mut right, mut loss, mut documents) = (0, 0.0, 0);
        for (is_right, probability) in answers {
            right += usize::from(is_right);
            loss -= probability.max(LEAST_PROBABILITY).ln();
            documents += 1;
        }
        let n = documents as f64;
        Figures { accuracy: right as f64 / n, log_loss: loss / n, documents }
    }

    fn check(&self, tests: &[Document]) {
        assert_eq!(self.documents, tests.len());
        assert!((0.0..=1.0).contains(&self.accuracy), "{}", self.accuracy);
        assert!(self.log_loss.is_finite() && self.log_loss >= 0.0, "{}", self.log_loss);
    }
}

/// The place of the largest number, of equal ones the first.
fn largest(numbers: &[f64]) -> usize {
    (1..numbers.len()).fold(0, |best, at| if numbers[at] > numbers[best] { at } else { best })
}

/// Text with the default scoring.
fn defaults(has_pieces: bool) -> TrainOptions {
    let mut options = TrainOptions::new(Kind::Text);
    if has_pieces {
        options.recipe.pieces = Some(PieceLengths::FOUR);
    }
    options
}

/// Learns the one part of a set with these options, and scores the other.
fn learned(set: &Set, options: TrainOptions) -> Result<Figures> {
    let name = |label: usize| format!("l{label}");
    let mut trainer = Trainer::new(options)?;
    for Document { label, text } in &set.train {
        trainer.add(&name(*label), tamis_train::Document::Text(text))?;
    }
    let filter = trainer.finish()?.into_filter()?;
    let mut scratch = Scratch::default();
    let answer = |Document { label, text }: &Document| {
        filter.score_text(text, &mut scratch)?;
        let class = filter.classes().index(&name(*label)).expect("a label that was learned");
        let probabilities = scratch.probabilities();
        Ok((largest(probabilities) == usize::from(class), probabilities[usize::from(class)]))
    };
    Ok(Figures::new(set.tests.iter().map(answer).collect::<Result<Vec<_>>>()?))
}

/// The shares of the labels alone, with half a document added to each.
fn shares_alone(set: &Set) -> Figures {
    let labels = set.train.iter().map(|d| d.label).max().map_or(0, |last| last + 1);
    let mut counts = vec![0.5; labels];
    set.train.iter().for_each(|d| counts[d.label] += 1.0);
    let (best, all) = (largest(&counts), counts.iter().sum::<f64>());
    Figures::new(set.tests.iter().map(|d| (d.label == best, counts[d.label] / all)))
}

/// The simple ways: the shares of the labels, the defaults without the correction, multinomial naive Bayes.
fn simple(set: &Set) -> Vec<Figures> {
    let mut uncorrected = WeightedOptions::default();
    uncorrected.correction = false;
    let mut multinomial = Scoring::parameters();
    multinomial.likelihood = Likelihood::Multinomial;
    let scorings = [Scoring::Weighted(uncorrected), Scoring::NaiveBayes(multinomial)];
    // one that cannot be learned asks nothing of the defaults
    let options = |scoring| {
        let mut options = defaults(false);
        options.scoring = Some(scoring);
        options
    };
    let learned = scorings.into_iter().filter_map(|scoring| learned(set, options(scoring)).ok());
    [shares_alone(set)].into_iter().chain(learned).collect()
}

/// By how much the defaults are worse than the simple ways, over all sets so far.
#[derive(Default)]
struct Tally {
    sets: usize,
    short: usize,
    /// The largest, and the set's name and seed.
    accuracy: (f64, String),
    log_loss: (f64, String),
}

impl Tally {
    /// Tries a set, and prints a line.
    fn add(&mut self, name: &str, seed: u64, set: &Set, options: TrainOptions) {
        let simple = simple(set);
        simple.iter().for_each(|figures| figures.check(&set.tests));
        let best = simple.iter().map(|f| f.accuracy).fold(0.0, f64::max);
        let least = simple.iter().map(|f| f.log_loss).fold(f64::INFINITY, f64::min);
        let (lost, added, said) = match learned(set, options) {
            Ok(figures) => {
                figures.check(&set.tests);
                let said = format!("{:.3} {:6.3}", figures.accuracy, figures.log_loss);
                (best - figures.accuracy, figures.log_loss - least, said)
            }
            Err(error) => (f64::INFINITY, f64::INFINITY, error.to_string()),
        };
        let is_short = lost > LEAST_ACCURACY || added > MOST_LOSS;
        self.sets += 1;
        self.short += usize::from(is_short);
        for (largest, shortfall) in [(&mut self.accuracy, lost), (&mut self.log_loss, added)] {
            if shortfall > largest.0 {
                *largest = (shortfall, format!("{name}, seed {seed}"));
            }
        }
        let verdict = if is_short { "FALLS SHORT" } else { "holds" };
        println!(
            "{verdict:<11} {seed} {name:<52} default {said}   simple: best {best:.3}, least {least:6.3}"
        );
    }

    fn print(&self) {
        println!("{} of {} fall short", self.short, self.sets);
        let print = |what, unit, (shortfall, name): &(f64, String)| match name.as_str() {
            "" => println!("largest shortfall in {what}: none"),
            name => println!("largest shortfall in {what}: {shortfall:.3}{unit} ({name})"),
        };
        print("accuracy", "", &self.accuracy);
        print("log loss", " nats", &self.log_loss);
    }
}

/// The random numbers of a set, by its name and the seed: it stays the same whatever other sets there are.
fn random(name: &str, seed: u64) -> Random {
    let digest = md5::compute(format!("{seed} {name}")).0;
    Random(u64::from_le_bytes(*digest.first_chunk().unwrap()))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (mut seeds, mut only, mut is_quick, mut has_pieces) = (5, "", false, false);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match (argument, argument.starts_with("--").then(|| rest.clone().next()).flatten()) {
            ("--test", _) => is_quick = true,
            ("--pieces", _) => has_pieces = true,
            ("--seeds", Some(n)) if n.parse().is_ok_and(|n: u64| n > 0) => {
                seeds = n.parse().unwrap();
                rest.next();
            }
            ("--only", Some(substring)) => {
                only = substring;
                rest.next();
            }
            _ => {
                return eprintln!(
                    "expected [--seeds N] [--only SUBSTRING] [--pieces], got {}",
                    arguments.join(" ")
                );
            }
        }
    }
    let is_asked = |name: &str| name.contains(only) && (!is_quick || QUICK.contains(&name));
    let kinds = sets::kinds();
    let mut tally = Tally::default();
    for kind in kinds.iter().filter(|kind| is_asked(&kind.name)) {
        for seed in 1..=if is_quick { 1 } else { seeds } {
            let set = (kind.make)(&mut random(&kind.name, seed));
            tally.add(&kind.name, seed, &set, defaults(has_pieces));
        }
    }
    tally.print();
}
