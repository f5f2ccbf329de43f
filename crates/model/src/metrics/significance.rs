//! Significance tests: of two classifiers on the same documents, and of two samples.

use std::f64::consts::LN_2;

use crate::numbers::{gamma_upper, ln_gamma};

/// The p-value of McNemar's exact test, two-sided: the probability that two equally good classifiers differ at least
/// this much on the documents that only one of them gets right.
///
/// `only_first` is the number of documents that the first classifier gets right and the second wrong, `only_second` the
/// reverse. Documents that both get right or both get wrong carry no information. The p-value is 1 without documents.
///
/// Source: McNemar, "Note on the sampling error of the difference between correlated proportions or percentages"
/// (1947), with the binomial distribution in place of its approximation.
///
/// ```
/// use tamis_model::metrics::mcnemar_exact;
///
/// // ten coins, at most one of which falls on its rarer side
/// assert!((mcnemar_exact(1, 9) - 2.0 * 11.0 / 1_024.0).abs() < 1e-12);
/// assert_eq!(mcnemar_exact(5, 5), 1.0);
/// ```
pub fn mcnemar_exact(only_first: u64, only_second: u64) -> f64 {
    let (fewer, n) = (only_first.min(only_second), only_first.saturating_add(only_second));
    if only_first == only_second {
        return 1.0;
    }
    // the tail of the binomial distribution, as multiples of its largest term
    let (mut term, mut sum, mut k) = (1.0, 0.0, fewer);
    loop {
        sum += term;
        if k == 0 || term < sum * f64::EPSILON {
            break;
        }
        term *= k as f64 / (n - k + 1) as f64;
        k -= 1;
    }
    let factorial = |n: u64| ln_gamma(n as f64 + 1.0);
    let largest = factorial(n) - factorial(fewer) - factorial(n - fewer) - n as f64 * LN_2;
    (2.0 * largest.exp() * sum).min(1.0)
}

/// The result of [`smirnov_lower`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Smirnov {
    /// D: the largest difference between the two distribution functions, 0 to 1.
    pub d: f64,
    /// The probability of a difference at least as large between two samples of the same distribution.
    pub p: f64,
}

/// The one-sided Kolmogorov-Smirnov test of whether the numbers of `a` are lower than those of `b`: D is the largest
/// excess of the distribution function of `a` over that of `b`. With ties p is too high, never too low. It is 1 if a
/// sample is empty.
///
/// Source: Smirnov (1939); the p-value by the approximation of Hodges, "The significance probability of the Smirnov
/// two-sample test" (1958), equation 5.3, which is close from samples of a few dozen numbers on.
///
/// ```
/// use tamis_model::metrics::smirnov_lower;
///
/// let sample = |low: u32| (low..low + 50).map(f64::from).collect::<Vec<_>>();
/// assert!(smirnov_lower(&sample(0), &sample(20)).p < 0.001);
/// assert_eq!(smirnov_lower(&sample(20), &sample(0)).d, 0.0);
/// ```
pub fn smirnov_lower(a: &[f64], b: &[f64]) -> Smirnov {
    let sorted = |sample: &[f64]| {
        let mut sample = sample.to_vec();
        sample.sort_by(f64::total_cmp);
        sample
    };
    let ([a, b], [n, m]) = ([sorted(a), sorted(b)], [a.len() as f64, b.len() as f64]);
    if a.is_empty() || b.is_empty() {
        return Smirnov { d: 0.0, p: 1.0 };
    }
    let (mut i, mut j, mut d) = (0, 0, 0.0_f64);
    while let Some(x) = a.get(i) {
        i += a[i..].partition_point(|y| y.total_cmp(x).is_le());
        j += b[j..].partition_point(|y| y.total_cmp(x).is_le());
        d = d.max(i as f64 / n - j as f64 / m);
    }
    let z = d * (n * m / (n + m)).sqrt();
    let correction = 2.0 / 3.0 * z * (n.max(m) + 2.0 * n.min(m)) / (n * m * (n + m)).sqrt();
    Smirnov { d, p: (-2.0 * z * z - correction).exp() }
}

/// The result of [`chi_square_two_samples`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct ChiSquare {
    /// The sum of squared differences from the expected numbers, each divided by the expected number.
    pub statistic: f64,
    /// Degrees of freedom: the cells that were compared, minus one.
    pub degrees: usize,
    /// The probability of a sum at least as large for two samples of the same distribution.
    pub p: f64,
}

/// Fewest members that a cell of either sample is expected to have: with fewer, the chi-square distribution does not fit.
const LEAST_EXPECTED: f64 = 5.0;

