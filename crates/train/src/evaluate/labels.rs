//! Measures how well many labels are found.

use std::cmp::Reverse;

use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::scratch::Scratch;
use tamis_model::metrics::{average_precision, roc_auc};
use tamis_model::{ClassId, Classes};
use tamis_store::config::decision::f1;
use tamis_store::config::labels::split_labels;
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::error::{Error, Result};

use crate::evaluate::cross_validation::{Folds, score_folds};

/// A document of many labels that the model has not learned.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOutLabels {
    /// The labels that it has, in increasing order.
    pub has: Vec<ClassId>,
    /// The labels that it was given, the likeliest first.
    pub given: Vec<ClassId>,
    /// The probability of each label.
    pub probabilities: Vec<f64>,
}

impl HeldOutLabels {
    /// What a model says of a document that has the labels `has` of `labels`. A label that the model does not know has
    /// probability 0.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn of(
        filter: &Filter,
        scratch: &mut Scratch,
        labels: &Classes,
        has: &[ClassId],
        document: Document<'_>,
    ) -> Result<HeldOutLabels> {
        filter.score(document, scratch)?;
        let mut has = has.to_vec();
        has.sort_unstable();
        has.dedup();
        let given = scratch.labels().iter().map(|of| of.label).collect();
        let of_model =
            HeldOutLabels { has: Vec::new(), given, probabilities: scratch.probabilities().to_vec() };
        Ok(HeldOutLabels { has, ..of_model.among(filter.classes(), labels, &[]) })
    }
}

impl HeldOutLabels {
    /// Numbers the labels as in `all`, which has those of `labels`, and adds the labels `more` to those that the document
    /// has.
    #[must_use]
    pub fn among(self, labels: &Classes, all: &Classes, more: &[String]) -> HeldOutLabels {
        let moved = |label: ClassId| labels.label(label).and_then(|label| all.index(label));
        let mut probabilities = vec![0.0; all.len()];
        for (label, probability) in (0..=ClassId::MAX).zip(self.probabilities) {
            if let Some(label) = moved(label) {
                probabilities[usize::from(label)] = probability;
            }
        }
        let more = more.iter().filter_map(|label| all.index(label));
        let mut has: Vec<_> = self.has.into_iter().filter_map(moved).chain(more).collect();
        has.sort_unstable();
        HeldOutLabels { has, given: self.given.into_iter().filter_map(moved).collect(), probabilities }
    }
}

/// How well a label is found.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct LabelFigures {
    /// Documents that have the label and were given it.
    pub found: u64,
    /// Documents that were given the label and do not have it.
    pub wrong: u64,
    /// Documents that have the label and were not given it.
    pub missed: u64,
    /// The mean precision over the documents that have the label, by decreasing probability; `None` if none has it.
    pub average_precision: Option<f64>,
    /// The area under the ROC curve; `None` if all documents have the label, or none.
    pub roc_auc: Option<f64>,
}

impl LabelFigures {
    /// The share of the documents given the label that have it; `None` if none was given it.
    pub fn precision(&self) -> Option<f64> {
        share(self.found, self.found + self.wrong)
    }

    /// The share of the documents with the label that were given it; `None` if none has it.
    pub fn recall(&self) -> Option<f64> {
        share(self.found, self.found + self.missed)
    }

    /// The harmonic mean of precision and recall; 0 if the label was never found.
    pub fn f1(&self) -> f64 {
        f1(self.found, self.wrong, self.missed)
    }
}

/// How well many labels are found in documents that the model has not learned.
///
/// ```
/// use tamis_train::evaluate::{LabelEvaluation, cross_validate_labels};
/// use tamis_train::options::Labels;
/// use tamis_train::{Document, Kind, TrainOptions, join_labels};
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.labels = Labels::Many;
/// let both = join_labels(["fruit", "metal"]);
/// let kinds = [("fruit", "apples and pears"), ("metal", "iron and tin"), (&*both, "tin of pears")];
/// let texts: Vec<_> = (0..60).map(|i| (kinds[i % 3].0, format!("{} number {i}", kinds[i % 3].1))).collect();
/// let labelled: Vec<_> = texts.iter().map(|(labels, text)| (*labels, None, Document::Text(text))).collect();
/// let (labels, held_out) = cross_validate_labels(&options, &labelled, 5, 0)?;
/// let evaluation = LabelEvaluation::new(labels.len(), &held_out);
/// assert!(evaluation.micro_f1() > 0.9 && evaluation.exact > 0.9);
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LabelEvaluation {
    /// The number of documents.
    pub documents: usize,
    /// How well each label is found.
    pub labels: Vec<LabelFigures>,
    /// The share of documents that were given exactly their labels (subset accuracy).
    pub exact: f64,
    /// The share of the likeliest k labels of a document that it has, for each of [`Self::PLACES`].
    pub precision_at: [f64; 3],
    /// The mean log loss of a document, summed over labels, in nats.
    pub log_loss: f64,
}

impl LabelEvaluation {
    /// The numbers of likeliest labels that [`precision_at`](Self::precision_at) is about.
    pub const PLACES: [usize; 3] = [1, 3, 5];

