mod error;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use error::{FitError, ParametersError};

use crate::{ClassTotals, Counts, NaiveBayes, Select};

/// Everything that is decided after counting: how counts become probabilities.
///
/// | field | default | purpose | range |
/// | --- | --- | --- | --- |
/// | `likelihood` | `Multinomial` | model of a document given its class | |
/// | `counting` | `Occurrences` | what all but Bernoulli count | |
/// | `alpha` | 1 | additive smoothing | see [`Smoothing`] |
/// | `prior` | `Learned` | probability of a class before reading | |
/// | `features` | all terms | which terms take part | see [`FeatureLimits`] |
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The model of a document given its class. By default multinomial.
    pub likelihood: Likelihood,
    /// What all likelihoods but Bernoulli count. By default occurrences.
    pub counting: Counting,
    /// Additive smoothing. By default 1 (Laplace).
    pub alpha: Smoothing,
    /// The probability of a class before anything is read. By default its share of the documents.
    pub prior: ClassPrior,
    /// Which terms take part. By default all.
    pub features: FeatureLimits,
}

impl Parameters {
    /// Derives a model: [`summarize`](Self::summarize), then [`NaiveBayes::new`].
    ///
    /// # Errors
    /// Reading fails; or as [`NaiveBayes::new`].
    pub fn fit<C: Counts>(&self, counts: &C) -> Result<NaiveBayes, FitError<C::Error>> {
        let summary = self.summarize(counts).map_err(FitError::Counts)?;
        NaiveBayes::new(self, &summary).map_err(FitError::Parameters)
    }

    /// Whether the model counts documents, not occurrences.
    pub(crate) fn counts_presence(&self) -> bool {
        self.likelihood == Likelihood::Bernoulli || self.counting == Counting::Presence
    }

    /// Checks what can be checked without counts.
    pub(crate) fn check(&self) -> Result<(), ParametersError> {
        if self.likelihood.is_complement() && self.alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: 0.0 });
        }
        self.features.check()
    }
}

/// Additive (Lidstone) smoothing: `alpha` occurrences of every feature are taken for granted, so that
/// nothing unseen is impossible.
///
/// The smoothed probability `(n + alpha) / (total + alpha V)` of one of `V` outcomes is an estimate under a
/// symmetric Dirichlet prior (for Bernoulli a Beta prior) in two ways: the mean of the posterior if the prior's
/// parameters are `alpha` (Laplace's rule of succession for 1), and its mode (MAP) if they are `alpha + 1`.
/// Whence the three ways to make one: `try_from` takes alpha itself, [`map`](Self::map) the prior of which the
/// posterior's mode is wanted, and [`maximum_likelihood`](Self::maximum_likelihood) is no smoothing at all.
/// [`Dirichlet`](crate::Dirichlet) has the same estimates for a single distribution.
///
/// Invariant: finite and at least 0. Small values (0.01 to 0.1) suit large vocabularies; the default
/// is 1, Laplace's rule of succession.
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

impl Smoothing {
    /// Alpha 1.
    pub const LAPLACE: Smoothing = Smoothing(1.0);

    /// No smoothing: alpha 0, the relative frequencies, which make what was learned the most probable.
    ///
    /// What was never seen in a class is then impossible there: its log-probability is minus infinity, and so
    /// is the joint log-likelihood of a document that has it. A document impossible in all classes has equal
    /// probabilities. A class without any evidence makes every feature impossible. The complement
    /// likelihoods and [`WeightedLogOdds`](crate::WeightedLogOdds) refuse it.
    pub const fn maximum_likelihood() -> Smoothing {
        Smoothing(0.0)
    }

    /// The mode of the posterior (MAP) under a symmetric Dirichlet or Beta prior with all parameters equal to
    /// `concentration`: alpha is `concentration - 1`, and a flat prior (1) gives the maximum likelihood.
    ///
    /// # Errors
    /// A concentration that is not finite or below 1: the posterior need not have a mode.
    pub fn map(concentration: f64) -> Result<Smoothing, ParametersError> {
        match concentration.is_finite() && concentration >= 1.0 {
            true => Ok(Smoothing(concentration - 1.0)),
            false => Err(ParametersError::Concentration { expected: 1.0, got: concentration }),
        }
    }

    /// The number of occurrences that are added.
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
        match alpha.is_finite() && alpha > 0.0 {
            true => Ok(Smoothing(alpha)),
            false => Err(ParametersError::Smoothing { got: alpha }),
        }
    }
}

/// Alpha as it is stored: 0 was meant when it was written.
#[derive(Deserialize)]
struct Stored(f64);

impl TryFrom<Stored> for Smoothing {
    type Error = ParametersError;

    fn try_from(Stored(alpha): Stored) -> Result<Self, ParametersError> {
        match alpha {
            0.0 => Ok(Smoothing::maximum_likelihood()),
            _ => Smoothing::try_from(alpha),
        }
    }
}

impl From<Smoothing> for f64 {
    fn from(smoothing: Smoothing) -> f64 {
        smoothing.0
    }
}

