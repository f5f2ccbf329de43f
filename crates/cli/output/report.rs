//! What `tamis evaluate` prints: how good verdicts, rankings and probabilities were.

use std::ffi::OsString;
use std::io::Write;

use anyhow::Result;
use serde_json::json;
use tamis_filter::{ClassId, Classes, Score, positive_class};
use tamis_model::metrics::{
    ConfusionMatrix, bootstrap_interval, brier, caught_at_fpr, expected_calibration_error, lam_percent,
    log_loss, one_minus_roc_auc_percent, roc_auc,
};

use crate::output::confusion::{self, cut};
use crate::output::numbers::{counted, grouped};
use crate::output::shown::shown;

/// Resamplings behind an interval, and the seed they are drawn with.
const ROUNDS: usize = 1000;
const SEED: u64 = 1;

/// The most characters of a label in the table of labels, which then fits 80 columns.
const LABEL: usize = 40;

/// A document, its true class and what was said of it.
pub(crate) struct Outcome {
    pub(crate) name: OsString,
    pub(crate) truth: ClassId,
    pub(crate) score: Score,
    /// The probability that was given to the true class.
    pub(crate) probability: f64,
}

pub(crate) struct Report<'a> {
    classes: &'a Classes,
    confusion: ConfusionMatrix,
    documents: u64,
    detection: Option<Detection>,
    /// Of topics.
    calibration: Vec<Figure>,
}

/// How well one class of two was found.
struct Detection {
    positive: ClassId,
    /// Log-odds of the positive class, and whether the document is of it.
    scores: Vec<(f64, bool)>,
    figures: Vec<Figure>,
}

/// A figure and its 95 % interval.
struct Figure {
    name: &'static str,
    key: &'static str,
    unit: &'static str,
    decimals: usize,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
}

impl<'a> Report<'a> {
    /// Of a spam filter, two classes of which one is spam, it tells how well that is found; of topics how often they are
    /// right.
    pub(crate) fn new(classes: &'a Classes, spam: Option<ClassId>, outcomes: &[Outcome]) -> Self {
        let mut confusion = ConfusionMatrix::new(classes.len());
        outcomes.iter().for_each(|o| confusion.record(o.truth, o.score.label));
        let spam = spam.filter(|_| classes.len() == 2);
        let detection = spam.map(|spam| Detection::new(spam, outcomes, &confusion));
        let mut calibration = if spam.is_none() { calibration(outcomes) } else { Vec::new() };
        if spam.is_none() && classes.len() == 2 {
            let value = roc_auc(&scores_of(positive_class(classes), outcomes));
            calibration.push(Figure {
                name: "ROC AUC",
                key: "roc_auc",
                unit: "",
                decimals: 4,
                value,
                interval: None,
            });
        }
        Report { classes, confusion, documents: outcomes.len() as u64, detection, calibration }
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> Result<()> {
        let unsure: u64 = self.classes.iter().map(|(class, _)| self.confusion.unsure(class)).sum();
        writeln!(out, "{}, {} unsure", counted(self.documents, "document"), grouped(unsure))?;
        writeln!(out, "accuracy  {:.4}", self.confusion.accuracy())?;
        writeln!(out, "macro F1  {:.4}", self.confusion.macro_f1())?;
        for figure in &self.calibration {
            match figure.value {
                Some(value) => writeln!(out, "{:<8}  {value:.4}", figure.name)?,
                None => writeln!(out, "{:<8}  undefined (needs documents of both labels)", figure.name)?,
            }
        }
        if let Some(detection) = &self.detection {
            detection.print(out, self.classes)?;
        }
        self.print_classes(out)?;
        confusion::print(out, self.classes, &self.confusion)
    }

    fn print_classes(&self, out: &mut impl Write) -> Result<()> {
        let width = self.label_width();
        writeln!(out, "\n{:<width$}  precision  recall      F1  documents", "label")?;
        for (class, label) in self.classes.iter() {
            let m = &self.confusion;
            let (precision, recall, f1) = (m.precision(class), m.recall(class), m.f1(class));
            let support = grouped(m.support(class));
            writeln!(
                out,
                "{:<width$}  {precision:>9.4}  {recall:.4}  {f1:.4}  {support:>9}",
                cut(label, LABEL)
            )?;
        }
        Ok(())
    }

    fn label_width(&self) -> usize {
        self.classes.iter().map(|(_, label)| cut(label, LABEL).chars().count()).max().unwrap_or(0).max(5)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let m = &self.confusion;
        let verdicts = |class| -> serde_json::Map<_, _> {
            self.classes.iter().map(|(v, l)| (l.to_owned(), json!(m.get(class, v)))).collect()
        };
        let class = |(class, label)| {
            json!({
                "label": label, "documents": m.support(class), "precision": m.precision(class),
                "recall": m.recall(class), "f1": m.f1(class), "verdicts": verdicts(class), "unsure": m.unsure(class),
            })
        };
        let classes: Vec<_> = self.classes.iter().map(class).collect();
        let mut object = json!({
            "documents": self.documents, "accuracy": m.accuracy(), "macro_f1": m.macro_f1(), "classes": classes,
        });
        let figures = self.detection.iter().flat_map(|detection| &detection.figures);
        for figure in figures.chain(&self.calibration) {
            object[figure.key] = json!(figure.value);
            if let Some((low, high)) = figure.interval {
                object[format!("{}_interval", figure.key)] = json!([low, high]);
            }
        }
        object
    }
}

impl Detection {
    fn new(positive: ClassId, outcomes: &[Outcome], confusion: &ConfusionMatrix) -> Self {
        let scores = scores_of(positive, outcomes);
        let mut detection = Detection { positive, scores, figures: Vec::new() };
        detection.measure(confusion);
        detection
    }

