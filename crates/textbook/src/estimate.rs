//! Estimates of a distribution from counts: maximum likelihood, MAP and posterior mean under [`Beta`] and [`Dirichlet`]
//! priors.

/// A Dirichlet prior of a categorical distribution, such as the faces of a die.
///
/// Its parameters are pseudo-counts, one per outcome. From observed counts `n_k` (`n` in all) follow three estimates of
/// the probabilities, each of which sums to 1:
///
/// | | probability | |
/// | --- | --- | --- |
/// | [`maximum_likelihood`](Self::maximum_likelihood) | `n_k / n` | makes the counts most probable |
/// | [`map`](Self::map) | `(n_k + alpha_k - 1) / (n + A - K)` | the mode of the posterior |
/// | [`posterior_mean`](Self::posterior_mean) | `(n_k + alpha_k) / (n + A)` | the probability of the next outcome |
///
/// Here `K` is the number of outcomes and `A` the sum of the parameters (Gelman et al., "Bayesian Data Analysis", 3rd
/// edition, 2013, 3.4). The posterior mean under equal parameters alpha is additive smoothing, as in
/// [`Smoothing`](tamis_model::Smoothing), and Laplace's rule for alpha 1.
///
/// Invariant: there is at least one parameter, and each is finite and greater than 0.
///
/// ```
/// use tamis_textbook::Dirichlet;
///
/// let throws = [3, 1, 0];
/// assert_eq!(Dirichlet::maximum_likelihood(&throws)?, [0.75, 0.25, 0.0]);
/// let laplace = Dirichlet::symmetric(1.0, 3)?;
/// assert_eq!(laplace.posterior_mean(&throws)?, [4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]);
/// assert_eq!(laplace.map(&throws)?, Dirichlet::maximum_likelihood(&throws)?); // a flat prior
/// # Ok::<(), tamis_textbook::EstimateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dirichlet(Vec<f64>);

impl Dirichlet {
    /// A prior with these `parameters`, one per outcome.
    ///
    /// # Errors
    /// No parameters; a parameter that is not finite and greater than 0.
    pub fn new(parameters: Vec<f64>) -> Result<Self, EstimateError> {
        if parameters.is_empty() {
            return Err(EstimateError::Outcomes { expected: 1, got: 0 });
        }
        match parameters.iter().find(|p| !(p.is_finite() && **p > 0.0)) {
            Some(&got) => Err(EstimateError::Parameter { expected: "a finite number greater than 0", got }),
            None => Ok(Dirichlet(parameters)),
        }
    }

    /// A symmetric prior: `n_outcomes` parameters, each `alpha`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn symmetric(alpha: f64, n_outcomes: usize) -> Result<Self, EstimateError> {
        Dirichlet::new(vec![alpha; n_outcomes])
    }

    /// The parameters, one per outcome.
    pub fn parameters(&self) -> &[f64] {
        &self.0
    }

    /// The maximum likelihood estimate: the relative frequencies `n_k / n`, without a prior.
    ///
    /// # Errors
    /// All counts are 0, so that all estimates are equally good.
    pub fn maximum_likelihood(counts: &[u64]) -> Result<Vec<f64>, EstimateError> {
        normalized(counts.iter().map(|&n| n as f64).collect())
    }

    /// The mode of the posterior, `(n_k + alpha_k - 1) / (n + A - K)`.
    ///
    /// It is 0 for an outcome that has parameter 1 and was not counted.
    ///
    /// # Errors
    /// Not one count per parameter; a parameter below 1, where the posterior may be unbounded; all parameters 1 and all
    /// counts 0, where all estimates are equally good.
    pub fn map(&self, counts: &[u64]) -> Result<Vec<f64>, EstimateError> {
        if let Some(&got) = self.0.iter().find(|p| **p < 1.0) {
            return Err(EstimateError::Parameter { expected: "a number of at least 1 for a mode", got });
        }
        // subtract 1 from alpha first: added to a large count, alpha would be rounded away
        normalized(self.add(counts, |alpha| alpha - 1.0)?)
    }

    /// The mean of the posterior, `(n_k + alpha_k) / (n + A)`. Never 0, except by rounding.
    ///
    /// # Errors
    /// Not one count per parameter.
    pub fn posterior_mean(&self, counts: &[u64]) -> Result<Vec<f64>, EstimateError> {
        normalized(self.add(counts, |alpha| alpha)?)
    }

    fn add(&self, counts: &[u64], parameter: impl Fn(f64) -> f64) -> Result<Vec<f64>, EstimateError> {
        if counts.len() != self.0.len() {
            return Err(EstimateError::Outcomes { expected: self.0.len(), got: counts.len() });
        }
        Ok(counts.iter().zip(&self.0).map(|(&n, &alpha)| n as f64 + parameter(alpha)).collect())
    }
}

/// A Beta prior of a probability, such as that of a coin.
///
/// A [`Dirichlet`] prior of two outcomes. Its parameters are pseudo-counts: `a` successes and `b` failures. All
/// estimates are of the probability of success.
///
/// Invariant: both parameters are finite and greater than 0.
///
/// ```
/// use tamis_textbook::Beta;
///
/// assert_eq!(Beta::maximum_likelihood(9, 1)?, 0.9);
/// assert_eq!(Beta::new(2.0, 2.0)?.map(9, 1)?, 10.0 / 12.0);
/// assert_eq!(Beta::new(1.0, 1.0)?.posterior_mean(0, 0), 0.5);
/// # Ok::<(), tamis_textbook::EstimateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Beta(Dirichlet);

