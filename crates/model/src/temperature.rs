use serde::{Deserialize, Serialize};

use crate::logs::softmax_and_sum;
use crate::softmax;

/// Turns scores of many classes into calibrated probabilities: `softmax(scale n^exponent score)` with `n` the
/// distinct known terms of the document.
///
/// The temperature of Guo, Pleiss, Sun and Weinberger, "On Calibration of Modern Neural Networks" (2017), is
/// `1 / scale`; the exponent lets long documents be trusted more, or less, than short ones. Which class is the
/// likeliest never changes.
///
/// Invariant of what is fitted or deserialised: both finite, `scale > 0`.
///
/// ```
/// use tamis_model::Temperature;
///
/// // documents that took no part in training: three times in four the higher score is right
/// let scored = [0, 0, 0, 1].map(|class| (&[3.0, 0.0][..], 10, class)).repeat(100);
/// let temperature = Temperature::fit(&scored).ok_or("there are documents")?;
/// let mut probabilities = vec![3.0, 0.0];
/// temperature.predict_proba(&mut probabilities, 10);
/// assert!((probabilities[0] - 0.75).abs() < 0.01); // not 1 / (1 + e^-3)
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Temperature {
    /// Calibrated nats for each unit of the score of a document of one term.
    pub scale: f64,
    /// The power of the number of terms that the scale is multiplied with.
    pub exponent: f64,
}

/// [`Temperature`] as read.
#[derive(Deserialize)]
struct Unchecked {
    scale: f64,
    exponent: f64,
}

impl TryFrom<Unchecked> for Temperature {
    type Error = String;

    fn try_from(Unchecked { scale, exponent }: Unchecked) -> Result<Self, String> {
        let error = || format!("temperature: expected finite numbers, scale > 0, got {scale} and {exponent}");
        Temperature { scale, exponent }.checked().ok_or_else(error)
    }
}

impl Default for Temperature {
    /// [`Temperature::IDENTITY`].
    fn default() -> Self {
        Temperature::IDENTITY
    }
}

/// Newton's method needs a handful of iterations.
const ITERATIONS: usize = 50;

/// The greatest magnitude of the logarithm of what the scores of any document are multiplied with.
const MOST: f64 = 10.0;

impl Temperature {
    /// Leaves scores as they are.
    pub const IDENTITY: Temperature = Temperature { scale: 1.0, exponent: 0.0 };

    /// Fits both numbers to documents that took no part in training, each given by its scores, the number of its
    /// known terms and its class: the least log loss, by Newton's method with step halving. `None` without documents
    /// that have known terms.
    ///
    /// Where the classes are separated the loss has no minimum. As with [`Platt`](crate::Platt) smoothing meets that:
    /// of `n` documents, a share of `1 / (n + 2)` is taken to be of any class.
    pub fn fit(scored: &[(&[f64], usize, usize)]) -> Option<Temperature> {
        let known: Vec<_> = scored.iter().filter(|(scores, n, _)| *n > 0 && scores.len() > 1).collect();
        if known.is_empty() {
            return None;
        }
        // centred, so that the two numbers hardly depend on each other
        let centre = known.iter().map(|(_, n, _)| (*n as f64).ln()).sum::<f64>() / known.len() as f64;
        let documents: Vec<_> =
            known.iter().map(|(scores, n, class)| (*scores, (*n as f64).ln() - centre, *class)).collect();
        let mut at = [0.0, 0.0];
        let mut here = Loss::new(&documents, at);
        for _ in 0..ITERATIONS {
            let Some(step) = here.step() else { break };
            let mut length = 1.0;
            let (next, there) = loop {
                let next = [at[0] - length * step[0], at[1] - length * step[1]];
                let there = Loss::new(&documents, next);
                if there.value <= here.value || length < 1e-6 {
                    break (next, there);
                }
                length /= 2.0;
            };
            let gained = here.value - there.value;
            if gained <= 0.0 {
                break;
            }
            (at, here) = (next, there);
            if gained < 1e-12 * here.value {
                break;
            }
        }
        Temperature { scale: (at[0] - at[1] * centre).exp(), exponent: at[1] }.checked()
    }

    /// Turns the scores of a document into probabilities that add up to 1.
    pub fn predict_proba(&self, scores: &mut [f64], known_terms: usize) {
        self.apply(scores, known_terms);
        softmax(scores);
    }

    /// Turns the scores of a document into logarithms of its probabilities, up to a constant.
    pub fn apply(&self, scores: &mut [f64], known_terms: usize) {
        let factor = self.factor(known_terms);
        scores.iter_mut().for_each(|score| *score *= factor);
    }

    /// What the scores of a document with so many known terms are multiplied with: `scale n^exponent`, at least
    /// e^-10 and at most e^10.
    pub fn factor(&self, known_terms: usize) -> f64 {
        let factor = self.scale * (known_terms.max(1) as f64).powf(self.exponent);
        factor.clamp((-MOST).exp(), MOST.exp())
    }

