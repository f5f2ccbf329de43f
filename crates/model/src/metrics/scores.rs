//! Metrics of scores: rankings (ROC AUC, detection at a false-positive rate, LAM) and probabilities (log loss, Brier
//! score, calibration error).

use crate::numbers::{sigmoid, softplus};

/// The area under the ROC curve (AUC): the probability that a positive document scores higher than a negative one;
/// equal scores count half (the Mann-Whitney statistic). `true` marks positives.
///
/// `None` without documents of both classes, or if a score is NaN.
///
/// ```
/// use tamis_model::metrics::roc_auc;
///
/// assert_eq!(roc_auc(&[(0.9, true), (0.4, true), (0.4, false), (0.1, false)]), Some(0.875));
/// assert_eq!(roc_auc(&[(0.9, true)]), None);
/// ```
pub fn roc_auc(scores: &[(f64, bool)]) -> Option<f64> {
    let (wins, losses) = half_pairs(scores)?;
    Some(wins as f64 / (wins + losses) as f64)
}

/// 100 (1 - [`roc_auc`]), the TREC spam track's measure: 0 is perfect. Computed from the misordered pairs, so it is
/// exact near 0. `None` without positives or without negatives.
pub fn one_minus_roc_auc_percent(scores: &[(f64, bool)]) -> Option<f64> {
    let (wins, losses) = half_pairs(scores)?;
    Some(100.0 * losses as f64 / (wins + losses) as f64)
}

/// The average precision: the mean, over the positive documents, of the precision among documents that score at least
/// as high. Unlike the area under the ROC curve, it depends on how rare positives are.
///
/// `None` without positives, or if a score is NaN.
///
/// ```
/// use tamis_model::metrics::average_precision;
///
/// let scores = [(0.1, false), (0.4, false), (0.35, true), (0.8, true)];
/// assert!((average_precision(&scores).unwrap() - 0.8333333).abs() < 1e-6);
/// assert_eq!(average_precision(&[(0.9, false)]), None);
/// ```
pub fn average_precision(scores: &[(f64, bool)]) -> Option<f64> {
    let mut ranked = scores.to_vec();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scores.iter().filter(|(_, positive)| *positive).count();
    if positives == 0 || scores.iter().any(|(score, _)| score.is_nan()) {
        return None;
    }
    let (mut n, mut found, mut sum) = (0, 0, 0.0);
    for equal in ranked.chunk_by(|a, b| a.0 == b.0) {
        let new = equal.iter().filter(|(_, positive)| *positive).count();
        (n, found) = (n + equal.len(), found + new);
        sum += new as f64 * found as f64 / n as f64;
    }
    Some(sum / positives as f64)
}

/// The true-positive rate at a false-positive rate `fpr`. The threshold is read off the negatives themselves,
/// `floor(fpr n)` of which may exceed it. Optimistic, for comparing rankings;
/// [`threshold_for_fpr`](crate::threshold_for_fpr) gives a threshold with a guarantee.
///
/// `None` without documents of both classes, with a score that is NaN, or for a share outside 0 to 1.
///
/// ```
/// use tamis_model::metrics::caught_at_fpr;
///
/// let scores = [(0.9, true), (0.4, true), (0.5, false), (0.1, false)];
/// assert_eq!(caught_at_fpr(&scores, 0.0), Some(0.5));
/// assert_eq!(caught_at_fpr(&scores, 0.5), Some(1.0));
/// ```
pub fn caught_at_fpr(scores: &[(f64, bool)], fpr: f64) -> Option<f64> {
    let class =
        |wanted| scores.iter().filter(move |(_, positive)| *positive == wanted).map(|(score, _)| *score);
    let mut negatives: Vec<f64> = class(false).collect();
    let positives = class(true).count();
    let nan = scores.iter().any(|(score, _)| score.is_nan());
    if nan || negatives.is_empty() || positives == 0 || !(0.0..=1.0).contains(&fpr) {
        return None;
    }
    negatives.sort_unstable_by(|a, b| b.total_cmp(a));
    let allowed = (fpr * negatives.len() as f64) as usize;
    let caught = match negatives.get(allowed) {
        Some(threshold) => class(true).filter(|score| score > threshold).count(),
        None => positives,
    };
    Some(caught as f64 / positives as f64)
}

