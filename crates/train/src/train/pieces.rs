//! Pieces of words. They follow from the words, so documents are counted by words alone. When training ends, the terms
//! of all documents are expanded if left-out documents are then predicted better.

use rayon::prelude::*;
use tamis_filter::extract::extractor::Extractor;
use tamis_model::{Choices, Classes, Counts, WeightedLoss, WeightedOptions, is_worse_by};
use tamis_store::config::scoring::Scoring;
use tamis_store::disk::spool::spill;
use tamis_store::error::{Reason, Result};
use tamis_tokenizer::TermId;

use crate::fit::solution;
use crate::gather::document::{TrainingDocument, UNLABELLED, by_hash};
use crate::gather::merged::{MergedShards, Shard};
use crate::gather::rows::RowId;
use crate::train::trainer::Trainer;
use crate::train::unlabelled::row;

/// Distinct documents needed before pieces are tried.
const ENOUGH: usize = 100;

/// The decision uses as many documents as have `MOST_TERMS` terms together, but at most `MOST`.
const MOST_TERMS: u64 = 1 << 16;
const MOST: u64 = 2_000;

/// Pieces must predict better by this many standard errors, since they make a model larger and look too good on few
/// documents.
const CLEARLY: f64 = 2.0;

/// What happens to the terms of documents that are counted again.
#[derive(Clone, Copy, PartialEq)]
enum Expansion {
    Same,
    WithPieces,
}

impl Trainer {
    /// Decides whether pieces of words are terms, if [`Pieces::Auto`](crate::options::Pieces::Auto) left it open. If
    /// so, all documents are expanded.
    pub(crate) fn settle_pieces(&mut self) -> Result<()> {
        let Scoring::Weighted(weighted) = self.options.scoring() else { return Ok(()) };
        let is_open = self.options.tries_pieces() && !self.counts_alone && self.n_unlabelled() == 0;
        if !is_open || self.documents.len() < ENOUGH || self.classes.len() < 2 {
            return Ok(());
        }
        let some = self.some_documents();
        // a quarter of them suffices to say no, if it says so clearly
        for n in [some.len() / 4, some.len()].into_iter().filter(|n| *n >= ENOUGH) {
            let without = self.left_out_losses(&weighted, some[..n].to_vec(), Expansion::Same)?;
            let with = self.left_out_losses(&weighted, some[..n].to_vec(), Expansion::WithPieces)?;
            if without.is_empty() || with.is_empty() {
                return Ok(());
            }
            self.choices.pieces = Some(solution::tried_terms(&with, &without));
            if is_worse_by(CLEARLY, &with, &without) {
                return Ok(());
            }
            if n == some.len() && is_worse_by(CLEARLY, &without, &with) {
                return self.expand();
            }
        }
        Ok(())
    }

    /// The documents to decide with: those whose bodies have the lowest hashes, so that order does not matter.
    fn some_documents(&self) -> Vec<TrainingDocument> {
        let totals = || self.parts.iter().flat_map(|part| part.statistics.totals());
        let (documents, terms) = totals().fold((0, 0), |(n, df), of| (n + of.documents, df + of.df));
        let most = (MOST_TERMS * documents / terms.max(1)).clamp(ENOUGH as u64, MOST) as usize;
        by_hash(&self.documents, most).into_iter().cloned().collect()
    }

    /// The losses of `documents` left out one by one, with the counts of these documents alone and the default
    /// smoothing.
    fn left_out_losses(
        &mut self,
        weighted: &WeightedOptions,
        mut documents: Vec<TrainingDocument>,
        terms: Expansion,
    ) -> Result<Vec<WeightedLoss>> {
        let parts = self.recounted(&mut documents, terms)?;
        let outcome = losses(weighted, &self.classes, &parts, &documents);
        self.put_back(parts);
        outcome
    }

    /// Makes pieces of words terms, also in the documents learned so far.
    pub(crate) fn expand(&mut self) -> Result<()> {
        if self.counts_alone {
            return Err(Reason::CountsAlone.into());
        }
        let (n, mut documents) = (self.documents.len(), std::mem::take(&mut self.documents));
        documents.append(&mut self.apart);
        self.parts = self.recounted(&mut documents, Expansion::WithPieces)?;
        self.apart = documents.split_off(n);
        self.documents = documents;
        self.options.recipe.pieces = true;
        self.extractor = Extractor::new(self.options.recipe.clone())?;
        Ok(())
    }

