//! Export: a model as JSON lines, with its header, terms and documents.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Number;
use tamis_filter::score::filter::Filter;
use tamis_model::{ClassId, Classes, Counts, HeldOut};
use tamis_store::config::labels::{labels_of, positive_class};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::{NO_DATE, StoredDocument};
use tamis_store::file::header::{ModelHeader, WrittenHeader};
use tamis_store::file::terms::Size;
use tamis_store::store::opened::Store;

use crate::merge::rewrite;

/// The version of the format that [`Filter::export`] writes.
pub(crate) const EXPORT_VERSION: u32 = 1;

/// The first line: everything except terms and documents.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportHead {
    /// [`EXPORT_VERSION`].
    pub(crate) tamis_export: u32,
    /// Whether lines of documents follow those of terms.
    pub(crate) documents: bool,
    /// The header of the file, without what can be computed from the lines.
    pub(crate) model: WrittenHeader,
}

/// A line of a term.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TermLine {
    pub(crate) term: String,
    /// By label: document frequency and term frequency. Unlabelled documents have the empty label.
    pub(crate) counts: BTreeMap<String, [u32; 2]>,
    /// By label: the weight of the correction in fixed point, or the expected count of EM.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) weights: BTreeMap<String, Number>,
}

/// A line of a document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentLine {
    /// Hexadecimal.
    pub(crate) digest: String,
    pub(crate) label: String,
    pub(crate) copies: u32,
    /// By how much its weight in a fit exceeds its copies, in units of 1/1,024.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) fraction: i32,
    /// In seconds since 1970.
    pub(crate) date: Option<i64>,
    /// A hash of the body, hexadecimal.
    pub(crate) group: String,
    /// A hash of what does not change of a mail in transit, hexadecimal; only for mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    /// By label: its contributions to the bias of the correction and to the weights of its terms, in fixed point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) coefficients: BTreeMap<String, [i64; 2]>,
    /// Its held-out scores: log-odds of the counts, of the correction, of the columns and of the vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_out: Option<HeldOut>,
    /// Its number among the documents learned one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) learned: u32,
    /// Its dense vector.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(crate) vector: Box<[f32]>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) terms: BTreeMap<String, u32>,
}

fn is_empty(vector: &[f32]) -> bool {
    vector.is_empty()
}

fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

/// Writes the model as JSON lines: first the header, then one line per term, then, with `documents`, one per
/// document. [`import`](super::import) restores the same model, byte for byte; without `documents`, the
/// restored model knows no documents.
///
/// ```text
/// {"tamis_export":1,"documents":true,"model":{"recipe":{...},"classes":["ham","spam"],...}}
/// {"term":"pills","counts":{"ham":[1,1],"spam":[20,31]},"weights":{"spam":41230}}
/// {"digest":"0123...","label":"spam","copies":1,"date":1030015585,"group":"4567...","message":"89ab...","name":"1@example.org","terms":{"pills":2}}
/// ```
///
/// Counts are numbers of documents and of occurrences. Weights and coefficients are in fixed point; with two
/// labels, they are given for the positive one.
///
/// # Errors
/// `out` cannot be written, or the model is damaged.
pub fn export(filter: &Filter, documents: bool, out: impl Write) -> Result<()> {
    match filter.store().is_written_anew() {
        true => write_lines(filter.store(), documents, out),
        // compacted first, so that what the log changes is in its place
        false => write_lines(&rewrite::compact(filter.store())?.into_store()?, documents, out),
    }
}

fn write_lines(store: &Store, documents: bool, mut out: impl Write) -> Result<()> {
    let header = &store.header;
    let mut write = |line: serde_json::Result<String>| {
        let written = line.map_err(io::Error::other).and_then(|line| writeln!(out, "{line}"));
        written.map_err(|source| Reason::Io { path: "output".into(), source })
    };
    let mut model = WrittenHeader::from(header.clone());
    (model.summary, model.size, model.lengths) = (None, Size::default(), Default::default());
    write(serde_json::to_string(&ExportHead { tamis_export: EXPORT_VERSION, documents, model }))?;
    let columns = labels_of(&header.classes)?;
    for id in 0..store.n_terms() as u32 {
        let (mut counts, mut weights, mut units) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        store.for_each_cell(id, |cell| {
            counts.insert(label(&header.classes, cell.class), [cell.df, cell.tf]);
        })?;
        store.for_each_value(id, |weight| units.push(weight))?;
        for weight in units {
            weights.insert(label(&columns, weighed(header, weight.class)), number(header, weight.units)?);
        }
        write(serde_json::to_string(&TermLine { term: store.text(id)?.to_owned(), counts, weights }))?;
    }
    for document in store.documents().take_while(|_| documents) {
        write(serde_json::to_string(&document_line(store, &columns, &document?)?))?;
    }
    Ok(())
}

/// `columns` has the labels of weights and coefficients.
fn document_line(store: &Store, columns: &Classes, document: &StoredDocument) -> Result<DocumentLine> {
    let classes = &store.header.classes;
    let mut terms = BTreeMap::new();
    for (id, count) in document.vector.row().iter() {
        terms.insert(store.text(id)?.to_owned(), count);
    }
    let coefficients = document.coefficients.iter();
    Ok(DocumentLine {
        digest: format!("{:032x}", u128::from_be_bytes(document.digest)),
        label: label(classes, document.class),
        copies: document.multiplicity,
        fraction: document.fraction,
        date: (document.date != NO_DATE).then_some(document.date),
        group: format!("{:016x}", document.group),
        message: Some(document.message).filter(|message| *message > 0).map(|m| format!("{m:016x}")),
        name: document.name.to_string(),
        coefficients: coefficients
            .map(|c| (label(columns, weighed(&store.header, c.class)), [c.bias, c.units]))
            .collect(),
        held_out: document.held_out,
        learned: document.learned,
        vector: document.dense.clone(),
        terms,
    })
}

/// The label of a class; empty for the class of unlabelled documents, which comes after the others.
fn label(classes: &Classes, class: ClassId) -> String {
    classes.label(class).unwrap_or_default().to_owned()
}

/// The class that a weight belongs to. With two classes, the file stores all weights under the first. The mapping is
/// its own inverse.
pub(crate) fn weighed(header: &ModelHeader, class: ClassId) -> ClassId {
    let is_one_column = header.scoring.chosen().is_some() && header.classes.len() == 2;
    if is_one_column { class ^ positive_class(&header.classes) } else { class }
}

/// Converts a stored weight, in fixed point or the bits of a number, to JSON.
fn number(header: &ModelHeader, value: i64) -> Result<Number> {
    match header.scoring.has_expected_counts() {
        // with all its digits, so that it is restored exactly
        true => Number::from_f64(f32::from_bits(value as u32).into())
            .ok_or_else(|| Error::inconsistent("terms", "weights that are numbers", value)),
        false => Ok(value.into()),
    }
}
