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
//!                                    [`segment`](crate::store::store) and [`log`](crate::file::log)
//! ```
//!
//! All later checksums are seeded with the header's. The CRC of the sections makes the headers of different models
//! differ; it has no other use.

use serde::{Deserialize, Serialize};
use tamis_model::{Choices, ClassTotals, Classes, ExpectedNaiveBayes, Summary};

use crate::config::decision::{Decision, DecisionOptions, Expected};
use crate::config::keep::Keep;
use crate::config::recipe::Recipe;
use crate::config::scoring::{Chosen, Scoring};
use crate::disk::map::Bytes;
use crate::disk::spool::Spool;
use crate::error::{Error, Result};
use crate::file::blocks::Section;
use crate::file::container::{self, Preface};
use crate::file::table::Table;
use crate::file::terms::Size;

/// The model format that this version reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// The sections of a file, in order.
pub(crate) const SECTIONS: [&str; N_SECTIONS] = ["directory", "terms", "texts", "documents", "vectors"];
pub(crate) const N_SECTIONS: usize = 5;

/// The header of a model file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) recipe: Recipe,
    pub(crate) keep: Keep,
    /// Whether names of documents are stored.
    pub(crate) names: bool,
    /// Whether it counts documents that it never stored, those of another program's word list.
    pub(crate) unremembered: bool,
    pub(crate) scoring: Scoring,
    pub(crate) classes: Classes,
    pub(crate) totals: Vec<ClassTotals>,
    /// The requirements on decisions, with two classes.
    pub(crate) asked: Option<DecisionOptions>,
    /// Documents learned or forgotten one by one since training.
    pub(crate) changes: u64,
    /// Documents learned, forgotten or merged since the last fit.
    pub(crate) unfitted: u64,
    /// What naive Bayes needs besides the counts of terms; not used by weighted scoring.
    pub(crate) summary: Option<Summary>,
    /// What mixed naive Bayes needs in addition.
    pub(crate) table: Option<Table>,
    /// How scores become verdicts, with two classes.
    pub(crate) decision: Decision,
    /// The choices of weighted scoring.
    pub(crate) chosen: Option<Chosen>,
    /// The bias of each column of the correction, fixed point.
    pub(crate) bias: Vec<i64>,
    /// The model fitted by EM; its term weights are in the `terms` section.
    pub(crate) em_model: Option<ExpectedNaiveBayes>,
    pub(crate) expected: Option<Expected>,
    pub(crate) size: Size,
    /// Length of each section in bytes, in the order of [`SECTIONS`], without checksums.
    pub(crate) lengths: [u64; N_SECTIONS],
}

impl Header {
    /// Creates the header of a model with these counts, with nothing fitted and no requirements.
    pub(crate) fn new(recipe: Recipe, scoring: Scoring, classes: Classes, totals: Vec<ClassTotals>) -> Self {
        Header {
            keep: Keep::Digests,
            names: true,
            unremembered: false,
            asked: None,
            changes: 0,
            unfitted: 0,
            summary: None,
            table: None,
            decision: Decision::for_classes(&classes),
            chosen: None,
            bias: Vec::new(),
            em_model: None,
            expected: None,
            size: Size::default(),
            lengths: [0; N_SECTIONS],
            recipe,
            scoring,
            classes,
            totals,
        }
    }

    /// Terms in the vocabulary.
    pub(crate) fn n_terms(&self) -> u64 {
        self.size.terms
    }

    /// Whether documents have coefficients: only with a correction.
    pub(crate) fn has_coefficients(&self) -> bool {
        matches!(&self.scoring, Scoring::Weighted(options) if options.correction)
    }

    /// The choices of weighted scoring in use.
    pub(crate) fn choices(&self) -> Option<&Choices> {
        self.chosen.as_ref().map(Chosen::in_use)
    }

    /// Checks that the header's fields are consistent.
    pub(crate) fn check(&self) -> Result<()> {
        let n_classes = self.classes.len();
        if n_classes < 2 {
            return Err(Error::inconsistent("header", "at least 2 labels", n_classes));
        }
        let Header { scoring, recipe, totals, .. } = self;
        let is_em = matches!(scoring, Scoring::ExpectationMaximization(_));
        // unlabelled documents are counted in a class of their own
        if !(n_classes..=n_classes + usize::from(is_em)).contains(&totals.len()) {
            return Err(Error::inconsistent("header", format!("totals of {n_classes} labels"), totals.len()));
        }
        check_totals(totals)?;
        if !recipe.columns.is_sorted_by(|a, b| a.name < b.name) {
            return Err(Error::inconsistent(
                "header",
                "columns in the order of their names",
                "another order",
            ));
        }
        let needed = [
            matches!(scoring, Scoring::NaiveBayes(_)),
            matches!(scoring, Scoring::Mixed(_)),
            is_em,
            matches!(scoring, Scoring::Weighted(_)),
        ];
        let got =
            [self.summary.is_some(), self.table.is_some(), self.em_model.is_some(), self.chosen.is_some()];
        if got != needed || self.expected.is_some_and(|expected| !expected.fits(scoring, n_classes)) {
            return Err(Error::inconsistent("header", "the parts that its scoring needs", "others"));
        }
        if matches!(scoring, Scoring::RobinsonFisher(_)) && n_classes != 2 {
            return Err(Error::inconsistent(
                "header",
                "2 labels for Robinson and Fisher's scoring",
                n_classes,
            ));
        }
        scoring.check(recipe, self.keep)?;
        self.decision.check()
    }
}

/// Checks that sums over all classes do not overflow.
pub(crate) fn check_totals(totals: &[ClassTotals]) -> Result<()> {
    for of in [|t: &ClassTotals| t.documents, |t: &ClassTotals| t.df, |t: &ClassTotals| t.tf] {
        if totals.iter().map(of).try_fold(0, u64::checked_add).is_none() {
            return Err(Error::inconsistent("header", "totals that add up below 2^64", "more"));
        }
    }
    Ok(())
}

/// Writes a model file.
pub(crate) fn write(header: &Header, sections: [&Spool; N_SECTIONS]) -> Result<Spool> {
    container::write((container::MODEL, FORMAT_VERSION), header, &sections)
}

/// An opened model file.
pub(crate) struct Opened {
    pub(crate) bytes: Bytes,
    pub(crate) header: Header,
    /// Checksum of the header, the seed of all other checksums.
    pub(crate) checksum: u32,
    pub(crate) sections: [Section; N_SECTIONS],
    /// End of the sections.
    pub(crate) end: usize,
}

/// Opens a file at a cost that does not depend on the size of its sections.
pub(crate) fn open(bytes: Bytes) -> Result<Opened> {
    let Preface { checksum, header: encoded, start } = preface(&bytes)?;
    let header: Header = container::decode(encoded)?;
    let lengths = SECTIONS.into_iter().zip(header.lengths);
    let (sections, end) = container::layout(lengths, start, bytes.len(), checksum)?;
    let sections =
        sections.try_into().map_err(|_| Error::inconsistent("header", N_SECTIONS, "other sections"))?;
    Ok(Opened { bytes, header, checksum, sections, end })
}

/// The preface of a model file.
fn preface(file: &[u8]) -> Result<Preface<'_>> {
    container::check_magic(file, container::MODEL)?;
    Preface::read(file, FORMAT_VERSION)
}

/// Returns the checksum of the header if the header is intact.
pub(crate) fn checksum(file: &[u8]) -> Result<u32> {
    preface(file).map(|preface| preface.checksum)
}

#[cfg(test)]
mod numbers;

#[cfg(test)]
#[cfg(feature = "files")]
mod tests;