/// A point of a ROC curve: the counts if documents with at least this score are called positive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RocPoint {
    /// The lowest score that is called positive.
    pub threshold: f64,
    /// Negatives called positive.
    pub false_positives: u64,
    /// Positives called positive.
    pub true_positives: u64,
}

/// The ROC curve: one point for each distinct score, the highest first, so that both counts grow. NaN counts as the
/// highest score.
///
/// ```
/// use tamis_model::metrics::roc_curve;
///
/// let points = roc_curve(&[(0.9, true), (0.4, true), (0.4, false), (0.1, false)]);
/// let counts: Vec<_> = points.iter().map(|p| (p.threshold, p.false_positives, p.true_positives)).collect();
/// assert_eq!(counts, [(0.9, 0, 1), (0.4, 1, 2), (0.1, 2, 2)]);
/// ```
pub fn roc_curve(scores: &[(f64, bool)]) -> Vec<RocPoint> {
    let mut sorted = scores.to_vec();
    let high = |score: f64| if score.is_nan() { f64::INFINITY } else { score };
    sorted.sort_unstable_by(|a, b| high(b.0).total_cmp(&high(a.0)));
    let (mut false_positives, mut true_positives) = (0, 0);
    let of_equal = |equal: &[(f64, bool)]| {
        let positives = equal.iter().filter(|(_, positive)| *positive).count() as u64;
        true_positives += positives;
        false_positives += equal.len() as u64 - positives;
        RocPoint { threshold: high(equal[0].0), false_positives, true_positives }
    };
    sorted.chunk_by(|a, b| high(a.0) == high(b.0)).map(of_equal).collect()
}

/// The TREC spam track's logistic average misclassification rate, in percent: the mean of both classes' error rates on
/// the logit scale, with each rate `(errors + 0.5) / (documents + 1)`. Moving the threshold hardly changes it.
///
/// `None` without documents of both classes.
///
/// Source: Cormack and Lynam, "TREC 2005 Spam Track Overview"; smoothing as in its evaluation tool.
///
/// ```
/// use tamis_model::metrics::lam_percent;
///
/// // 1 of 2,087 ham called spam, 225 of 937 spam let through
/// let lam = lam_percent(1, 2_087, 225, 937).ok_or("both classes")?;
/// assert!((lam - 1.49).abs() < 0.005);
/// # Ok::<(), &str>(())
/// ```
pub fn lam_percent(
    false_positives: u64,
    negatives: u64,
    false_negatives: u64,
    positives: u64,
) -> Option<f64> {
    let logit = |errors: u64, documents: u64| {
        let (errors, documents) = (errors.min(documents) as f64, documents as f64);
        (errors + 0.5).ln() - (documents - errors + 0.5).ln()
    };
    let mean = (logit(false_positives, negatives) + logit(false_negatives, positives)) / 2.0;
    (negatives > 0 && positives > 0).then(|| 100.0 * sigmoid(mean))
}

/// Twice the number of positive-negative pairs in the right and in the wrong order; ties count one each.
fn half_pairs(scores: &[(f64, bool)]) -> Option<(u128, u128)> {
    if scores.iter().any(|(score, _)| score.is_nan()) {
        return None;
    }
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let positives = scores.iter().filter(|(_, positive)| *positive).count() as u128;
    let negatives = scores.len() as u128 - positives;
    let (mut wins, mut below) = (0, 0);
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let p = equal.iter().filter(|(_, positive)| *positive).count() as u128;
        let n = equal.len() as u128 - p;
        wins += p * (2 * below + n);
        below += n;
    }
    let all = 2 * positives * negatives;
    (all > 0).then(|| (wins, all - wins))
}

