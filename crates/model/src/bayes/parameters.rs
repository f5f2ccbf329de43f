//! Parameters of naive Bayes: likelihood, counting, smoothing, prior, features.

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;
use crate::bayes::features::FeatureLimits;
use crate::bayes::likelihood::{Counting, Likelihood};
use crate::counts::ClassTotals;

/// How counts become probabilities: everything decided after counting.
///
/// | field | default | purpose | range |
/// | --- | --- | --- | --- |
/// | `likelihood` | `Multinomial` | model of a document given its class | |
/// | `counting` | `Occurrences` | what likelihoods other than Bernoulli count | |
/// | `alpha` | 1 | additive smoothing | see [`Smoothing`] |
/// | `prior` | `Learned` | prior probability of a class | |
/// | `features` | all terms | which terms the model uses | see [`FeatureLimits`] |
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The model of a document given its class. By default multinomial.
    pub likelihood: Likelihood,
    /// What likelihoods other than Bernoulli count. By default occurrences.
    pub counting: Counting,
    /// Additive smoothing. By default 1 (Laplace).
    pub alpha: Smoothing,
    /// The class prior. By default the class's share of the documents.
    pub prior: ClassPrior,
    /// Which terms the model uses. By default all.
    pub features: FeatureLimits,
}

impl Parameters {
    /// Whether the model counts documents instead of occurrences.
    pub(crate) fn counts_presence(&self) -> bool {
        self.likelihood.counts_presence_only() || self.counting == Counting::Presence
    }

    /// Checks the ranges that do not depend on counts.
    pub(crate) fn check(&self) -> Result<(), ParametersError> {
        if self.likelihood.is_complement() && self.alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: 0.0 });
        }
        self.features.check()
    }
}

/// The prior probability of each class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassPrior {
    /// The class's share of the documents; a class without documents is an error.
    #[default]
    Learned,
    /// `(documents + 1) / (all documents + classes)`, Laplace's rule. Never 0.
    Smoothed,
    /// The same for all classes.
    Uniform,
    /// One probability per class, in class order, each greater than 0; they sum to 1 within 1e-6.
    Given(Vec<f64>),
}

impl ClassPrior {
    /// The log-prior (nats) of each class.
    ///
    /// # Errors
    /// The prior does not fit the classes; there are none.
    pub fn log_prior(&self, totals: &[ClassTotals]) -> Result<Vec<f64>, ParametersError> {
        self.log_prior_of(&totals.iter().map(|t| t.documents as f64).collect::<Vec<_>>())
    }

    /// The log-prior (nats) of each class, from the classes' weights in documents.
    ///
    /// # Errors
    /// As [`log_prior`](Self::log_prior).
    pub fn log_prior_of(&self, documents: &[f64]) -> Result<Vec<f64>, ParametersError> {
        let k = documents.len() as f64;
        let all: f64 = documents.iter().sum();
        if documents.is_empty() {
            return Err(ParametersError::NoClasses);
        }
        match self {
            ClassPrior::Learned => {
                if let Some(class) = documents.iter().position(|&n| n <= 0.0) {
                    return Err(ParametersError::EmptyClass { class, expected: 1, got: 0 });
                }
                Ok(documents.iter().map(|n| n.ln() - all.ln()).collect())
            }
            ClassPrior::Smoothed => Ok(documents.iter().map(|n| (n + 1.0).ln() - (all + k).ln()).collect()),
            ClassPrior::Uniform => Ok(vec![-k.ln(); documents.len()]),
            ClassPrior::Given(prior) => given(prior, documents.len()),
        }
    }
}

fn given(prior: &[f64], expected: usize) -> Result<Vec<f64>, ParametersError> {
    if prior.len() != expected {
        return Err(ParametersError::PriorLength { expected, got: prior.len() });
    }
    // written so that NaN fails
    if let Some(&got) = prior.iter().find(|p| !(**p > 0.0 && p.is_finite())) {
        return Err(ParametersError::PriorValue { got });
    }
    let sum: f64 = prior.iter().sum();
    if (sum - 1.0).abs() > 1e-6 {
        return Err(ParametersError::PriorSum { expected: 1.0, got: sum });
    }
    Ok(prior.iter().map(|p| (p / sum).ln()).collect())
}

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
#[serde(try_from = "StoredAlpha", into = "f64")]
pub struct Smoothing(f64);

