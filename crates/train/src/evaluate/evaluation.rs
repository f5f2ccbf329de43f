//! Measures how good verdicts, rankings and probabilities are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
use tamis_model::metrics::{
    ConfusionMatrix, RocPoint, bootstrap_interval, brier, caught_at_fpr, expected_calibration_error,
    lam_percent, log_loss, one_minus_roc_auc_percent, roc_auc, roc_curve,
};
use tamis_model::{ClassId, Classes, Interval};
use tamis_store::config::labels::positive_class;

use crate::evaluate::curves::{
    LearningStep, LogOddsBin, OperatingPoint, ReliabilityBin, log_odds_bins, operating_points, reliability,
};
use crate::evaluate::labels::{HeldOutLabels, LabelFigures};
use crate::evaluate::measure::{
    ACCURACY, ACCURACY_AT_0, BRIER, ECE, EXACT, FNR, FNR_AT_0, FPR, FPR_AT_0, LAM, LOG_LOSS, MACRO_F1,
    MICRO_F1, MISSED_AT_01, MISSED_AT_1, MISSED_AT_05, Measure, ONE_MINUS_ROCA, PRECISION, PRECISION_AT_1,
    PRECISION_AT_3, PRECISION_AT_5, RECALL, ROC_AUC,
};
use crate::evaluate::validation::HeldOutScore;

/// The number of resamplings for an interval, and their default seed.
const ROUNDS: usize = 1000;
const SEED: u64 = 1;

/// Number of bins of the expected calibration error.
const BINS: usize = 15;

/// How good a model's scores are for documents that it has not learned.
///
/// ```
/// use tamis_train::evaluate::{Evaluation, HeldOutScore};
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
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
/// for (label, text) in [("ham", "lunch?"), ("spam", "pills!")] {
///     let score = filter.score_text(text, &mut scratch)?;
///     let class = filter.classes().index(label).unwrap();
///     outcomes.push(HeldOutScore::new(class, score, scratch.probabilities()[usize::from(class)]));
/// }
/// let evaluation = Evaluation::new(filter.classes(), filter.spam(), &outcomes);
/// assert_eq!(evaluation.figure("accuracy"), Some(1.0));
/// assert_eq!(evaluation.figure("one_minus_roc_auc_percent"), Some(0.0));
/// # Ok::<(), tamis_train::Error>(())
/// ```
///
/// Documents of many labels are measured in the same way:
///
/// ```
/// use tamis_train::evaluate::{Evaluation, cross_validate_labels};
/// use tamis_train::options::Labels;
/// use tamis_train::{Document, Kind, TrainOptions, join_labels};
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.labels = Labels::Many;
/// let both = join_labels(["fruit", "metal"]);
/// let kinds = [("fruit", "apples and pears"), ("metal", "iron and tin"), (&*both, "tin of pears")];
/// let texts: Vec<_> = (0..60).map(|i| (kinds[i % 3].0, format!("{} number {i}", kinds[i % 3].1))).collect();
/// let labelled: Vec<_> = texts.iter().map(|(labels, text)| (*labels, None, Document::Text(text))).collect();
/// let (labels, held_out) = cross_validate_labels(&options, &labelled, 5, 0)?;
/// let evaluation = Evaluation::of_labels(&labels, &held_out);
/// assert!(evaluation.figure("micro_f1") > Some(0.9) && evaluation.figure("exact") > Some(0.9));
/// # Ok::<(), tamis_train::Error>(())
/// ```
///
/// It is serialized with the keys of `tamis evaluate --json`.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Evaluation {
    /// The labels.
    pub classes: Classes,
    /// The class that counts as spam, in a spam filter, which has two classes.
    pub spam: Option<ClassId>,
    /// The number of documents.
    pub documents: usize,
    /// How often labels are right; then, in a spam filter, how well spam was found, otherwise how far the probabilities of
    /// labels can be trusted. If documents have many labels, the figures of all labels together.
    pub figures: Vec<Figure>,
    /// Documents by true and predicted class; `None` if documents have many labels.
    pub confusion: Option<ConfusionMatrix>,
    /// If documents have many labels, how well each is found, the label with the most documents first; otherwise empty.
    pub labels: Vec<LabelFigures>,
    /// For two classes, the cost of thresholds that call only few negatives positive; otherwise empty.
    pub operating_points: Vec<OperatingPoint>,
    /// The ROC curve of the same scores.
    pub roc: Vec<RocPoint>,
    /// How reliable probabilities are: those of spam in a spam filter, otherwise those of the likeliest class.
    pub reliability: Vec<ReliabilityBin>,
    /// Documents by log-odds: those of spam in a spam filter, otherwise those of the likeliest class.
    pub log_odds: Vec<LogOddsBin>,
    /// The learning curve of a prequential evaluation; empty unless it is [set](LearningStep::curve).
    pub learning: Vec<LearningStep>,
    /// The documents that the model has learned; `None` if that was not looked up.
    pub learned: Option<LearnedDocuments>,
}

