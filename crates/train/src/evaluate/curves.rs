//! Data for the charts of an evaluation: operating points, reliability, log-odds and the learning curve.

use serde::Serialize;
use tamis_filter::score::verdict::sigmoid;
use tamis_model::{Interval, clopper_pearson_upper, wilson};

use crate::evaluate::validation::HeldOutScore;

/// Shares of negatives that operating points may let through: 1 to 500 in 10,000.
const RATES: [f64; 9] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05];

/// Maximum number of bins of log-odds, without the open ends; maximum number of steps of a learning curve.
const MOST_BINS: f64 = 40.0;
const MOST_STEPS: usize = 50;

/// A threshold between two classes and what it costs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct OperatingPoint {
    /// The share of the negatives that may be called positive.
    pub max_fpr: f64,
    /// The lowest threshold that keeps to this share on these documents, in nats: log-odds above it are positive.
    pub threshold: f64,
    /// Negatives called positive.
    pub false_positives: u64,
    /// The upper 95 % confidence limit of the false-positive rate (Clopper-Pearson).
    pub false_positive_limit: f64,
    /// Positives not called positive.
    pub missed: u64,
}

/// Documents whose probabilities round to the same tenth, and how many of them are positive.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ReliabilityBin {
    /// The lowest probability of the bin.
    pub low: f64,
    /// Where the next bin begins.
    pub high: f64,
    /// Documents in the bin.
    pub documents: u64,
    /// Of these, documents of the class that the probability is for.
    pub positives: u64,
    /// Their mean probability; 0 without documents.
    pub mean: f64,
    /// The 95 % interval of the share of positives (Wilson).
    pub interval: Interval,
}

/// Documents by their log-odds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct LogOddsBin {
    /// The lowest log-odds of the bin, in nats; minus infinity for the first bin.
    pub low: f64,
    /// Where the next bin begins; infinity for the last bin.
    pub high: f64,
    /// Documents that are not of the class the log-odds are for.
    pub negatives: u64,
    /// Documents that are of that class.
    pub positives: u64,
}

/// Successive documents of a prequential evaluation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct LearningStep {
    /// Documents learned by the end of the step.
    pub learned: u64,
    /// Documents of the step.
    pub documents: u64,
    /// Of these, documents with a wrong verdict.
    pub wrong: u64,
    /// Of these, documents left unsure.
    pub unsure: u64,
}

/// The cost of one threshold for each share of negatives that may be called positive. Empty without documents of both
/// classes, or if a score is NaN. `true` marks positives.
pub(crate) fn operating_points(scores: &[(f64, bool)]) -> Vec<OperatingPoint> {
    let class =
        |wanted| scores.iter().filter(move |(_, positive)| *positive == wanted).map(|(score, _)| *score);
    let [mut negatives, mut positives] = [false, true].map(|wanted| class(wanted).collect::<Vec<f64>>());
    if negatives.is_empty() || positives.is_empty() || scores.iter().any(|(score, _)| score.is_nan()) {
        return Vec::new();
    }
    [&mut negatives, &mut positives].into_iter().for_each(|scores| scores.sort_unstable_by(f64::total_cmp));
    let above =
        |sorted: &[f64], threshold| sorted.len() - sorted.partition_point(|score| *score <= threshold);
    let point = |max_fpr: f64| {
        // as in `caught_at_fpr`: the number of negatives that may exceed the threshold
        let allowed = (max_fpr * negatives.len() as f64) as usize;
        let threshold = negatives[negatives.len() - 1 - allowed];
        let false_positives = above(&negatives, threshold) as u64;
        OperatingPoint {
            max_fpr,
            threshold,
            false_positives,
            false_positive_limit: clopper_pearson_upper(false_positives, negatives.len() as u64, 0.95),
            missed: (positives.len() - above(&positives, threshold)) as u64,
        }
    };
    RATES.map(point).into()
}

