//! The arguments of `tamis evaluate`, and the outcomes that it measures.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use tamis_train::evaluate::{HeldOutLabels, HeldOutScore};
use tamis_train::{ClassId, Classes, Decision};

use crate::args::{
    GroupArgs, InputArgs, LabelsArgs, ModelArgs, Order, RecipeArgs, ScoringArgs, TableArgs, UnlabelledArgs,
    VerdictArgs, at_least,
};
use crate::input::Stock;

#[derive(Args)]
#[command(after_help = "\
Sources are given as for `train`. Unsure counts as wrong in accuracy and as a miss in recall. \
With --folds or --online no model is used: documents are learned with the options of `train`. \
With --folds, rows of a table whose label is that of --target are dealt one by one. \
Intervals are of 95 % confidence (bootstrap).

Example:
  tamis evaluate ham=test/ham spam=test/spam --html report.html
  tamis evaluate --folds 10 ham=mail/ham spam=mail/spam
  tamis evaluate --folds 10 trips.csv --target mode
  tamis evaluate --online --order date spam=Junk.mbox ham=Inbox.mbox")]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Labelled documents, which the model must not have learned
    #[arg(required_unless_present = "files_from", value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(super) labels: LabelsArgs,
    /// Cross-validate: split the documents into K folds and score each with a model of the others. Documents of a group
    /// (--group, --group-by), or else variations of the same text, stay together
    #[arg(long, value_name = "K", conflicts_with_all = ["model", "online"], value_parser = at_least::<u16>(2))]
    pub(super) folds: Option<u16>,
    /// Score each document with a model of those before it, then learn it (prequential evaluation). With --order date,
    /// this measures performance on later documents
    #[arg(long, conflicts_with = "model")]
    pub(super) online: bool,
    /// Order of documents for --online
    #[arg(long, value_enum, default_value_t = Order::Given, requires = "online")]
    pub(super) order: Order,
    /// Write path, true label, log-odds, verdict and probability of every document to this file (TSV); with many labels
    /// path, true labels, labels and the probability of each label
    #[arg(long, value_name = "FILE")]
    pub(super) scores: Option<PathBuf>,
    /// Also write a report with pictures to this file (HTML)
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) unlabelled: UnlabelledArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
}

/// Scores of documents, with the labels and thresholds that they are judged by.
pub(crate) struct EvaluationRun {
    pub(crate) classes: Classes,
    /// The label that counts as spam.
    pub(crate) spam: Option<ClassId>,
    /// The thresholds between two labels.
    pub(super) decision: Option<Decision>,
    pub(crate) outcomes: Outcomes,
    /// Whether the model has learned each of the documents; `None` if documents are held out.
    pub(crate) learned: Option<Vec<bool>>,
    /// The exit status.
    pub(crate) status: u8,
    /// What was found, read or not.
    pub(crate) stock: Stock,
}

/// Held-out documents of one label or of many, by name.
pub(crate) enum Outcomes {
    One(Vec<(OsString, HeldOutScore)>),
    Many(Vec<(OsString, HeldOutLabels)>),
}
