//! Weight, mean and variance of real values, which can be forgotten exactly.

use serde::{Deserialize, Serialize};

use crate::counts::ObservationError;
use crate::numbers::Twofold;

/// Weight, mean and variance of real values: the sufficient statistics of a normal distribution.
///
/// Sums keep twice the digits of `f64`, so [`mean`](Self::mean) and [`variance`](Self::variance) do not depend on the
/// order of the values, on sharding, or on what was learned and forgotten in between: they agree to 1e-12 even for
/// values near 1e9 that differ by thousandths. Unlike [`Statistics`](crate::Statistics) they may differ in the last
/// bits, and `==` compares bits. Forgetting leaves a trace of about 1e-30 of the largest sum of squares so far; a sum
/// of squares below 1e-24 of the part just forgotten becomes 0.
///
/// Values must be finite and at most 1e150 in magnitude, so that squares of differences are finite.
///
/// Source: Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
/// Variances" (1979); forgetting is merging with a negative weight.
///
/// ```
/// use tamis_model::Moments;
///
/// let mut heights = Moments::default();
/// for height in [1.72, 1.80, 1.61] {
///     heights.observe_weighted(height, 1.0)?;
/// }
/// heights.forget_weighted(1.61, 1.0)?;
/// assert_eq!(heights.n(), 2.0);
/// assert!((heights.mean() - 1.76).abs() < 1e-12);
/// assert!((heights.variance() - 0.0016).abs() < 1e-12); // the mean of (x - mean)^2: divided by n, not n - 1
/// # Ok::<(), tamis_model::ObservationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[Twofold; 3]", into = "[Twofold; 3]")]
pub struct Moments {
    n: Twofold,
    mean: Twofold,
    m2: Twofold,
}

/// The largest magnitude of a value.
const GREATEST: f64 = 1e150;

const RANGE: &str = "a finite number of magnitude at most 1e150";

impl Moments {
    /// The summed weight, which is the number of values if each has weight 1.
    pub fn n(&self) -> f64 {
        self.n.round()
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.mean.round()
    }

    /// The maximum likelihood variance: the mean of `(x - mean)^2`; 0 without values.
    pub fn variance(&self) -> f64 {
        if self.is_empty() { 0.0 } else { (self.m2 / self.n).round() }
    }

    /// Learns a value as if it were given `weight` times.
    ///
    /// # Errors
    /// A value that is not finite or is above 1e150 in magnitude; a weight that is negative or not finite. Nothing
    /// changes then.
    pub fn observe_weighted(&mut self, value: f64, weight: f64) -> Result<(), ObservationError> {
        *self = self.combine(&Moments::of_value(value, weight)?)?;
        Ok(())
    }

    /// Forgets a value that was learned with this weight. Forgetting the last one leaves nothing.
    ///
    /// # Errors
    /// As [`observe_weighted`](Self::observe_weighted); a value that cannot have been learned, because the weight or
    /// variance would become negative. Nothing changes then. (Moments cannot tell whether this very value was learned.)
    pub fn forget_weighted(&mut self, value: f64, weight: f64) -> Result<(), ObservationError> {
        let gone = Moments::of_value(value, weight)?;
        *self = self.combine(&Moments { n: -gone.n, ..gone })?;
        Ok(())
    }

    /// Adds other moments.
    ///
    /// # Errors
    /// Weights so large that a sum overflows. Nothing changes then.
    pub fn merge(&mut self, other: &Moments) -> Result<(), ObservationError> {
        *self = self.combine(other)?;
        Ok(())
    }

    /// Whether there are no values.
    pub(crate) fn is_empty(&self) -> bool {
        self.n() <= 0.0
    }

    /// The moments of one value.
    fn of_value(value: f64, weight: f64) -> Result<Moments, ObservationError> {
        checked(value)?;
        Ok(Moments { n: weight_of(weight)?, mean: value.into(), m2: Twofold::default() })
    }