impl Beta {
    /// A prior with the parameters `a` and `b`.
    ///
    /// # Errors
    /// A parameter that is not finite and greater than 0.
    pub fn new(a: f64, b: f64) -> Result<Self, EstimateError> {
        Dirichlet::new(vec![a, b]).map(Beta)
    }

    /// The parameter of success.
    pub fn a(&self) -> f64 {
        self.0.0[0]
    }

    /// The parameter of failure.
    pub fn b(&self) -> f64 {
        self.0.0[1]
    }

    /// The relative frequency `successes / (successes + failures)`, without a prior.
    ///
    /// # Errors
    /// No trials.
    pub fn maximum_likelihood(successes: u64, failures: u64) -> Result<f64, EstimateError> {
        Dirichlet::maximum_likelihood(&[successes, failures]).map(|p| p[0])
    }

    /// The mode of the posterior, `(successes + a - 1) / (trials + a + b - 2)`; 0 or 1 if an outcome with parameter 1
    /// did not happen.
    ///
    /// # Errors
    /// A parameter below 1; both parameters 1 and no trials.
    pub fn map(&self, successes: u64, failures: u64) -> Result<f64, EstimateError> {
        self.0.map(&[successes, failures]).map(|p| p[0])
    }

    /// The mean of the posterior, `(successes + a) / (trials + a + b)`. Never 0 or 1, except by rounding.
    pub fn posterior_mean(&self, successes: u64, failures: u64) -> f64 {
        // with two counts and two parameters greater than 0 there is always a mean
        self.0.posterior_mean(&[successes, failures]).map_or(0.5, |p| p[0])
    }
}

/// Divides non-negative weights by their sum.
fn normalized(mut weights: Vec<f64>) -> Result<Vec<f64>, EstimateError> {
    let mut sum: f64 = weights.iter().sum();
    if sum.is_infinite() {
        // scale down, so that any sum is finite
        weights.iter_mut().for_each(|w| *w *= 0.5f64.powi(64));
        sum = weights.iter().sum();
    }
    if sum == 0.0 {
        return Err(EstimateError::NoTrials { expected: 1, got: 0 });
    }
    weights.iter_mut().for_each(|w| *w /= sum);
    Ok(weights)
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// A parameter of a prior out of its range.
    #[error("parameter of a prior: expected {expected}, got {got}")]
    Parameter {
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// Different numbers of counts and outcomes.
    #[error("expected {expected} outcomes, got {got}")]
    Outcomes {
        /// The number of outcomes.
        expected: usize,
        /// The number of counts.
        got: usize,
    },
    /// No trials and no prior.
    #[error("no estimate: expected at least {expected} trial or a prior that is not flat, got {got}")]
    NoTrials {
        /// The smallest number of trials needed.
        expected: u64,
        /// The number of trials.
        got: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_are_checked() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Beta::new(1.0, bad), Err(EstimateError::Parameter { .. })), "{bad}");
            assert!(matches!(Dirichlet::new(vec![bad]), Err(EstimateError::Parameter { .. })), "{bad}");
        }
        assert_eq!(Dirichlet::new(vec![]), Err(EstimateError::Outcomes { expected: 1, got: 0 }));
    }

    #[test]
    fn there_need_not_be_an_estimate() {
        let none = EstimateError::NoTrials { expected: 1, got: 0 };
        assert_eq!(Beta::maximum_likelihood(0, 0), Err(none));
        assert_eq!(Dirichlet::maximum_likelihood(&[]), Err(none));
        let flat = Beta::new(1.0, 1.0).unwrap();
        assert_eq!(flat.map(0, 0), Err(none));
        assert_eq!(flat.map(0, 3), Ok(0.0));
        let steep = Beta::new(0.5, 2.0).unwrap();
        assert!(matches!(steep.map(5, 5), Err(EstimateError::Parameter { got: 0.5, .. })));
        let two = Dirichlet::symmetric(2.0, 2).unwrap();
        assert_eq!(two.map(&[1]), Err(EstimateError::Outcomes { expected: 2, got: 1 }));
        assert_eq!(two.posterior_mean(&[1, 2, 3]), Err(EstimateError::Outcomes { expected: 2, got: 3 }));
        assert_eq!(two.map(&[0, 0]), Ok(vec![0.5, 0.5]));
    }

    #[test]
    fn extremes_are_probabilities() {
        let huge = Dirichlet::new(vec![f64::MAX, f64::MAX, 1.0]).unwrap();
        for estimate in [huge.map(&[u64::MAX; 3]), huge.posterior_mean(&[u64::MAX; 3])] {
            let p = estimate.unwrap();
            assert!((p[0] - 0.5).abs() < 1e-12 && p[2] < 1e-200, "{p:?}");
        }
        assert_eq!(Beta::maximum_likelihood(u64::MAX, u64::MAX), Ok(0.5));
        let tiny = Beta::new(f64::from_bits(1), f64::from_bits(1)).unwrap();
        assert_eq!(tiny.posterior_mean(0, 0), 0.5);
    }
}