/// Documents of an evaluation that the model has learned, which it knows better than new ones.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LearnedDocuments {
    /// Their number.
    pub documents: usize,
    /// The number of the others.
    pub new: usize,
    /// The figures of the others; empty if there are none, or if none were learned.
    pub figures: Vec<Figure>,
}

impl LearnedDocuments {
    /// Evaluates documents. `is_learned` says of each whether the model has learned it, if that is known.
    pub fn evaluate<T: Clone>(
        outcomes: &[T],
        is_learned: Option<&[bool]>,
        evaluate: impl Fn(&[T]) -> Evaluation,
    ) -> Evaluation {
        let of_others = |is_learned: &[bool]| {
            let others = outcomes.iter().zip(is_learned).filter(|(_, is_learned)| !**is_learned);
            let others: Vec<T> = others.map(|(outcome, _)| outcome.clone()).collect();
            let (documents, new) = (outcomes.len() - others.len(), others.len());
            let figures = if documents > 0 && new > 0 { evaluate(&others).figures } else { Vec::new() };
            LearnedDocuments { documents, new, figures }
        };
        Evaluation { learned: is_learned.map(of_others), ..evaluate(outcomes) }
    }

    /// A sentence about them, with the main figures of the others; `None` if none were learned.
    pub fn sentence(&self) -> Option<String> {
        let is_main = |figure: &&Figure| [ACCURACY, MICRO_F1, LOG_LOSS].contains(&figure.measure);
        let figures = self
            .figures
            .iter()
            .filter(is_main)
            .filter_map(|figure| Some((figure.measure.name, figure.value?)));
        let figures: Vec<_> = figures.map(|(name, value)| format!("{name} {value:.4}")).collect();
        let of_others = match &figures[..] {
            [] => String::new(),
            figures => format!("; of the {} others: {}", self.new, figures.join(", ")),
        };
        (self.documents > 0).then(|| {
            format!(
                "The model has learned {} of these documents, so it is not measured fairly{of_others}",
                self.documents
            )
        })
    }
}

/// A figure of an [`Evaluation`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Figure {
    /// What it measures.
    pub measure: Measure,
    /// The class whose detection it measures; `None` if it measures all.
    pub class: Option<ClassId>,
    /// `None` if the figure needs documents of both labels and one has none.
    pub value: Option<f64>,
    /// Its 95 % bootstrap interval, if estimated.
    pub interval: Option<Interval>,
}

impl Evaluation {
    /// Measures scores; `spam` is the class that counts as spam, if there is one.
    pub fn new(classes: &Classes, spam: Option<ClassId>, outcomes: &[HeldOutScore]) -> Self {
        Evaluation::with_seed(classes, spam, outcomes, SEED)
    }

    /// As [`new`](Self::new), with the seed of the bootstrap intervals.
    pub fn with_seed(classes: &Classes, spam: Option<ClassId>, outcomes: &[HeldOutScore], seed: u64) -> Self {
        let mut confusion = ConfusionMatrix::new(classes.len());
        outcomes.iter().for_each(|outcome| confusion.record(outcome.class, outcome.score.label));
        let spam = spam.filter(|_| classes.len() == 2);
        let of_two = (classes.len() == 2)
            .then(|| scores_of(spam.unwrap_or_else(|| positive_class(classes)), outcomes));
        let of_scored = |o: &HeldOutScore| (o.score.log_odds, o.score.scored_class == o.class);
        let confident: Vec<_> = outcomes.iter().map(of_scored).collect();
        let (of_scores, log_odds) = match (spam, &of_two) {
            (Some(spam), Some(scores)) => {
                (of_detection(spam, scores, &alike(outcomes), &confusion, seed), scores)
            }
            _ => (of_labels(outcomes, &confident, of_two.as_deref()), &confident),
        };
        Evaluation {
            classes: classes.clone(),
            spam,
            documents: outcomes.len(),
            figures: [of_verdicts(&confusion), of_scores].concat(),
            confusion: Some(confusion),
            operating_points: of_two.as_deref().map_or_else(Vec::new, operating_points),
            roc: of_two.as_deref().map_or_else(Vec::new, roc_curve),
            reliability: reliability(log_odds),
            log_odds: log_odds_bins(log_odds),
            ..Evaluation::default()
        }
    }

