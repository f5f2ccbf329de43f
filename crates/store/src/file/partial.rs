//! The file of a partial: the unfitted counts of a trainer.
//!
//! A preface and a header as in a [model](crate::file::header), then three sections:
//!
//! ```text
//! terms      in the order of fingerprints: the run of its text, the run of its cells
//! documents  in the order of digests, then classes:
//!            digest, hash of its body                       16 bytes, u64
//!            class, how often it counts                     varints
//!            date, in zigzag code plus one; 0 is none       varint
//!            a hash of the cuts between its stretches       varint
//!            real values: their number, then each           varint; column as a varint, bits of an f64
//!            dense vector, the run of its terms             as in the section `vectors` of a model
//!            stretches: their number, then each             varint; flags as a varint, the run of its terms
//! texts      while it is open whether pairs are terms, in the order of their hashes: a run for each document, equal ones too, of
//!            its label and group                            runs, empty if there is none
//!            its text; or the byte 255, then its fields     UTF-8; runs of names and texts
//! ```

use serde::{Deserialize, Serialize};
use tamis_model::{Classes, VectorStatistics};

use crate::config::training::TrainOptions;
use crate::disk::spool::Spool;
use crate::error::{Error, Reason, Result};
use crate::file::container::{self, Preface, Section};

/// The format of partials that this version reads and writes.
const VERSION: u32 = 1;

/// The header of a partial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartialHeader {
    /// What was asked for.
    pub options: TrainOptions,
    /// The classes so far.
    pub classes: Classes,
    /// Whether there are only counts, and the documents are elsewhere.
    pub counts_alone: bool,
    /// The number of counted documents of each class, copies included. If there are unlabelled documents, their number
    /// follows the last class.
    pub documents: Vec<u64>,
    /// Distinct documents.
    pub n_different: u64,
    /// Documents that equal an earlier one with the same label.
    pub n_equal: u64,
    /// For rows of a table, the number of missing cells in each column.
    pub missing: Vec<u64>,
    /// The number of terms.
    pub n_terms: u64,
    /// The statistics of dense vectors.
    pub vectors: Option<VectorStatistics>,
    /// Whether the texts of all documents are included.
    pub has_texts: bool,
    /// Lengths of the sections in bytes, without checksums.
    pub lengths: [u64; 3],
}

/// Writes a partial with its sections.
pub fn write(header: &PartialHeader, sections: &[Spool; 3]) -> Result<Spool> {
    container::write(container::PARTIAL, VERSION, header, &sections.each_ref())
}

/// Reads the header of a partial and locates its sections.
pub fn open(file: &[u8]) -> Result<(PartialHeader, Vec<Section>)> {
    container::check_magic(file, container::PARTIAL)?;
    let Preface { checksum, header, start } = Preface::read(file, VERSION)?;
    let header: PartialHeader = container::decode(header)?;
    header.check()?;
    let lengths = ["terms", "documents", "texts"].into_iter().zip(header.lengths);
    let (sections, end) = container::layout(lengths, start, file.len(), checksum)?;
    Reason::Length { expected: end as u64, got: file.len() as u64 }.unless(end == file.len())?;
    Ok((header, sections))
}

impl PartialHeader {
    fn check(&self) -> Result<()> {
        let is_open = !self.options.to_try().is_empty() && !self.counts_alone;
        Error::ensure(!self.has_texts || is_open, "header", "no texts", "texts")?;
        let (expected, got) = ("no documents beside counts alone", self.n_different);
        Error::ensure(!self.counts_alone || got == 0, "header", expected, got)?;
        let (n_classes, got) = (self.classes.len(), self.documents.len());
        let documents = format_args!("documents of {n_classes} labels");
        Error::ensure((n_classes..=n_classes + 1).contains(&got), "header", documents, got)?;
        let (expected, got) = (self.options.recipe.columns.len(), self.missing.len());
        Error::ensure(expected == got, "header", format_args!("{expected} columns"), got)
    }
}
