//! Naive Bayes: from counts and parameters to log-probabilities.

mod complement;
mod error;
mod features;
mod likelihood;
mod naive_bayes;
mod parameters;
mod robinson;
mod rule;
mod summary;

pub use error::{FitError, ParametersError};
pub use features::{Criterion, FeatureLimits, Select, chi_square, mutual_information};
pub(crate) use likelihood::FeatureSum;
pub use likelihood::{Counting, Likelihood};
pub use naive_bayes::{LinearForm, NaiveBayes};
pub use parameters::{ClassPrior, Parameters, Smoothing};
pub use robinson::{RobinsonFisher, RobinsonScorer};
pub(crate) use rule::{ClassCounts, ClassLikelihood, Rule};
pub use summary::Summary;
