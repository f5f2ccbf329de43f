//! Confidence intervals: of a share (Clopper-Pearson, Wilson), thresholds for a false-positive rate, bootstrap.

use std::fmt;

use rayon::prelude::*;
use serde::Serialize;

use crate::numbers::{SplitMix64, ln_gamma, scramble};

/// A confidence interval, both ends included. It is serialized as an array of both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "[f64; 2]")]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl From<Interval> for [f64; 2] {
    fn from(Interval { low, high }: Interval) -> Self {
        [low, high]
    }
}

/// The exact two-sided (Clopper-Pearson) confidence interval of a share, given `k` successes in `n` trials.
///
/// `confidence` (such as 0.95) is the minimum probability that the interval contains the true share. Without trials, or
/// with a confidence outside (0, 1), the interval is 0 to 1; `k` above `n` counts as `n`.
///
/// Source: Clopper and Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the
/// Binomial" (1934), by quantiles of the beta distribution.
///
/// ```
/// use tamis_model::clopper_pearson;
///
/// let share = clopper_pearson(5, 10, 0.95);
/// assert!((share.low - 0.1871).abs() < 1e-4 && (share.high - 0.8129).abs() < 1e-4);
/// ```
pub fn clopper_pearson(k: u64, n: u64, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    // by symmetry: the lower limit of k is one minus the upper limit of n - k
    Interval { low: 1.0 - upper(n.saturating_sub(k), n, tail), high: upper(k, n, tail) }
}

/// The exact one-sided upper confidence limit of a share, given `k` successes in `n` trials: the true share is above it
/// with a probability of at most 1 - `confidence`. Otherwise as [`clopper_pearson`].
///
/// ```
/// use tamis_model::clopper_pearson_upper;
///
/// // 2,995 ham without an error: at most one in a thousand is wrong, 95 % sure
/// let limit = clopper_pearson_upper(0, 2_995, 0.95);
/// assert!(0.0009997 < limit && limit <= 0.001);
/// ```
pub fn clopper_pearson_upper(k: u64, n: u64, confidence: f64) -> f64 {
    upper(k, n, 1.0 - confidence)
}

/// The 95 % Wilson score interval of a share, given `k` successes in `n` trials. On average its coverage is closer to
/// 95 % than that of the exact interval, which is wider, so it suits charts. Without trials, the interval is 0 to 1;
/// `k` above `n` counts as `n`.
///
/// Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
///
/// ```
/// use tamis_model::wilson;
///
/// let share = wilson(9, 10);
/// assert!((share.low - 0.5958).abs() < 1e-4 && (share.high - 0.9821).abs() < 1e-4);
/// ```
pub fn wilson(k: u64, n: u64) -> Interval {
    /// The 97.5th percentile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (share, n) = (k.min(n) as f64 / n as f64, n as f64);
    let middle = share + Z * Z / (2.0 * n);
    let margin = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + Z * Z / n;
    // exact at the ends, where rounding would leave a remainder
    let low = if share == 0.0 { 0.0 } else { ((middle - margin) / whole).max(0.0) };
    let high = if share == 1.0 { 1.0 } else { ((middle + margin) / whole).min(1.0) };
    Interval { low, high }
}

/// The share p with P(at most k successes in n) = `tail`: I_p(k + 1, n - k) = 1 - tail.
fn upper(k: u64, n: u64, tail: f64) -> f64 {
    if k >= n || !(tail > 0.0 && tail < 1.0) {
        return 1.0;
    }
    let (a, b) = (k as f64 + 1.0, (n - k) as f64);
    let (mut low, mut high) = (0.0, 1.0);
    // bisect down to adjacent numbers
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if incomplete_beta(middle, a, b) < 1.0 - tail { low = middle } else { high = middle }
    }
}