    /// Counts `documents` alone into new parts, in which each gets a new row. The vocabularies move to the new parts.
    fn recounted(&mut self, documents: &mut [TrainingDocument], terms: Expansion) -> Result<Vec<Shard>> {
        let mut of_parts: Vec<Vec<&mut TrainingDocument>> = self.parts.iter().map(|_| Vec::new()).collect();
        documents.iter_mut().for_each(|document| of_parts[usize::from(document.part)].push(document));
        let (n_classes, extractor) = (self.classes.len(), &self.extractor);
        let recount = |(from, mut documents): (&mut Shard, Vec<&mut TrainingDocument>)| {
            // rows are read in the order in which they were written
            documents.sort_unstable_by_key(|document| document.terms);
            let vocabulary = std::mem::take(&mut from.vocabulary);
            let mut recount =
                Recount { from, to: Shard { vocabulary, ..Shard::new(n_classes) }, extractor, terms };
            let outcome = documents.into_iter().try_for_each(|document| recount.document(document));
            (recount.to, outcome)
        };
        let recounted: Vec<_> = self.parts.par_iter_mut().zip(of_parts).map(recount).collect();
        let (shards, outcomes): (Vec<_>, Vec<_>) = recounted.into_iter().unzip();
        match outcomes.into_iter().collect::<Result<()>>() {
            Ok(()) => Ok(shards),
            Err(error) => {
                self.put_back(shards);
                Err(error)
            }
        }
    }

    /// Moves the vocabularies back from recounted parts.
    fn put_back(&mut self, recounted: Vec<Shard>) {
        let back = self.parts.iter_mut().zip(recounted);
        back.for_each(|(part, recounted)| part.vocabulary = recounted.vocabulary);
    }
}

/// Counts the documents of a part again.
struct Recount<'a> {
    from: &'a Shard,
    to: Shard,
    extractor: &'a Extractor,
    terms: Expansion,
}

impl Recount<'_> {
    fn document(&mut self, document: &mut TrainingDocument) -> Result<()> {
        let windows = document.windows().to_vec();
        let windows = windows.into_iter().map(|row| self.row(row)).collect::<Result<Vec<_>>>()?;
        let Some(row) = document.terms else { return Ok(()) };
        document.terms = Some(self.row(row)?);
        document.set_windows(windows);
        if document.class != UNLABELLED {
            let Shard { vocabulary, statistics, .. } = &mut self.to;
            let terms: Vec<(TermId, u32)> = vocabulary.document().iter().map(|t| (t.id, t.count)).collect();
            statistics.observe_terms(document.class, &terms, document.multiplicity)?;
        }
        Ok(())
    }

    /// Writes the new row of an old one. The vocabulary's current document then holds its terms.
    fn row(&mut self, row: RowId) -> Result<RowId> {
        let terms = self.from.rows.get(row).map_err(spill)?;
        let vocabulary = &mut self.to.vocabulary;
        vocabulary.begin_document_of(terms);
        if self.terms == Expansion::WithPieces {
            vocabulary.count_pieces(|term| self.extractor.word_in(term))?;
        }
        let terms = vocabulary.document().iter().map(|term| (term.id, term.count));
        self.to.rows.push(terms).map_err(spill)
    }
}

/// The losses of the documents of `parts`, left out one by one.
fn losses(
    weighted: &WeightedOptions,
    classes: &Classes,
    parts: &[Shard],
    documents: &[TrainingDocument],
) -> Result<Vec<WeightedLoss>> {
    let merged = MergedShards::new(parts)?;
    let rows = documents.par_iter().map(|document| row(parts, document, Some(&merged.ids)));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let labelled: Vec<_> =
        documents.iter().zip(&rows).map(|(document, row)| document.labelled(row.row())).collect();
    let default = Choices::for_classes(classes.len());
    let mut options = *weighted;
    options.alpha.get_or_insert(default.alpha);
    options.idf_power.get_or_insert(default.idf_power);
    Ok(solution::smoothing(&options, &merged.statistics, &labelled, classes)?.losses)
}

#[cfg(test)]
mod tests;
