//! From a number to its place in a drawing.

/// Maps the numbers from `low` to `high` to the places from `start` to `end`. Numbers outside go to the nearer end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Linear,
    Logarithmic,
    /// The logarithm of the count plus one, for counts from 0.
    OfCounts,
}

impl Scale {
    pub(crate) fn linear([low, high]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        Scale { kind: Kind::Linear, low, high: if high > low { high } else { low + 1.0 }, start, end }
    }

    /// Creates a logarithmic scale, for numbers above 0.
    pub(crate) fn logarithmic([low, high]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        Scale { kind: Kind::Logarithmic, low, high: if high > low { high } else { 10.0 * low }, start, end }
    }

    pub(crate) fn of_counts(highest: u64, [start, end]: [f64; 2]) -> Self {
        Scale { kind: Kind::OfCounts, low: 0.0, high: highest.max(1) as f64, start, end }
    }

    pub(crate) fn at(&self, number: f64) -> f64 {
        let number = number.clamp(self.low, self.high);
        let part = match self.kind {
            Kind::Linear => (number - self.low) / (self.high - self.low),
            Kind::Logarithmic => (number / self.low).ln() / (self.high / self.low).ln(),
            Kind::OfCounts => number.ln_1p() / self.high.ln_1p(),
        };
        self.start + part * (self.end - self.start)
    }

    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.start, self.end]
    }

    /// Round numbers along the scale: powers of ten, or multiples of a step that yields about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: f64) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = round_up((self.high - self.low) / wanted);
                let (first, last) =
                    ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
                (first..=last).map(|n| tidy(n as f64 * step)).collect()
            }
            Kind::Logarithmic => {
                let (first, last) =
                    ((self.low.log10() - 1e-9).ceil() as i32, (self.high.log10() + 1e-9).floor() as i32);
                (first..=last).map(|power| tidy(10f64.powi(power))).collect()
            }
            Kind::OfCounts => {
                let powers = (0..20).map(|power| 10f64.powi(power)).take_while(|tick| *tick <= self.high);
                std::iter::once(0.0).chain(powers).collect()
            }
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `number`, which must be above 0.
pub(crate) fn round_up(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    rounds.into_iter().find(|round| *round >= number * (1.0 - 1e-9)).unwrap_or(rounds[3])
}

/// Rounds off the last digits, where binary fractions differ from decimal ones.
fn tidy(number: f64) -> f64 {
    format!("{number:.12e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places() {
        let linear = Scale::linear([0.0, 10.0], [100.0, 0.0]);
        assert_eq!(
            [0.0, 5.0, 10.0, 99.0, f64::NEG_INFINITY].map(|n| linear.at(n)),
            [100.0, 50.0, 0.0, 0.0, 100.0]
        );
        let log = Scale::logarithmic([0.001, 1.0], [0.0, 300.0]);
        assert!((log.at(0.01) - 100.0).abs() < 1e-9 && log.at(0.0) == 0.0);
        let counts = Scale::of_counts(999, [0.0, 90.0]);
        assert!((counts.at(9.0) - 30.0).abs() < 1e-9 && counts.at(0.0) == 0.0);
        // the range is empty
        assert!(Scale::linear([3.0, 3.0], [0.0, 1.0]).at(3.0).is_finite());
        assert!(Scale::of_counts(0, [0.0, 1.0]).at(0.0) == 0.0);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::linear([-2.3, 4.1], [0.0, 1.0]).ticks(7.0), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::linear([0.7, 1.0], [0.0, 1.0]).ticks(3.0), [0.7, 0.8, 0.9, 1.0]);
        assert_eq!(Scale::logarithmic([0.0005, 1.0], [0.0, 1.0]).ticks(0.0), [0.001, 0.01, 0.1, 1.0]);
        assert_eq!(Scale::of_counts(1_234, [0.0, 1.0]).ticks(0.0), [0.0, 1.0, 10.0, 100.0, 1_000.0]);
    }
}
