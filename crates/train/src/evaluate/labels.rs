//! Documents of many labels, held out, and how well each label is found.

use serde::Serialize;
use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::metrics::{average_precision, roc_auc};
use tamis_model::{ClassId, Classes};
use tamis_store::config::decision::f1;
use tamis_store::config::labels::split_labels;
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::error::{Error, Result};

use crate::evaluate::validation::{Folds, score_folds};

/// A document of many labels that the model has not learned.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOutLabels {
    /// The labels that it has, in increasing order.
    pub has: Vec<ClassId>,
    /// The labels that it has and the model does not know.
    pub unknown: Vec<String>,
    /// The labels that it was given.
    pub given: Vec<ClassId>,
    /// The probability of each label.
    pub probabilities: Vec<f64>,
}

impl HeldOutLabels {
    /// Creates the held-out labels of a document, by a model that has the labels `known`. The document has the labels
    /// with the [joint name](crate::join_labels) `set`; the model gave it the labels `given`.
    pub fn new(
        known: &Classes,
        set: &str,
        given: impl IntoIterator<Item = ClassId>,
        probabilities: &[f64],
    ) -> Self {
        let mut has: Vec<_> = split_labels(set).filter_map(|label| known.index(label)).collect();
        has.sort_unstable();
        has.dedup();
        let unknown = split_labels(set).filter(|label| known.index(label).is_none());
        HeldOutLabels {
            has,
            unknown: unknown.map(str::to_owned).collect(),
            given: given.into_iter().collect(),
            probabilities: probabilities.to_vec(),
        }
    }

    /// Numbers all labels together, those that the model does not know too. They have probability 0.
    ///
    /// # Errors
    /// There are more than [`Classes::MAX`] labels.
    pub fn with_unknown(known: &Classes, held_out: Vec<Self>) -> Result<(Classes, Vec<Self>)> {
        let unknown = held_out.iter().flat_map(|document| &document.unknown).map(String::as_str);
        let all = Classes::new(known.iter().map(|(_, label)| label).chain(unknown))?;
        let held_out = held_out.into_iter().map(|document| document.renumber(known, &all)).collect();
        Ok((all, held_out))
    }

    /// Numbers the labels, and those that were unknown, as in `all`.
    fn renumber(self, known: &Classes, all: &Classes) -> Self {
        let number = |label: ClassId| known.label(label).and_then(|label| all.index(label));
        let mut probabilities = vec![0.0; all.len()];
        for (label, probability) in (0..=ClassId::MAX).zip(self.probabilities) {
            if let Some(label) = number(label) {
                probabilities[usize::from(label)] = probability;
            }
        }
        let unknown = self.unknown.iter().filter_map(|label| all.index(label));
        let mut has: Vec<_> = self.has.into_iter().filter_map(number).chain(unknown).collect();
        has.sort_unstable();
        let given = self.given.into_iter().filter_map(number).collect();
        HeldOutLabels { has, unknown: Vec::new(), given, probabilities }
    }

    pub(super) fn is_exact(&self) -> bool {
        let mut given = self.given.clone();
        given.sort_unstable();
        given == self.has
    }

    /// The share of the `k` likeliest labels (of all, if there are fewer) that the document has.
    pub(super) fn precision_at(&self, k: usize) -> f64 {
        let mut ranked: Vec<ClassId> = (0..=ClassId::MAX).take(self.probabilities.len()).collect();
        let probability = |label: &ClassId| self.probabilities[usize::from(*label)];
        ranked.sort_by(|a, b| probability(b).total_cmp(&probability(a)).then(a.cmp(b)));
        let right = ranked.iter().take(k).filter(|label| self.has.binary_search(label).is_ok()).count();
        right as f64 / k.min(ranked.len()).max(1) as f64
    }

