//! Feature selection: document-frequency limits, chi-square and mutual information.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;

/// Feature selection: which terms the model uses, decided from their counts. The counts themselves are never pruned.
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
    /// Minimum document frequency. By default 1.
    pub min_df: u64,
    /// Maximum document frequency, as a share of the documents in (0, 1]. By default none.
    pub max_df: Option<f64>,
    /// Maximum number of features, at least 1. Applied after the frequency limits; keeps the terms with the most
    /// occurrences; ties go to lower ids. By default none.
    pub max_features: Option<usize>,
    /// Keeps only the terms most associated with the classes, of those within the other limits. By default all.
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

/// Keeps the terms most associated with the classes (Yang and Pedersen, "A Comparative Study on Feature Selection in
/// Text Categorization", 1997).
///
/// The counts stay whole: a term's score is computed from its own counts whenever a document contains it.
///
/// ```
/// use tamis_model::{Criterion, FeatureLimits, Parameters, Select, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 1), (1, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(0, 1), (2, 1)])?.row())?;
/// let select = Some(Select { by: Criterion::ChiSquare, n: 2 });
/// let features = FeatureLimits { select, ..FeatureLimits::default() };
/// let Ok(summary) = Parameters { features, ..Parameters::default() }.summarize(&statistics);
/// assert_eq!(summary.is_feature(&statistics, 0), Ok(false)); // in both classes alike
/// assert_eq!(summary.n_features(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Select {
    /// The measure of association.
    pub by: Criterion,
    /// Number of terms to keep, at least 1; ties go to lower ids.
    pub n: usize,
}

/// Parses `chi2=N` or `mi=N`.
impl FromStr for Select {
    type Err = ParametersError;

    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let parsed = text.split_once('=').and_then(|(name, n)| {
            let by = match name {
                "chi2" => Criterion::ChiSquare,
                "mi" => Criterion::MutualInformation,
                _ => return None,
            };
            Some(Select { by, n: n.parse().ok().filter(|n| *n > 0)? })
        });
        let expected = "chi2=N or mi=N with a positive number";
        parsed.ok_or_else(|| ParametersError::Name { expected, got: text.to_owned() })
    }
}

/// A measure of the association of a term with the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Criterion {
    /// [`chi_square`](crate::chi_square) of the counts the model uses (occurrences or documents).
    ChiSquare,
    /// [`mutual_information`](crate::mutual_information) of presence, whatever the model counts.
    MutualInformation,
}
