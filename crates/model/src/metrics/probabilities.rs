//! Metrics of probabilities: log loss, Brier score, calibration error.

use crate::numbers::{sigmoid, softplus};

/// The mean logarithmic loss in nats, from log-odds of the positive class: 0 is perfect, ln 2 is a coin toss. Computed
/// from log-odds it needs no clipping; an infinitely sure error costs infinity.
///
/// `None` without documents or with log-odds that are NaN.
///
/// ```
/// use tamis_model::metrics::log_loss;
///
/// assert_eq!(log_loss(&[(0.0, true), (0.0, false)]), Some(2f64.ln()));
/// assert_eq!(log_loss(&[(800.0, false)]), Some(800.0));
/// ```
pub fn log_loss(log_odds: &[(f64, bool)]) -> Option<f64> {
    mean(log_odds, |x, positive| softplus(if positive { -x } else { x }))
}

/// The Brier score: the mean squared error of the probabilities, from log-odds of the positive class (nats). 0 is
/// perfect, 0.25 is a coin toss (Brier, "Verification of Forecasts Expressed in Terms of Probability", 1950).
///
/// `None` without documents or with log-odds that are NaN.
///
/// ```
/// use tamis_model::metrics::brier;
///
/// assert_eq!(brier(&[(0.0, true), (0.0, false)]), Some(0.25));
/// ```
pub fn brier(log_odds: &[(f64, bool)]) -> Option<f64> {
    // the error of a positive is 1 - p, which is the probability of -x
    mean(log_odds, |x, positive| sigmoid(if positive { -x } else { x }).powi(2))
}

/// The expected calibration error (ECE): documents are sorted into `bins` bins of equal width by their probability (15
/// is usual), and the distance between mean probability and share of positives is averaged over the documents. 0 is
/// perfect.
///
/// `None` without documents or bins, or with log-odds that are NaN.
///
/// Source: Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning"
/// (2015).
///
/// ```
/// use tamis_model::metrics::expected_calibration_error;
///
/// let sure = 9f64.ln(); // says 0.9, is right three times in four
/// let log_odds = [(sure, true), (sure, true), (sure, true), (sure, false)];
/// let error = expected_calibration_error(&log_odds, 15).ok_or("documents")?;
/// assert!((error - 0.15).abs() < 1e-12);
/// # Ok::<(), &str>(())
/// ```
pub fn expected_calibration_error(log_odds: &[(f64, bool)], bins: usize) -> Option<f64> {
    if bins == 0 || log_odds.is_empty() || log_odds.iter().any(|(x, _)| x.is_nan()) {
        return None;
    }
    let bin = |p: f64| ((p * bins as f64) as usize).min(bins - 1);
    let errors = log_odds.iter().map(|&(x, positive)| (sigmoid(x), f64::from(u8::from(positive))));
    let mut errors: Vec<_> = errors.map(|(p, truth)| (bin(p), p - truth)).collect();
    errors.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of_bin = |bin: &[(usize, f64)]| bin.iter().map(|(_, error)| error).sum::<f64>().abs();
    Some(errors.chunk_by(|a, b| a.0 == b.0).map(of_bin).sum::<f64>() / log_odds.len() as f64)
}

fn mean(log_odds: &[(f64, bool)], loss: impl Fn(f64, bool) -> f64) -> Option<f64> {
    if log_odds.is_empty() || log_odds.iter().any(|(x, _)| x.is_nan()) {
        return None;
    }
    Some(log_odds.iter().map(|&(x, positive)| loss(x, positive)).sum::<f64>() / log_odds.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [(f64, bool); 2] = [(f64::INFINITY, true), (f64::NEG_INFINITY, false)];

    #[test]
    fn of_nothing() {
        for bad in [&[][..], &[(f64::NAN, true)]] {
            assert_eq!((log_loss(bad), brier(bad), expected_calibration_error(bad, 15)), (None, None, None));
        }
        assert_eq!(expected_calibration_error(&ENDS, 0), None);
    }

    #[test]
    fn at_the_ends() {
        assert_eq!((log_loss(&ENDS), brier(&ENDS)), (Some(0.0), Some(0.0)));
        assert_eq!(expected_calibration_error(&ENDS, usize::MAX), Some(0.0));
        let wrong = ENDS.map(|(x, positive)| (x, !positive));
        assert_eq!((log_loss(&wrong), brier(&wrong)), (Some(f64::INFINITY), Some(1.0)));
        assert_eq!(expected_calibration_error(&wrong, 15), Some(1.0));
    }

    #[test]
    fn by_hand() {
        let x = [(3f64.ln(), true), (3f64.ln(), false), (-(3f64.ln()), false)];
        let loss = -(0.75f64.ln() + 0.25f64.ln() + 0.75f64.ln()) / 3.0;
        assert!((log_loss(&x).unwrap() - loss).abs() < 1e-12);
        assert!((brier(&x).unwrap() - (0.0625 + 0.5625 + 0.0625) / 3.0).abs() < 1e-12);
        let two_bins = (0.5 + 0.25) / 3.0;
        assert!((expected_calibration_error(&x, 2).unwrap() - two_bins).abs() < 1e-12);
    }
}