    /// The log loss, summed over labels.
    pub(super) fn log_loss(&self) -> f64 {
        let loss = |(label, p): (ClassId, &f64)| {
            let of_truth = if self.has.binary_search(&label).is_ok() { *p } else { 1.0 - p };
            // clipped as in other programs, so that one certain mistake does not cost infinity
            -of_truth.max(1e-15).ln()
        };
        (0..=ClassId::MAX).zip(&self.probabilities).map(loss).sum()
    }
}

/// How well a label is found, where documents have many.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct LabelFigures {
    /// The label; empty for all together.
    pub label: String,
    /// Documents that have the label.
    pub documents: u64,
    /// Documents that have the label and were given it.
    pub found: u64,
    /// Documents that were given the label and do not have it.
    pub wrong: u64,
    /// Documents that have the label and were not given it.
    pub missed: u64,
    /// The share of the documents given the label that have it; `None` if none was given it.
    pub precision: Option<f64>,
    /// The share of the documents with the label that were given it; `None` if none has it.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall; 0 if the label was never found.
    pub f1: f64,
    /// The mean precision over the documents that have the label, by decreasing probability; `None` if none has it.
    pub average_precision: Option<f64>,
    /// The area under the ROC curve; `None` if all documents have the label, or none.
    pub roc_auc: Option<f64>,
}

impl LabelFigures {
    pub(super) fn new(id: ClassId, label: &str, held_out: &[HeldOutLabels]) -> Self {
        let scored = |document: &HeldOutLabels| {
            let probability = document.probabilities.get(usize::from(id)).copied().unwrap_or(0.0);
            (probability, document.has.binary_search(&id).is_ok())
        };
        let scores: Vec<_> = held_out.iter().map(scored).collect();
        let count = |has: bool, is_given: bool| {
            let same = |(document, score): &(&HeldOutLabels, &(f64, bool))| {
                (score.1, document.given.contains(&id)) == (has, is_given)
            };
            held_out.iter().zip(&scores).filter(same).count() as u64
        };
        LabelFigures {
            label: label.to_owned(),
            average_precision: average_precision(&scores),
            roc_auc: roc_auc(&scores),
            ..LabelFigures::from_counts(count(true, true), count(false, true), count(true, false))
        }
    }

    pub(super) fn from_counts(found: u64, wrong: u64, missed: u64) -> Self {
        let share = |whole: u64| (whole > 0).then(|| found as f64 / whole as f64);
        LabelFigures {
            documents: found + missed,
            found,
            wrong,
            missed,
            precision: share(found + wrong),
            recall: share(found + missed),
            f1: f1(found, wrong, missed),
            ..LabelFigures::default()
        }
    }
}

/// Runs k-fold cross-validation as [`cross_validate`](crate::evaluate::cross_validate) does, for documents of many
/// labels, each given with the [name of its set](crate::join_labels). Returns the labels, and the labels of each
/// document, in the order of `labelled`.
///
/// # Errors
/// As [`cross_validate`](crate::evaluate::cross_validate); if `options` are for one label a document.
pub fn cross_validate_labels(
    options: &TrainOptions,
    labelled: &[(&str, Option<&str>, Document<'_>)],
    folds: usize,
    seed: u64,
) -> Result<(Classes, Vec<HeldOutLabels>)> {
    let message = "expected many labels a document, got one";
    Error::ensure_option(options.labels == Labels::Many, "labels", message)?;
    let labels = Classes::new(labelled.iter().flat_map(|(set, ..)| split_labels(set)))?;
    let held_out = |filter: &Filter, scratch: &mut Scratch, at: usize| {
        let (set, _, document) = labelled[at];
        filter.score(document, scratch)?;
        let given = scratch.labels().iter().map(|of| of.label);
        let known = filter.classes();
        Ok(HeldOutLabels::new(known, set, given, scratch.probabilities()).renumber(known, &labels))
    };
    let scores = score_folds(options, labelled, &[], Folds { n: folds, seed }, held_out)?;
    Ok((labels, scores.into_iter().map(|(score, _)| score).collect()))
}
