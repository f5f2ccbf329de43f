//! Double-double arithmetic: sums with twice the digits of `f64`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use serde::{Deserialize, Serialize};

/// A double-double number: the unevaluated sum of two `f64`, about 32 decimal digits. Rounded to `f64`, sums do not
/// depend on the order, and subtracting a number undoes adding it.
///
/// Invariant of stored numbers: finite, with `low` below the last digit of `high`. An operation that overflows gives a
/// number that is not finite.
///
/// Source: Dekker, "A Floating-Point Technique for Extending the Available Precision" (1971); the sum is
/// Knuth's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
pub struct Twofold {
    high: f64,
    low: f64,
}

impl Twofold {
    /// The nearest `f64`.
    pub fn round(self) -> f64 {
        self.high
    }

    /// Whether the sum is finite.
    pub fn is_finite(self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }
}

/// `a + b` exactly, if `a` has the greater magnitude or both are close.
fn ordered_sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    Twofold { high, low: b - (high - a) }
}

/// `a + b` exactly.
fn sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    let part = high - a;
    Twofold { high, low: (a - (high - part)) + (b - part) }
}

impl From<f64> for Twofold {
    fn from(high: f64) -> Self {
        Twofold { high, low: 0.0 }
    }
}

impl Add for Twofold {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let high = ordered_sum(high.high, high.low + low.high);
        ordered_sum(high.high, high.low + low.low)
    }
}

impl Neg for Twofold {
    type Output = Self;

    fn neg(self) -> Self {
        Twofold { high: -self.high, low: -self.low }
    }
}

impl Sub for Twofold {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Twofold {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        let error = self.high.mul_add(other.high, -high);
        ordered_sum(high, error + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Twofold {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        Self::from(rest.high / other.high) + ordered_sum(first, second)
    }
}

impl From<Twofold> for [f64; 2] {
    fn from(number: Twofold) -> Self {
        [number.high, number.low]
    }
}

impl TryFrom<[f64; 2]> for Twofold {
    type Error = String;

    fn try_from([high, low]: [f64; 2]) -> Result<Self, String> {
        let number = Twofold { high, low };
        let is_rounded = number.is_finite() && high + low == high;
        let error = || format!("a sum: expected a finite number and its rounding, got {high} and {low}");
        is_rounded.then_some(number).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_rounding_loses() {
        let [big, tiny, third] = [1e16, 1e-8, 3.0].map(Twofold::from);
        assert_eq!((big + tiny - big).round(), 1e-8);
        assert_eq!((big * third + tiny - big * third).round(), 1e-8);
        let one = Twofold::from(1.0) / third * third - 1.0.into();
        assert!(one.round().abs() < 1e-31, "{one:?}");
        assert_eq!((third / third, third - third), (1.0.into(), Twofold::default()));
        // ten times the f64 nearest to 0.1 is not 1, and the difference shows
        let tenths = (0..10).fold(Twofold::default(), |sum, _| sum + 0.1.into());
        assert_eq!((tenths - 1.0.into()).round(), 10.0 * (0.1f64.mul_add(10.0, -1.0) / 10.0));
    }

    #[test]
    fn refuses_what_no_sum_is() {
        for bad in ["[1.0, 1.0]", "[1e999, 0.0]"] {
            assert!(serde_json::from_str::<Twofold>(bad).is_err(), "{bad}");
        }
        assert!(Twofold::try_from([f64::NAN, 0.0]).is_err());
        let third = Twofold::from(1.0) / 3.0.into();
        let json = serde_json::to_string(&third).unwrap();
        // serde_json may be off by the last bit
        assert!((serde_json::from_str::<Twofold>(&json).unwrap() - third).round().abs() < 1e-31);
        assert!(!(Twofold::from(1e300) * 1e300.into()).is_finite());
    }
}
