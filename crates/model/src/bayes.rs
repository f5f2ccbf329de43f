//! Naive Bayes: from counts and parameters to log-probabilities.

mod complement;
mod error;
mod features;
mod likelihood;
mod linear_form;
mod naive_bayes;
mod parameters;
mod prior;
mod robinson;
mod rule;
mod select;
mod selection;
mod smoothing;
mod summary;

pub use error::{FitError, ParametersError};
pub use features::{Criterion, FeatureLimits, Select};
pub(crate) use likelihood::FeatureSum;
pub use likelihood::{Counting, Likelihood};
pub use linear_form::LinearForm;
pub use naive_bayes::NaiveBayes;
pub use parameters::Parameters;
pub use prior::ClassPrior;
pub use robinson::{RobinsonFisher, RobinsonScorer};
pub(crate) use rule::{Class, ClassCounts, Rule};
pub use select::{chi_square, mutual_information};
pub use smoothing::Smoothing;
pub use summary::Summary;
