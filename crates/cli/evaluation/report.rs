//! The output of `tamis evaluate`: the quality of verdicts, rankings and probabilities.

use std::io::Write;

use anyhow::Result;
use serde_json::json;
use tamis_program::{counted, grouped, shown};
use tamis_train::evaluate::{
    Evaluation, Figure, HeldOutScore, LearningStep, LogOddsBin, Measure, OperatingPoint, ReliabilityBin,
};
use tamis_train::information::Interval;
use tamis_train::{ClassId, Classes};

use crate::evaluation::confusion::{self, cut};
use crate::evaluation::pictures::{print_curve, print_reliability};
use crate::output::{Canvas, bar};

/// Maximum characters of a label in the table of labels, which then fits 80 columns.
const LABEL: usize = 40;

pub(crate) struct Report<'a> {
    classes: &'a Classes,
    /// The spam label, in a spam filter.
    spam: Option<ClassId>,
    pub(crate) evaluation: Evaluation,
    outcomes: &'a [HeldOutScore],
    /// The steps of a prequential evaluation.
    pub(crate) learning: Vec<LearningStep>,
}

impl<'a> Report<'a> {
    /// For a spam filter, which has two classes, reports how well spam is found. For topics, reports how often they are
    /// right. `learning` belongs to a prequential evaluation, `seed` to intervals.
    pub(crate) fn new(
        classes: &'a Classes,
        spam: Option<ClassId>,
        outcomes: &'a [HeldOutScore],
        learning: Vec<LearningStep>,
        seed: Option<u64>,
    ) -> Self {
        let evaluation = match seed {
            Some(seed) => Evaluation::with_seed(classes, spam, outcomes, seed),
            None => Evaluation::new(classes, spam, outcomes),
        };
        let spam = spam.filter(|_| classes.len() == 2);
        Report { classes, spam, evaluation, outcomes, learning }
    }

    /// Prints the figures, with pictures if there is a canvas.
    pub(crate) fn print(&self, out: &mut impl Write, canvas: Option<Canvas>) -> Result<()> {
        let unsure: u64 = self.classes.iter().map(|(class, _)| self.evaluation.confusion.unsure(class)).sum();
        writeln!(out, "{}, {} unsure", counted(self.outcomes.len() as u64, "document"), grouped(unsure))?;
        let (of_spam, of_all): (Vec<&Figure>, Vec<&Figure>) =
            self.evaluation.figures.iter().partition(|figure| figure.class.is_some());
        for figure in of_all {
            let name = figure.measure.name;
            match figure.value {
                Some(value) => writeln!(out, "{name:<8}  {value:.4}")?,
                None => writeln!(out, "{name:<8}  {UNDEFINED}")?,
            }
        }
        if let Some(label) = self.spam.and_then(|spam| self.classes.label(spam)) {
            print_detection(out, label, &of_spam)?;
        }
        if let Some(canvas) = canvas {
            self.print_pictures(out, canvas)?;
        }
        self.print_classes(out, canvas)?;
        confusion::print(out, self.classes, &self.evaluation.confusion)
    }

    fn print_pictures(&self, out: &mut impl Write, canvas: Canvas) -> Result<()> {
        let label = |class| self.classes.label(class).unwrap_or_default();
        if let Some(spam) = self.spam {
            let of_spam = |o: &HeldOutScore| match o.score.scored_class == spam {
                true => (o.score.log_odds, o.class == spam),
                false => (-o.score.log_odds, o.class == spam),
            };
            let scores: Vec<_> = self.outcomes.iter().map(of_spam).collect();
            print_curve(out, canvas, [label(spam), label(1 - spam)], &scores)?;
        }
        print_reliability(out, canvas, self.spam.map(label), &self.evaluation.reliability)
    }

    fn print_classes(&self, out: &mut impl Write, canvas: Option<Canvas>) -> Result<()> {
        let width = self.label_width();
        // after the columns of numbers
        let beside = canvas.and_then(|canvas| canvas.beside(width + 38, 20));
        writeln!(out, "\n{:<width$}  precision  recall      F1  documents", "label")?;
        for (class, label) in self.classes.iter() {
            let m = &self.evaluation.confusion;
            let (precision, recall, f1) = (m.precision(class), m.recall(class), m.f1(class));
            let support = grouped(m.support(class));
            let bar = beside.map_or(String::new(), |columns| format!("  {}", bar(f1, columns)));
            let label = cut(label, LABEL);
            writeln!(out, "{label:<width$}  {precision:>9.4}  {recall:.4}  {f1:.4}  {support:>9}{bar}")?;
        }
        Ok(())
    }

    fn label_width(&self) -> usize {
        self.classes.iter().map(|(_, label)| cut(label, LABEL).chars().count()).max().unwrap_or(0).max(5)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let m = &self.evaluation.confusion;
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
            "documents": self.outcomes.len(), "classes": classes,
        });
        for figure in &self.evaluation.figures {
            let key = figure.measure.key;
            object[key] = json!(figure.value);
            if let Some(Interval { low, high }) = figure.interval {
                object[format!("{key}_interval")] = json!([low, high]);
            }
        }
        self.add_curves(&mut object);
        object
    }

    /// Adds the data that the figures of `--html` are drawn from.
    fn add_curves(&self, object: &mut serde_json::Value) {
        let Evaluation { operating_points, reliability, log_odds, .. } = &self.evaluation;
        let point = |p: &OperatingPoint| {
            json!({
                "max_fpr": p.max_fpr, "threshold": p.threshold, "false_positives": p.false_positives,
                "false_positive_limit": p.false_positive_limit, "missed": p.missed,
            })
        };
        let reliability_bin = |b: &ReliabilityBin| {
            json!({
                "low": b.low, "high": b.high, "documents": b.documents, "positives": b.positives, "mean": b.mean,
                "interval": [b.interval.low, b.interval.high],
            })
        };
        let log_odds_bin = |b: &LogOddsBin| json!({"low": b.low, "high": b.high, "negatives": b.negatives, "positives": b.positives});
        if self.classes.len() == 2 {
            object["operating_points"] = operating_points.iter().map(point).collect();
        }
        object["reliability"] = reliability.iter().map(reliability_bin).collect();
        object["log_odds"] = log_odds.iter().map(log_odds_bin).collect();
        if !self.learning.is_empty() {
            let step = |s: &LearningStep| json!({"learned": s.learned, "documents": s.documents, "wrong": s.wrong, "unsure": s.unsure});
            object["learning"] = self.learning.iter().map(step).collect();
        }
    }
}

/// Prints how well a class was found.
fn print_detection(out: &mut impl Write, label: &str, figures: &[&Figure]) -> Result<()> {
    writeln!(out, "\nfinding {}", shown(label))?;
    for figure in figures {
        let Measure { name, unit, .. } = figure.measure;
        let number = |value| figure.measure.number(value);
        write!(out, "{name:<19}  ")?;
        match (figure.value, figure.interval) {
            (None, _) => writeln!(out, "{UNDEFINED}")?,
            (Some(value), None) => writeln!(out, "{}{unit}", number(value))?,
            (Some(value), Some(Interval { low, high })) => {
                writeln!(out, "{}{unit}  ({} to {})", number(value), number(low), number(high))?
            }
        }
    }
    Ok(())
}

const UNDEFINED: &str = "undefined (needs documents of both labels)";
