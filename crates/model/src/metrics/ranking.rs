//! Metrics of rankings: ROC AUC, detection at a false-positive rate, LAM.

use crate::numbers::sigmoid;

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
}
