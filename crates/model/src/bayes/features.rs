//! Which terms take part.

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;

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

/// The best terms by their association with the classes (Yang and Pedersen, "A Comparative Study on Feature
/// Selection in Text Categorization", 1997).
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
    /// What is best.
    pub by: Criterion,
    /// How many, at least 1; of equally good terms those of lower id.
    pub n: usize,
}

/// A measure of how much a term says about the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Criterion {
    /// [`chi_square`](crate::chi_square), of what the model counts.
    ChiSquare,
    /// [`mutual_information`](crate::mutual_information), always of presence.
    MutualInformation,
}
