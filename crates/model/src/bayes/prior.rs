//! The class prior: learned, smoothed, uniform or given.

use serde::{Deserialize, Serialize};

use crate::bayes::error::ParametersError;
use crate::counts::ClassTotals;

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
