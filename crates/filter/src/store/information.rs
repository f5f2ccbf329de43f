//! Information about a model.

use tamis_model::{ClassTotals, Classes, GaussianStatistics};

use crate::config::decision::{Decision, Expected};
use crate::config::keep::Keep;
use crate::config::recipe::Recipe;
use crate::config::scoring::{Chosen, Scoring};
use crate::file::fitted::FittedScoring;
use crate::file::header::Header;
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
    /// Documents and counts, one entry per class.
    pub totals: &'a [ClassTotals],
    /// Moments of the real-valued columns in mixed naive Bayes, numbered among themselves.
    pub reals: Option<&'a GaussianStatistics>,
    /// Number of missing cells in each column of the recipe, for mixed naive Bayes.
    pub missing: &'a [u64],
    /// Terms that have counts.
    pub n_terms: usize,
    /// Number of features: terms used in scoring.
    pub n_features: u64,
    /// Number of cells: non-zero counts of a term in a class.
    pub n_cells: usize,
    /// Number of weights of the correction, each for a term and a class.
    pub n_weights: usize,
    /// Distinct documents stored.
    pub documents: usize,
    /// What is stored of each document.
    pub keep: Keep,
    /// Whether names of documents are stored.
    pub names: bool,
    /// Documents learned or forgotten one by one since training.
    pub changes: u64,
    /// Documents learned, forgotten or merged since the last fit.
    pub unfitted: u64,
    /// Bytes of the whole file.
    pub bytes: usize,
    /// Of these, bytes of the log.
    pub log_bytes: usize,
    /// Number of segments since the last rewrite.
    pub segments: usize,
}

impl Store {
    pub(crate) fn information(&self) -> Information<'_> {
        let Header { recipe, stored, scoring, decision, expected, classes, size, .. } = &self.header;
        let table = scoring.table();
        let n_features = match scoring {
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
            classes,
            totals: &self.totals,
            reals: table.map(|table| &table.reals),
            missing: table.map_or(&[], |table| &table.missing),
            n_terms: self.n_features() as usize,
            n_features,
            n_cells: size.cells as usize,
            n_weights: size.weights as usize,
            documents: self.n_documents(),
            keep: stored.keep,
            names: stored.names,
            changes: self.changes(),
            unfitted: self.unfitted(),
            bytes: if has_more { *start as usize + log.len() } else { self.end },
            log_bytes: log.len(),
            segments: self.segments.len(),
        }
    }
}
