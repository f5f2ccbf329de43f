//! The header of a model file: preface, header, and the layout of the sections.
//!
//! ```text
//! "TAMIS\r\n\x1a"                    8 bytes
//! format version, header length      u32, u32, little-endian like every number here
//! CRC-32 of the sections             u32
//! CRC-32 of these three and header   u32
//! header                             bincode, fixed-width integers
//! sections                           each its content, then a CRC-32 a block of 256 bytes
//! slots, segments, log               what was learned since the rest was written, see [`slots`](crate::file::slots),
//!                                    [`segment`](crate::store::opened) and [`log`](crate::file::log)
//! ```
//!
//! All later checksums are seeded with the header's. The CRC of the sections makes the headers of different models
//! differ; it has no other use.

use serde::{Deserialize, Serialize};
use tamis_model::{ClassTotals, Classes, ExpectedNaiveBayes, Summary, VectorStatistics};

use crate::config::decision::{Decision, DecisionOptions, HeldOutPerformance, LabelDecision};
use crate::config::recipe::{Keep, Recipe};
use crate::config::scoring::{ModelSelection, Scoring};
use crate::disk::spool::Spool;
use crate::error::{Error, Result};
use crate::file::container::{self, Preface, Section};
use crate::file::fitted::{FittedScoring, TableStatistics};
use crate::file::terms::Size;

/// The model format that this version reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// The sections of a file, in order, as they are called in errors.
pub const SECTIONS: [&str; N_SECTIONS] = ["directory", "terms", "texts", "documents", "vectors"];
/// Their number.
pub const N_SECTIONS: usize = 5;

/// The header of a model file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "WrittenHeader", into = "WrittenHeader")]
pub struct ModelHeader {
    /// From documents to terms.
    pub recipe: Recipe,
    /// What is stored of documents.
    pub stored: Retention,
    /// Whether it counts documents that it never stored, those of another program's word list.
    pub unremembered: bool,
    /// From counts to scores.
    pub scoring: FittedScoring,
    /// The classes.
    pub classes: Classes,
    /// Documents and counts of each.
    pub totals: Vec<ClassTotals>,
    /// The statistics of the documents' dense vectors, if the recipe has any.
    pub vectors: Option<VectorStatistics>,
    /// The requirements on decisions, with two classes.
    pub asked: Option<DecisionOptions>,
    /// How scores become verdicts, with two classes.
    pub decision: Decision,
    /// What to expect of new documents.
    pub expected: Option<HeldOutPerformance>,
    /// What changed since it was trained.
    pub changes: Changes,
    /// Counts of the sections.
    pub size: Size,
    /// Length of each section in bytes, in the order of `SECTIONS`, without checksums.
    pub lengths: [u64; N_SECTIONS],
}

/// What is stored of each document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// A digest, or its terms as well.
    pub keep: Keep,
    /// Whether its name is stored.
    pub names: bool,
}

/// Numbers of documents that changed a model.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Learned or forgotten one by one since training.
    pub since_training: u64,
    /// Learned, forgotten or merged since the last fit.
    pub since_fit: u64,
    /// Learned since the last fit, where the model was not right before.
    pub corrected: u64,
}

/// A header as it is written. Of `summary`, `table`, `chosen` and `em_model` it has what its scoring needs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenHeader {
    /// As [`ModelHeader::recipe`].
    pub recipe: Recipe,
    /// As [`Retention::keep`].
    pub keep: Keep,
    /// As [`Retention::names`].
    pub names: bool,
    /// As [`ModelHeader::unremembered`].
    pub unremembered: bool,
    /// What [`ModelHeader::scoring`] was asked for.
    pub scoring: Scoring,
    /// As [`ModelHeader::classes`].
    pub classes: Classes,
    /// As [`ModelHeader::totals`].
    pub totals: Vec<ClassTotals>,
    /// As [`ModelHeader::vectors`].
    pub vectors: Option<VectorStatistics>,
    /// As [`ModelHeader::asked`].
    pub asked: Option<DecisionOptions>,
    /// Documents changed.
    pub changes: u64,
    /// Documents changed since the fit.
    pub unfitted: u64,
    /// As [`Changes::corrected`].
    pub corrected: u64,
    /// Of naive Bayes.
    pub summary: Option<Summary>,
    /// Of a table.
    pub table: Option<TableStatistics>,
    /// As [`ModelHeader::decision`].
    pub decision: Decision,
    /// Of weighted scoring.
    pub chosen: Option<ModelSelection>,
    /// By column, of weighted scoring.
    pub bias: Vec<i64>,
    /// Of naive Bayes by expectation maximization.
    pub em_model: Option<ExpectedNaiveBayes>,
    /// As [`ModelHeader::expected`].
    pub expected: Option<HeldOutPerformance>,
    /// As [`ModelHeader::size`].
    pub size: Size,
    /// Bytes of each section.
    pub lengths: [u64; N_SECTIONS],
}

