//! The page of an evaluation.

use tamis_model::metrics::roc_curve;
use tamis_train::evaluate::{Evaluation, Figure as Value, HeldOutScore, LearningStep, Measure, Unit};
use tamis_train::{ClassId, Classes, Decision, positive_class};

use crate::figure::{Figure, Table};
use crate::figures::confusion::confusion;
use crate::figures::costs::costs;
use crate::figures::learning::learning;
use crate::figures::log_odds::log_odds;
use crate::figures::mixed_up::mixed_up;
use crate::figures::reliability::reliability;
use crate::figures::roc::roc;
use crate::figures::two::Two;
use crate::page::Page;
use crate::reports::mislabels::{Mislabel, mislabels};
use crate::text::{Name, counted, number, percent};

/// The contents of the page of an evaluation.
///
/// ```
/// use tamis_train::evaluate::{Evaluation, HeldOutScore};
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
/// use tamis_report::EvaluationReport;
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.decision.cost = Some(1.0); // by default, two texts are too few to call anything spam
/// let mut trainer = Trainer::new(options)?;
/// trainer.add("ham", Document::Text("lunch at noon"))?;
/// trainer.add("spam", Document::Text("cheap pills"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let mut scratch = Scratch::default();
/// let mut outcomes = Vec::new();
/// for (class, text) in [(0, "lunch?"), (1, "pills!")] {
///     let score = filter.score_text(text, &mut scratch)?;
///     outcomes.push(HeldOutScore::new(class, score, scratch.probabilities()[usize::from(class)]));
/// }
/// let evaluation = Evaluation::new(filter.classes(), filter.spam(), &outcomes);
/// let page = EvaluationReport {
///     title: "Two messages",
///     classes: filter.classes(),
///     spam: filter.spam(),
///     outcomes: &outcomes,
///     evaluation: &evaluation,
///     decision: Some(filter.decision()),
///     learning: &[],
///     mislabels: &[],
/// };
/// assert!(page.page().to_html().contains("2 of 2 documents are labelled right"));
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct EvaluationReport<'a> {
    /// What was evaluated, as plain text.
    pub title: &'a str,
    /// The labels.
    pub classes: &'a Classes,
    /// The label that counts as spam.
    pub spam: Option<ClassId>,
    /// The scores that the curves are drawn from.
    pub outcomes: &'a [HeldOutScore],
    /// The measures of the same scores. Every number on the page comes from here.
    pub evaluation: &'a Evaluation,
    /// The thresholds in use if this is a spam filter, for the [`positive_class`].
    pub decision: Option<Decision>,
    /// The learning curve of a prequential evaluation; empty for others.
    pub learning: &'a [LearningStep],
    /// Documents that contradict their label, the worst first.
    pub mislabels: &'a [Mislabel],
}

impl EvaluationReport<'_> {
    /// Creates the page.
    pub fn page(&self) -> Page {
        let EvaluationReport { classes, outcomes, evaluation, .. } = self;
        let mut figures = Vec::new();
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let spam = self.spam.filter(|_| classes.len() == 2);
        let of_two = if classes.len() == 2 { self.of_two() } else { Vec::new() };
        // what a threshold costs is the first question only for a spam filter
        let (first, last) = if spam.is_some() { (of_two, Vec::new()) } else { (Vec::new(), of_two) };
        figures.extend(first);
        if spam.is_none() {
            figures.extend(mixed_up(classes, &evaluation.confusion).filter(|_| classes.len() > 2));
            figures.push(confusion(classes, &evaluation.confusion));
        }
        figures.push(reliability(&evaluation.reliability, spam.map(label)));
        figures.push(log_odds(
            &evaluation.log_odds,
            spam.map(|spam| [label(1 - spam), label(spam)]),
            self.band(),
        ));
        if spam.is_some() {
            figures.push(confusion(classes, &evaluation.confusion));
        }
        figures.extend(last);
        figures.extend(learning(self.learning));
        figures.extend(mislabels(self.mislabels));
        Page {
            title: format!("Evaluation of {}", Name(self.title)),
            facts: vec![format!(
                "{}, {}; accuracy {:.4}, macro F1 {:.4}.",
                counted(outcomes.len() as u64, "document"),
                counted(classes.len() as u64, "label"),
                evaluation.confusion.accuracy(),
                evaluation.confusion.macro_f1()
            )],
            figures,
            tables: vec![values(evaluation)],
        }
    }

    /// The class that the thresholds are for.
    fn positive(&self) -> ClassId {
        self.spam.unwrap_or_else(|| positive_class(self.classes))
    }

    /// The thresholds in use, as log-odds of the class they are for.
    fn band(&self) -> Option<[f64; 2]> {
        self.spam.filter(|_| self.classes.len() == 2)?;
        let is_mirrored = self.positive() != positive_class(self.classes);
        let decision =
            self.decision.map(|decision| if is_mirrored { decision.mirrored() } else { decision })?;
        Some([decision.lower, decision.upper])
    }

    fn of_two(&self) -> Vec<Figure> {
        let EvaluationReport { classes, outcomes, evaluation, .. } = self;
        let positive = self.positive();
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let [negatives, positives] =
            [1 - positive, positive].map(|class| evaluation.confusion.support(class));
        if evaluation.operating_points.is_empty() {
            return Vec::new();
        }
        let two = Two {
            negative: label(1 - positive),
            positive: label(positive),
            negatives,
            positives,
            is_spam: self.spam.is_some(),
        };
        let scores: Vec<_> =
            outcomes.iter().map(|o| (o.log_odds_of(positive), o.class == positive)).collect();
        let curve = roc_curve(&scores);
        let points = &evaluation.operating_points;
        vec![costs(&two, &curve, points, self.band()), roc(&two, &curve, points)]
    }
}

/// A table of all figures as numbers, with their intervals.
fn values(evaluation: &Evaluation) -> Table {
    let row = |figure: &Value| {
        let Measure { key, words, unit, .. } = figure.measure;
        let shown = |value| {
            let is_share = unit == Unit::Share;
            number(value, &if is_share { percent(value) } else { format!("{value:.4}") })
        };
        let value = figure.value.map_or("needs documents of both labels".to_owned(), shown);
        let ends = figure.interval.map(|interval| [interval.low, interval.high].map(shown));
        let [low, high] = ends.unwrap_or_default();
        vec![format!("<span data-key=\"{key}\">{words}</span>"), value, low, high]
    };
    let rows = evaluation.figures.iter().map(row).collect();
    Table::new("All figures", &["", "value", "from", "to (95 %)"], rows)
}