/// Alpha as stored, where 0 is allowed.
#[derive(Deserialize)]
struct StoredAlpha(f64);

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

impl TryFrom<StoredAlpha> for Smoothing {
    type Error = ParametersError;

    fn try_from(StoredAlpha(alpha): StoredAlpha) -> Result<Self, ParametersError> {
        if alpha == 0.0 { Ok(Smoothing::maximum_likelihood()) } else { Smoothing::try_from(alpha) }
    }
}

impl From<Smoothing> for f64 {
    fn from(smoothing: Smoothing) -> f64 {
        smoothing.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::ClassTotals;

    fn documents(counts: &[u64]) -> Vec<ClassTotals> {
        counts.iter().map(|&documents| ClassTotals { documents, ..ClassTotals::default() }).collect()
    }

    #[test]
    fn smoothing_is_finite_and_positive() {
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Smoothing::try_from(bad).is_err(), "{bad}");
        }
        for bad in ["-1", "-5e-324", "null", "NaN", "1e999"] {
            assert!(serde_json::from_str::<Smoothing>(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Smoothing>("1.0").unwrap(), Smoothing::default());
    }

    #[test]
    fn zero_must_be_meant() {
        let zero = Smoothing::maximum_likelihood();
        assert_eq!(zero.alpha().to_bits(), 0);
        assert_eq!(serde_json::to_string(&zero).unwrap(), "0.0");
        for stored in ["0.0", "0", "-0.0"] {
            assert_eq!(serde_json::from_str::<Smoothing>(stored).unwrap().alpha().to_bits(), 0, "{stored}");
        }
        assert_eq!(Smoothing::map(1.0), Ok(zero));
        assert_eq!(Smoothing::map(2.0), Ok(Smoothing::LAPLACE));
        for bad in [0.999, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Smoothing::map(bad), Err(ParametersError::Concentration { .. })), "{bad}");
        }
    }

    #[test]
    fn names_are_read_back() {
        use Likelihood::*;
        for likelihood in [Bernoulli, Multinomial, Complement, ComplementNormalized] {
            assert_eq!(likelihood.to_string().parse(), Ok(likelihood));
        }
        for counting in [Counting::Occurrences, Counting::Presence] {
            assert_eq!(counting.to_string().parse(), Ok(counting));
        }
        let error = "gauss".parse::<Likelihood>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected bernoulli, multinomial, complement or complement-normalized, got \"gauss\""
        );
    }

    #[test]
    fn priors() {
        let totals = documents(&[3, 1]);
        let prior =
            |p: ClassPrior| p.log_prior(&totals).map(|x| x.iter().map(|x| x.exp()).collect::<Vec<_>>());
        let close = |p, expected: [f64; 2]| {
            let got = prior(p).unwrap();
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} {expected:?}");
        };
        close(ClassPrior::Learned, [0.75, 0.25]);
        close(ClassPrior::Smoothed, [4.0 / 6.0, 2.0 / 6.0]);
        close(ClassPrior::Uniform, [0.5, 0.5]);
        close(ClassPrior::Given(vec![0.2, 0.8]), [0.2, 0.8]);
        assert!(matches!(prior(ClassPrior::Given(vec![1.0])), Err(ParametersError::PriorLength { .. })));
        assert!(matches!(prior(ClassPrior::Given(vec![0.5, 0.6])), Err(ParametersError::PriorSum { .. })));
        for bad in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            let given = prior(ClassPrior::Given(vec![1.0, bad]));
            assert!(matches!(given, Err(ParametersError::PriorValue { .. })), "{bad}");
        }
        let empty = ClassPrior::Learned.log_prior(&documents(&[3, 0]));
        assert_eq!(empty, Err(ParametersError::EmptyClass { class: 1, expected: 1, got: 0 }));
    }
}