impl From<ModelHeader> for WrittenHeader {
    fn from(header: ModelHeader) -> Self {
        let mut written = WrittenHeader {
            recipe: header.recipe,
            keep: header.stored.keep,
            names: header.stored.names,
            unremembered: header.unremembered,
            scoring: header.scoring.options(),
            classes: header.classes,
            totals: header.totals,
            vectors: header.vectors,
            asked: header.asked,
            changes: header.changes.since_training,
            unfitted: header.changes.since_fit,
            corrected: header.changes.corrected,
            summary: None,
            table: None,
            decision: header.decision,
            chosen: None,
            bias: Vec::new(),
            em_model: None,
            expected: header.expected,
            size: header.size,
            lengths: header.lengths,
        };
        match header.scoring {
            FittedScoring::Weighted { chosen, bias, table, .. } => {
                (written.chosen, written.bias, written.table) = (Some(chosen), bias, table.map(|of| *of))
            }
            FittedScoring::NaiveBayes { summary, .. } => written.summary = Some(summary),
            FittedScoring::ExpectationMaximization { model, .. } => written.em_model = Some(model),
            FittedScoring::Mixed { table, .. } => written.table = Some(table),
            FittedScoring::RobinsonFisher(_) => (),
        }
        written
    }
}

impl TryFrom<WrittenHeader> for ModelHeader {
    type Error = &'static str;

    fn try_from(written: WrittenHeader) -> std::result::Result<Self, &'static str> {
        let WrittenHeader { summary, table, chosen, em_model, bias, .. } = written;
        let scoring = match (written.scoring, summary, table, em_model, chosen) {
            (Scoring::Weighted(options), None, table, None, Some(chosen)) => {
                FittedScoring::Weighted { options, chosen, bias, table: table.map(Box::new) }
            }
            (Scoring::NaiveBayes(parameters), Some(summary), None, None, None) => {
                FittedScoring::NaiveBayes { parameters, summary }
            }
            (Scoring::ExpectationMaximization(settings), None, None, Some(model), None) => {
                FittedScoring::ExpectationMaximization { settings, model }
            }
            (Scoring::Mixed(settings), None, Some(table), None, None) => {
                FittedScoring::Mixed { settings, table }
            }
            (Scoring::RobinsonFisher(parameters), None, None, None, None) => {
                FittedScoring::RobinsonFisher(parameters)
            }
            _ => return Err("the parts that its scoring needs"),
        };
        Ok(ModelHeader {
            recipe: written.recipe,
            stored: Retention { keep: written.keep, names: written.names },
            unremembered: written.unremembered,
            scoring,
            classes: written.classes,
            totals: written.totals,
            vectors: written.vectors,
            asked: written.asked,
            decision: written.decision,
            expected: written.expected,
            changes: Changes {
                since_training: written.changes,
                since_fit: written.unfitted,
                corrected: written.corrected,
            },
            size: written.size,
            lengths: written.lengths,
        })
    }
}

impl ModelHeader {
    /// Creates the header of a model with these counts and no requirements.
    pub fn new(recipe: Recipe, scoring: FittedScoring, classes: Classes, totals: Vec<ClassTotals>) -> Self {
        ModelHeader {
            stored: Retention { keep: Keep::Digests, names: true },
            unremembered: false,
            vectors: None,
            asked: None,
            decision: Decision::for_classes(&classes),
            expected: None,
            changes: Changes::default(),
            size: Size::default(),
            lengths: [0; N_SECTIONS],
            recipe,
            scoring,
            classes,
            totals,
        }
    }