/// The regularised incomplete beta function I_x(a, b), 0 < x < 1, by its continued fraction (NIST Digital
/// Library of Mathematical Functions, 8.17.22) on the side where that converges fast.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    log_front.exp() / (a * beta_fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |y: f64| if y.abs() < 1e-300 { 1e-300 } else { y };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    // takes about as many steps as the square root of the larger of a and b
    for i in 1..100_000 {
        let m = f64::from(i / 2);
        let numerator = match i % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / away_from_zero(1.0 + numerator * d);
        c = away_from_zero(1.0 + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The lowest threshold that keeps the false-positive rate (ham called spam) at or below `max_fpr` with 95 %
/// confidence. Scores above it are spam.
///
/// The scores must be of ham that was not used in training. At most k of them exceed the threshold, where k is the
/// largest number whose [`clopper_pearson_upper`] limit is at most `max_fpr`; the plain quantile would promise too
/// much. NaN counts as the highest score.
///
/// # Errors
/// Too little ham to guarantee the rate even without a false positive, or a rate that is not between 0 and 1.
///
/// ```
/// use tamis_model::threshold_for_fpr;
///
/// let ham: Vec<f64> = (0..1_000).map(f64::from).collect();
/// // 4 of 1,000 may exceed it: 0.91 % at most; 5 might be 1.05 %
/// assert_eq!(threshold_for_fpr(&ham, 0.01), Ok(995.0));
/// assert_eq!(threshold_for_fpr(&ham, 0.001).map_err(|e| e.expected), Err(2_995));
/// ```
pub fn threshold_for_fpr(ham_scores: &[f64], max_fpr: f64) -> Result<f64, TooFewNegatives> {
    const CONFIDENCE: f64 = 0.95;
    let got = ham_scores.len() as u64;
    // 1 - (1 - confidence)^(1/n) <= max_fpr, solved for n
    let is_share = max_fpr > 0.0 && max_fpr < 1.0;
    let expected = if is_share { ((1.0 - CONFIDENCE).ln() / (-max_fpr).ln_1p()).ceil() } else { f64::MAX };
    let expected = (expected as u64).max(1);
    if got < expected {
        return Err(TooFewNegatives { max_fpr, expected, got });
    }
    // limits grow with k; bisect for the largest k allowed
    let (mut allowed, mut refused) = (0, got);
    while refused - allowed > 1 {
        let k = allowed + (refused - allowed) / 2;
        if clopper_pearson_upper(k, got, CONFIDENCE) <= max_fpr { allowed = k } else { refused = k }
    }
    let high = |score: &f64| if score.is_nan() { f64::INFINITY } else { *score };
    let mut scores: Vec<f64> = ham_scores.iter().map(high).collect();
    // allowed < got, the number of scores
    let (_, threshold, _) = scores.select_nth_unstable_by(allowed as usize, |a, b| b.total_cmp(a));
    Ok(*threshold)
}

/// Too few negatives (ham) to guarantee a false-positive rate, even without a false positive.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TooFewNegatives {
    /// The maximum rate requested.
    pub max_fpr: f64,
    /// Ham documents needed; `u64::MAX` if no number suffices, as for a rate that is not between 0 and 1.
    pub expected: u64,
    /// Ham documents given.
    pub got: u64,
}

impl fmt::Display for TooFewNegatives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooFewNegatives { max_fpr, expected, got } = self;
        let percent = 100.0 * max_fpr;
        write!(f, "a false-positive rate of {percent} %: ")?;
        match *expected {
            u64::MAX => write!(f, "expected a rate above 0 and below 100 %"),
            _ => write!(f, "expected at least {expected} ham documents to be sure of it, got {got}"),
        }
    }
}

impl std::error::Error for TooFewNegatives {}

