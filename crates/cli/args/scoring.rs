//! How counts become scores.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_filter::{
    ClassPrior, Classes, Column, ColumnKind, Counting, ExpectationMaximization, Likelihood, Mixed,
    Parameters, Recipe, Scoring, Smoothing, WeightedOptions,
};

use crate::args::documents::UnlabelledArgs;
use crate::args::values::{Estimate, LikelihoodName, Selection, Switch};

#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ScoringArgs {
    /// weighted (whether a term occurs, with idf, log tf and length norm, corrected), or naive Bayes:
    /// multinomial, bernoulli, complement or complement-normalized [default: weighted]
    #[arg(long, value_name = "NAME")]
    pub(crate) likelihood: Option<LikelihoodName>,
    /// Smoothing added to every count: 1 is Laplace's, less is Lidstone's [default: what predicts left-out documents
    /// best; 0.1 for naive Bayes]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Weighted scoring: exponent of idf; a larger one gives rare terms more weight, 0 turns idf off [default: 0, 0.5
    /// or 1, what predicts left-out documents best]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub(crate) idf_power: Option<f64>,
    /// Naive Bayes: estimator of the probabilities: mean (of the posterior; alpha is the Dirichlet prior's parameter),
    /// map (the posterior's mode; alpha is at least 1) or ml (maximum likelihood: a term that a class never had rules
    /// it out) [default: mean]
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) estimate: Option<Estimate>,
    /// Weighted scoring: whether logistic regression corrects the counts; off leaves the counts alone [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    pub(crate) correction: Option<Switch>,
    /// Weighted scoring: C of the correction's logistic regression; a larger one fits the documents more closely
    /// [default: 16]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub(crate) regularisation: Option<f64>,
    /// Naive Bayes: count every occurrence of a term, not only its presence in a document
    #[arg(long)]
    pub(crate) occurrences: bool,
    /// Naive Bayes: the class priors: learned, smoothed, uniform, or given as LABEL=P,LABEL=P [default: learned]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) class_prior: Option<String>,
    /// Naive Bayes: use only terms that occur in at least N documents
    #[arg(long, value_name = "N")]
    pub(crate) min_df: Option<u64>,
    /// Naive Bayes: use only terms that occur in at most this share of the documents
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) max_df: Option<f64>,
    /// Naive Bayes: use only the N most frequent terms
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<usize>,
    /// Naive Bayes: use only the N terms that tell the labels apart best, by chi2 or by mi (mutual information)
    #[arg(long, value_name = "chi2=N|mi=N")]
    pub(crate) select: Option<Selection>,
    /// Seed of what is left to chance: the order in which the correction is fitted, the start of expectation
    /// maximization, and of evaluate how documents are dealt into folds and drawn for intervals
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl ScoringArgs {
    pub(crate) fn asks_for_naive_bayes(&self) -> bool {
        matches!(self.likelihood, Some(LikelihoodName::NaiveBayes(_)))
    }

    /// Refuses options of naive Bayes unless naive Bayes is asked for.
    pub(crate) fn check(&self) -> Result<()> {
        let options = [
            ("--occurrences", self.occurrences),
            ("--class-prior", self.class_prior.is_some()),
            ("--min-df", self.min_df.is_some()),
            ("--max-df", self.max_df.is_some()),
            ("--max-features", self.max_features.is_some()),
            ("--select", self.select.is_some()),
            ("--estimate", self.estimate.is_some()),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((option, _)) if !self.asks_for_naive_bayes() => bail!(
                "{option}: expected naive Bayes, got weighted scoring, the default; add --likelihood multinomial (or \
                 bernoulli, complement ...) to train naive Bayes, or leave {option} out"
            ),
            _ => Ok(()),
        }
    }

    /// The scoring that the arguments ask for, given the recipe, the labels, and the number of `documents`, some of
    /// which may be unlabelled.
    pub(crate) fn scoring_for(
        &self,
        recipe: &Recipe,
        classes: &Classes,
        unlabelled: &UnlabelledArgs,
        documents: u64,
    ) -> Result<Scoring> {
        match Scoring::for_recipe(recipe) {
            Scoring::Mixed(_) => self.mixed(recipe, classes),
            _ if self.asks_for_expectation_maximization(unlabelled) => {
                self.expectation_maximization(unlabelled, documents, classes)
            }
            _ => self.scoring(classes),
        }
    }

    /// The scoring that the arguments ask for, given the labels.
    pub(crate) fn scoring(&self, classes: &Classes) -> Result<Scoring> {
        self.check()?;
        if !self.asks_for_naive_bayes() {
            return Ok(Scoring::Weighted(self.weighted()?));
        }
        let alpha = self.smoothing_asked()?;
        let of_weighted = [
            ("--correction", self.correction.is_some()),
            ("--idf-power", self.idf_power.is_some()),
            ("--regularisation", self.regularisation.is_some()),
        ];
        if let Some((option, _)) = of_weighted.iter().find(|(_, given)| *given) {
            bail!("{option}: expected weighted scoring");
        }
        if self.occurrences && self.likelihood == Some(LikelihoodName::NaiveBayes(Likelihood::Bernoulli)) {
            bail!("--occurrences: expected a likelihood other than bernoulli, which counts presence only");
        }
        Ok(Scoring::NaiveBayes(self.parameters(alpha, classes)?))
    }

    pub(crate) fn weighted(&self) -> Result<WeightedOptions> {
        let mut weighted = WeightedOptions::default();
        weighted.idf_power = self.idf_power;
        weighted.check().context("--idf-power")?;
        weighted.regularisation = self.regularisation.unwrap_or(weighted.regularisation);
        weighted.check().context("--regularisation")?;
        if self.correction == Some(Switch::Off) && self.regularisation.is_some() {
            bail!(
                "--regularisation: expected none with --correction off, which leaves nothing to regularise"
            );
        }
        weighted.alpha = self.smoothing_asked()?;
        weighted.correction = self.correction != Some(Switch::Off);
        weighted.seed = self.seed.unwrap_or(weighted.seed);
        Ok(weighted)
    }

    /// The mixed naive Bayes that the arguments ask for, used for tables.
    fn mixed(&self, recipe: &Recipe, classes: &Classes) -> Result<Scoring> {
        let ScoringArgs { estimate, class_prior: prior, alpha, seed, .. } = self.clone();
        if (ScoringArgs { estimate, class_prior: prior, alpha, seed, ..Default::default() }) != *self {
            bail!("a table: expected no options of scoring but --alpha, --estimate and --class-prior");
        }
        let is_smoothed = |c: &Column| matches!(c.kind, ColumnKind::Categorical | ColumnKind::Bernoulli);
        if (self.alpha.is_some() || estimate.is_some()) && !recipe.columns.iter().any(is_smoothed) {
            bail!(
                "--alpha and --estimate: expected a categorical or bernoulli column, since they apply to no other"
            );
        }
        let mut mixed = Mixed::default();
        match self.alpha {
            None if self.estimate == Some(Estimate::Ml) => mixed.alpha = Smoothing::maximum_likelihood(),
            None => (),
            Some(alpha) => mixed.alpha = self.smoothing(alpha).context("--alpha")?,
        }
        if let Some(prior) = &self.class_prior {
            mixed.prior = class_prior(prior, classes)?;
        }
        Ok(Scoring::Mixed(mixed))
    }

    /// Whether unlabelled documents should be counted by expectation maximization. Otherwise held-out documents decide.
    pub(crate) fn asks_for_expectation_maximization(&self, unlabelled: &UnlabelledArgs) -> bool {
        let is_asked =
            self.asks_for_naive_bayes() || unlabelled.lambda.is_some() || unlabelled.iterations.is_some();
        !unlabelled.unlabelled.is_empty() && is_asked
    }

    /// Expectation maximization, asked for by one of its options.
    fn expectation_maximization(
        &self,
        unlabelled: &UnlabelledArgs,
        documents: u64,
        classes: &Classes,
    ) -> Result<Scoring> {
        let allowed = ScoringArgs {
            likelihood: self.likelihood,
            alpha: self.alpha,
            class_prior: self.class_prior.clone(),
            seed: self.seed,
            ..ScoringArgs::default()
        };
        if *self != allowed {
            bail!(
                "--unlabelled with --likelihood, --lambda or --iterations: expected no other options of scoring than \
                 --alpha, --class-prior and --seed"
            );
        }
        let mut settings = ExpectationMaximization::for_documents(documents);
        match self.likelihood {
            None => (),
            Some(LikelihoodName::NaiveBayes(
                likelihood @ (Likelihood::Multinomial | Likelihood::Bernoulli),
            )) => {
                settings.options.likelihood = likelihood;
            }
            Some(_) => bail!("--unlabelled: expected a multinomial or bernoulli likelihood"),
        }
        if let Some(alpha) = self.alpha {
            settings.options.alpha = Smoothing::try_from(alpha).context("--alpha")?;
        }
        if let Some(prior) = &self.class_prior {
            settings.options.prior = class_prior(prior, classes)?;
        }
        let UnlabelledArgs { lambda, iterations, .. } = unlabelled;
        settings.options.lambda = lambda.unwrap_or(settings.options.lambda);
        settings.options.max_iterations = iterations.unwrap_or(settings.options.max_iterations);
        settings.options.seed = self.seed.unwrap_or(settings.options.seed);
        Ok(Scoring::ExpectationMaximization(settings))
    }

    fn smoothing_asked(&self) -> Result<Option<Smoothing>> {
        self.alpha.map(|alpha| self.smoothing(alpha).context("--alpha")).transpose()
    }

    /// The smoothing that `--alpha` and `--estimate` mean together.
    fn smoothing(&self, alpha: f64) -> Result<Smoothing> {
        match self.estimate {
            None | Some(Estimate::Mean) => Ok(Smoothing::try_from(alpha)?),
            Some(Estimate::Map) => Ok(Smoothing::map(alpha)?),
            Some(Estimate::Ml) => bail!("expected none with --estimate ml, which smooths nothing"),
        }
    }

    fn parameters(&self, alpha: Option<Smoothing>, classes: &Classes) -> Result<Parameters> {
        let mut parameters = Scoring::parameters();
        if let Some(LikelihoodName::NaiveBayes(likelihood)) = self.likelihood {
            parameters.likelihood = likelihood;
        }
        if self.estimate == Some(Estimate::Ml) {
            parameters.alpha = Smoothing::maximum_likelihood();
        }
        parameters.features.select = self.select.map(|selection| selection.0);
        if self.occurrences {
            parameters.counting = Counting::Occurrences;
        }
        parameters.alpha = alpha.unwrap_or(parameters.alpha);
        parameters.features.min_df = self.min_df.unwrap_or(parameters.features.min_df);
        parameters.features.max_df = self.max_df;
        parameters.features.max_features = self.max_features;
        if let Some(prior) = &self.class_prior {
            parameters.prior = class_prior(prior, classes)?;
        }
        Ok(parameters)
    }
}

fn class_prior(argument: &str, classes: &Classes) -> Result<ClassPrior> {
    let pair = |pair: &str| {
        let (label, share) = pair.rsplit_once('=')?;
        Some((label.to_owned(), share.parse::<f64>().ok()?))
    };
    let mut given: BTreeMap<String, f64> = match argument {
        "learned" => return Ok(ClassPrior::Learned),
        "smoothed" => return Ok(ClassPrior::Smoothed),
        "uniform" => return Ok(ClassPrior::Uniform),
        _ => argument.split(',').map(pair).collect::<Option<_>>().with_context(|| {
            format!("--class-prior: expected learned, smoothed, uniform or LABEL=P,LABEL=P, got {argument:?}")
        })?,
    };
    let mut take = |label: &str| {
        given.remove(label).with_context(|| format!("--class-prior: expected a share for {label:?}"))
    };
    let shares = classes.iter().map(|(_, label)| take(label)).collect::<Result<_>>()?;
    match given.into_keys().next() {
        None => Ok(ClassPrior::Given(shares)),
        Some(label) => bail!("--class-prior: expected labels of the documents, got {label:?}"),
    }
}
