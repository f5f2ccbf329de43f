//! Tests of two classifiers on the same documents.

use std::f64::consts::LN_2;

use crate::numbers::ln_gamma;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn at_the_ends() {
        assert_eq!(mcnemar_exact(0, 0), 1.0);
        assert!((mcnemar_exact(0, 1) - 1.0).abs() < 1e-12);
        assert!((mcnemar_exact(0, 10) - 2.0 / 1_024.0).abs() < 1e-12);
        let many = mcnemar_exact(1_000_000, 1_003_000);
        // by the normal approximation: z = 3,000 / sqrt(2,003,000) = 2.1197, p = 0.0340
        assert!((many - 0.0340).abs() < 5e-4, "{many}");
        assert!(mcnemar_exact(0, u64::MAX) < 1e-300);
    }
}
