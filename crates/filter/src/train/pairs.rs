//! Pairs of words: counted along with words while a text has at most two labels, and kept if they predict better.

use rayon::prelude::*;
use tamis_model::{ClassId, Classes, Counts, Labelled, Statistics, WeightedLoss, WeightedOptions, is_worse};
use tamis_tokenizer::{CountVector, TermId};

use crate::config::scoring::{Scoring, TriedTerms};
use crate::config::training::Pieces;
use crate::disk::spool::spill;
use crate::error::{Error, Result};
use crate::gather::learned::LearnedDocument;
use crate::gather::union::Union;
use crate::train::fitting;
use crate::train::trainer::Trainer;

/// Different documents that each label needs before pairs are tried.
const ENOUGH: usize = 50;

/// Least documents of each label in the sample, if there are so many.
const OF_EACH: usize = 750;

/// Documents in the sample; with those of a rare label no more than a choice of smoothing takes.
const SAMPLE: usize = 3_000 - OF_EACH;

impl Trainer {
    /// Decides whether pairs and pieces of words are terms, if [`Pairs::Auto`](crate::Pairs::Auto) and
    /// [`Pieces::Auto`](crate::Pieces::Auto) left it open. The documents learned so far decide, and later ones are counted
    /// accordingly. [`finish`](Self::finish) does this too.
    ///
    /// # Errors
    /// If a count overflows.
    pub fn choose_terms(self) -> Result<Trainer> {
        self.settle_terms().map(|(trainer, _)| trainer)
    }

    /// As [`choose_terms`](Self::choose_terms); also returns the union of the parts if it had to be made.
    pub(crate) fn settle_terms(mut self) -> Result<(Trainer, Option<Union>)> {
        self.settle_pieces()?;
        let tried_pieces = self.tried_pieces;
        let (mut trainer, union) = self.settle_terms_by(ENOUGH, predict_better)?;
        (trainer.tried_pieces, trainer.options.pieces) = (tried_pieces, Pieces::Fixed);
        Ok((trainer, union))
    }

    /// Decides by `predict_better`, given the counts with and without pairs, if both labels have at least this many
    /// different documents.
    fn settle_terms_by(
        mut self,
        enough: usize,
        predict_better: impl FnOnce(&WeightedOptions, [(&Trainer, &Union); 2]) -> Result<Option<Verdict>>,
    ) -> Result<(Trainer, Option<Union>)> {
        let Some(mut with) = self.pairs.take() else { return Ok((self, None)) };
        let Scoring::Weighted(weighted) = self.options.scoring() else {
            return Ok((self, None));
        };
        if self.n_unlabelled() > 0 {
            // only the end of training sets them apart
            return Ok((self, None));
        }
        let n_different = |class| self.documents.iter().filter(|d| d.class == class).count();
        if self.classes.len() != 2 || (0..2).any(|class| n_different(class) < enough) {
            return Ok((self, None));
        }
        let (of_pairs, of_words) = rayon::join(|| Union::new(&with.parts), || Union::new(&self.parts));
        let (of_pairs, of_words) = (of_pairs?, of_words?);
        let verdict = predict_better(&weighted, [(&with, &of_pairs), (&self, &of_words)])?;
        self.tried_pairs = verdict.map(|verdict| verdict.tried);
        if !verdict.is_some_and(|verdict| verdict.has_pairs) {
            return Ok((self, Some(of_words)));
        }
        // these may have changed since it was made
        (with.options.scoring, with.options.decision) = (self.options.scoring, self.options.decision);
        with.tried_pairs = self.tried_pairs;
        Ok((*with, Some(of_pairs)))
    }
}

/// Whether pairs help, and the mean log loss of left-out documents with them and without, in nats a document.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Verdict {
    pub(crate) has_pairs: bool,
    pub(crate) tried: TriedTerms,
}

