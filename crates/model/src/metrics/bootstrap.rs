//! Bootstrap confidence intervals.

use rayon::prelude::*;

use crate::metrics::binomial::Interval;
use crate::numbers::{SplitMix64, scramble};

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
    fn of_nothing() {
        assert_eq!(bootstrap_interval(0, 0, 10, mean), None);
        assert_eq!(bootstrap_interval(5, 0, 0, mean), None);
        assert_eq!(bootstrap_interval(5, 0, 10, |_| None), None);
        assert_eq!(bootstrap_interval(5, 0, 10, |_| Some(f64::NAN)), None);
        let sometimes = |sample: &[usize]| sample.contains(&0).then_some(1.0);
        assert_eq!(bootstrap_interval(5, 0, 100, sometimes), Some(Interval { low: 1.0, high: 1.0 }));
    }
}
