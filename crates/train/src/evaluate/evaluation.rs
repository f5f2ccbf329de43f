//! Measures how good verdicts, rankings and probabilities are.

use tamis_model::Interval;
use tamis_model::metrics::{
    ConfusionMatrix, bootstrap_interval, brier, caught_at_fpr, expected_calibration_error, lam_percent,
    log_loss, one_minus_roc_auc_percent, roc_auc,
};
use tamis_model::{ClassId, Classes};
use tamis_store::config::labels::positive_class;

use crate::evaluate::cross_validation::HeldOutScore;
use crate::evaluate::curves::{
    LogOddsBin, OperatingPoint, ReliabilityBin, log_odds_bins, operating_points, reliability,
};
use crate::evaluate::measure::{
    ACCURACY, ACCURACY_AT_0, BRIER, ECE, FNR, FNR_AT_0, FPR, FPR_AT_0, LAM, LOG_LOSS, MACRO_F1, MISSED_AT_01,
    MISSED_AT_1, MISSED_AT_05, Measure, ONE_MINUS_ROCA, ROC_AUC,
};

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
/// options.decision.cost = Some(1.0); // by default, two texts are too few to call anything spam
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
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Evaluation {
    /// Documents by true and predicted class.
    pub confusion: ConfusionMatrix,
    /// How often labels are right; then, for two classes of which one is spam, how well spam was found, otherwise how
    /// far the probabilities of labels can be trusted.
    pub figures: Vec<Figure>,
    /// For two classes, the cost of thresholds that call only few negatives positive; otherwise empty.
    pub operating_points: Vec<OperatingPoint>,
    /// How reliable probabilities are: those of spam in a spam filter, otherwise those of the likeliest class.
    pub reliability: Vec<ReliabilityBin>,
    /// Documents by log-odds: those of spam in a spam filter, otherwise those of the likeliest class.
    pub log_odds: Vec<LogOddsBin>,
}

/// A figure of an [`Evaluation`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Figure {
    /// What it measures.
    pub measure: Measure,
    /// The class that it is about finding; `None` if it is about all.
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
            (Some(spam), Some(scores)) => (of_detection(spam, scores, &confusion, seed), scores),
            _ => (of_labels(outcomes, &confident, of_two.as_deref()), &confident),
        };
        Evaluation {
            figures: [of_verdicts(&confusion), of_scores].concat(),
            confusion,
            operating_points: of_two.as_deref().map_or_else(Vec::new, operating_points),
            reliability: reliability(log_odds),
            log_odds: log_odds_bins(log_odds),
        }
    }

    /// The value of a figure by its key.
    pub fn figure(&self, key: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.measure.key == key)?.value
    }
}

fn figure(measure: Measure, value: Option<f64>) -> Figure {
    Figure { measure, class: None, value, interval: None }
}

/// Measures how often labels are right.
fn of_verdicts(confusion: &ConfusionMatrix) -> Vec<Figure> {
    vec![figure(ACCURACY, Some(confusion.accuracy())), figure(MACRO_F1, Some(confusion.macro_f1()))]
}

/// Measures how well the class `positive` of two was found.
fn of_detection(
    positive: ClassId,
    scores: &[(f64, bool)],
    confusion: &ConfusionMatrix,
    seed: u64,
) -> Vec<Figure> {
    let resampled = |measure, statistic: fn(&[_]) -> _| resampled(measure, scores, statistic, seed);
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

/// Computes a figure and its bootstrap interval.
fn resampled(
    measure: Measure,
    scores: &[(f64, bool)],
    statistic: impl Fn(&[(f64, bool)]) -> Option<f64> + Sync,
    seed: u64,
) -> Figure {
    let of_sample = |sample: &[usize]| statistic(&sample.iter().map(|i| scores[*i]).collect::<Vec<_>>());
    let interval = bootstrap_interval(scores.len(), seed, ROUNDS, of_sample);
    Figure { interval, ..figure(measure, statistic(scores)) }
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
