//! A model in use from Python, and its answers.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use rayon::prelude::*;
use tamis_train::{ClassId, Classes, ErrorKind, Filter, Recipe, Scratch};

use crate::error::{Result, wrong_row};
use crate::input::DocumentSet;
use crate::work::Watch;

pub(crate) mod explanation;
pub(crate) mod report;
pub(crate) mod score;
pub(crate) mod table;

/// The labels of a model, and which of them is spam.
#[derive(PartialEq)]
pub(crate) struct ModelLabels {
    pub(crate) classes: Classes,
    pub(crate) spam: Option<ClassId>,
}

impl ModelLabels {
    pub(crate) fn from_filter(filter: &Filter) -> Arc<Self> {
        Arc::new(ModelLabels { classes: filter.classes().clone(), spam: filter.spam() })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.classes.iter().map(|(_, label)| label.to_owned()).collect()
    }

    /// The class of a label.
    ///
    /// # Errors
    /// The model does not know it.
    pub(crate) fn class(&self, label: &str) -> std::result::Result<ClassId, String> {
        self.classes.index(label).ok_or_else(|| {
            format!("expected a label that the model knows ({}), got {label:?}", self.names().join(", "))
        })
    }

    /// The label of a class, `unsure` if there is none.
    pub(crate) fn name(&self, class: Option<ClassId>) -> &str {
        class.and_then(|class| self.classes.label(class)).unwrap_or("unsure")
    }

    /// A dict of label to number, in the order of the labels.
    pub(crate) fn dict<'py, T: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        numbers: impl IntoIterator<Item = T>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.classes.iter().map(|(_, label)| label).zip(numbers).into_py_dict(py)
    }
}

/// The score of one document.
#[derive(Clone)]
pub(crate) struct DocumentScore {
    pub(crate) score: tamis_train::Score,
    /// Whether a limit truncated the message.
    pub(crate) truncated: bool,
    /// The labels that the document has besides the verdict, in a model of many labels.
    pub(crate) others: Vec<ClassId>,
}

impl DocumentScore {
    /// The score that a scratch was used for last.
    pub(crate) fn with_scratch(score: tamis_train::Score, scratch: &Scratch) -> Self {
        let truncated = !scratch.limits_hit().is_empty();
        let others = scratch.labels().iter().skip(1).map(|of| of.label).collect();
        DocumentScore { score, truncated, others }
    }

    /// The labels of the document, the likeliest first.
    pub(crate) fn labels(&self) -> impl Iterator<Item = ClassId> {
        self.score.label.into_iter().chain(self.others.iter().copied())
    }
}

/// The scores of many documents.
#[derive(Default)]
pub(crate) struct ScoreBatch {
    pub(crate) scores: Vec<DocumentScore>,
    /// The probability of every label for each document.
    pub(crate) probabilities: Vec<f64>,
    /// In a model of many labels, the log-odds of every label for each document, less the label's threshold.
    pub(crate) margins: Vec<f64>,
    /// Whether the model has learned each document; empty if that was not asked.
    pub(crate) is_learned: Vec<bool>,
}

/// A filter with its labels and scratches, shared by all threads.
pub(crate) struct SharedFilter {
    pub(crate) filter: Arc<Filter>,
    pub(crate) labels: Arc<ModelLabels>,
    /// One for each thread that ever scored at the same time.
    scratches: Mutex<Vec<Scratch>>,
}

/// Documents that a thread scores with one scratch.
const BLOCK: usize = 64;

impl SharedFilter {
    pub(crate) fn new(filter: Arc<Filter>) -> Arc<Self> {
        let labels = ModelLabels::from_filter(&filter);
        Arc::new(SharedFilter { labels, filter, scratches: Mutex::default() })
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        self.filter.information().recipe
    }

    /// Scores documents on the threads of the current pool. With the digests of known documents, says which are known.
    ///
    /// # Errors
    /// The error of the first document that has one.
    pub(crate) fn score_all(
        &self,
        documents: &DocumentSet,
        watch: &Watch,
        known: Option<&HashSet<[u8; 16]>>,
    ) -> Result<ScoreBatch> {
        let has_many_labels = self.filter.has_many_labels();
        let free = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let of_block = |start: usize| -> Result<ScoreBatch> {
            let mut batch = ScoreBatch::default();
            let block = start..documents.len().min(start + BLOCK);
            if watch.is_stopped() {
                return Ok(batch);
            }
            watch.add_done(block.len());
            let mut scratch = free().pop().unwrap_or_default();
            for row in block {
                let scored = documents.with(row, |document| {
                    let score = self.filter.score(document, &mut scratch);
                    score.map_err(|error| match error.kind() {
                        ErrorKind::Document => wrong_row(row, error),
                        _ => error.into(),
                    })
                })?;
                batch.scores.push(DocumentScore::with_scratch(scored, &scratch));
                batch.probabilities.extend_from_slice(scratch.probabilities());
                let is_known = |known: &HashSet<_>| known.contains(&self.filter.digest_of_scored(&scratch));
                batch.is_learned.extend(known.map(is_known));
                if has_many_labels {
                    batch.margins.extend(margins(&self.filter, &scratch));
                }
            }
            free().push(scratch);
            Ok(batch)
        };
        let blocks: Vec<_> = (0..documents.len()).into_par_iter().step_by(BLOCK).map(of_block).collect();
        let mut all = ScoreBatch::default();
        for block in blocks {
            let ScoreBatch { scores, probabilities, margins, is_learned } = block?;
            all.scores.extend(scores);
            all.probabilities.extend(probabilities);
            all.is_learned.extend(is_learned);
            all.margins.extend(margins);
        }
        Ok(all)
    }
}

/// The log-odds of every label of a scored document, less the label's threshold: positive for the labels that the document
/// has.
fn margins(filter: &Filter, scratch: &Scratch) -> Vec<f64> {
    // a scratch has exact log-odds only of the labels that the document has
    let of_probability = |(label, probability): (ClassId, &f64)| {
        let probability = probability.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        ((probability / (1.0 - probability)).ln() - filter.label_threshold(label)).min(0.0)
    };
    let mut margins: Vec<_> = (0..=ClassId::MAX).zip(scratch.probabilities()).map(of_probability).collect();
    for of in scratch.labels() {
        if let Some(margin) = margins.get_mut(usize::from(of.label)) {
            *margin = of.log_odds - filter.label_threshold(of.label);
        }
    }
    margins
}