/// The mean logarithmic loss in nats, from log-odds of the positive class: 0 is perfect, ln 2 is a coin toss. Computed
/// from log-odds it needs no clipping; an infinitely sure error costs infinity.
///
/// `None` without documents or with log-odds that are NaN.
///
/// ```
/// use tamis_model::metrics::log_loss;
///
/// assert_eq!(log_loss(&[(0.0, true), (0.0, false)]), Some(2f64.ln()));
/// assert_eq!(log_loss(&[(800.0, false)]), Some(800.0));
/// ```
pub fn log_loss(log_odds: &[(f64, bool)]) -> Option<f64> {
    mean(log_odds, |x, positive| softplus(if positive { -x } else { x }))
}

/// The Brier score: the mean squared error of the probabilities, from log-odds of the positive class (nats). 0 is
/// perfect, 0.25 is a coin toss (Brier, "Verification of Forecasts Expressed in Terms of Probability", 1950).
///
/// `None` without documents or with log-odds that are NaN.
///
/// ```
/// use tamis_model::metrics::brier;
///
/// assert_eq!(brier(&[(0.0, true), (0.0, false)]), Some(0.25));
/// ```
pub fn brier(log_odds: &[(f64, bool)]) -> Option<f64> {
    // the error of a positive is 1 - p, which is the probability of -x
    mean(log_odds, |x, positive| sigmoid(if positive { -x } else { x }).powi(2))
}

/// The expected calibration error (ECE): documents are sorted into `bins` bins of equal width by their probability (15
/// is usual), and the distance between mean probability and share of positives is averaged over the documents. 0 is
/// perfect.
///
/// `None` without documents or bins, or with log-odds that are NaN.
///
/// Source: Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning"
/// (2015).
///
/// ```
/// use tamis_model::metrics::expected_calibration_error;
///
/// let sure = 9f64.ln(); // says 0.9, is right three times in four
/// let log_odds = [(sure, true), (sure, true), (sure, true), (sure, false)];
/// let error = expected_calibration_error(&log_odds, 15).ok_or("documents")?;
/// assert!((error - 0.15).abs() < 1e-12);
/// # Ok::<(), &str>(())
/// ```
pub fn expected_calibration_error(log_odds: &[(f64, bool)], bins: usize) -> Option<f64> {
    if bins == 0 || log_odds.is_empty() || log_odds.iter().any(|(x, _)| x.is_nan()) {
        return None;
    }
    let bin = |p: f64| ((p * bins as f64) as usize).min(bins - 1);
    let errors = log_odds.iter().map(|&(x, positive)| (sigmoid(x), f64::from(u8::from(positive))));
    let mut errors: Vec<_> = errors.map(|(p, truth)| (bin(p), p - truth)).collect();
    errors.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of_bin = |bin: &[(usize, f64)]| bin.iter().map(|(_, error)| error).sum::<f64>().abs();
    Some(errors.chunk_by(|a, b| a.0 == b.0).map(of_bin).sum::<f64>() / log_odds.len() as f64)
}

