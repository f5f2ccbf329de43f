//! Where the line between two labels is drawn.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use tamis_train::options::LabelShare;
use tamis_train::{Classes, DecisionOptions};

use crate::error::Failure;
use crate::options::given::{Given, wrong};

/// What is asked of decisions, as far as it is given.
pub(super) struct DecisionGiven {
    options: DecisionOptions,
    /// The share to expect of one of two labels.
    prior: Option<LabelShare>,
}

impl DecisionGiven {
    pub(super) fn take(given: &Given<'_>) -> PyResult<Self> {
        let prior: Option<BTreeMap<String, f64>> = given.take("prior")?;
        if let Some(got) = prior.as_ref().map(BTreeMap::len).filter(|got| *got != 1) {
            let text = format!("expected the share of one label, as {{'spam': 0.1}}, got {got} labels");
            return Err(wrong("prior", text));
        }
        let prior = prior
            .and_then(|prior| prior.into_iter().next())
            .map(|(label, share)| LabelShare::new(label, share));
        let options = DecisionOptions {
            max_fpr: given.take("max_fpr")?,
            min_precision: given.take("min_precision")?,
            cost: given.take("cost")?,
            unsure: given.take("unsure")?,
            prior: None,
        };
        options.check().map_err(Failure::from)?;
        Ok(DecisionGiven { options, prior: prior.transpose().map_err(Failure::from)? })
    }

    pub(super) fn options(&self, classes: &Classes) -> tamis_train::Result<DecisionOptions> {
        let mut options = self.options;
        options.prior = self.prior.as_ref().map(|prior| prior.of_positive(classes)).transpose()?;
        Ok(options)
    }
}
