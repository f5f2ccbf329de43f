//! Additive (Laplace, Lidstone) smoothing.

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;

/// Additive (Laplace, Lidstone) smoothing: adds `alpha` occurrences to every feature, so that nothing unseen is
/// impossible.
///
/// The smoothed probability `(n + alpha) / (total + alpha V)` of one of `V` outcomes is an estimate under a symmetric
/// Dirichlet prior (for Bernoulli a Beta prior) in two ways: the mean of the posterior if the prior's parameters are
/// `alpha` (Laplace's rule of succession for 1), and its mode (MAP) if they are `alpha + 1`. Hence there are three
/// constructors: `try_from` takes alpha itself, [`map`](Self::map) takes the parameter of the prior whose posterior
/// mode is wanted, and [`maximum_likelihood`](Self::maximum_likelihood) does not smooth.
/// `Dirichlet` of `tamis-textbook` has the same estimates for a single distribution.
///
/// Invariant: alpha is finite and at least 0. Small values (0.01 to 0.1) suit large vocabularies; the default is 1,
/// Laplace's rule of succession.
///
/// ```
/// use tamis_model::Smoothing;
///
/// assert_eq!(Smoothing::try_from(0.1)?.alpha(), 0.1);
/// assert_eq!(Smoothing::map(1.1)?, Smoothing::try_from(1.1 - 1.0)?);
/// assert_eq!(Smoothing::map(1.0)?, Smoothing::maximum_likelihood());
/// assert!(Smoothing::try_from(0.0).is_err()); // must be meant
/// # Ok::<(), tamis_model::ParametersError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "f64")]
pub struct Smoothing(f64);

/// Alpha as stored, where 0 is allowed.
#[derive(Deserialize)]
struct Stored(f64);

impl Smoothing {
    /// Alpha 1.
    pub const LAPLACE: Smoothing = Smoothing(1.0);

    /// No smoothing: alpha 0, relative frequencies (maximum likelihood).
    ///
    /// A term never seen in a class is then impossible there: its log-probability is minus infinity, and so is the
    /// joint log-likelihood of any document that contains it. A document that is impossible in all classes gets equal
    /// probabilities. In a class without any counts every feature is impossible. The complement likelihoods and
    /// [`WeightedLogOdds`](crate::WeightedLogOdds) refuse alpha 0.
    pub const fn maximum_likelihood() -> Smoothing {
        Smoothing(0.0)
    }

    /// The mode of the posterior (MAP) under a symmetric Dirichlet or Beta prior with all parameters equal to
    /// `concentration`: alpha is `concentration - 1`, and a flat prior (1) gives the maximum likelihood.
    ///
    /// # Errors
    /// A concentration that is below 1, where the posterior may have no mode, or not finite.
    pub fn map(concentration: f64) -> Result<Smoothing, ParametersError> {
        let is_valid = concentration.is_finite() && concentration >= 1.0;
        let error = ParametersError::Concentration { expected: 1.0, got: concentration };
        is_valid.then_some(Smoothing(concentration - 1.0)).ok_or(error)
    }

    /// The number of occurrences added to every feature.
    pub fn alpha(self) -> f64 {
        self.0
    }
}

impl Default for Smoothing {
    fn default() -> Self {
        Self::LAPLACE
    }
}

impl TryFrom<f64> for Smoothing {
    type Error = ParametersError;

    fn try_from(alpha: f64) -> Result<Self, ParametersError> {
        let is_valid = alpha.is_finite() && alpha > 0.0;
        is_valid.then_some(Smoothing(alpha)).ok_or(ParametersError::Smoothing { got: alpha })
    }
}

impl TryFrom<Stored> for Smoothing {
    type Error = ParametersError;

    fn try_from(Stored(alpha): Stored) -> Result<Self, ParametersError> {
        if alpha == 0.0 { Ok(Smoothing::maximum_likelihood()) } else { Smoothing::try_from(alpha) }
    }
}

impl From<Smoothing> for f64 {
    fn from(smoothing: Smoothing) -> f64 {
        smoothing.0
    }
}