fn mean(log_odds: &[(f64, bool)], loss: impl Fn(f64, bool) -> f64) -> Option<f64> {
    if log_odds.is_empty() || log_odds.iter().any(|(x, _)| x.is_nan()) {
        return None;
    }
    Some(log_odds.iter().map(|&(x, positive)| loss(x, positive)).sum::<f64>() / log_odds.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_at_the_ends() {
        assert_eq!(roc_auc(&[(1.0, true), (0.0, false)]), Some(1.0));
        assert_eq!(roc_auc(&[(0.0, true), (-0.0, false)]), Some(0.5));
        assert_eq!(one_minus_roc_auc_percent(&[(f64::INFINITY, false), (0.0, true)]), Some(100.0));
        assert_eq!(roc_auc(&[(f64::NAN, true), (0.0, false)]), None);
        assert_eq!(roc_auc(&[]), None);
    }

    #[test]
    fn the_area_under_the_curve_is_the_auc() {
        let score = |i: u32| (f64::from(i * 37 % 100 / 3), i.is_multiple_of(3));
        let scores: Vec<_> = (0..100).map(score).collect();
        let points = roc_curve(&scores);
        assert_eq!(points.last().map(|p| (p.false_positives, p.true_positives)), Some((66, 34)));
        let (mut area, mut before) = (0.0, (0, 0));
        for RocPoint { false_positives: x, true_positives: y, .. } in points {
            area += (x - before.0) as f64 * (y + before.1) as f64 / 2.0;
            before = (x, y);
        }
        assert!((area / (66.0 * 34.0) - roc_auc(&scores).unwrap()).abs() < 1e-12);
        assert_eq!(roc_curve(&[]), []);
        let odd = [(f64::NAN, false), (f64::INFINITY, true), (0.0, true), (-0.0, true)];
        assert_eq!(roc_curve(&odd).iter().map(|p| p.true_positives).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn caught_at_the_ends() {
        let scores = [(3.0, true), (2.0, true), (2.0, false), (1.0, true), (0.0, false)];
        assert_eq!(caught_at_fpr(&scores, 0.0), Some(1.0 / 3.0)); // equal scores are not above
        assert_eq!(caught_at_fpr(&scores, 0.49), Some(1.0 / 3.0));
        assert_eq!(caught_at_fpr(&scores, 0.5), Some(1.0));
        assert_eq!(caught_at_fpr(&[(f64::NEG_INFINITY, true), (0.0, false)], 1.0), Some(1.0));
        for bad in [-0.1, 1.1, f64::NAN] {
            assert_eq!(caught_at_fpr(&scores, bad), None);
        }
        assert_eq!(caught_at_fpr(&scores[..2], 0.1), None);
        assert_eq!(caught_at_fpr(&[(f64::NAN, true), (0.0, false)], 0.1), None);
    }

    #[test]
    fn lam_is_between_the_rates() {
        assert_eq!(lam_percent(0, 0, 1, 2), None);
        assert_eq!(lam_percent(1, 2, 0, 0), None);
        assert!((lam_percent(5, 10, 5, 10).unwrap() - 50.0).abs() < 1e-12);
        assert!(lam_percent(0, 1_000, 0, 1_000).unwrap() > 0.0);
        assert!(lam_percent(9, 3, 9, 3).unwrap() < 100.0);
    }

    const ENDS: [(f64, bool); 2] = [(f64::INFINITY, true), (f64::NEG_INFINITY, false)];

    #[test]
    fn probabilities_of_nothing() {
        for bad in [&[][..], &[(f64::NAN, true)]] {
            assert_eq!((log_loss(bad), brier(bad), expected_calibration_error(bad, 15)), (None, None, None));
        }
        assert_eq!(expected_calibration_error(&ENDS, 0), None);
    }

    #[test]
    fn probabilities_at_the_ends() {
        assert_eq!((log_loss(&ENDS), brier(&ENDS)), (Some(0.0), Some(0.0)));
        assert_eq!(expected_calibration_error(&ENDS, usize::MAX), Some(0.0));
        let wrong = ENDS.map(|(x, positive)| (x, !positive));
        assert_eq!((log_loss(&wrong), brier(&wrong)), (Some(f64::INFINITY), Some(1.0)));
        assert_eq!(expected_calibration_error(&wrong, 15), Some(1.0));
    }

    #[test]
    fn probabilities_by_hand() {
        let x = [(3f64.ln(), true), (3f64.ln(), false), (-(3f64.ln()), false)];
        let loss = -(0.75f64.ln() + 0.25f64.ln() + 0.75f64.ln()) / 3.0;
        assert!((log_loss(&x).unwrap() - loss).abs() < 1e-12);
        assert!((brier(&x).unwrap() - (0.0625 + 0.5625 + 0.0625) / 3.0).abs() < 1e-12);
        let two_bins = (0.5 + 0.25) / 3.0;
        assert!((expected_calibration_error(&x, 2).unwrap() - two_bins).abs() < 1e-12);
    }
}