/// The model of a document given its class (McCallum and Nigam, "A Comparison of Event Models for Naive
/// Bayes Text Classification", 1998).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Likelihood {
    /// Each feature is in the document or not: `p(t|c) = (df_tc + alpha) / (documents_c + 2 alpha)`, and what
    /// is absent counts too. Always over presence.
    Bernoulli,
    /// Each token is drawn from the class: `p(t|c) = (n_tc + alpha) / (n_c + alpha V)`, with `V` features.
    #[default]
    Multinomial,
    /// Each token speaks against the classes that the others have it from: a weight of `-log p(t|not c)`, with
    /// `p(t|not c) = (n_t - n_tc + alpha) / (n - n_c + alpha V)` (Rennie, Shih, Teevan and Karger, "Tackling the
    /// Poor Assumptions of Naive Bayes Text Classifiers", 2003). For classes of very different sizes.
    ///
    /// Scores are no probabilities of documents, so the prior has no part in them, and exponentials normalised
    /// to 1 rank the classes but say little of how sure one may be. Needs smoothing above 0.
    Complement,
    /// As [`Complement`](Self::Complement), the weights of a class divided by their sum over all features, so
    /// that no class has an advantage by large weights.
    ComplementNormalized,
}

impl Likelihood {
    pub(crate) fn is_complement(self) -> bool {
        matches!(self, Likelihood::Complement | Likelihood::ComplementNormalized)
    }

    /// Refuses the complement likelihoods: their scores may not be multiplied with probabilities.
    pub(crate) fn check_generative(self) -> Result<(), ParametersError> {
        match self.is_complement() {
            true => Err(ParametersError::NotGenerative { expected: "bernoulli or multinomial", got: self }),
            false => Ok(()),
        }
    }
}

/// What all likelihoods but Bernoulli count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Counting {
    /// Every occurrence: `tf`.
    #[default]
    Occurrences,
    /// A term once a document: `df`, and 1 for every count of the document to classify.
    Presence,
}

/// Names of an enumeration, as text.
macro_rules! names {
    ($type:ident: $expected:literal, $($variant:ident = $name:literal),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($type::$variant => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = ParametersError;

            fn from_str(name: &str) -> Result<Self, ParametersError> {
                match name {
                    $($name => Ok($type::$variant),)+
                    _ => Err(ParametersError::Name { expected: $expected, got: name.into() }),
                }
            }
        }
    };
}

names!(Likelihood: "bernoulli, multinomial, complement or complement-normalized",
    Bernoulli = "bernoulli", Multinomial = "multinomial",
    Complement = "complement", ComplementNormalized = "complement-normalized");
names!(Counting: "occurrences or presence", Occurrences = "occurrences", Presence = "presence");

/// The probability of each class before anything is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassPrior {
    /// The share of the class in the documents; a class without documents is an error.
    #[default]
    Learned,
    /// `(documents + 1) / (all documents + classes)`, Laplace's rule: never 0.
    Smoothed,
    /// The same for all classes.
    Uniform,
    /// One probability a class, in class order: greater than 0, adding up to 1 within 1e-6.
    Given(Vec<f64>),
}

impl ClassPrior {
    /// The logarithms (nats), one a class.
    pub(crate) fn log_prior(&self, totals: &[ClassTotals]) -> Result<Vec<f64>, ParametersError> {
        self.log_prior_of(&totals.iter().map(|t| t.documents as f64).collect::<Vec<_>>())
    }

    /// The same, from the weight (documents) of each class.
    pub(crate) fn log_prior_of(&self, documents: &[f64]) -> Result<Vec<f64>, ParametersError> {
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

/// Which terms take part, decided from the counts. Counts themselves are never pruned.
///
/// ```
/// use tamis_model::FeatureLimits;
///
/// // in 2 documents or more, but not in more than half of them
/// let limits = FeatureLimits { min_df: 2, max_df: Some(0.5), ..FeatureLimits::default() };
/// assert_eq!(limits.max_features, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureLimits {
    /// The fewest documents a feature is in. By default 1.
    pub min_df: u64,
    /// The largest share of the documents a feature is in, in (0, 1]. By default none.
    pub max_df: Option<f64>,
    /// The most features, of those within the other limits: the ones with the most occurrences, of equal
    /// ones those of lower id. At least 1. By default none.
    pub max_features: Option<usize>,
    /// Of the terms within the other limits, the best ones by their association with the classes. By default
    /// all.
    #[serde(default)]
    pub select: Option<Select>,
}

impl Default for FeatureLimits {
    fn default() -> Self {
        FeatureLimits { min_df: 1, max_df: None, max_features: None, select: None }
    }
}

impl FeatureLimits {
    pub(crate) fn check(&self) -> Result<(), ParametersError> {
        match (self.max_df, self.max_features, self.select.map(|select| select.n)) {
            (Some(got), ..) if !(got > 0.0 && got <= 1.0) => Err(ParametersError::MaxDf { got }),
            (_, Some(got @ 0), _) | (.., Some(got @ 0)) => {
                Err(ParametersError::MaxFeatures { expected: 1, got })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