    /// Measures documents of many labels, which are numbered as in `classes`.
    pub fn of_labels(classes: &Classes, held_out: &[HeldOutLabels]) -> Self {
        let mut labels: Vec<_> =
            classes.iter().map(|(id, label)| LabelFigures::new(id, label, held_out)).collect();
        let sum = |count: fn(&LabelFigures) -> u64| labels.iter().map(count).sum();
        let all = LabelFigures::from_counts(sum(|of| of.found), sum(|of| of.wrong), sum(|of| of.missed));
        let macro_f1 = labels.iter().map(|of| of.f1).sum::<f64>() / labels.len().max(1) as f64;
        let mean = |of: &dyn Fn(&HeldOutLabels) -> f64| {
            held_out.iter().map(of).sum::<f64>() / held_out.len().max(1) as f64
        };
        let figures = [
            (MICRO_F1, all.f1),
            (MACRO_F1, macro_f1),
            (PRECISION, all.precision.unwrap_or_default()),
            (RECALL, all.recall.unwrap_or_default()),
            (EXACT, mean(&|document| f64::from(u8::from(document.is_exact())))),
            (LOG_LOSS, mean(&HeldOutLabels::log_loss)),
            (PRECISION_AT_1, mean(&|document| document.precision_at(1))),
            (PRECISION_AT_3, mean(&|document| document.precision_at(3))),
            (PRECISION_AT_5, mean(&|document| document.precision_at(5))),
        ];
        labels.sort_by_key(|label| Reverse(label.documents));
        Evaluation {
            classes: classes.clone(),
            documents: held_out.len(),
            figures: figures.map(|(measure, value)| figure(measure, Some(value))).into(),
            labels,
            ..Evaluation::default()
        }
    }

    /// The value of a figure by its key.
    pub fn figure(&self, key: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.measure.key == key)?.value
    }
}

impl Serialize for Evaluation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("documents", &self.documents)?;
        for Figure { measure, value, interval, .. } in &self.figures {
            map.serialize_entry(measure.key, value)?;
            if let Some(interval) = interval {
                map.serialize_entry(&format!("{}_interval", measure.key), interval)?;
            }
        }
        if let Some(LearnedDocuments { documents, new, figures }) = &self.learned {
            map.serialize_entry("learned", documents)?;
            if !figures.is_empty() {
                let figures = figures.iter().map(|figure| (figure.measure.key, json!(figure.value)));
                let others: BTreeMap<_, _> = figures.chain([("documents", json!(new))]).collect();
                map.serialize_entry("others", &others)?;
            }
        }
        let Some(confusion) = &self.confusion else {
            map.serialize_entry("labels", &self.labels)?;
            return map.end();
        };
        let verdicts = self.classes.iter().map(|(class, _)| Verdicts::new(&self.classes, confusion, class));
        map.serialize_entry("absent_labels", &confusion.n_absent())?;
        map.serialize_entry("classes", &verdicts.collect::<Vec<_>>())?;
        if self.classes.len() == 2 {
            map.serialize_entry("operating_points", &self.operating_points)?;
        }
        map.serialize_entry("reliability", &self.reliability)?;
        map.serialize_entry("log_odds", &self.log_odds)?;
        if !self.learning.is_empty() {
            map.serialize_entry("learning", &self.learning)?;
        }
        map.end()
    }
}

/// The verdicts on the documents of a label.
#[derive(serde::Serialize)]
struct Verdicts<'a> {
    label: &'a str,
    documents: u64,
    precision: f64,
    recall: f64,
    f1: f64,
    /// Only those that occur.
    verdicts: BTreeMap<&'a str, u64>,
    unsure: u64,
}

impl<'a> Verdicts<'a> {
    fn new(classes: &'a Classes, confusion: &ConfusionMatrix, class: ClassId) -> Self {
        Verdicts {
            label: classes.label(class).unwrap_or_default(),
            documents: confusion.support(class),
            precision: confusion.precision(class),
            recall: confusion.recall(class),
            f1: confusion.f1(class),
            verdicts: confusion
                .row(class)
                .filter_map(|(verdict, n)| Some((classes.label(verdict?)?, n)))
                .collect(),
            unsure: confusion.unsure(class),
        }
    }
}

fn figure(measure: Measure, value: Option<f64>) -> Figure {
    Figure { measure, class: None, value, interval: None }
}