/// A 95 % confidence interval of a figure over `n` documents by the percentile bootstrap (Efron): the 2.5th and 97.5th
/// percentile of the figure on `rounds` samples of `n` documents, drawn with replacement. 1,000 rounds suffice.
///
/// `statistic` gets the sampled indices, each below `n`. Samples for which it returns `None` or NaN are skipped.
/// Returns `None` if all are skipped, or without documents or rounds. The same seed gives the same interval on any
/// number of threads.
///
/// ```
/// use tamis_model::Interval;
/// use tamis_model::metrics::{bootstrap_interval, roc_auc};
///
/// let scores: Vec<_> = (0..200).map(|i| (f64::from(i * 37 % 200 + i), i >= 100)).collect();
/// let auc = |sample: &[usize]| roc_auc(&sample.iter().map(|&i| scores[i]).collect::<Vec<_>>());
/// let Interval { low, high } = bootstrap_interval(scores.len(), 0, 500, auc).ok_or("documents")?;
/// assert!(low < 0.85 && 0.85 < high && high - low < 0.2);
/// # Ok::<(), &str>(())
/// ```
pub fn bootstrap_interval(
    n: usize,
    seed: u64,
    rounds: usize,
    statistic: impl Fn(&[usize]) -> Option<f64> + Sync,
) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let draw = |sample: &mut Vec<usize>, round: usize| {
        let mut random = SplitMix64::new(scramble(seed ^ scramble(round as u64)));
        sample.clear();
        sample.extend((0..n).map(|_| random.below(n)));
        statistic(sample).filter(|figure| !figure.is_nan())
    };
    let figures = (0..rounds).into_par_iter().map_init(Vec::new, draw);
    let mut figures: Vec<f64> = figures.flatten().collect();
    figures.sort_unstable_by(f64::total_cmp);
    // nearest-rank percentile
    let percentile =
        |p: f64| figures.get((p * (figures.len().saturating_sub(1)) as f64).round() as usize).copied();
    Some(Interval { low: percentile(0.025)?, high: percentile(0.975)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-10 * b.abs().max(1e-3)
    }

    #[test]
    fn limits_in_closed_form() {
        for n in [1, 2, 10, 597, 2_995, 1_000_000] {
            let none = 1.0 - 0.05_f64.powf(1.0 / n as f64);
            assert!(close(clopper_pearson_upper(0, n, 0.95), none), "{n}");
            assert!(close(clopper_pearson(n, n, 0.9).low, 1.0 - none), "{n}");
        }
        assert_eq!(clopper_pearson_upper(3, 3, 0.95), 1.0);
        assert_eq!(clopper_pearson(0, 7, 0.95).low, 0.0);
        for odd in [clopper_pearson(0, 0, 0.95), clopper_pearson(1, 2, 1.0), clopper_pearson(1, 2, f64::NAN)]
        {
            assert_eq!(odd, Interval { low: 0.0, high: 1.0 });
        }
        assert_eq!(clopper_pearson(9, 3, 0.95), clopper_pearson(3, 3, 0.95));
    }

    #[test]
    fn limits_add_up_to_the_tail() {
        // the sum of the binomial probabilities up to k, term by term
        for (k, n) in [(1_u64, 10_u64), (4, 1_000), (30, 60), (7, 2_087), (59, 60)] {
            let p = clopper_pearson_upper(k, n, 0.95);
            let mut term = (n as f64 * (-p).ln_1p()).exp();
            let mut sum = 0.0;
            for i in 0..=k {
                sum += term;
                term *= (n - i) as f64 / (i as f64 + 1.0) * p / (1.0 - p);
            }
            assert!((sum - 0.05).abs() < 1e-10, "{k} of {n}: {sum}");
        }
    }

    #[test]
    fn wilson_solves_its_equation() {
        // the ends are the shares p whose score test has the value z: |k/n - p| = z sqrt(p (1 - p) / n)
        for (k, n) in [(1, 10), (9, 10), (50, 100), (3, 4_000), (3_999, 4_000)] {
            let Interval { low, high } = wilson(k, n);
            let share = k as f64 / n as f64;
            for p in [low, high] {
                let z = (share - p).abs() / (p * (1.0 - p) / n as f64).sqrt();
                assert!((z - 1.959_963_984_540_054).abs() < 1e-6, "{k} of {n}: {z}");
            }
        }
        assert_eq!(wilson(0, 0), Interval { low: 0.0, high: 1.0 });
        assert_eq!((wilson(0, 7).low, wilson(7, 7).high), (0.0, 1.0));
        assert_eq!(wilson(9, 3), wilson(3, 3));
    }

    #[test]
    fn thresholds_need_ham() {
        let ham: Vec<f64> = (0..2_995).map(|i| f64::from(i % 2_900)).collect();
        assert_eq!(threshold_for_fpr(&ham, 0.001), Ok(2_899.0));
        let error = threshold_for_fpr(&ham[1..], 0.001).unwrap_err();
        assert_eq!((error.expected, error.got), (2_995, 2_994));
        assert_eq!(
            error.to_string(),
            "a false-positive rate of 0.1 %: expected at least 2995 ham documents to be sure of it, got 2994"
        );
        assert!(threshold_for_fpr(&ham[..598], 0.005).is_ok());
        assert_eq!(threshold_for_fpr(&[], 0.5).map_err(|e| e.got), Err(0));
        assert_eq!(threshold_for_fpr(&ham[..597], 0.005).map_err(|e| e.expected), Err(598));
        for never in [0.0, -1.0, 1.0, 2.0, f64::NAN] {
            assert_eq!(threshold_for_fpr(&ham, never).map_err(|e| e.expected), Err(u64::MAX));
        }
    }

    #[test]
    fn threshold_is_the_lowest() {
        for n in [100, 700, 3_333] {
            let ham: Vec<f64> = (0..n).map(|i| f64::from(i * 7_919 % n)).collect();
            let threshold = threshold_for_fpr(&ham, 0.05).unwrap();
            let above = |t: f64| ham.iter().filter(|s| **s > t).count() as u64;
            assert!(clopper_pearson_upper(above(threshold), n as u64, 0.95) <= 0.05);
            assert!(clopper_pearson_upper(above(threshold) + 1, n as u64, 0.95) > 0.05);
            assert!(ham.contains(&threshold));
        }
        assert_eq!(threshold_for_fpr(&[f64::NAN; 100], 0.05), Ok(f64::INFINITY));
    }

    fn mean(sample: &[usize]) -> Option<f64> {
        Some(sample.iter().sum::<usize>() as f64 / sample.len() as f64)
    }

    #[test]
    fn width_is_that_of_the_mean() {
        // numbers 0 to 999: deviation 288.7, of their mean 9.13
        let Interval { low, high } = bootstrap_interval(1_000, 1, 2_000, mean).unwrap();
        assert!((low - (499.5 - 1.96 * 9.13)).abs() < 2.0 && (high - (499.5 + 1.96 * 9.13)).abs() < 2.0);
    }

    #[test]
    fn threads_make_no_difference() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bootstrap_interval(50, 3, 100, mean))
        };
        assert_eq!(with(1), with(8));
        assert_ne!(with(1), bootstrap_interval(50, 4, 100, mean));
    }

    #[test]
    fn bootstrap_of_nothing() {
        assert_eq!(bootstrap_interval(0, 0, 10, mean), None);
        assert_eq!(bootstrap_interval(5, 0, 0, mean), None);
        assert_eq!(bootstrap_interval(5, 0, 10, |_| None), None);
        assert_eq!(bootstrap_interval(5, 0, 10, |_| Some(f64::NAN)), None);
        let sometimes = |sample: &[usize]| sample.contains(&0).then_some(1.0);
        assert_eq!(bootstrap_interval(5, 0, 100, sometimes), Some(Interval { low: 1.0, high: 1.0 }));
    }
}
