//! The gamma function.

use std::f64::consts::PI;

/// The logarithm of the gamma function for x >= 1: Stirling's series from 10 on; below 10, the recurrence leads there.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma() {
        let mut factorial = 1.0_f64;
        for n in 1..30_u32 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * (1.0 + factorial.ln()), "{n}");
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(1.5) - (PI.sqrt() / 2.0).ln()).abs() < 1e-13);
    }
}
