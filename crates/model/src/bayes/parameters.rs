//! Parameters of naive Bayes: likelihood, counting, smoothing, prior, features.

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;
use crate::bayes::features::FeatureLimits;
use crate::bayes::likelihood::{Counting, Likelihood};
use crate::bayes::prior::ClassPrior;
use crate::bayes::smoothing::Smoothing;

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
