//! Event models: multinomial, Bernoulli, complement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;

/// The model of a document given its class (McCallum and Nigam, "A Comparison of Event Models for Naive
/// Bayes Text Classification", 1998).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Likelihood {
    /// Each feature is present or absent: `p(t|c) = (df_tc + alpha) / (documents_c + 2 alpha)`. Absent features
    /// contribute, too. Always counts presence.
    Bernoulli,
    /// Each token is drawn from the class: `p(t|c) = (n_tc + alpha) / (n_c + alpha V)`, with `V` features.
    #[default]
    Multinomial,
    /// Each token counts against the other classes, with a weight of `-log p(t|not c)`, where
    /// `p(t|not c) = (n_t - n_tc + alpha) / (n - n_c + alpha V)` (Rennie, Shih, Teevan and Karger, "Tackling the Poor
    /// Assumptions of Naive Bayes Text Classifiers", 2003). Suits classes of very different sizes.
    ///
    /// Scores are not probabilities of documents: they do not contain the prior, and their softmax ranks classes but is
    /// not calibrated. Needs smoothing above 0.
    Complement,
    /// As [`Complement`](Self::Complement), but divides the weights of a class by their sum over all features, so that
    /// no class gains from large weights.
    ComplementNormalized,
}

/// What likelihoods other than Bernoulli count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Counting {
    /// Every occurrence: `tf`.
    #[default]
    Occurrences,
    /// Each term once per document: `df` in the counts, 1 in the document to classify.
    Presence,
}

impl Likelihood {
    /// Every likelihood.
    pub const ALL: [Likelihood; 4] = [
        Likelihood::Bernoulli,
        Likelihood::Multinomial,
        Likelihood::Complement,
        Likelihood::ComplementNormalized,
    ];

    /// Whether it ignores how often a term occurs, whatever the [`Counting`].
    pub fn counts_presence_only(self) -> bool {
        self == Likelihood::Bernoulli
    }

    /// Whether scores are probabilities of documents; not for the complement likelihoods.
    pub fn is_generative(self) -> bool {
        !self.is_complement()
    }

    pub(crate) fn is_complement(self) -> bool {
        matches!(self, Likelihood::Complement | Likelihood::ComplementNormalized)
    }

    /// Refuses the complement likelihoods, whose scores cannot be multiplied with probabilities.
    pub(crate) fn check_generative(self) -> Result<(), ParametersError> {
        let (expected, got) = ("bernoulli or multinomial", self.to_string());
        self.is_generative().then_some(()).ok_or(ParametersError::NotGenerative { expected, got })
    }

    /// The sum over all features that it needs.
    pub(crate) fn feature_sum(self) -> FeatureSum {
        match self {
            Likelihood::Bernoulli => FeatureSum::LogAbsence,
            Likelihood::ComplementNormalized => FeatureSum::ComplementWeights,
            Likelihood::Multinomial | Likelihood::Complement => FeatureSum::None,
        }
    }
}

/// A sum over all features that the numbers of a class depend on, besides its totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureSum {
    None,
    /// Of log (1 - p), which is part of the intercept.
    LogAbsence,
    /// Of the complement weights, which are divided by it.
    ComplementWeights,
}

/// Implements `Display` and `FromStr` for an enumeration by the names of its variants.
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
