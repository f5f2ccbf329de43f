//! How counts become scores.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use tamis_filter::{
    ClassPrior, Classes, Counting, Criterion, Likelihood, Parameters, Scoring, Select, Smoothing,
    WeightedOptions,
};

use crate::options::given::{Given, Value, wrong};

/// The options of scoring, as far as they are given.
pub(super) struct ScoringGiven {
    /// Of naive Bayes; weighted scoring if there is none.
    likelihood: Option<Likelihood>,
    alpha: Option<f64>,
    idf_power: Option<f64>,
    estimate: Option<Estimate>,
    correction: Option<bool>,
    regularisation: Option<f64>,
    occurrences: bool,
    class_prior: Option<Prior>,
    min_df: Option<u64>,
    max_df: Option<f64>,
    max_features: Option<usize>,
    select: Option<Select>,
}

/// How naive Bayes estimates probabilities.
#[derive(Clone, Copy, PartialEq)]
enum Estimate {
    Mean,
    Map,
    Ml,
}

/// A class prior: a name, or the share of every label.
#[derive(FromPyObject)]
enum Prior {
    Name(String),
    Shares(BTreeMap<String, f64>),
}

impl Value for Prior {
    const EXPECTED: &'static str = "'learned', 'smoothed', 'uniform' or a dict of label to share";
}

impl ScoringGiven {
    pub(super) fn take(given: &Given<'_>) -> PyResult<Self> {
        let likelihood: Option<String> = given.take("likelihood")?;
        let scoring = ScoringGiven {
            likelihood: likelihood.as_deref().map_or(Ok(None), likelihood_named)?,
            alpha: given.take("alpha")?,
            idf_power: given.take("idf_power")?,
            estimate: given.take::<String>("estimate")?.map(estimate).transpose()?,
            correction: given.take("correction")?,
            regularisation: given.take("regularisation")?,
            occurrences: given.flag("occurrences")?,
            class_prior: given.take("class_prior")?,
            min_df: given.take("min_df")?,
            max_df: given.take("max_df")?,
            max_features: given.take("max_features")?,
            select: given.take::<String>("select")?.map(selection).transpose()?,
        };
        // before all documents are counted
        scoring.check()?;
        match scoring.likelihood {
            Some(_) => _ = scoring.smoothing()?,
            None => _ = scoring.weighted()?,
        }
        Ok(scoring)
    }

    pub(super) fn asks_for_naive_bayes(&self) -> bool {
        self.likelihood.is_some()
    }

    /// Makes sure that each option is of the scoring asked for.
    fn check(&self) -> PyResult<()> {
        let of_weighted = [
            ("correction", self.correction.is_some()),
            ("idf_power", self.idf_power.is_some()),
            ("regularisation", self.regularisation.is_some()),
        ];
        let of_naive_bayes = [
            ("occurrences", self.occurrences),
            ("class_prior", self.class_prior.is_some()),
            ("min_df", self.min_df.is_some()),
            ("max_df", self.max_df.is_some()),
            ("max_features", self.max_features.is_some()),
            ("select", self.select.is_some()),
            ("estimate", self.estimate.is_some()),
        ];
        let (others, expected) = match self.likelihood {
            Some(_) => (&of_weighted[..], "weighted scoring, got naive Bayes"),
            None => (
                &of_naive_bayes[..],
                "naive Bayes (likelihood='multinomial', for example), got weighted scoring, the default",
            ),
        };
        if let Some((option, _)) = others.iter().find(|(_, given)| *given) {
            return Err(wrong(option, format!("expected {expected}")));
        }
        if self.occurrences && self.likelihood == Some(Likelihood::Bernoulli) {
            return Err(wrong(
                "occurrences",
                "expected another likelihood than bernoulli, which is of presence",
            ));
        }
        Ok(())
    }

    /// The scoring asked for, of these labels.
    pub(super) fn scoring(&self, classes: &Classes) -> PyResult<Scoring> {
        match self.likelihood {
            None => Ok(Scoring::Weighted(self.weighted()?)),
            Some(likelihood) => Ok(Scoring::NaiveBayes(self.parameters(likelihood, classes)?)),
        }
    }