/// Whether pairs help, judged by a sample of the documents.
fn predict_better(
    weighted: &WeightedOptions,
    [(trainer, with), (_, without)]: [(&Trainer, &Union); 2],
) -> Result<Option<Verdict>> {
    let words = with.ids_in(without);
    let sample = sample(&trainer.documents);
    let rows = sample.par_iter().map(|document| rows(document, trainer, with, &words));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    // a document without words decides nothing
    let has_words = |(_, rows): &(&LearnedDocument, [CountVector; 2])| !rows[1].row().is_empty();
    let (sample, rows): (Vec<_>, Vec<_>) = sample.into_iter().zip(rows).filter(has_words).unzip();
    let labelled = |i: usize| -> Vec<_> {
        let documents = std::iter::zip(&sample, &rows);
        documents.map(|(document, rows)| document.labelled(rows[i].row())).collect()
    };
    let [of_pairs, of_words] = [0, 1].map(labelled);
    let with = Candidate { statistics: &with.statistics, documents: &of_pairs };
    let without = Candidate { statistics: &without.statistics, documents: &of_words };
    pairs_predict_better(weighted, &trainer.classes, &with, &without)
}

/// The sample: the documents whose bodies have the lowest hashes, so that it does not depend on their order.
fn sample(documents: &[LearnedDocument]) -> Vec<&LearnedDocument> {
    let mut order: Vec<_> = documents.iter().collect();
    order.sort_unstable_by_key(|document| (document.group, document.digest, document.class));
    let mut rank = 0;
    let mut of_class = [0; 2];
    order.retain(|document| {
        let of_class = &mut of_class[usize::from(document.class)];
        (rank, *of_class) = (rank + 1, *of_class + 1);
        rank <= SAMPLE || *of_class <= OF_EACH
    });
    order
}

/// The terms of a document counted with pairs, by their ids in the union; then its words, by the ids given here.
fn rows(
    document: &LearnedDocument,
    trainer: &Trainer,
    union: &Union,
    words: &[Option<TermId>],
) -> Result<[CountVector; 2]> {
    let part = usize::from(document.part);
    let terms = document.terms.map_or_else(|| Ok(Vec::new()), |row| trainer.parts[part].rows.get(row));
    let terms = terms.map_err(spill)?.into_iter().map(|(id, count)| (union.ids[part][id as usize], count));
    let of_words = terms.clone().filter_map(|(id, count)| Some((words[id as usize]?, count)));
    let of_both = CountVector::from_pairs(terms);
    let refused = |e| Error::inconsistent("documents", "terms of the vocabulary", e);
    Ok([of_both.map_err(refused)?, CountVector::from_pairs(of_words).map_err(refused)?])
}

/// Counts, and documents that are among those counted.
pub(crate) struct Candidate<'a> {
    statistics: &'a Statistics,
    documents: &'a Vec<Labelled<'a>>,
}

impl Candidate<'_> {
    /// The number of counted documents that each one here stands for, by class.
    fn shares(&self) -> Vec<f64> {
        let copies = |class: ClassId| {
            let of_class = self.documents.iter().filter(move |d| d.class == class);
            of_class.map(|d| f64::from(d.multiplicity)).sum::<f64>()
        };
        let each =
            [0, 1].map(|class| self.statistics.totals()[class].documents as f64 / copies(class as ClassId));
        let share = |d: &Labelled<'_>| f64::from(d.multiplicity) * each[usize::from(d.class)];
        self.documents.iter().map(share).collect()
    }
}

/// Whether pairs of words predict the same left-out documents better than words alone, by more than one standard error
/// of the mean difference. Each has the smoothing that suits it best.
pub(crate) fn pairs_predict_better(
    options: &WeightedOptions,
    classes: &Classes,
    with: &Candidate<'_>,
    without: &Candidate<'_>,
) -> Result<Option<Verdict>> {
    let losses = |candidate: &Candidate<'_>| -> Result<Vec<WeightedLoss>> {
        Ok(fitting::smoothing(options, candidate.statistics, candidate.documents, classes)?.losses)
    };
    let (shares, losses) = (with.shares(), [losses(with)?, losses(without)?]);
    if losses.iter().any(|losses| losses.len() != shares.len()) {
        return Ok(None);
    }
    let [with, without] = losses.map(|mut losses| {
        losses.iter_mut().zip(&shares).for_each(|(of, share)| of.weight = *share);
        losses
    });
    let mean = fitting::mean;
    let tried = TriedTerms { with: mean(&with), without: mean(&without) };
    Ok(Some(Verdict { has_pairs: is_worse(&without, &with), tried }))
}

#[cfg(test)]
mod tests;
