//! Numbers with a fixed number of decimals, as `format!` writes them but ten times as fast.

use std::io::{self, Write};

/// Writes `{value:.decimals$}`, with at most nine decimals.
pub(crate) fn write_fixed(out: &mut impl Write, value: f64, decimals: usize) -> io::Result<()> {
    // a product below 2^30 is exact to 2^-23; that close to a midpoint, the rounding is undecided
    const MOST: f64 = (1 << 30) as f64;
    const UNSURE: f64 = 1e-6;
    const UNITS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    let product = value.abs() * UNITS.get(decimals).copied().unwrap_or(f64::NAN);
    let whole = product.floor();
    let beyond = product - whole - 0.5;
    if decimals == 0 || !(product < MOST && beyond.abs() > UNSURE) {
        return write!(out, "{value:.decimals$}");
    }
    let mut number = whole as u64 + u64::from(beyond > 0.0);
    let mut digits = [b'0'; 24];
    let mut at = digits.len();
    let least = at - decimals - 2;
    while number > 0 || at > least {
        at -= 1;
        if digits.len() - at == decimals + 1 {
            digits[at] = b'.';
        } else {
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    if value.is_sign_negative() {
        at -= 1;
        digits[at] = b'-';
    }
    out.write_all(&digits[at..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixed(value: f64, decimals: usize) -> String {
        let mut out = Vec::new();
        write_fixed(&mut out, value, decimals).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn odd_numbers_are_those_of_the_standard_library() {
        let tiny = f64::from_bits(1);
        for value in [
            0.0,
            1.0,
            0.5,
            0.25,
            0.125,
            0.00005,
            0.000_000_5,
            0.999_999_5,
            1e9,
            1e300,
            tiny,
            f64::NAN,
            f64::INFINITY,
        ] {
            for decimals in 0..=12 {
                assert_eq!(fixed(value, decimals), format!("{value:.decimals$}"));
                assert_eq!(fixed(-value, decimals), format!("{:.decimals$}", -value));
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(value in -1e6f64..1e6, small in -1.0f64..1.0, n in 0u32..2_000_000, any: f64) {
            // halves of the last decimal, as near as possible
            let half = f64::from(n) / 2e6 + 0.5e-6;
            for value in [value, small, half, any, f64::from(n) / 1e5] {
                for decimals in [1, 2, 4, 6, 9] {
                    prop_assert_eq!(fixed(value, decimals), format!("{value:.decimals$}"));
                }
            }
        }
    }
}