    /// Checks that the header's fields are consistent.
    pub fn check(&self) -> Result<()> {
        let n_classes = self.classes.len();
        Error::ensure(n_classes >= 2, "header", "at least 2 labels", n_classes)?;
        let ModelHeader { scoring, recipe, totals, .. } = self;
        // unlabelled documents are counted in a class of their own
        let most = n_classes + usize::from(scoring.has_expected_counts());
        let (expected, got) = (format_args!("totals of {n_classes} labels"), totals.len());
        Error::ensure((n_classes..=most).contains(&got), "header", expected, got)?;
        check_totals(totals)?;
        check_vectors(&self.vectors, recipe, totals.len())?;
        let are_sorted = recipe.columns.is_sorted_by(|a, b| a.name < b.name);
        Error::ensure(are_sorted, "header", "columns in the order of their names", "another order")?;
        let fits = self.expected.is_none_or(|of| scoring.is_calibrated() && of.fits(n_classes));
        Error::ensure(fits, "header", "expected errors that suit the labels", "others")?;
        let suits = n_classes == 2 || !matches!(scoring, FittedScoring::RobinsonFisher(_));
        Error::ensure(suits, "header", "2 labels for Robinson and Fisher's scoring", n_classes)?;
        let are_finite = scoring.chosen().is_none_or(|of| of.labels.iter().all(LabelDecision::is_finite));
        Error::ensure(are_finite, "header", "finite thresholds of labels", "others")?;
        scoring.options().check(recipe, self.stored.keep)?;
        self.decision.check()
    }
}

/// Checks that sums over all classes do not overflow.
pub(crate) fn check_totals(totals: &[ClassTotals]) -> Result<()> {
    for of in [|t: &ClassTotals| t.documents, |t: &ClassTotals| t.df, |t: &ClassTotals| t.tf] {
        let sum = totals.iter().map(of).try_fold(0, u64::checked_add);
        Error::ensure(sum.is_some(), "header", "totals that add up below 2^64", "more")?;
    }
    Ok(())
}

/// Checks that there are statistics of dense vectors if the recipe has vectors, and of the same shape.
pub(crate) fn check_vectors(
    vectors: &Option<VectorStatistics>,
    recipe: &Recipe,
    n_classes: usize,
) -> Result<()> {
    let shape = |dimensions: usize, n_classes: usize| (dimensions, n_classes);
    let expected = recipe.vectors.as_ref().map(|space| shape(space.dimensions as usize, n_classes));
    let got = vectors.as_ref().map(|vectors| shape(vectors.n_dimensions(), vectors.documents().len()));
    let vectors = format_args!("vectors of {expected:?}");
    Error::ensure(expected == got, "header", vectors, format_args!("{got:?}"))
}

/// Writes a model file.
pub fn write(header: &ModelHeader, sections: [&Spool; N_SECTIONS]) -> Result<Spool> {
    container::write(container::MODEL, FORMAT_VERSION, header, &sections)
}

/// The header of a model file, and where its sections are.
pub struct ModelLayout {
    /// The header.
    pub header: ModelHeader,
    /// Checksum of the header, the seed of all other checksums.
    pub checksum: u32,
    /// The sections, in the order of [`SECTIONS`].
    pub sections: [Section; N_SECTIONS],
    /// End of the sections.
    pub end: usize,
}

/// Reads the header of a file, at a cost that does not depend on the size of its sections.
pub fn open(file: &[u8]) -> Result<ModelLayout> {
    let Preface { checksum, header: encoded, start } = preface(file)?;
    let header: ModelHeader = container::decode(encoded)?;
    let lengths = SECTIONS.into_iter().zip(header.lengths);
    let (sections, end) = container::layout(lengths, start, file.len(), checksum)?;
    let sections =
        sections.try_into().map_err(|_| Error::inconsistent("header", N_SECTIONS, "other sections"))?;
    Ok(ModelLayout { header, checksum, sections, end })
}

/// The preface of a model file.
pub fn preface(file: &[u8]) -> Result<Preface<'_>> {
    container::check_magic(file, container::MODEL)?;
    Preface::read(file, FORMAT_VERSION)
}

/// Returns the checksum of the header if the header is intact.
pub fn checksum(file: &[u8]) -> Result<u32> {
    preface(file).map(|preface| preface.checksum)
}

#[cfg(test)]
mod tests;
