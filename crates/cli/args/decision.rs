//! Arguments for where the line between labels is drawn.

use anyhow::{Context, Result};
use clap::Args;
use tamis_train::options::LabelShare;
use tamis_train::{Classes, DecisionOptions, Filter};

use crate::args::values::{cost, probability};

/// Where the line between two labels is drawn.
#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Decision")]
pub(crate) struct DecisionArgs {
    /// Expected share of spam, such as spam=0.1, if it differs from that of the training documents
    #[arg(long, value_name = "LABEL=SHARE")]
    pub(crate) prior: Option<LabelShare>,
    /// Cost of one false positive, counted in missed spams: spam must have a probability above N/(N+1) [default: fp=49
    /// for a spam filter]
    #[arg(long, value_name = "fp=N", value_parser = cost)]
    pub(crate) cost: Option<f64>,
    /// Answer "unsure" below this probability [default: 0.98 for spam and 0.6 for ham in a spam filter, 0 for topics]
    #[arg(long, value_name = "P", value_parser = probability, conflicts_with = "cost")]
    pub(crate) unsure: Option<f64>,
}

/// How an open model decides.
#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Decision")]
pub(crate) struct VerdictArgs {
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// Label that counts as spam [default: the first of spam, junk, unwanted and phish that the model has]
    #[arg(long, value_name = "LABEL")]
    pub(crate) spam_label: Option<String>,
}

impl VerdictArgs {
    /// Applies the arguments to an open filter.
    pub(crate) fn apply(&self, filter: &mut Filter) -> Result<()> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label).context("--spam-label")?;
        }
        Ok(filter.decide_by(&self.decision.options(filter.classes(), None)?)?)
    }
}

impl DecisionArgs {
    /// Returns the requirements on decisions for training.
    pub(crate) fn options(&self, classes: &Classes, max_fpr: Option<f64>) -> Result<DecisionOptions> {
        let options = DecisionOptions {
            max_fpr,
            cost: self.cost,
            prior: self.prior.as_ref().map(|prior| prior.of_positive(classes)).transpose()?,
            unsure: self.unsure,
            ..DecisionOptions::default()
        };
        options.check()?;
        Ok(options)
    }
}