/// Counts documents by probability, from their log-odds. Bins are centred on tenths, so that the bin of 0.9 shows how
/// reliable a probability of 0.9 is. Leaves out NaN.
pub(crate) fn reliability(log_odds: &[(f64, bool)]) -> Vec<ReliabilityBin> {
    let mut bins = [(0, 0, 0.0); 11];
    for (log_odds, is_positive) in log_odds.iter().filter(|(log_odds, _)| !log_odds.is_nan()) {
        let probability = sigmoid(*log_odds);
        let (documents, positives, sum) = &mut bins[(10.0 * probability).round() as usize];
        *documents += 1;
        *positives += u64::from(*is_positive);
        *sum += probability;
    }
    let bin = |(tenth, (documents, positives, sum)): (usize, (u64, u64, f64))| ReliabilityBin {
        low: (tenth as f64 / 10.0 - 0.05).max(0.0),
        high: (tenth as f64 / 10.0 + 0.05).min(1.0),
        documents,
        positives,
        mean: if documents > 0 { sum / documents as f64 } else { 0.0 },
        interval: wilson(positives, documents),
    };
    bins.into_iter().enumerate().map(bin).collect()
}

/// Counts documents by log-odds, in bins of equal width and an open bin at either end for about the outermost half
/// percent. Leaves out NaN.
pub(crate) fn log_odds_bins(log_odds: &[(f64, bool)]) -> Vec<LogOddsBin> {
    let mut sorted: Vec<_> = log_odds.iter().copied().filter(|(log_odds, _)| !log_odds.is_nan()).collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let finite: Vec<f64> = sorted.iter().map(|(log_odds, _)| *log_odds).filter(|x| x.is_finite()).collect();
    let (Some(last), tail) = (finite.len().checked_sub(1), finite.len() / 200) else { return Vec::new() };
    let (lowest, highest) = (finite[tail].min(0.0), finite[last - tail].max(0.0));
    let width = round_up((highest - lowest).max(1.0) / MOST_BINS);
    let edges = (lowest / width).floor() as i64..=(highest / width).ceil() as i64;
    let mut edges: Vec<f64> = edges.map(|edge| edge as f64 * width).collect();
    edges.push(f64::INFINITY);
    let (mut low, mut rest) = (f64::NEG_INFINITY, &sorted[..]);
    let bin = |high: f64| {
        let (inside, after) =
            rest.split_at(rest.partition_point(|(x, _)| *x < high || high == f64::INFINITY));
        let positives = inside.iter().filter(|(_, is_positive)| *is_positive).count();
        let bin = LogOddsBin {
            low,
            high,
            negatives: (inside.len() - positives) as u64,
            positives: positives as u64,
        };
        (low, rest) = (high, after);
        bin
    };
    edges.into_iter().map(bin).collect()
}

/// Rounds a number up to 1, 2 or 5 times a power of ten.
fn round_up(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|times| times * power)
        .into_iter()
        .find(|round| *round >= number)
        .unwrap_or(10.0 * power)
}