    /// Measures the scores of documents with `n_labels` labels.
    pub fn new(n_labels: usize, outcomes: &[HeldOutLabels]) -> Self {
        let n = outcomes.len().max(1) as f64;
        let mean = |of: &dyn Fn(&HeldOutLabels) -> f64| outcomes.iter().map(of).sum::<f64>() / n;
        LabelEvaluation {
            documents: outcomes.len(),
            labels: (0..n_labels).map(|label| figures(label, outcomes)).collect(),
            exact: mean(&|of| f64::from(u8::from(is_exact(of)))),
            precision_at: Self::PLACES.map(|k| mean(&|of| precision_at(k, of))),
            log_loss: mean(&log_loss),
        }
    }

    /// F1 of all labels of all documents together.
    pub fn micro_f1(&self) -> f64 {
        let all = self.all();
        f1(all.found, all.wrong, all.missed)
    }

    /// The mean F1 of the labels; 0 for a label that was never found.
    pub fn macro_f1(&self) -> f64 {
        self.labels.iter().map(LabelFigures::f1).sum::<f64>() / self.labels.len().max(1) as f64
    }

    /// The figures of all labels together, by the names that `tamis evaluate --json` gives them.
    pub fn named(&self) -> Vec<(String, f64)> {
        let all = self.all();
        let mut named: Vec<_> = [
            ("micro_f1", self.micro_f1()),
            ("macro_f1", self.macro_f1()),
            ("precision", all.precision().unwrap_or_default()),
            ("recall", all.recall().unwrap_or_default()),
            ("exact", self.exact),
            ("log_loss", self.log_loss),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let at = Self::PLACES.iter().zip(self.precision_at);
        named.extend(at.map(|(k, value)| (format!("precision_at_{k}"), value)));
        named
    }

    /// The figures of each label, the label with the most documents first. `labels` are the labels that were measured.
    pub fn most_frequent_first<'a>(&'a self, labels: &'a Classes) -> Vec<(&'a str, &'a LabelFigures)> {
        let mut figures: Vec<_> = labels.iter().map(|(_, label)| label).zip(&self.labels).collect();
        figures.sort_by_key(|(_, of)| Reverse(of.found + of.missed));
        figures
    }

    /// The counts of all labels together.
    pub fn all(&self) -> LabelFigures {
        let sum = |of: fn(&LabelFigures) -> u64| self.labels.iter().map(of).sum();
        let (found, wrong, missed) = (sum(|of| of.found), sum(|of| of.wrong), sum(|of| of.missed));
        LabelFigures { found, wrong, missed, ..LabelFigures::default() }
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
    if options.labels != Labels::Many {
        return Err(Error::option("labels", "expected many labels a document, got one"));
    }
    let labels = Classes::new(labelled.iter().flat_map(|(set, ..)| split_labels(set)))?;
    let held_out = |filter: &Filter, scratch: &mut Scratch, at: usize| {
        let (set, _, document) = labelled[at];
        let has: Vec<_> = split_labels(set).filter_map(|label| labels.index(label)).collect();
        HeldOutLabels::of(filter, scratch, &labels, &has, document)
    };
    let scores = score_folds(options, labelled, &[], Folds { n: folds, seed }, held_out)?;
    Ok((labels, scores))
}

fn figures(label: usize, outcomes: &[HeldOutLabels]) -> LabelFigures {
    // labels are numbered by `ClassId`
    let id = label as ClassId;
    let scored = |of: &HeldOutLabels| {
        let probability = of.probabilities.get(label).copied().unwrap_or(0.0);
        (probability, of.has.binary_search(&id).is_ok())
    };
    let scores: Vec<_> = outcomes.iter().map(scored).collect();
    let mut figures = LabelFigures {
        average_precision: average_precision(&scores),
        roc_auc: roc_auc(&scores),
        ..LabelFigures::default()
    };
    for (of, (_, has)) in outcomes.iter().zip(&scores) {
        match (of.given.contains(&id), *has) {
            (true, true) => figures.found += 1,
            (true, false) => figures.wrong += 1,
            (false, true) => figures.missed += 1,
            (false, false) => (),
        }
    }
    figures
}

fn is_exact(of: &HeldOutLabels) -> bool {
    let mut given = of.given.clone();
    given.sort_unstable();
    given == of.has
}

/// The share of the `k` likeliest labels that the document has.
fn precision_at(k: usize, of: &HeldOutLabels) -> f64 {
    let mut ranked: Vec<ClassId> = (0..=ClassId::MAX).take(of.probabilities.len()).collect();
    let probability = |label: &ClassId| of.probabilities[usize::from(*label)];
    ranked.sort_by(|a, b| probability(b).total_cmp(&probability(a)).then(a.cmp(b)));
    let right = ranked.iter().take(k).filter(|label| of.has.binary_search(label).is_ok()).count();
    right as f64 / k as f64
}

/// The log loss of a document, summed over labels.
fn log_loss(of: &HeldOutLabels) -> f64 {
    let loss = |(label, p): (ClassId, &f64)| {
        let of_truth = if of.has.binary_search(&label).is_ok() { *p } else { 1.0 - p };
        // clipped as in other programs, so that one certain mistake does not cost infinity
        -of_truth.max(1e-15).ln()
    };
    (0..=ClassId::MAX).zip(&of.probabilities).map(loss).sum()
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
