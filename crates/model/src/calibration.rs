use serde::{Deserialize, Serialize};

use crate::logs::{sigmoid, softplus};

/// Turns scores into calibrated log-odds: `slope * score + offset`.
///
/// Invariant of what is fitted or deserialised: both finite, `slope > 0`, so that calibration never changes
/// which document scores higher.
///
/// ```
/// use tamis_model::Platt;
///
/// // scores of documents that took no part in training: four times in five the sign is right
/// let right = [(2.0, true), (-2.0, false)].repeat(400);
/// let wrong = [(-2.0, true), (2.0, false)].repeat(100);
/// let platt = Platt::fit(&[right, wrong].concat()).ok_or("both classes are there")?;
/// assert!((platt.log_odds(2.0) - 4f64.ln()).abs() < 0.01); // 4 to 1, not e^2 to 1
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Platt {
    /// Calibrated nats for each unit of the score.
    pub slope: f64,
    /// The calibrated log-odds (nats) of the score 0.
    pub offset: f64,
}

/// [`Platt`] as read.
#[derive(Deserialize)]
struct Unchecked {
    slope: f64,
    offset: f64,
}

impl TryFrom<Unchecked> for Platt {
    type Error = String;

    fn try_from(read: Unchecked) -> Result<Self, String> {
        let platt = Platt { slope: read.slope, offset: read.offset };
        platt.checked().ok_or_else(|| {
            let Platt { slope, offset } = platt;
            format!("calibration: expected a finite slope > 0 and a finite offset, got {slope} and {offset}")
        })
    }
}

impl Default for Platt {
    /// [`Platt::IDENTITY`].
    fn default() -> Self {
        Platt::IDENTITY
    }
}

impl Platt {
    /// Leaves scores as they are.
    pub const IDENTITY: Platt = Platt { slope: 1.0, offset: 0.0 };

    /// Fits slope and offset to scores of documents that took no part in training, `true` marking
    /// positives: logistic regression, by Newton's method with step halving.
    ///
    /// The targets are (n+ + 1) / (n+ + 2) for positives and 1 / (n- + 2) for negatives, so that classes
    /// which the scores separate do not ask for an infinite slope.
    ///
    /// `None` without documents of both classes, with scores that are not finite, or where higher scores do
    /// not speak for the positive class: then there is nothing to calibrate.
    ///
    /// Source: Platt, "Probabilistic Outputs for Support Vector Machines" (1999); the halving as in Lin, Lin
    /// and Weng, "A Note on Platt's Probabilistic Outputs for Support Vector Machines" (2007).
    pub fn fit(scores: &[(f64, bool)]) -> Option<Platt> {
        let n = scores.len() as f64;
        let positives = scores.iter().filter(|(_, positive)| *positive).count() as f64;
        if positives == 0.0 || positives == n || scores.iter().any(|(score, _)| !score.is_finite()) {
            return None;
        }
        // on scores of mean 0 and deviation 1 the steps are as good for any scale
        let mean = scores.iter().map(|(score, _)| score / n).sum::<f64>();
        let deviation = scores.iter().map(|(score, _)| (score - mean).powi(2) / n).sum::<f64>().sqrt();
        let high = (positives + 1.0) / (positives + 2.0);
        let low = 1.0 / (n - positives + 2.0);
        let target = |positive| if positive { high } else { low };
        let points = scores.iter().map(|&(score, positive)| ((score - mean) / deviation, target(positive)));
        let line = newton(&points.collect::<Vec<_>>(), ((positives + 1.0) / (n - positives + 1.0)).ln());
        let slope = line.slope / deviation;
        Platt { slope, offset: line.offset - slope * mean }.checked()
    }

    /// The calibrated log-odds (nats) of a score, where classes are as frequent as they were in fitting. Add
    /// the difference of the prior log-odds for other frequencies.
    pub fn log_odds(&self, score: f64) -> f64 {
        self.slope * score + self.offset
    }

