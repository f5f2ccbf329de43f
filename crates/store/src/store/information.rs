//! Information about a model, and whether models can be merged.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use tamis_model::{ClassTotals, Classes, Interval, clopper_pearson};

use crate::config::decision::{Decision, HeldOutPerformance};
use crate::config::labels::are_sets;
use crate::config::recipe::Recipe;
use crate::config::scoring::{ModelSelection, Scoring};
use crate::error::{Error, Result};
use crate::file::fitted::{FittedScoring, TableStatistics};
use crate::file::header::{Changes, ModelHeader, Retention};
use crate::store::opened::Store;

/// Information about a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Information<'a> {
    /// How documents become terms.
    pub recipe: &'a Recipe,
    /// How counts become scores.
    pub scoring: Scoring,
    /// How scores become verdicts, with two classes.
    pub decision: &'a Decision,
    /// The choices of weighted scoring, with the losses that decided them.
    pub chosen: Option<&'a ModelSelection>,
    /// Held-out performance, if there were enough documents.
    pub expected: Option<HeldOutPerformance>,
    /// The labels.
    pub classes: &'a Classes,
    /// Documents and counts, one entry per label; the last one of [`Scoring::ExpectationMaximization`] is of documents
    /// without labels.
    pub totals: Cow<'a, [ClassTotals]>,
    /// Number of documents. With many labels, a document counts once here and in each of its labels above.
    pub documents: u64,
    /// Statistics of the columns, for mixed naive Bayes.
    pub table: Option<&'a TableStatistics>,
    /// How much there is.
    pub size: ModelSize,
    /// What is stored of each document.
    pub stored: Retention,
    /// Documents learned or forgotten since training.
    pub changes: Changes,
    /// The file.
    pub file: FileSize,
}

impl Information<'_> {
    /// The 95 % interval of a share of the held-out documents. Copies and near-duplicates count once.
    pub fn interval(&self, part: u64, whole: u64) -> Interval {
        let independent = self.chosen.map_or(1.0, |chosen| chosen.independent);
        let [part, whole] = [part, whole].map(|n| (n as f64 * independent).round() as u64);
        clopper_pearson(part, whole, 0.95)
    }
}

/// How much a model holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ModelSize {
    /// Terms that have counts.
    pub terms: usize,
    /// Terms used in scoring.
    pub features: u64,
    /// Non-zero counts of a term in a class.
    pub cells: usize,
    /// Weights of the correction, each for a term and a class.
    pub weights: usize,
    /// Distinct documents stored.
    pub documents: usize,
}

/// How large a model's file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileSize {
    /// Bytes of the whole file.
    pub bytes: usize,
    /// Of these, bytes of the log.
    pub log_bytes: usize,
    /// Number of segments since the last rewrite.
    pub segments: usize,
}

impl Store {
    /// What the file says about itself.
    pub fn information(&self) -> Information<'_> {
        let ModelHeader { recipe, stored, scoring, decision, expected, size, .. } = &self.header;
        let features = match scoring {
            FittedScoring::NaiveBayes { summary, .. } => summary.n_features(),
            _ => self.n_features(),
        };
        let log = &self.log;
        let has_more = !(self.segments.is_empty() && log.records.is_empty());
        Information {
            recipe,
            scoring: scoring.options(),
            decision,
            chosen: scoring.chosen(),
            expected: *expected,
            classes: self.labels(),
            totals: match &self.sets {
                Some(sets) => Cow::Owned(sets.columns.totals(&self.totals)),
                None => Cow::Borrowed(&self.totals),
            },
            documents: self.totals.iter().map(|totals| totals.documents).fold(0, u64::saturating_add),
            table: scoring.table(),
            size: ModelSize {
                terms: self.n_features() as usize,
                features,
                cells: size.cells as usize,
                weights: size.weights as usize,
                documents: self.n_documents(),
            },
            stored: *stored,
            changes: self.changes(),
            file: FileSize {
                bytes: if has_more { log.end() as usize } else { self.end },
                log_bytes: log.records.len(),
                segments: self.segments.len(),
            },
        }
    }
}

/// Checks that models can be merged.
pub fn check_compatible(stores: &[&Store]) -> Result<()> {
    let unlike = |setting, expected: &str, got: &str| Err(Error::incompatible(setting, expected, got));
    let Some((first, others)) = stores.split_first() else { return unlike("models", "at least one", "none") };
    for store in stores {
        if let Some(got) = store.header.scoring.options().fitted_at_once(&store.header.recipe) {
            return unlike("scoring", "counts of terms, which add up", got);
        }
    }
    for other in others {
        let [expected, got] = [first, other].map(|store| match are_sets(&store.header.classes) {
            true => "many labels a document",
            false => "one label a document",
        });
        if expected != got {
            return unlike("labels", expected, got);
        }
        check_equal("recipe", &first.header.recipe, &other.header.recipe)?;
        check_equal("scoring", &first.header.scoring.options(), &other.header.scoring.options())?;
    }
    Ok(())
}

/// Checks that two values of a setting are equal; the error names the first part that differs.
pub fn check_equal<T: Serialize + PartialEq>(setting: &str, expected: &T, got: &T) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let shown = |value: &T| {
        let shown = serde_json::to_value(value);
        shown.map_err(|e| Error::inconsistent("header", "settings that can be shown", e))
    };
    let (expected, got) = (shown(expected)?, shown(got)?);
    let found = difference(setting, &expected, &got);
    let (setting, expected, got) = found.unwrap_or((setting.into(), &expected, &got));
    Err(Error::incompatible(&setting, expected, got))
}

/// The path of the first setting that differs.
fn difference<'a>(path: &str, a: &'a Value, b: &'a Value) -> Option<(String, &'a Value, &'a Value)> {
    match (a, b) {
        (Value::Object(here), Value::Object(there)) if here.keys().eq(there.keys()) => here
            .iter()
            .zip(there.values())
            .find_map(|((key, a), b)| difference(&format!("{path}.{key}"), a, b)),
        _ if a == b => None,
        _ => Some((path.to_owned(), a, b)),
    }
}
