//! The error of a document, from its log-odds without it.

/// Solves `e = sigmoid(-(margin + gain e))` for e in (0, 1), by Newton's method within a bracket.
pub(crate) fn error(margin: f64, gain: f64, guess: f64, tolerance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut e = guess.clamp(1e-3, 0.999);
    for iteration in 0..40 {
        let p = 1.0 / (1.0 + (margin + gain * e).min(500.0).exp());
        if e > p {
            high = e
        } else {
            low = e
        }
        let newton = e - (e - p) / (1.0 + gain * p * (1.0 - p));
        // steps that may go to and fro end in halves
        let is_near = low < newton && newton < high && iteration < 20;
        let next = if is_near { newton } else { (low + high) / 2.0 };
        let moved = (next - e).abs();
        e = next;
        if moved < tolerance {
            break;
        }
    }
    e
}

/// The [`error`]s of one gain by margin, right to [`PRECISION`](Self::PRECISION): most documents have the same gain.
pub(crate) struct ErrorTable(Vec<f32>);

impl ErrorTable {
    /// The margins of the table, in nats, and its steps a nat. Beyond them an error hardly differs from 0, or from 1.
    const MARGINS: [f32; 2] = [-64.0, 32.0];
    const STEPS: f32 = 16.0;
    /// The largest distance from the exact error, that of a line to a sigmoid at the middle of a step.
    pub(crate) const PRECISION: f64 = 2e-4;

    pub(crate) fn new(gain: f64) -> Self {
        let [first, last] = Self::MARGINS;
        let steps = ((last - first) * Self::STEPS) as u16;
        let mut guess = 1.0;
        let error = |at: u16| {
            guess = error(f64::from(first + f32::from(at) / Self::STEPS), gain, guess, 1e-9);
            guess as f32
        };
        ErrorTable((0..=steps + 1).map(error).collect())
    }

    /// The error at a margin; that of NaN is one of the table.
    #[inline(always)]
    pub(crate) fn at(&self, margin: f32) -> f32 {
        let [first, last] = Self::MARGINS;
        let place = (margin.max(first).min(last) - first) * Self::STEPS;
        let (at, between) = (place as usize, place.fract());
        match self.0.get(at..at + 2) {
            Some([low, high]) => low + (high - low) * between,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_its_own_sigmoid() {
        for margin in [-600.0, -30.0, -1.0, 0.0, 0.5, 3.0, 40.0, 900.0] {
            for gain in [1e-6, 1.0, 32.0, 1e6] {
                for guess in [0.0, 0.5, 1.0] {
                    let e = error(margin, gain, guess, 1e-12);
                    let p = 1.0 / (1.0 + (margin + gain * e).min(700.0).exp());
                    assert!((0.0..=1.0).contains(&e) && (e - p).abs() < 1e-6, "{margin} {gain} {e} {p}");
                }
            }
        }
    }

    #[test]
    fn a_table_is_as_precise_as_it_says() {
        for gain in [1e-3, 0.5, 2.0, 32.0, 1e3] {
            let table = ErrorTable::new(gain);
            for at in -10_000..10_000 {
                let margin = at as f32 / 97.0;
                let exact = error(margin.into(), gain, 0.5, 1e-12);
                let got = f64::from(table.at(margin));
                // beyond -64 a gain of more than 64 still matters
                let is_in_table = margin > ErrorTable::MARGINS[0] || gain < 50.0;
                assert!(
                    !is_in_table || (got - exact).abs() < ErrorTable::PRECISION,
                    "{gain} {margin}: {got}, not {exact}"
                );
            }
        }
    }
}