/// Pearson's chi-square test of whether two samples have the same shares of each kind, given the number of members of
/// each kind. Kinds with fewer than five expected members in a sample are one cell together, with the rarest others if
/// it is still too small. The p-value is 1 if fewer than two cells are left.
///
/// ```
/// use tamis_model::metrics::chi_square_two_samples;
///
/// let test = chi_square_two_samples(&[30, 10], &[10, 30]);
/// assert_eq!((test.statistic, test.degrees), (20.0, 1));
/// assert!(test.p < 0.0001);
/// assert_eq!(chi_square_two_samples(&[3, 1], &[1, 3]).p, 1.0);
/// ```
pub fn chi_square_two_samples(a: &[u64], b: &[u64]) -> ChiSquare {
    let mut cells: Vec<[u64; 2]> = a.iter().zip(b).map(|(a, b)| [*a, *b]).collect();
    cells.sort_by_key(|[a, b]| a + b);
    let sum = |cells: &[[u64; 2]]| cells.iter().fold([0, 0], |[n, m], [a, b]| [n + a, m + b]);
    let totals = sum(&cells).map(|n| n as f64);
    let share = |cell: [u64; 2]| (cell[0] + cell[1]) as f64 / (totals[0] + totals[1]);
    let is_rare = |cell: [u64; 2]| share(cell) * totals[0].min(totals[1]) < LEAST_EXPECTED;
    let mut rare = cells.iter().take_while(|cell| is_rare(**cell)).count();
    while rare > 0 && rare < cells.len() && is_rare(sum(&cells[..rare])) {
        rare += 1;
    }
    let pooled = (rare > 0).then(|| sum(&cells[..rare]));
    let kept: Vec<_> = pooled.into_iter().chain(cells[rare..].iter().copied()).collect();
    if kept.len() < 2 || totals.contains(&0.0) {
        return ChiSquare { statistic: 0.0, degrees: 0, p: 1.0 };
    }
    let part = |cell: [u64; 2], sample: usize| {
        let expected = share(cell) * totals[sample];
        (cell[sample] as f64 - expected).powi(2) / expected
    };
    let statistic = kept.iter().map(|cell| part(*cell, 0) + part(*cell, 1)).sum();
    let degrees = kept.len() - 1;
    ChiSquare { statistic, degrees, p: gamma_upper(degrees as f64 / 2.0, statistic / 2.0) }
}

/// The population stability index of the shares of each kind in two samples: the sum of the differences of the shares
/// times those of their logarithms, in nats. Half a member is added to every number, so that none is 0. It grows as
/// samples get smaller, even if both are of the same distribution: it does not say whether a difference is chance.
///
/// Source: Jeffreys' divergence of the shares; Siddiqi, "Credit Risk Scorecards" (2006).
///
/// ```
/// use tamis_model::metrics::population_stability;
///
/// assert_eq!(population_stability(&[100, 300], &[100, 300]), 0.0);
/// assert!((population_stability(&[1_000, 3_000], &[2_000, 2_000]) - 0.2747).abs() < 1e-3);
/// ```
pub fn population_stability(a: &[u64], b: &[u64]) -> f64 {
    let shares = |sample: &[u64]| {
        let all = sample.iter().map(|n| *n as f64 + 0.5).sum::<f64>();
        sample.iter().map(|n| (*n as f64 + 0.5) / all).collect::<Vec<_>>()
    };
    shares(a).iter().zip(shares(b)).map(|(a, b)| (a - b) * (a / b).ln()).sum()
}

