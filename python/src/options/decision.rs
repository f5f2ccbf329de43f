//! Where the line between two labels is drawn.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use tamis_filter::{Classes, DecisionOptions, positive_class};

use crate::options::given::{Given, wrong};

/// What is asked of decisions, as far as it is given.
pub(super) struct DecisionGiven {
    max_fpr: Option<f64>,
    cost: Option<f64>,
    unsure: Option<f64>,
    /// The share to expect of one of two labels.
    prior: Option<(String, f64)>,
}

impl DecisionGiven {
    pub(super) fn take(given: &Given<'_>) -> PyResult<Self> {
        let prior: Option<BTreeMap<String, f64>> = given.take("prior")?;
        let prior = match prior.map(|prior| prior.into_iter().collect::<Vec<_>>()) {
            None => None,
            Some(one) if one.len() == 1 => one.into_iter().next(),
            Some(all) => {
                let text =
                    format!("expected the share of one label, as {{'spam': 0.1}}, got {} labels", all.len());
                return Err(wrong("prior", text));
            }
        };
        if let Some((_, share)) = prior.as_ref().filter(|(_, share)| !(*share > 0.0 && *share < 1.0)) {
            return Err(wrong("prior", format!("expected a share between 0 and 1, got {share}")));
        }
        let [max_fpr, cost, unsure] = [given.take("max_fpr")?, given.take("cost")?, given.take("unsure")?];
        if max_fpr.is_some() && (cost.is_some() || unsure.is_some()) || cost.is_some() && unsure.is_some() {
            return Err(wrong("max_fpr, cost and unsure", "expected one of them"));
        }
        Ok(DecisionGiven { max_fpr, cost, unsure, prior })
    }

    pub(super) fn options(&self, classes: &Classes) -> PyResult<DecisionOptions> {
        let mut options = DecisionOptions::default();
        (options.max_fpr, options.cost, options.unsure) = (self.max_fpr, self.cost, self.unsure);
        if let Some((label, share)) = &self.prior {
            let class = classes.index(label).filter(|_| classes.len() == 2);
            let class =
                class.ok_or_else(|| wrong("prior", format!("expected one of two labels, got {label:?}")))?;
            options.prior = Some(if class == positive_class(classes) { *share } else { 1.0 - share });
        }
        Ok(options)
    }
}
