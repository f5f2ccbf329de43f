//! Logarithms without overflow: log-sum-exp, softmax, sigmoid.

use std::f64::consts::PI;

use crate::counts::ClassId;

/// log(sum(exp(x))) without overflow, in nats.
///
/// Minus infinity for an empty slice.
///
/// ```
/// use tamis_model::log_sum_exp;
///
/// assert!((log_sum_exp(&[-5_000.0, -5_000.0]) - (2f64.ln() - 5_000.0)).abs() < 1e-9);
/// ```
pub fn log_sum_exp(logs: &[f64]) -> f64 {
    let max = max(logs);
    if max.is_infinite() {
        return max;
    }
    max + logs.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// Turns log-likelihoods (nats, up to a constant) into log-probabilities: each is at most 0, and their exponentials sum
/// to 1. If none is finite, all become equal.
pub fn log_normalize(logs: &mut [f64]) {
    let total = log_sum_exp(logs);
    let uniform = -(logs.len() as f64).ln();
    for x in logs {
        *x = if total.is_finite() { *x - total } else { uniform };
    }
}

/// Turns log-likelihoods (nats, up to a constant) into probabilities that sum to 1. If none is finite, all become
/// equal.
pub fn softmax(logs: &mut [f64]) {
    softmax_and_sum(logs);
}

/// Applies [`softmax`] and returns [`log_sum_exp`], from the same exponentials.
pub(crate) fn softmax_and_sum(logs: &mut [f64]) -> f64 {
    let max = max(logs);
    for x in logs.iter_mut() {
        *x = if max.is_finite() { (*x - max).exp() } else { 1.0 };
    }
    let sum: f64 = logs.iter().sum();
    for x in logs {
        *x /= sum;
    }
    if max.is_finite() { max + sum.ln() } else { max }
}

/// The index of the greatest value; ties go to the lowest index. 0 for an empty slice.
pub fn argmax(values: &[f64]) -> ClassId {
    let mut best = (0, f64::NEG_INFINITY);
    for (class, &value) in (0..=ClassId::MAX).zip(values) {
        if value > best.1 {
            best = (class, value);
        }
    }
    best.0
}

/// ln(total + alpha outcomes), the denominator of smoothed probabilities; finite for any finite alpha > 0 and
/// at least one outcome.
pub(crate) fn log_smoothed(total: f64, alpha: f64, outcomes: f64) -> f64 {
    let sum = total + alpha * outcomes;
    match sum.is_finite() {
        true => sum.ln(),
        // huge alpha: factor it out of the sum
        false => alpha.ln() + (total / alpha + outcomes).ln(),
    }
}

/// The probability for the log-odds (nats).
pub(crate) fn sigmoid(log_odds: f64) -> f64 {
    // exp may overflow to infinity, whose inverse is the right 0
    1.0 / (1.0 + (-log_odds).exp())
}

/// ln(1 + exp(x)) without overflow: the log loss of log-odds -x.
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// [`softplus`] in two parts, `a` and `b` of `a + ln(b)` with b from 1 to 2, and [`sigmoid`], from one exponential.
pub(crate) fn softplus_and_sigmoid(x: f64) -> ([f64; 2], f64) {
    let e = (-x.abs()).exp();
    ([x.max(0.0), 1.0 + e], if x < 0.0 { e } else { 1.0 } / (1.0 + e))
}

fn max(logs: &[f64]) -> f64 {
    logs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The logarithm of the gamma function for x > 0: Stirling's series from 10 on; below 10, the recurrence leads there.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = 1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1_260.0 - y * (1.0 / 1_680.0 - y / 1_188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series / x - product.ln()
}

/// The regularised upper incomplete gamma function Q(a, x) for a > 0, finite x >= 0: below a + 1 from the series of
/// P(a, x) = 1 - Q(a, x), above by the continued fraction (NIST Digital Library of Mathematical Functions, 8.11.4 and
/// 8.9.2).
pub(crate) fn gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a + 1.0)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0, 1.0, a);
        while term > sum * f64::EPSILON {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - front * sum;
    }
    // Lentz's method; b_k - 1 > 0, so no denominator vanishes
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for k in 1..100_000 {
        let numerator = f64::from(k) * (a - f64::from(k));
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * a * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_from_zero() {
        let mut x = [-20_000.0, -20_000.0 + 9f64.ln()];
        softmax(&mut x);
        assert!((x[1] - 0.9).abs() < 1e-9);
        let mut x = [20_000.0, 20_000.0 + 9f64.ln()];
        log_normalize(&mut x);
        assert!((x[1] - 0.9f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn both_from_one_exponential() {
        for x in [-1e9, -800.0, -2.0, -1e-300, 0.0, 0.3, 40.0, 800.0] {
            let ([a, b], p) = softplus_and_sigmoid(x);
            // ln(1 + e) has a few digits less than ln_1p(e)
            assert!((a + b.ln() - softplus(x)).abs() <= 1e-15, "{x}");
            assert!((p - sigmoid(x)).abs() <= 1e-15 * p, "{x}: {p}");
        }
    }

    #[test]
    fn impossible_everywhere_is_undecided() {
        let mut x = [f64::NEG_INFINITY; 2];
        assert_eq!(log_sum_exp(&x), f64::NEG_INFINITY);
        log_normalize(&mut x);
        assert_eq!(x, [-(2f64.ln()); 2]);
        let mut x = [f64::NEG_INFINITY; 4];
        softmax(&mut x);
        assert_eq!(x, [0.25; 4]);
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
        log_normalize(&mut []);
        softmax(&mut []);
    }

    #[test]
    fn gamma() {
        let mut factorial = 1.0_f64;
        for n in 1..30_u32 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * (1.0 + factorial.ln()), "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(1.5) - (PI.sqrt() / 2.0).ln()).abs() < 1e-13);
    }

    /// Against `scipy.special.gammaincc`.
    #[test]
    fn incomplete_gamma() {
        let known = [
            [0.5, 0.1, 0.6547208460185768],
            [0.5, 3.0, 0.014305878435429641],
            [1.0, 2.0, 0.1353352832366127],
            [9.5, 4.0, 0.9866708821944026],
            [9.5, 10.4, 0.34795643547828353],
            [9.5, 10.6, 0.3258558170509772],
            [9.5, 40.0, 1.8596255029858537e-09],
            [50.0, 30.0, 0.999481108537452],
            [500.0, 700.0, 7.032145641828496e-16],
        ];
        for [a, x, q] in known {
            assert!(
                (gamma_upper(a, x) / q - 1.0).abs() < 1e-11,
                "{a} {x}: {} and not {q}",
                gamma_upper(a, x)
            );
        }
        assert_eq!(gamma_upper(2.5, 0.0), 1.0);
    }
}