/// Measures how often labels are right.
fn of_verdicts(confusion: &ConfusionMatrix) -> Vec<Figure> {
    vec![figure(ACCURACY, Some(confusion.accuracy())), figure(MACRO_F1, Some(confusion.macro_f1()))]
}

/// The documents of each group, which are drawn together.
fn alike(outcomes: &[HeldOutScore]) -> Vec<Vec<usize>> {
    let (mut alike, mut places) = (Vec::new(), HashMap::new());
    for (at, outcome) in outcomes.iter().enumerate() {
        let new = alike.len();
        let place = outcome.group.map_or(new, |group| *places.entry(group).or_insert(new));
        alike.resize(new.max(place + 1), Vec::new());
        alike[place].push(at);
    }
    alike
}

/// Measures how well the class `positive` of two was found.
fn of_detection(
    positive: ClassId,
    scores: &[(f64, bool)],
    alike: &[Vec<usize>],
    confusion: &ConfusionMatrix,
    seed: u64,
) -> Vec<Figure> {
    // with a bootstrap interval
    let resampled = |measure, statistic: fn(&[(f64, bool)]) -> Option<f64>| {
        let of_sample = |sample: &[usize]| {
            statistic(&sample.iter().flat_map(|i| &alike[*i]).map(|i| scores[*i]).collect::<Vec<_>>())
        };
        let interval = bootstrap_interval(alike.len(), seed, ROUNDS, of_sample);
        Figure { interval, ..figure(measure, statistic(scores)) }
    };
    let false_positives = confusion.get(1 - positive, positive);
    let (negatives, positives) = (confusion.support(1 - positive), confusion.support(positive));
    let missed = positives - confusion.get(positive, positive);
    let right = scores.iter().filter(|(score, is_positive)| (*score > 0.0) == *is_positive).count();
    let share = (!scores.is_empty()).then(|| right as f64 / scores.len() as f64);
    let figures = [
        figure(FPR, confusion.false_positive_rate(positive)),
        figure(FNR, confusion.false_negative_rate(positive)),
        figure(LAM, lam_percent(false_positives, negatives, missed, positives)),
        figure(ACCURACY_AT_0, share),
        figure(ROC_AUC, roc_auc(scores)),
        resampled(ONE_MINUS_ROCA, one_minus_roc_auc_percent),
        resampled(MISSED_AT_01, |s| missed_at(s, 0.001)),
        resampled(MISSED_AT_05, |s| missed_at(s, 0.005)),
        resampled(MISSED_AT_1, |s| missed_at(s, 0.01)),
        figure(FPR_AT_0, wrong_at_zero(scores, false)),
        figure(FNR_AT_0, wrong_at_zero(scores, true)),
        resampled(LOG_LOSS, log_loss),
        figure(BRIER, brier(scores)),
        figure(ECE, expected_calibration_error(scores, BINS)),
    ];
    figures.map(|figure| Figure { class: Some(positive), ..figure }).to_vec()
}

/// Measures how far the probabilities of labels can be trusted.
fn of_labels(
    outcomes: &[HeldOutScore],
    confident: &[(f64, bool)],
    of_two: Option<&[(f64, bool)]>,
) -> Vec<Figure> {
    // clipped as in other programs, so that one certain mistake does not cost infinity
    let losses = outcomes.iter().map(|o| o.probability.max(1e-15).recip().ln());
    let log_loss = losses.sum::<f64>() / outcomes.len() as f64;
    let mut figures =
        vec![figure(LOG_LOSS, Some(log_loss)), figure(ECE, expected_calibration_error(confident, BINS))];
    figures.extend(of_two.map(|scores| figure(ROC_AUC, roc_auc(scores))));
    figures
}

/// The log-odds of the class `positive` of two for each document, and whether the document is of that class.
fn scores_of(positive: ClassId, outcomes: &[HeldOutScore]) -> Vec<(f64, bool)> {
    outcomes.iter().map(|o| (o.log_odds_of(positive), o.class == positive)).collect()
}

/// The share of positives missed by the threshold that lets the share `fpr` of the negatives through.
fn missed_at(scores: &[(f64, bool)], fpr: f64) -> Option<f64> {
    caught_at_fpr(scores, fpr).map(|caught| 1.0 - caught)
}

/// The share of the positives (or of the negatives) on the wrong side of log-odds 0.
fn wrong_at_zero(scores: &[(f64, bool)], positive: bool) -> Option<f64> {
    let of_class = || scores.iter().filter(|(_, is_positive)| *is_positive == positive);
    let wrong = of_class().filter(|(score, _)| (*score > 0.0) != positive).count();
    let all = of_class().count();
    (all > 0).then(|| wrong as f64 / all as f64)
}