    fn measure(&mut self, confusion: &ConfusionMatrix) {
        let positive = self.positive;
        let false_positives = confusion.get(1 - positive, positive);
        let (negatives, positives) = (confusion.support(1 - positive), confusion.support(positive));
        let missed = positives - confusion.get(positive, positive);
        self.add("FPR", "false_positive_rate", " %", 2, confusion.false_positive_rate(positive));
        self.add("FNR", "false_negative_rate", " %", 2, confusion.false_negative_rate(positive));
        self.add("LAM", "lam_percent", "%", 2, lam_percent(false_positives, negatives, missed, positives));
        let right = self.scores.iter().filter(|(score, is_positive)| (*score > 0.0) == *is_positive).count();
        let share = (!self.scores.is_empty()).then(|| right as f64 / self.scores.len() as f64);
        self.add("accuracy at 0", "accuracy_at_0", "", 4, share);
        self.add("ROC AUC", "roc_auc", "", 6, roc_auc(&self.scores));
        self.resampled("1-ROCA", "one_minus_roc_auc_percent", "%", 4, one_minus_roc_auc_percent);
        self.resampled("missed at 0.1 % FPR", "missed_at_fpr_0.1_percent", " %", 2, |s| missed_at(s, 0.001));
        self.resampled("missed at 0.5 % FPR", "missed_at_fpr_0.5_percent", " %", 2, |s| missed_at(s, 0.005));
        self.resampled("missed at 1 % FPR", "missed_at_fpr_1_percent", " %", 2, |s| missed_at(s, 0.01));
        self.add(
            "FPR at log-odds 0",
            "false_positive_rate_at_0",
            " %",
            2,
            wrong_at_zero(&self.scores, false),
        );
        self.add("FNR at log-odds 0", "false_negative_rate_at_0", " %", 2, wrong_at_zero(&self.scores, true));
        self.resampled("log loss", "log_loss", "", 4, log_loss);
        self.add("Brier", "brier", "", 4, brier(&self.scores));
        self.add("ECE", "expected_calibration_error", "", 4, expected_calibration_error(&self.scores, 15));
    }

    fn add(
        &mut self,
        name: &'static str,
        key: &'static str,
        unit: &'static str,
        decimals: usize,
        value: Option<f64>,
    ) {
        self.figures.push(Figure { name, key, unit, decimals, value, interval: None });
    }

    fn resampled(
        &mut self,
        name: &'static str,
        key: &'static str,
        unit: &'static str,
        decimals: usize,
        statistic: impl Fn(&[(f64, bool)]) -> Option<f64> + Sync,
    ) {
        let scores = &self.scores;
        let of_sample = |sample: &[usize]| statistic(&sample.iter().map(|i| scores[*i]).collect::<Vec<_>>());
        let interval = bootstrap_interval(scores.len(), SEED, ROUNDS, of_sample);
        let value = statistic(scores);
        self.figures.push(Figure { name, key, unit, decimals, value, interval });
    }

    fn print(&self, out: &mut impl Write, classes: &Classes) -> Result<()> {
        writeln!(out, "\nfinding {}", shown(classes.label(self.positive).unwrap_or_default()))?;
        for figure in &self.figures {
            let scale = if figure.unit == " %" { 100.0 } else { 1.0 };
            let (unit, decimals) = (figure.unit, figure.decimals);
            write!(out, "{:<19}  ", figure.name)?;
            match (figure.value, figure.interval) {
                (None, _) => writeln!(out, "undefined (needs documents of both labels)")?,
                (Some(value), None) => writeln!(out, "{:.decimals$}{unit}", scale * value)?,
                (Some(value), Some((low, high))) => writeln!(
                    out,
                    "{:.decimals$}{unit}  ({:.decimals$} to {:.decimals$})",
                    scale * value,
                    scale * low,
                    scale * high
                )?,
            }
        }
        Ok(())
    }
}

/// Of two classes the log-odds of one, which are minus those of the other, and whether the document is of it.
fn scores_of(positive: ClassId, outcomes: &[Outcome]) -> Vec<(f64, bool)> {
    let of_positive =
        |o: &Outcome| if o.score.scored_class == positive { o.score.log_odds } else { -o.score.log_odds };
    outcomes.iter().map(|o| (of_positive(o), o.truth == positive)).collect()
}

/// How far the probabilities of labels can be trusted.
fn calibration(outcomes: &[Outcome]) -> Vec<Figure> {
    // as other programs clip it, so that one certain mistake is not infinite
    let losses = outcomes.iter().map(|o| o.probability.max(1e-15).recip().ln());
    let log_loss = losses.sum::<f64>() / outcomes.len() as f64;
    let confident: Vec<_> =
        outcomes.iter().map(|o| (o.score.log_odds, o.score.scored_class == o.truth)).collect();
    let figure = |name, key, value| Figure { name, key, unit: "", decimals: 4, value, interval: None };
    vec![
        figure("log loss", "log_loss", Some(log_loss)),
        figure("ECE", "expected_calibration_error", expected_calibration_error(&confident, 15)),
    ]
}

/// The share of positives that a threshold misses which lets this share of the negatives through.
fn missed_at(scores: &[(f64, bool)], fpr: f64) -> Option<f64> {
    caught_at_fpr(scores, fpr).map(|caught| 1.0 - caught)
}

/// The share of a class on the wrong side of log-odds 0.
fn wrong_at_zero(scores: &[(f64, bool)], positive: bool) -> Option<f64> {
    let of_class = || scores.iter().filter(|(_, is_positive)| *is_positive == positive);
    let wrong = of_class().filter(|(score, _)| (*score > 0.0) != positive).count();
    let all = of_class().count();
    (all > 0).then(|| wrong as f64 / all as f64)
}
