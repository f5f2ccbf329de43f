//! The page of an evaluation.

use tamis_model::metrics::ConfusionMatrix;
use tamis_train::evaluate::{Evaluation, Figure, LabelFigures, LearnedDocuments, Measure, Unit};
use tamis_train::{ClassId, Decision, positive_class};

use crate::figures::bars::{self, Bar, MOST_LABELS};
use crate::figures::confusion::confusion;
use crate::figures::learning::learning;
use crate::figures::log_odds::log_odds;
use crate::figures::mixed_up::mixed_up;
use crate::figures::reliability::reliability;
use crate::figures::thresholds::ThresholdCharts;
use crate::figures::{Chart, DataTable};
use crate::reports::Page;
use crate::reports::mislabels::{Mislabel, mislabels};
use crate::text::{Name, count, counted, grouped, number, percent};

/// The contents of the page of an evaluation.
///
/// ```
/// use tamis_train::evaluate::{Evaluation, HeldOutScore};
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
/// use tamis_report::EvaluationReport;
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.decision.unsure = Some(0.0); // by default, two texts are too few to call anything spam or ham
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
///     evaluation: &evaluation,
///     decision: Some(filter.decision()),
///     mislabels: &[],
/// };
/// assert!(page.page().to_html().contains("2 of 2 documents are labelled right"));
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct EvaluationReport<'a> {
    /// What was evaluated, as plain text.
    pub title: &'a str,
    /// What was measured. Every number on the page comes from here.
    pub evaluation: &'a Evaluation,
    /// The thresholds in use if this is a spam filter, for the [`positive_class`].
    pub decision: Option<Decision>,
    /// Documents that contradict their label, the worst first.
    pub mislabels: &'a [Mislabel],
}

impl EvaluationReport<'_> {
    /// Creates the page.
    pub fn page(&self) -> Page {
        let documents = counted(self.evaluation.documents as u64, "document");
        let labels = counted(self.evaluation.classes.len() as u64, "label");
        let (mut facts, figures, tables) = match &self.evaluation.confusion {
            Some(matrix) => {
                let (accuracy, f1) = (matrix.accuracy(), matrix.macro_f1());
                let absent = match matrix.n_absent() {
                    0 => String::new(),
                    n => format!(" (no document or verdict has {})", grouped(n as u64)),
                };
                let fact =
                    format!("{documents}, {labels}{absent}; accuracy {accuracy:.4}, macro F1 {f1:.4}.");
                (vec![fact], self.of_verdicts(matrix), vec![values(self.evaluation)])
            }
            None => {
                let facts = facts(self.evaluation, &format!("{documents} of {labels}"));
                (facts, vec![by_label(&self.evaluation.labels)], Vec::new())
            }
        };
        let learned = self.evaluation.learned.as_ref().and_then(LearnedDocuments::sentence);
        facts.extend(learned.map(|sentence| format!("{sentence}.")));
        Page { title: format!("Evaluation of {}", Name(self.title)), facts, figures, tables }
    }

    fn of_verdicts(&self, matrix: &ConfusionMatrix) -> Vec<Chart> {
        let Evaluation { classes, spam, reliability: bins, log_odds: log_odds_bins, learning: steps, .. } =
            self.evaluation;
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let probabilities = [
            reliability(bins, spam.map(label)),
            log_odds(log_odds_bins, spam.map(|spam| [label(1 - spam), label(spam)]), self.band()),
        ];
        let (of_two, matrix_figure) = (self.of_two(matrix), confusion(classes, matrix));
        // what a threshold costs is the first question only for a spam filter
        let mut figures: Vec<_> = match spam {
            Some(_) => of_two.into_iter().chain(probabilities).chain([matrix_figure]).collect(),
            None => {
                let mixed_up = mixed_up(classes, matrix).filter(|_| classes.len() > 2);
                mixed_up.into_iter().chain([matrix_figure]).chain(probabilities).chain(of_two).collect()
            }
        };
        figures.extend(learning(steps));
        figures.extend(mislabels(self.mislabels));
        figures
    }

    /// The thresholds in use, as log-odds of spam.
    fn band(&self) -> Option<[f64; 2]> {
        let is_mirrored = self.evaluation.spam? != positive_class(&self.evaluation.classes);
        let decision =
            self.decision.map(|decision| if is_mirrored { decision.mirrored() } else { decision })?;
        Some([decision.lower, decision.upper])
    }

    fn of_two(&self, matrix: &ConfusionMatrix) -> Vec<Chart> {
        let Evaluation { classes, spam, operating_points, roc, .. } = self.evaluation;
        if operating_points.is_empty() {
            return Vec::new();
        }
        let positive = spam.unwrap_or_else(|| positive_class(classes));
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let thresholds = ThresholdCharts {
            negative: Name(label(1 - positive)),
            positive: Name(label(positive)),
            negatives: matrix.support(1 - positive),
            positives: matrix.support(positive),
            is_spam: spam.is_some(),
            curve: roc,
            points: operating_points,
            band: self.band(),
        };
        vec![thresholds.costs(), thresholds.roc()]
    }
}

/// The figures of all labels together, where documents have many.
fn facts(evaluation: &Evaluation, what: &str) -> Vec<String> {
    let of = |key: &str| evaluation.figure(key).unwrap_or_default();
    let [micro_f1, macro_f1, log_loss] = ["micro_f1", "macro_f1", "log_loss"].map(of);
    let ([precision, recall], exact) = (["precision", "recall"].map(of), 100.0 * of("exact"));
    let [one, three, five] = ["precision_at_1", "precision_at_3", "precision_at_5"].map(of);
    vec![
        format!("{what}: micro F1 {micro_f1:.4}, macro F1 {macro_f1:.4}."),
        format!(
            "Precision {precision:.4}, recall {recall:.4}; {exact:.2} % of the documents have exactly the labels given."
        ),
        format!("Precision of the likeliest label {one:.4}, of three {three:.4}, of five {five:.4}."),
        format!("Log loss {log_loss:.4} nats a document, summed over labels."),
    ]
}

/// The F1 of each label, the most frequent first.
fn by_label(labels: &[LabelFigures]) -> Chart {
    let bar = |of: &LabelFigures| Bar::new(&of.label, of.f1, format!("{:.3}", of.f1));
    let bars: Vec<_> = labels.iter().take(MOST_LABELS).map(bar).collect();
    let row = |of: &LabelFigures| {
        let share = |value: Option<f64>| match value {
            Some(value) => number(value, &format!("{value:.3}")),
            None => "-".to_owned(),
        };
        let shares = [Some(of.f1), of.precision, of.recall, of.average_precision, of.roc_auc].map(share);
        [Name(&of.label).to_string(), count(of.documents)].into_iter().chain(shares).collect()
    };
    let head = ["label", "documents", "F1", "precision", "recall", "average precision", "ROC AUC"];
    let table = DataTable::new("", &head, labels.iter().map(row).collect());
    Chart {
        note: match labels.len() > MOST_LABELS {
            true => format!("The {MOST_LABELS} most frequent labels of {}.", grouped(labels.len() as u64)),
            false => "The most frequent label first.".to_owned(),
        },
        description: "Bars of the F1 of each label, the most frequent label first.".to_owned(),
        is_open: true,
        ..bars::chart("F1 of each label", &bars, bars::PLAIN, table)
    }
}

/// A table of all figures as numbers, with their intervals.
fn values(evaluation: &Evaluation) -> DataTable {
    let row = |figure: &Figure| {
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
    DataTable::new("All figures", &["figure", "value", "from", "to (95 %)"], rows)
}