    fn weighted(&self) -> PyResult<WeightedOptions> {
        let mut weighted = WeightedOptions::default();
        weighted.idf_power = self.idf_power;
        weighted.check().map_err(|error| wrong("idf_power", error))?;
        weighted.regularisation = self.regularisation.unwrap_or(weighted.regularisation);
        weighted.check().map_err(|error| wrong("regularisation", error))?;
        if self.correction == Some(false) && self.regularisation.is_some() {
            return Err(wrong("regularisation", "expected none without a correction"));
        }
        weighted.alpha = self.smoothing()?;
        weighted.correction = self.correction != Some(false);
        Ok(weighted)
    }

    /// What `alpha` means to `estimate`.
    fn smoothing(&self) -> PyResult<Option<Smoothing>> {
        let smoothing = |alpha: f64| match self.estimate {
            None | Some(Estimate::Mean) => Smoothing::try_from(alpha).map_err(|e| wrong("alpha", e)),
            Some(Estimate::Map) => Smoothing::map(alpha).map_err(|e| wrong("alpha", e)),
            Some(Estimate::Ml) => {
                Err(wrong("alpha", "expected none beside estimate='ml', which smooths nothing"))
            }
        };
        self.alpha.map(smoothing).transpose()
    }

    fn parameters(&self, likelihood: Likelihood, classes: &Classes) -> PyResult<Parameters> {
        let mut parameters = Parameters { likelihood, ..Scoring::parameters() };
        if self.estimate == Some(Estimate::Ml) {
            parameters.alpha = Smoothing::maximum_likelihood();
        }
        if self.occurrences {
            parameters.counting = Counting::Occurrences;
        }
        parameters.alpha = self.smoothing()?.unwrap_or(parameters.alpha);
        parameters.features.select = self.select;
        parameters.features.min_df = self.min_df.unwrap_or(parameters.features.min_df);
        parameters.features.max_df = self.max_df;
        parameters.features.max_features = self.max_features;
        if let Some(prior) = &self.class_prior {
            parameters.prior = prior.of(classes)?;
        }
        Ok(parameters)
    }
}

impl Prior {
    fn of(&self, classes: &Classes) -> PyResult<ClassPrior> {
        let refused = |text: String| Err(wrong("class_prior", text));
        let shares = match self {
            Prior::Name(name) => {
                return match name.as_str() {
                    "learned" => Ok(ClassPrior::Learned),
                    "smoothed" => Ok(ClassPrior::Smoothed),
                    "uniform" => Ok(ClassPrior::Uniform),
                    _ => refused(format!(
                        "expected 'learned', 'smoothed', 'uniform' or a share for each label, got {name:?}"
                    )),
                };
            }
            Prior::Shares(shares) => shares,
        };
        if let Some(label) = shares.keys().find(|label| classes.index(label).is_none()) {
            return refused(format!("expected labels of the documents, got {label:?}"));
        }
        let share = |(_, label): (_, &str)| match shares.get(label) {
            Some(share) => Ok(*share),
            None => Err(wrong("class_prior", format!("expected a share for {label:?}"))),
        };
        classes.iter().map(share).collect::<PyResult<_>>().map(ClassPrior::Given)
    }
}

/// The likelihood of naive Bayes of this name; none for weighted scoring.
fn likelihood_named(name: &str) -> PyResult<Option<Likelihood>> {
    if name == "weighted" {
        return Ok(None);
    }
    name.parse().map(Some).map_err(|_| {
        let names = Likelihood::ALL.map(|likelihood| likelihood.to_string()).join(", ");
        wrong("likelihood", format!("expected one of weighted, {names}, got {name:?}"))
    })
}

fn estimate(name: String) -> PyResult<Estimate> {
    match name.as_str() {
        "mean" => Ok(Estimate::Mean),
        "map" => Ok(Estimate::Map),
        "ml" => Ok(Estimate::Ml),
        _ => Err(wrong("estimate", format!("expected mean, map or ml, got {name:?}"))),
    }
}

/// A selection of features, `chi2=N` or `mi=N`.
fn selection(given: String) -> PyResult<Select> {
    let parsed = given.split_once('=').and_then(|(name, n)| {
        let by = match name {
            "chi2" => Criterion::ChiSquare,
            "mi" => Criterion::MutualInformation,
            _ => return None,
        };
        Some(Select { by, n: n.parse().ok().filter(|n| *n > 0)? })
    });
    parsed.ok_or_else(|| {
        wrong("select", format!("expected chi2=N or mi=N with a positive number, got {given:?}"))
    })
}
