//! Salvage: recovers those documents of a damaged model whose checksums are right.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use tamis_model::{Correction, Counts, Statistics};
use tamis_store::config::recipe::Keep;
use tamis_store::disk::map::ModelBytes;
use tamis_store::error::{Reason, Result};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{self, ModelHeader};
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountVector, TermId};

use crate::exchange::import::{Draft, DraftTerm};
use crate::merge::refit;
use crate::model::Model;

/// What [`salvage`] recovered from a damaged model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Salvage {
    /// A model that has learned the recovered documents.
    pub model: Model,
    /// The number of recovered documents, copies included.
    pub documents: u64,
    /// The number of documents, copies included, that the damaged model has learned according to its totals, but that
    /// are lost.
    pub lost: u64,
    /// The number of terms that could not be read; they are missing from the documents.
    pub lost_terms: u64,
    /// The number of bytes at the end of the file that could not be read: of its log, or of segments.
    pub lost_bytes: u64,
}

/// Makes a model of the documents of a damaged one, as far as checksums vouch for them and for their terms, and fits
/// it. Only reads the file. All documents of an intact model are recovered.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io); that of the header if it is damaged, since all checksums depend on it;
/// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if the model remembers no terms of its documents, or
/// is one of tables or of expectation maximization; as [`Learner::retrain`](crate::Learner::retrain) if
/// what is left cannot be fitted.
pub fn salvage(path: impl AsRef<Path>) -> Result<Salvage> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| Reason::Io { path: path.into(), source })?;
    let (store, lost_bytes) = open(bytes)?;
    let header = &store.header;
    let is_refitted = header.scoring.options().fitted_at_once(&header.recipe).is_none();
    Reason::TermsNotStored.unless(is_refitted && header.stored.keep == Keep::Vectors)?;
    let (draft, lost_terms) = draft(&store)?;
    let documents: u64 = draft.header.totals.iter().map(|totals| totals.documents).sum();
    let learned: u64 = store.totals.iter().map(|totals| totals.documents).sum();
    let lost = learned.saturating_sub(documents);
    let model = draft.finish()?;
    let model = match refit::refit(&model.clone().into_store()?) {
        // labels from a teacher cannot be told from others, so the correction stays as it was
        Err(error) if matches!(error.reason(), Reason::Unlabelled) => model,
        refitted => refitted?,
    };
    Ok(Salvage { model, documents, lost, lost_terms, lost_bytes })
}

/// The beginning of a file that is in memory.
struct Beginning(Arc<Vec<u8>>, usize);

impl AsRef<[u8]> for Beginning {
    fn as_ref(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// Opens the longest beginning of a file that can be opened, among those tried, and returns the number of bytes after
/// it. A log that is cut anywhere is treated as one that was being written.
fn open(bytes: Vec<u8>) -> Result<(Store, u64)> {
    /// Maximum number of beginnings to try, and the smallest distance between them in bytes.
    const TRIES: usize = 4_096;
    const STEP: usize = 64;
    let (length, bytes) = (bytes.len(), Arc::new(bytes));
    let beginning = |n| ModelBytes::Shared(Box::new(Beginning(Arc::clone(&bytes), n)));
    let error = match Store::new(beginning(length), None) {
        Ok(store) => return Ok((store, 0)),
        Err(error) => error,
    };
    let Ok(end) = header::open(&beginning(length)).map(|layout| layout.end) else { return Err(error) };
    let step = ((length - end) / TRIES).max(STEP);
    let shorter = (end..length).rev().step_by(step).chain([end]);
    let opened = shorter.map(|n| Some((Store::new(beginning(n), None).ok()?, (length - n) as u64)));
    opened.flatten().next().ok_or(error)
}

/// Drafts a model from the readable documents of a store. Also returns the number of terms that could not be read.
fn draft(store: &Store) -> Result<(Draft, u64)> {
    let mut read: HashMap<TermId, Option<(u64, String)>> = HashMap::new();
    let mut term = |id: TermId| {
        let of = || Some((store.fingerprint(id).ok()?, store.text(id).ok()?.to_owned()));
        read.entry(id).or_insert_with(of).clone()
    };
    let (mut documents, mut texts) = (Vec::new(), BTreeMap::new());
    for document in store.readable_documents() {
        let row = document.vector.row();
        let terms: Vec<_> = row.iter().filter_map(|(id, count)| Some((term(id)?, count))).collect();
        if terms.is_empty() && !row.is_empty() {
            continue;
        }
        let prints = terms.iter().map(|((print, _), count)| (*print, *count)).collect::<Vec<_>>();
        texts.extend(terms.into_iter().map(|(term, _)| term));
        documents.push((document, prints));
    }
    let ids: HashMap<u64, TermId> = texts.keys().copied().zip(0..).collect();
    let mut statistics = Statistics::new(store.header.totals.len());
    let mut correction = Correction::default();
    for (document, terms) in &documents {
        let pairs = terms.iter().filter_map(|(print, count)| Some((*ids.get(print)?, *count)));
        let vector = CountVector::from_pairs(pairs).unwrap_or_default();
        statistics.observe_times(document.class, vector.row(), document.multiplicity)?;
        correction.add(vector.row(), &document.coefficients)?;
    }
    let terms = texts.into_iter().zip(0..).map(|((fingerprint, text), id)| DraftTerm {
        fingerprint,
        text,
        cells: statistics.cells(id).collect(),
        weights: correction.weights(id).map(|weight| (weight.class, weight.units)).collect(),
    });
    let terms = terms.collect();
    let mut header =
        ModelHeader { totals: statistics.totals().to_vec(), unremembered: false, ..store.header.clone() };
    if let FittedScoring::Weighted { bias, .. } = &mut header.scoring {
        *bias = correction.bias().to_vec();
    }
    let lost_terms = read.values().filter(|term| term.is_none()).count() as u64;
    Ok((Draft::with_terms(header, terms, documents)?, lost_terms))
}
