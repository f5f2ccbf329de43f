//! Merges the parts that several threads counted.

use rayon::prelude::*;
use tamis_model::{Cell, ClassId, Counts, Statistics};
use tamis_store::disk::spool::spill;
use tamis_store::error::{Error, Result};
use tamis_tokenizer::{CountVector, TermId, TermTexts, Vocabulary};

use crate::gather::document::{TrainingDocument, UNLABELLED};
use crate::gather::rows::TermRows;

/// A term of one of several parts that are merged: of a thread's counts, or of a model. Sorted sources have equal terms
/// together, and every term in the order of its new id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermSource {
    pub(crate) fingerprint: u64,
    /// The number of the part.
    pub(crate) part: u16,
    /// Its id there.
    pub(crate) id: TermId,
}

/// The counts of one thread, by its own term ids.
pub(crate) struct Shard {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) statistics: Statistics,
    /// The counts of unlabelled documents, which form one class.
    pub(crate) unlabelled: Statistics,
    pub(crate) rows: TermRows,
}

impl Shard {
    pub(crate) fn new(n_classes: usize) -> Self {
        Shard {
            vocabulary: Vocabulary::new(),
            statistics: Statistics::new(n_classes),
            unlabelled: Statistics::new(1),
            rows: TermRows::default(),
        }
    }

    /// The counts that include documents of a class, and the number of that class there.
    pub(crate) fn statistics_of(&mut self, class: ClassId) -> (&mut Statistics, ClassId) {
        match class {
            UNLABELLED => (&mut self.unlabelled, 0),
            class => (&mut self.statistics, class),
        }
    }
}

/// The merged counts of all parts. Ids are in the order of fingerprints, so they depend neither on the order of
/// documents nor on how threads shared them.
///
/// Terms are sorted by fingerprint, and each stretch of sorted terms is summed separately, so that threads work in
/// parallel.
pub(crate) struct MergedShards {
    /// Unlabelled documents have a class after the others.
    pub(crate) statistics: Statistics,
    /// One source of each term.
    terms: Vec<TermSource>,
    /// For each part, the merged ids of the part's ids.
    pub(crate) ids: Vec<Vec<TermId>>,
}

/// Terms in a stretch that is summed separately.
const STRETCH: usize = 1 << 13;

impl MergedShards {
    /// Merges the parts. Terms without counts, left behind by refused documents, are dropped.
    pub(crate) fn new(parts: &[Shard]) -> Result<Self> {
        let mut sources: Vec<_> = (0..)
            .zip(parts)
            .flat_map(|(part, p)| {
                p.vocabulary.fingerprints().map(move |(id, fingerprint)| TermSource { fingerprint, part, id })
            })
            .collect();
        sources.par_sort_unstable();
        let documents = documents(parts);
        let shards =
            stretches(&sources).into_par_iter().map(|stretch| sum_stretch(parts, &documents, stretch));
        let shards = shards.collect::<Result<Vec<_>>>()?;
        let mut ids: Vec<_> = parts.iter().map(|part| vec![0; part.vocabulary.len()]).collect();
        let (mut terms, mut statistics) = (Vec::with_capacity(sources.len()), Vec::new());
        for (of_stretch, kept) in shards {
            statistics.push(of_stretch);
            for equal in kept {
                equal.iter().for_each(|s| ids[usize::from(s.part)][s.id as usize] = terms.len() as TermId);
                terms.push(equal[0]);
            }
        }
        let none = Statistics::with_documents(documents);
        Ok(MergedShards { statistics: Statistics::concatenated(none, statistics)?, terms, ids })
    }

    pub(crate) fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// For each term, its id in `other`, if it is there.
    pub(crate) fn ids_in(&self, other: &MergedShards) -> Vec<Option<TermId>> {
        // both are in the order of fingerprints
        let mut others = (0..).zip(&other.terms).peekable();
        let id = |term: &TermSource| {
            while others.next_if(|(_, it)| it.fingerprint < term.fingerprint).is_some() {}
            others.next_if(|(_, it)| it.fingerprint == term.fingerprint).map(|(id, _)| id)
        };
        self.terms.iter().map(id).collect()
    }

    /// The fingerprint and text of a term, given the texts of the parts. Colliding terms have the text of the first
    /// part.
    pub(crate) fn term<'a>(&self, texts: &'a [TermTexts], id: TermId) -> (u64, &'a str) {
        let Some(source) = self.terms.get(id as usize) else { return (0, "") };
        (source.fingerprint, texts[usize::from(source.part)].get(source.id).unwrap_or_default())
    }
}

/// The number of documents of each class in all parts. If there are unlabelled documents, their number comes last.
fn documents(parts: &[Shard]) -> Vec<u64> {
    let n_classes = parts.first().map_or(0, |part| part.statistics.totals().len());
    let of_class = |class: usize| parts.iter().map(|part| part.statistics.totals()[class].documents).sum();
    let unlabelled: u64 = parts.iter().map(|part| part.unlabelled.totals()[0].documents).sum();
    (0..n_classes).map(of_class).chain((unlabelled > 0).then_some(unlabelled)).collect()
}

/// Splits sorted sources into stretches, never between equal terms.
fn stretches(mut sources: &[TermSource]) -> Vec<&[TermSource]> {
    let mut stretches = Vec::new();
    while !sources.is_empty() {
        let last = sources[STRETCH.min(sources.len()) - 1].fingerprint;
        let (stretch, rest) = sources.split_at(sources.partition_point(|source| source.fingerprint <= last));
        stretches.push(stretch);
        sources = rest;
    }
    stretches
}

/// Sums the counts of a stretch of terms. Also returns the sources of each term with counts.
fn sum_stretch<'s>(
    parts: &[Shard],
    documents: &[u64],
    stretch: &'s [TermSource],
) -> Result<(Statistics, Vec<&'s [TermSource]>)> {
    let mut statistics = Statistics::with_documents(documents.iter().copied());
    let (mut kept, mut cells) = (Vec::new(), Vec::new());
    for equal in stretch.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
        cells.clear();
        for source in equal {
            let part = &parts[usize::from(source.part)];
            let unlabelled = part.statistics.totals().len() as ClassId;
            cells.extend(part.statistics.cells(source.id));
            cells.extend(part.unlabelled.cells(source.id).map(|cell| Cell { class: unlabelled, ..cell }));
        }
        if !cells.is_empty() {
            statistics.push_term(&mut cells)?;
            kept.push(equal);
        }
    }
    Ok((statistics, kept))
}

/// Subtracts the counts of a document whose terms are stored.
pub(crate) fn uncount(parts: &mut [Shard], document: &TrainingDocument) -> Result<()> {
    let vector = row(parts, document, None)?;
    let (statistics, class) = parts[usize::from(document.part)].statistics_of(document.class);
    Ok(statistics.forget(class, vector.row())?)
}

/// The terms of a document, by `ids` or by the ids of its part.
pub(crate) fn row(
    parts: &[Shard],
    document: &TrainingDocument,
    ids: Option<&[Vec<TermId>]>,
) -> Result<CountVector> {
    let part = usize::from(document.part);
    let terms =
        document.terms.map_or_else(|| Ok(Vec::new()), |row| parts[part].rows.get(row)).map_err(spill)?;
    let id = |id: TermId| ids.map_or(id, |ids| ids[part][id as usize]);
    CountVector::from_pairs(terms.into_iter().map(|(term, count)| (id(term), count)))
        .map_err(|e| Error::inconsistent("documents", "terms, each once", e))
}