    fn checked(self) -> Option<Temperature> {
        (self.scale.is_finite() && self.scale > 0.0 && self.exponent.is_finite()).then_some(self)
    }
}

/// The log loss, its gradient, and the part of its second derivatives that is never negative (Gauss and Newton).
struct Loss {
    value: f64,
    gradient: [f64; 2],
    curvature: [f64; 3],
}

impl Loss {
    fn new(documents: &[(&[f64], f64, usize)], [scale, exponent]: [f64; 2]) -> Loss {
        let mut loss = Loss { value: 0.0, gradient: [0.0; 2], curvature: [0.0; 3] };
        let mut probabilities = Vec::new();
        let any = 1.0 / (documents.len() as f64 + 2.0);
        for (scores, length, class) in documents {
            let factor = (scale + exponent * length).clamp(-MOST, MOST).exp();
            probabilities.clear();
            probabilities.extend(scores.iter().map(|score| factor * score));
            let log_sum = softmax_and_sum(&mut probabilities);
            let moment = |power: i32| -> f64 {
                probabilities.iter().zip(*scores).map(|(p, score)| p * score.powi(power)).sum()
            };
            let (mean, square) = (moment(1), moment(2));
            let all = scores.iter().sum::<f64>() / scores.len() as f64;
            let own = scores.get(*class).copied().unwrap_or(all);
            let target = (1.0 - any) * own + any * all;
            loss.value += log_sum - factor * target;
            let slope = factor * (mean - target);
            let curve = factor * factor * (square - mean * mean).max(0.0);
            loss.gradient[0] += slope;
            loss.gradient[1] += slope * length;
            loss.curvature[0] += curve;
            loss.curvature[1] += curve * length;
            loss.curvature[2] += curve * length * length;
        }
        loss
    }

    /// The step to subtract; none where there is nothing left to gain.
    fn step(&self) -> Option<[f64; 2]> {
        let ridge = 1e-9 * (self.curvature[0] + self.curvature[2]) + f64::MIN_POSITIVE;
        let (a, b, c) = (self.curvature[0] + ridge, self.curvature[1], self.curvature[2] + ridge);
        let determinant = a * c - b * b;
        let [u, v] = self.gradient;
        let step = [(c * u - b * v) / determinant, (a * v - b * u) / determinant];
        step.iter().all(|s| s.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_documents_can_be_trusted_more() {
        // of short documents 3 in 4 are right, of long ones 99 in 100
        let scores = [1.0, 0.0, 0.0];
        let documents = |n: usize, right: usize| (0..100).map(move |i| (n, usize::from(i >= right)));
        let scored: Vec<_> =
            documents(10, 75).chain(documents(1_000, 99)).map(|(n, class)| (&scores[..], n, class)).collect();
        let temperature = Temperature::fit(&scored).unwrap();
        assert!(temperature.exponent > 0.0);
        let probability = |n| {
            let mut p = scores.to_vec();
            temperature.predict_proba(&mut p, n);
            p[0]
        };
        assert!((probability(10) - 0.75).abs() < 0.02 && (probability(1_000) - 0.99).abs() < 0.01);
    }

    #[test]
    fn separated_or_strange_scores_end_in_a_temperature_or_none() {
        let good = [5.0, 1.0];
        for scored in [
            vec![(&good[..], 3, 0); 50],
            vec![(&good[..], 3, 1); 50],
            vec![(&[0.0, 0.0][..], 3, 1); 5],
            vec![(&[1e300, -1e300][..], 3, 0), (&[1e-300, 0.0][..], 1, 1)],
            vec![(&good[..], 3, 7)],
        ] {
            let temperature = Temperature::fit(&scored).unwrap_or_default();
            let mut p = vec![5.0, 1.0];
            temperature.predict_proba(&mut p, 3);
            assert!((p[0] + p[1] - 1.0).abs() < 1e-9 && p[0] >= p[1], "{temperature:?}");
        }
        assert_eq!(Temperature::fit(&[]), None);
        assert_eq!(
            Temperature::fit(&[(&[f64::NAN, 1.0], 3, 0), (&good[..], 3, 0)]),
            Some(Temperature::IDENTITY)
        );
        assert_eq!(Temperature::fit(&[(&good[..], 0, 0), (&[1.0], 4, 0)]), None);
        assert!(serde_json::from_str::<Temperature>(r#"{"scale": -1, "exponent": 0}"#).is_err());
    }

    #[test]
    fn the_likeliest_class_stays_the_likeliest() {
        for (scale, exponent) in [(1e300, 300.0), (1e-300, -300.0), (1e300, -300.0), (1e9, 1.0), (1e-9, 0.0)]
        {
            for n in [0, 1, 2, 1_000, usize::MAX] {
                let mut p = [0.0, 2.0, -1.0];
                Temperature { scale, exponent }.predict_proba(&mut p, n);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{p:?}");
                assert!(p[1] > p[0] && p[0] >= p[2], "{p:?}");
            }
        }
    }
}