impl LearningStep {
    /// The learning curve of scores that are in the order in which their documents were learned: at most 50 steps. Each
    /// step has the same, round number of documents; the last may have fewer.
    ///
    /// ```
    /// use tamis_train::evaluate::{LearningStep, Prequential};
    /// use tamis_train::{Document, Kind, TrainOptions};
    ///
    /// let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["ham", "spam"])?;
    /// let mut outcomes = Vec::new();
    /// for (label, text) in [("spam", "cheap pills"), ("ham", "lunch at noon"), ("spam", "pills for you")] {
    ///     outcomes.push(online.next(label, Document::Text(text))?);
    /// }
    /// let steps = LearningStep::curve(&outcomes);
    /// assert_eq!((steps.len(), steps[2].learned, steps[2].wrong), (3, 3, 0));
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn curve(outcomes: &[HeldOutScore]) -> Vec<LearningStep> {
        let of_step = outcomes.len().div_ceil(MOST_STEPS).max(1);
        let of_step = round_up(of_step as f64) as usize;
        let mut learned = 0;
        let step = |outcomes: &[HeldOutScore]| {
            learned += outcomes.len() as u64;
            let count = |is: fn(&HeldOutScore) -> bool| outcomes.iter().filter(|o| is(o)).count() as u64;
            LearningStep {
                learned,
                documents: outcomes.len() as u64,
                wrong: count(|o| o.score.label.is_some_and(|label| label != o.class)),
                unsure: count(|o| o.score.label.is_none()),
            }
        };
        outcomes.chunks(of_step).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_model::metrics::caught_at_fpr;

    /// Log-odds of negatives around -3 and of positives around 3, which overlap.
    fn scores(n: u32) -> Vec<(f64, bool)> {
        let score = |i: u32| {
            let spread = f64::from(i * 7_919 % 1_009) / 1_009.0 - 0.5;
            (12.0 * spread.powi(3) * 8.0 + if i.is_multiple_of(3) { 3.0 } else { -3.0 }, i.is_multiple_of(3))
        };
        (0..n).map(score).collect()
    }

    #[test]
    fn operating_points_are_those_of_the_figures() {
        for n in [30, 3_000] {
            let scores = scores(n);
            let positives = scores.iter().filter(|(_, positive)| *positive).count() as f64;
            let points = operating_points(&scores);
            assert_eq!(points.len(), RATES.len());
            for point in points {
                let caught = caught_at_fpr(&scores, point.max_fpr).unwrap();
                let found = 1.0 - point.missed as f64 / positives;
                assert!((found - caught).abs() < 1e-12, "{point:?}");
                let negatives = f64::from(n) - positives;
                assert!(point.false_positives as f64 <= point.max_fpr * negatives);
                assert!(point.false_positive_limit > point.false_positives as f64 / negatives);
            }
        }
        assert_eq!(operating_points(&[(1.0, true)]), []);
        assert_eq!(operating_points(&[(1.0, true), (f64::NAN, false)]), []);
    }

    #[test]
    fn every_document_is_in_one_bin() {
        let mut scores = scores(3_000);
        scores.extend([(f64::INFINITY, true), (f64::NEG_INFINITY, false), (f64::INFINITY, false)]);
        let bins = reliability(&scores);
        assert_eq!(bins.iter().map(|bin| bin.documents).sum::<u64>(), 3_003);
        for bin in bins.iter().filter(|bin| bin.documents > 0) {
            assert!(bin.low <= bin.mean && bin.mean <= bin.high, "{bin:?}");
        }
        let bins = log_odds_bins(&scores);
        assert!(bins.len() <= 42, "{} bins", bins.len());
        assert_eq!(bins.iter().map(|bin| bin.negatives).sum::<u64>(), 2_002);
        assert_eq!(bins.iter().map(|bin| bin.positives).sum::<u64>(), 1_001);
        assert!(bins.iter().any(|bin| bin.low == 0.0), "no bin goes over zero");
        assert_eq!((bins[0].low, bins[bins.len() - 1].high), (f64::NEG_INFINITY, f64::INFINITY));
        for bin in &bins {
            let inside =
                |(x, _): &&(f64, bool)| *x >= bin.low && (*x < bin.high || bin.high == f64::INFINITY);
            assert_eq!(scores.iter().filter(inside).count() as u64, bin.negatives + bin.positives);
        }
        assert_eq!(log_odds_bins(&[(f64::NAN, true)]), []);
        assert_eq!(log_odds_bins(&[(0.0, true)]).iter().map(|bin| bin.positives).sum::<u64>(), 1);
    }

    #[test]
    fn widths_are_round() {
        for (number, round) in
            [(0.025, 0.05), (0.4, 0.5), (1.0, 1.0), (2.1, 5.0), (7.0, 10.0), (101.0, 200.0)]
        {
            assert!((round_up(number) / round - 1.0).abs() < 1e-12, "{number}");
        }
    }
}