    /// Merges moments; `other` may have a negative weight.
    fn combine(&self, other: &Moments) -> Result<Moments, ObservationError> {
        let not_learned = || ObservationError::NotLearned { feature: 0, expected: -other.n(), got: self.n() };
        let n = self.n + other.n;
        if n.round() < 0.0 {
            return Err(not_learned());
        }
        if n.round() == 0.0 {
            return Ok(Moments::default());
        }
        let delta = other.mean - self.mean;
        let mean = self.mean + delta * (other.n / n);
        let between = delta * delta * (self.n * (other.n / n));
        let mut m2 = self.m2 + other.m2 + between;
        if other.n.round() < 0.0 {
            if m2.round() < 1e-9 * between.round() {
                return Err(not_learned());
            }
            // nothing but rounding errors is left: the remaining values are equal
            if m2.round() < -1e-24 * between.round() {
                m2 = Twofold::default();
            }
        }
        let error = ObservationError::Value { feature: 0, expected: RANGE, got: other.mean() };
        [n, mean, m2].into_iter().all(Twofold::is_finite).then_some(Moments { n, mean, m2 }).ok_or(error)
    }
}

/// Returns the value if it is in range.
pub fn checked(value: f64) -> Result<f64, ObservationError> {
    let error = ObservationError::Value { feature: 0, expected: RANGE, got: value };
    (value.abs() <= GREATEST).then_some(value).ok_or(error)
}

/// Returns the weight if it is in range.
pub(crate) fn weight_of(weight: f64) -> Result<Twofold, ObservationError> {
    let is_weight = weight.is_finite() && weight >= 0.0;
    is_weight.then(|| weight.into()).ok_or(ObservationError::Weight { got: weight })
}

impl From<Moments> for [Twofold; 3] {
    fn from(moments: Moments) -> Self {
        [moments.n, moments.mean, moments.m2]
    }
}

impl TryFrom<[Twofold; 3]> for Moments {
    type Error = String;

    fn try_from([n, mean, m2]: [Twofold; 3]) -> Result<Self, String> {
        let (moments, [weight, spread, center]) =
            (Moments { n, mean, m2 }, [n, m2, mean].map(Twofold::round));
        let is_valid = weight >= 0.0 && spread >= 0.0 && center.abs() <= GREATEST;
        let expected = "weight and spread of at least 0, a mean of at most 1e150";
        let error = || format!("moments: expected {expected}, got {weight}, {spread}, {center}");
        is_valid.then_some(moments).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::SplitMix64;

    fn moments(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&x| moments.observe_weighted(x, 1.0).unwrap());
        moments
    }

    fn close(a: &Moments, b: &Moments) {
        // equal values may keep a trace of a variance
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs() + 1e-28;
        assert!(near(a.n(), b.n()) && near(a.mean(), b.mean()), "{a:?} {b:?}");
        assert!(near(a.variance(), b.variance()), "{} {}", a.variance(), b.variance());
    }

    /// Values near 1e9 that differ by thousandths, all multiples of 2^-20.
    fn values() -> (Vec<f64>, SplitMix64) {
        let mut random = SplitMix64::new(3);
        let values = (0..2_000).map(|_| 1e9 + random.below(4_096) as f64 / 1_048_576.0);
        (values.collect(), random)
    }

    #[test]
    fn order_and_shards_leave_no_trace() {
        let (mut values, mut random) = values();
        let expected = moments(&values);
        // exact: differences from 1e9 are small multiples of a power of 2
        let steps: Vec<i64> = values.iter().map(|x| ((x - 1e9) * 1_048_576.0) as i64).collect();
        let (n, sum) = (steps.len() as i64, steps.iter().sum::<i64>());
        let squares: i64 = steps.iter().map(|x| x * x).sum();
        let variance = (n * squares - sum * sum) as f64 / (n * n) as f64 / 1_048_576f64.powi(2);
        assert!((expected.variance() - variance).abs() <= 1e-12 * variance);
        values.sort_unstable_by(f64::total_cmp);
        close(&moments(&values), &expected);
        random.shuffle(&mut values);
        close(&moments(&values), &expected);
        let mut merged = Moments::default();
        values.chunks(77).for_each(|shard| merged.merge(&moments(shard)).unwrap());
        close(&merged, &expected);
    }

