//! How counts become scores.

use std::ffi::OsString;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tamis_train::options::{Estimate, LikelihoodName, PriorOption, ScoringOptions, Select};

use crate::args::values::either;

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
    /// map (the posterior's mode; alpha is at least 1) or ml (maximum likelihood: a term never seen in a class rules it
    /// out) [default: mean]
    #[arg(long, value_name = "NAME", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Estimate::NAMES).try_map(|name| name.parse::<Estimate>()))]
    pub(crate) estimate: Option<Estimate>,
    /// Weighted scoring: whether logistic regression corrects the counts; off leaves the counts alone. Tables: whether
    /// held-out rows correct the probabilities; off gives those of the textbook [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true, value_parser = either(["on", "off"], "on"))]
    pub(crate) correction: Option<bool>,
    /// Weighted scoring: C of the correction's logistic regression; a larger one fits the documents more closely
    /// [default: 16, or 4 for text if that predicts held-out documents better]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub(crate) regularisation: Option<f64>,
    /// Naive Bayes: count every occurrence of a term, not only its presence in a document
    #[arg(long)]
    pub(crate) occurrences: bool,
    /// Naive Bayes: the class priors: learned, smoothed, uniform, or given as LABEL=P,LABEL=P [default: learned]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) class_prior: Option<PriorOption>,
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
    pub(crate) select: Option<Select>,
    /// Random seed: of the order in which the correction is fitted, of the start of expectation maximization, and in
    /// evaluate also of folds and intervals
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl ScoringArgs {
    pub(crate) fn options(&self, unlabelled: &UnlabelledArgs) -> ScoringOptions {
        ScoringOptions {
            likelihood: self.likelihood,
            alpha: self.alpha,
            estimate: self.estimate,
            class_prior: self.class_prior.clone(),
            occurrences: self.occurrences,
            min_df: self.min_df,
            max_df: self.max_df,
            max_features: self.max_features,
            select: self.select,
            idf_power: self.idf_power,
            correction: self.correction,
            regularisation: self.regularisation,
            unlabelled: !unlabelled.unlabelled.is_empty(),
            lambda: unlabelled.lambda,
            iterations: unlabelled.iterations,
            seed: self.seed,
        }
    }
}

/// Documents to learn from that have no labels.
#[derive(Args)]
#[command(next_help_heading = "Documents without labels")]
pub(crate) struct UnlabelledArgs {
    /// Also learn from the unlabelled documents below this path. This helps when few documents have labels. They are
    /// labelled by a model of the others, and count if this predicts held-out labelled documents better
    #[arg(long, value_name = "PATH", conflicts_with = "target")]
    pub(crate) unlabelled: Vec<OsString>,
    /// Always count unlabelled documents, by expectation maximization, with this weight (a labelled document has 1)
    #[arg(long, value_name = "X", requires = "unlabelled", allow_negative_numbers = true)]
    pub(crate) lambda: Option<f64>,
    /// Always count them, by expectation maximization with at most N iterations [default: 10]
    #[arg(long, value_name = "N", requires = "unlabelled")]
    pub(crate) iterations: Option<usize>,
}