/// How surely the share of `a` in `n` differs from that of `b` in `m`: the square root of the log-likelihood ratio G2 of
/// the two by two table, negative if the first share is lower. If both shares were the same, it would be about as a number
/// of the standard normal distribution.
///
/// Source: Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence" (1993).
///
/// ```
/// use tamis_model::metrics::signed_log_likelihood;
///
/// assert_eq!(signed_log_likelihood(10, 100, 20, 200), 0.0);
/// assert!(signed_log_likelihood(30, 100, 20, 200) > 4.0);
/// assert!(signed_log_likelihood(0, 100, 20, 200) < -3.0);
/// ```
pub fn signed_log_likelihood(a: u64, n: u64, b: u64, m: u64) -> f64 {
    let [a, n, b, m] = [a.min(n), n, b.min(m), m].map(|number| number as f64);
    let part = |observed: f64, of_row: f64, of_column: f64| match observed > 0.0 {
        true => observed * (observed * (n + m) / (of_row * of_column)).ln(),
        false => 0.0,
    };
    let (with, without) = (a + b, n + m - a - b);
    let sum = part(a, n, with) + part(n - a, n, without) + part(b, m, with) + part(m - b, m, without);
    let root = (2.0 * sum).max(0.0).sqrt();
    if a * m < b * n { -root } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers spread over 0 to 1, the same at every run.
    fn sample(n: u32, step: f64, power: f64) -> Vec<f64> {
        (1..=n).map(|i| (f64::from(i) * step).fract().powf(power)).collect()
    }

    /// Against `scipy.stats.ks_2samp(a, b, alternative="greater", method="asymp")`.
    #[test]
    fn smirnov_is_that_of_scipy() {
        let golden = 0.618_033_988_749_895;
        let root = 2.0_f64.sqrt();
        let known = [
            (sample(50, golden, 1.2), sample(200, root, 1.0), 0.08999999999999997, 0.4867522559599719),
            (sample(500, golden, 1.1), sample(7000, root, 1.0), 0.03742857142857142, 0.26338968934356954),
            (sample(100, golden, 0.8), sample(100, root, 1.0), 0.010000000000000009, 0.9801986733067553),
        ];
        for (a, b, d, p) in known {
            let test = smirnov_lower(&a, &b);
            assert!((test.d - d).abs() < 1e-12 && (test.p / p - 1.0).abs() < 1e-9, "{test:?}, not {d} {p}");
        }
    }

    /// Against `scipy.stats.chi2_contingency(table, correction=False)`.
    #[test]
    fn chi_square_is_that_of_scipy() {
        let known = [
            (vec![30, 10, 22], vec![10, 30, 41], 23.622710865841093, 2, 7.419822425679004e-06),
            (vec![120, 80, 60, 40], vec![1000, 900, 700, 300], 8.303575513690049, 3, 0.04013717325209369),
            (vec![100, 100, 100], vec![1001, 999, 1003], 0.0007258886797443895, 2, 0.9996371215164571),
        ];
        for (a, b, statistic, degrees, p) in known {
            let test = chi_square_two_samples(&a, &b);
            assert_eq!(test.degrees, degrees);
            let is_close =
                (test.statistic / statistic - 1.0).abs() < 1e-12 && (test.p / p - 1.0).abs() < 1e-10;
            assert!(is_close, "{test:?}, not {statistic} {p}");
        }
    }

    #[test]
    fn rare_kinds_are_one_cell() {
        let pooled = chi_square_two_samples(&[40, 60, 8, 2], &[50, 40, 2, 8]);
        let expected = chi_square_two_samples(&[40, 60, 10], &[50, 40, 10]);
        assert_eq!(pooled, expected);
        // two of one kind are too few for a cell, so the rarest other joins them
        assert_eq!(chi_square_two_samples(&[40, 60, 1], &[50, 40, 1]).degrees, 1);
        for [a, b] in
            [[&[][..], &[]], [&[0, 0], &[0, 0]], [&[100], &[50]], [&[5, 5], &[0, 0]], [&[0, 9], &[9, 0]]]
        {
            assert_eq!(chi_square_two_samples(a, b).p, 1.0, "{a:?} {b:?}");
        }
    }

    #[test]
    fn empty_samples_say_nothing() {
        assert_eq!(smirnov_lower(&[], &[1.0]).p, 1.0);
        assert_eq!(smirnov_lower(&[1.0], &[]).p, 1.0);
        assert_eq!(signed_log_likelihood(0, 0, 0, 0), 0.0);
        assert_eq!(signed_log_likelihood(0, 10, 0, 20), 0.0);
    }

    /// Against `scipy.stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")`.
    #[test]
    fn log_likelihood_is_that_of_scipy() {
        assert!((signed_log_likelihood(30, 100, 20, 200).powi(2) - 18.13067555222486).abs() < 1e-10);
    }

    /// Computed from the binomial coefficients themselves.
    fn by_hand(fewer: u64, n: u64) -> f64 {
        let (mut coefficient, mut sum) = (1.0, 0.0);
        for k in 0..=fewer {
            sum += coefficient;
            coefficient *= (n - k) as f64 / (k + 1) as f64;
        }
        (2.0 * sum / 2f64.powi(n as i32)).min(1.0)
    }

    #[test]
    fn it_is_the_tail_of_coin_tosses() {
        for n in 1..60 {
            for fewer in 0..=n / 2 {
                let (got, expected) = (mcnemar_exact(fewer, n - fewer), by_hand(fewer, n));
                assert!((got - expected).abs() < 1e-9 * expected, "{fewer} of {n}: {got} and {expected}");
                assert_eq!(got, mcnemar_exact(n - fewer, fewer));
            }
        }
    }

    #[test]
    fn mcnemar_at_the_ends() {
        assert_eq!(mcnemar_exact(0, 0), 1.0);
        assert!((mcnemar_exact(0, 1) - 1.0).abs() < 1e-12);
        assert!((mcnemar_exact(0, 10) - 2.0 / 1_024.0).abs() < 1e-12);
        let many = mcnemar_exact(1_000_000, 1_003_000);
        // by the normal approximation: z = 3,000 / sqrt(2,003,000) = 2.1197, p = 0.0340
        assert!((many - 0.0340).abs() < 5e-4, "{many}");
        assert!(mcnemar_exact(0, u64::MAX) < 1e-300);
    }
}
