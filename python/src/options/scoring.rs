//! How counts become scores.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use tamis_train::options::{CorrectionOptions, PriorOption, ScoringOptions};

use crate::options::given::{Given, Value, wrong};

/// A class prior: its text, or the share of every label.
#[derive(FromPyObject)]
enum Prior {
    Text(String),
    Shares(BTreeMap<String, f64>),
}

impl Value for Prior {
    const EXPECTED: &'static str = "'learned', 'smoothed', 'uniform' or a dict of label to share";
}

impl Prior {
    fn option(self) -> PyResult<PriorOption> {
        match self {
            Prior::Text(text) => text.parse().map_err(|error: String| wrong("class_prior", error)),
            Prior::Shares(shares) => Ok(PriorOption::Shares(shares)),
        }
    }
}

pub(super) fn scoring(given: &Given<'_>) -> PyResult<ScoringOptions> {
    Ok(ScoringOptions {
        likelihood: given.named("likelihood")?,
        alpha: given.take("alpha")?,
        estimate: given.named("estimate")?,
        class_prior: given.take("class_prior")?.map(Prior::option).transpose()?,
        occurrences: given.flag("occurrences")?,
        min_df: given.take("min_df")?,
        max_df: given.take("max_df")?,
        max_features: given.take("max_features")?,
        select: given.named("select")?,
        weighted: CorrectionOptions {
            idf_power: given.take("idf_power")?,
            correction: given.take("correction")?,
            regularisation: given.take("regularisation")?,
        },
        unlabelled: None,
        seed: None,
    })
}