    fn checked(self) -> Option<Platt> {
        (self.slope.is_finite() && self.slope > 0.0 && self.offset.is_finite()).then_some(self)
    }

    /// The logistic loss (nats) at points (score, target).
    fn loss(&self, points: &[(f64, f64)]) -> f64 {
        let loss = |&(x, target): &(f64, f64)| softplus(self.log_odds(x)) - target * self.log_odds(x);
        points.iter().map(loss).sum()
    }

    /// What Newton's method subtracts from slope and offset.
    fn newton_step(&self, points: &[(f64, f64)]) -> (f64, f64) {
        let (mut g, mut h) = ([0.0; 2], [1e-12, 0.0, 1e-12]);
        for &(x, target) in points {
            let p = sigmoid(self.log_odds(x));
            let (error, weight) = (p - target, p * (1.0 - p));
            g = [g[0] + error * x, g[1] + error];
            h = [h[0] + weight * x * x, h[1] + weight * x, h[2] + weight];
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        ((h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant)
    }
}

/// The line of least loss, from the best constant on. The loss is convex: steps that lower it end there.
fn newton(points: &[(f64, f64)], constant: f64) -> Platt {
    let mut line = Platt { slope: 0.0, offset: constant };
    let mut loss = line.loss(points);
    for _ in 0..100 {
        let (slope, offset) = line.newton_step(points);
        let shortened =
            |length: f64| Platt { slope: line.slope - length * slope, offset: line.offset - length * offset };
        let steps = (0..40).map(|halvings| shortened(0.5_f64.powi(halvings)));
        // a loss that is NaN is not less
        let Some((next, less)) = steps.map(|l| (l, l.loss(points))).find(|(_, l)| *l < loss) else { break };
        let gain = loss - less;
        (line, loss) = (next, less);
        if gain < 1e-12 * (1.0 + loss) {
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn separable_scores_stay_finite() {
        let platt = Platt::fit(&[(-1.0, false), (1.0, true)]).unwrap();
        assert!(platt.slope > 0.0 && platt.slope < 10.0 && platt.offset.abs() < 1e-9, "{platt:?}");
        let scores: Vec<_> = (-50..50).map(|i| (f64::from(i) * 1e6 + 0.5, i >= 0)).collect();
        assert!(Platt::fit(&scores).unwrap().log_odds(4.9e7) > 3.0);
    }

    #[test]
    fn recovers_what_made_the_labels() {
        let mut random = SplitMix64::new(3);
        let mut uniform = || random.next_u64() as f64 / 2f64.powi(64);
        let scores: Vec<_> = (0..40_000)
            .map(|_| {
                let score = 100.0 + 20.0 * (uniform() - 0.5);
                (score, uniform() < sigmoid(0.5 * score - 49.7))
            })
            .collect();
        let platt = Platt::fit(&scores).unwrap();
        assert!((platt.slope - 0.5).abs() < 0.02, "{platt:?}");
        assert!((platt.log_odds(100.0) - 0.3).abs() < 0.05, "{platt:?}");
    }

    #[test]
    fn nothing_to_calibrate() {
        for scores in [
            &[][..],
            &[(1.0, true)],
            &[(1.0, true), (1.0, false)],
            &[(0.0, true), (1.0, false)],
            &[(f64::NAN, true), (0.0, false)],
            &[(f64::INFINITY, true), (0.0, false)],
            &[(f64::MAX, true), (f64::MIN, false)],
        ] {
            assert_eq!(Platt::fit(scores), None, "{scores:?}");
        }
    }

    #[test]
    fn reading_checks() {
        let read = |json: &str| serde_json::from_str::<Platt>(json);
        assert_eq!(read(&serde_json::to_string(&Platt::IDENTITY).unwrap()).unwrap(), Platt::default());
        assert!(read(r#"{"slope":0.0,"offset":1.0}"#).is_err());
        assert!(read(r#"{"slope":1.0,"offset":1e999}"#).is_err());
    }
}