    #[test]
    fn forgetting_undoes_learning() {
        let (values, mut random) = values();
        let (kept, gone) = values.split_at(700);
        let mut m = moments(&values);
        m.observe_weighted(1e9 + 1e5, 1.0).unwrap();
        let mut order: Vec<f64> = gone.iter().copied().chain([1e9 + 1e5]).collect();
        random.shuffle(&mut order);
        order.iter().for_each(|&x| m.forget_weighted(x, 1.0).unwrap());
        close(&m, &moments(kept));
        kept.iter().for_each(|&x| m.forget_weighted(x, 1.0).unwrap());
        assert_eq!(m, Moments::default());
    }

    #[test]
    fn weights_repeat() {
        let mut m = Moments::default();
        [(2.0, 3.0), (5.0, 1.0), (7.0, 0.0)].into_iter().for_each(|(x, w)| m.observe_weighted(x, w).unwrap());
        close(&m, &moments(&[2.0, 2.0, 5.0, 2.0]));
        [(0.1, 0.1), (0.2, 0.2)].into_iter().for_each(|(x, w)| m.observe_weighted(x, w).unwrap());
        m.forget_weighted(2.0, 3.0).unwrap();
        m.forget_weighted(0.1, 0.1).unwrap();
        m.forget_weighted(5.0, 1.0).unwrap();
        close(&m, &{
            let mut one = Moments::default();
            one.observe_weighted(0.2, 0.2).unwrap();
            one
        });
        m.forget_weighted(0.2, 0.2).unwrap();
        assert_eq!(m, Moments::default());
    }

    #[test]
    fn an_error_changes_nothing() {
        let mut m = moments(&[1.0, 3.0]);
        let before = m;
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e151] {
            assert!(matches!(m.observe_weighted(bad, 1.0), Err(ObservationError::Value { .. })), "{bad}");
            assert!(matches!(m.forget_weighted(bad, 1.0), Err(ObservationError::Value { .. })), "{bad}");
        }
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(m.observe_weighted(1.0, bad).is_err(), "{bad}");
            assert!(m.forget_weighted(1.0, bad).is_err(), "{bad}");
        }
        // more weight than was learned; a value too far off to be one of two with mean 2 and variance 1
        let more = ObservationError::NotLearned { feature: 0, expected: 3.0, got: 2.0 };
        assert_eq!(m.forget_weighted(2.0, 3.0), Err(more));
        assert!(matches!(m.forget_weighted(4.0, 1.0), Err(ObservationError::NotLearned { .. })));
        // sums that overflow f64
        let mut heavy = Moments::default();
        heavy.observe_weighted(1e150, 1e10).unwrap();
        let light = heavy;
        let error = ObservationError::Value { feature: 0, expected: RANGE, got: -1e150 };
        assert_eq!(heavy.observe_weighted(-1e150, 1e10), Err(error));
        assert_eq!((m, heavy), (before, light));
        assert_eq!((Moments::default().mean(), Moments::default().variance()), (0.0, 0.0));
    }

    #[test]
    fn stored_moments_are_checked() {
        let m = moments(&[1.0, 3.0]);
        let json = serde_json::to_string(&m).unwrap();
        assert_eq!(serde_json::from_str::<Moments>(&json).unwrap(), m);
        for bad in ["[[-1.0,0.0],[0.0,0.0],[0.0,0.0]]", "[[1.0,0.0],[0.0,0.0],[-1.0,0.0]]"] {
            assert!(serde_json::from_str::<Moments>(bad).is_err(), "{bad}");
        }
    }
}
