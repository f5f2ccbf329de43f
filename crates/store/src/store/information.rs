//! Information about a model.

use std::borrow::Cow;

use tamis_model::{ClassTotals, Classes, GaussianStatistics, MixedChoices};

use crate::config::decision::{Decision, Expected};
use crate::config::recipe::Recipe;
use crate::config::scoring::{Chosen, Scoring};
use crate::file::fitted::FittedScoring;
use crate::file::header::{Changes, Header, Stored};
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
    pub chosen: Option<&'a Chosen>,
    /// Held-out performance, if there were enough documents.
    pub expected: Option<Expected>,
    /// The labels.
    pub classes: &'a Classes,
    /// Documents and counts, one entry per label; the last one of [`Scoring::ExpectationMaximization`] is of documents
    /// without labels.
    pub totals: Cow<'a, [ClassTotals]>,
    /// Number of documents. With many labels, a document counts once here and in each of its labels above.
    pub documents: u64,
    /// Statistics of the columns, for mixed naive Bayes.
    pub table: Option<TableStatistics<'a>>,
    /// How much there is.
    pub size: ModelSize,
    /// What is stored of each document.
    pub stored: Stored,
    /// Documents learned or forgotten since training.
    pub changes: Changes,
    /// The file.
    pub file: FileSize,
}

/// Statistics of a table's columns.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableStatistics<'a> {
    /// Moments of the real-valued columns, numbered among themselves.
    pub reals: &'a GaussianStatistics,
    /// Number of missing cells in each column of the recipe.
    pub missing: &'a [u64],
    /// How the model departs from the textbook.
    pub chosen: &'a MixedChoices,
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
    /// What the file tells of itself.
    pub fn information(&self) -> Information<'_> {
        let Header { recipe, stored, scoring, decision, expected, size, .. } = &self.header;
        let features = match scoring {
            FittedScoring::NaiveBayes { summary, .. } => summary.n_features(),
            _ => self.n_features(),
        };
        let (start, log) = &self.log;
        let has_more = !(self.segments.is_empty() && log.is_empty());
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
            table: scoring.table().map(|table| TableStatistics {
                reals: &table.reals,
                missing: &table.missing,
                chosen: &table.chosen,
            }),
            size: ModelSize {
                terms: self.n_features() as usize,
                features,
                cells: size.cells as usize,
                weights: size.weights as usize,
                documents: self.n_documents(),
            },
            stored: *stored,
            changes: Changes { since_training: self.changes(), since_fit: self.unfitted() },
            file: FileSize {
                bytes: if has_more { *start as usize + log.len() } else { self.end },
                log_bytes: log.len(),
                segments: self.segments.len(),
            },
        }
    }
}
