//! Pairs of words become terms of texts with two labels if left-out documents are then predicted better. A sample
//! decides. All documents are read again only if it is in favour.

use rayon::prelude::*;
use tamis_model::{
    ClassId, ClassTotals, Classes, Counts, Example, Statistics, WeightedLoss, WeightedOptions, is_worse,
};
use tamis_store::config::scoring::{Scoring, TriedTerms};
use tamis_store::config::training::{Pairs, Pieces, TrainOptions};
use tamis_store::error::{Error, Result};
use tamis_tokenizer::{CountVector, Ngrams, TermId};

use crate::fit::solution;
use crate::gather::document::{TrainingDocument, by_hash};
use crate::gather::merged::MergedShards;
use crate::gather::texts::{TextPlace, Texts, label_hash};
use crate::train::trainer::Trainer;
use crate::train::unlabelled::row;

/// Distinct documents that each label needs before pairs are tried.
const ENOUGH: usize = 50;

/// The decision counts as many documents with pairs as hold `MOST_WORDS` words together, within the bounds of
/// `COUNTED`.
const MOST_WORDS: u64 = 1 << 22;
const COUNTED: [u64; 2] = [3_000, 20_000];

/// Number of these documents left out one by one. Together with those of a rare label they are no more than a choice of
/// smoothing uses.
const SAMPLE: usize = 3_000 - OF_EACH;

/// Least number of documents of each label in either sample, if that many exist.
const OF_EACH: usize = 750;

impl Trainer {
    /// Decides whether pairs and pieces of words are terms, if [`Pairs::Auto`] and [`Pieces::Auto`] left it open. The
    /// documents learned so far decide; later ones are counted accordingly. [`finish`](Self::finish) does this too.
    ///
    /// # Errors
    /// If a count overflows, or a temporary file cannot be used.
    pub fn choose_terms(mut self) -> Result<Trainer> {
        self.settle_pieces()?;
        self.options.pieces = Pieces::Fixed;
        self.settle_pairs(ENOUGH, predict_better)
    }

    /// Decides with `predict_better` if both labels have at least `enough` distinct documents. It receives a sample
    /// counted with pairs, and the trainer with all words.
    fn settle_pairs(
        mut self,
        enough: usize,
        predict_better: impl FnOnce(&WeightedOptions, &Trainer, &Trainer) -> Result<Option<PairsTrial>>,
    ) -> Result<Trainer> {
        let Some(texts) = self.choices.texts.take() else { return Ok(self) };
        let Scoring::Weighted(weighted) = self.options.scoring() else { return Ok(self) };
        let n_different = |class| self.documents.iter().filter(|d| d.class == class).count();
        // unlabelled documents are set apart only when training ends
        let is_early = self.n_unlabelled() > 0;
        if is_early || self.classes.len() != 2 || (0..2).any(|class| n_different(class) < enough) {
            return Ok(self);
        }
        let mut options = self.options.clone();
        options.pairs = Pairs::Fixed;
        options.recipe.tokenizer.terms = Ngrams::Words { min: 1, max: 2 };
        let (sample, others) = self.split(&texts);
        let mut with = learn_again(&options, &self.classes, &texts, sample)?;
        let verdict = predict_better(&weighted, &with, &self)?;
        self.choices.pairs = verdict.map(|verdict| verdict.tried);
        if !verdict.is_some_and(|verdict| verdict.has_pairs) {
            return Ok(self);
        }
        (with.choices.pairs, with.choices.pieces) = (self.choices.pairs, self.choices.pieces);
        drop(self);
        with.merge(learn_again(&options, &with.classes, &texts, others)?)?;
        with.set_unlabelled_apart();
        Ok(with)
    }

    /// Splits the texts into those to decide with and the others. Takes the lowest hashes, so the order of texts does
    /// not matter.
    fn split(&self, texts: &Texts) -> (Vec<TextPlace>, Vec<TextPlace>) {
        let totals = totals(self);
        let (documents, words) = totals.iter().fold((0, 0), |(n, tf), of| (n + of.documents, tf + of.tf));
        let most = (MOST_WORDS * documents / words.max(1)).clamp(COUNTED[0], COUNTED[1]) as usize;
        let mut places = texts.places().to_vec();
        let labels = self.classes.iter().map(|(_, label)| label_hash(Some(label))).collect::<Vec<_>>();
        places.sort_unstable_by_key(|place| place.hash);
        let class = |place: &TextPlace| labels.iter().position(|label| *label == place.label);
        let mut is_least = least(most);
        places.into_iter().partition(|place| class(place).is_some_and(&mut is_least))
    }
}

/// Trains on the texts at `places`.
fn learn_again(
    options: &TrainOptions,
    classes: &Classes,
    texts: &Texts,
    mut places: Vec<TextPlace>,
) -> Result<Trainer> {
    places.sort_unstable();
    let each = places.len().div_ceil(rayon::current_num_threads()).max(1);
    let learn = |places: &[TextPlace]| {
        let mut trainer = Trainer::new(options.clone())?;
        texts.for_each(places, |given| trainer.learn(1, &given))?;
        Ok(trainer)
    };
    let trainers = places.par_chunks(each).map(learn).collect::<Result<Vec<_>>>()?;
    let mut all = Trainer::new(options.clone())?;
    for (_, label) in classes.iter() {
        all.class_of(label)?;
    }
    trainers.into_iter().try_for_each(|trainer| all.merge(trainer))?;
    Ok(all)
}

/// Returns a function that accepts a document of a class if it is among the first `most` of all, or the first
/// [`OF_EACH`] of its class.
fn least(most: usize) -> impl FnMut(usize) -> bool {
    let (mut rank, mut of_classes) = (0, [0; 2]);
    move |class| {
        let of_class = &mut of_classes[class];
        (rank, *of_class) = (rank + 1, *of_class + 1);
        rank <= most || *of_class <= OF_EACH
    }
}

/// The totals of each class.
fn totals(trainer: &Trainer) -> [ClassTotals; 2] {
    let of_class = |class: usize| trainer.parts.iter().map(move |part| part.statistics.totals()[class]);
    [0, 1].map(|class| {
        of_class(class).fold(ClassTotals::default(), |sum, part| ClassTotals {
            documents: sum.documents + part.documents,
            df: sum.df + part.df,
            tf: sum.tf + part.tf,
        })
    })
}

/// Whether pairs help, and the mean log loss of left-out documents with and without them, in nats per document.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PairsTrial {
    pub(crate) has_pairs: bool,
    pub(crate) tried: TriedTerms,
}

/// Decides whether pairs help. `with` are documents counted with pairs, `all` knows which of their terms are words.
fn predict_better(weighted: &WeightedOptions, with: &Trainer, all: &Trainer) -> Result<Option<PairsTrial>> {
    let merged = MergedShards::new(&with.parts)?;
    let (words, without) = of_words(&merged, all)?;
    let mut sample = by_hash(&with.documents, usize::MAX);
    let mut is_least = least(SAMPLE);
    sample.retain(|document| is_least(usize::from(document.class)));
    let rows = sample.par_iter().map(|document| rows(document, with, &merged, &words));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    // a document without words decides nothing
    let has_words = |(_, rows): &(&TrainingDocument, [CountVector; 2])| !rows[1].row().is_empty();
    let (sample, rows): (Vec<_>, Vec<_>) = sample.into_iter().zip(rows).filter(has_words).unzip();
    let documents = [0, 1].map(|i| -> Vec<Example<'_>> {
        std::iter::zip(&sample, &rows).map(|(document, rows)| document.labelled(rows[i].row())).collect()
    });
    let shares = shares(&documents[0], &totals(all));
    let losses = |statistics: &Statistics, documents: &Vec<Example<'_>>| -> Result<Vec<WeightedLoss>> {
        let mut losses = solution::smoothing(weighted, statistics, documents, &with.classes)?.losses;
        losses.iter_mut().zip(&shares).for_each(|(of, share)| of.weight = *share);
        Ok(losses)
    };
    let [with, without] = [losses(&merged.statistics, &documents[0])?, losses(&without, &documents[1])?];
    if with.len() != shares.len() || without.len() != shares.len() {
        return Ok(None);
    }
    Ok(Some(PairsTrial {
        has_pairs: is_worse(&without, &with),
        tried: solution::tried_terms(&with, &without),
    }))
}

/// Returns the new id of each term that is a word, and the counts of the words.
fn of_words(merged: &MergedShards, all: &Trainer) -> Result<(Vec<Option<TermId>>, Statistics)> {
    let counts = &merged.statistics;
    let mut without = Statistics::with_documents(counts.totals().iter().map(|of| of.documents));
    let number = |id: TermId| -> Result<Option<TermId>> {
        let fingerprint = merged.fingerprint(id);
        let is_word = all.parts.iter().any(|part| part.vocabulary.id_of_fingerprint(fingerprint).is_some());
        Ok(if is_word { Some(without.push_term(&mut counts.cells(id).collect())?) } else { None })
    };
    let words = (0..merged.n_terms() as TermId).map(number).collect::<Result<_>>()?;
    Ok((words, without))
}

/// The terms of a document counted with pairs, by their ids in `merged`; then its words alone, by the ids in `words`.
fn rows(
    document: &TrainingDocument,
    trainer: &Trainer,
    merged: &MergedShards,
    words: &[Option<TermId>],
) -> Result<[CountVector; 2]> {
    let of_both = row(&trainer.parts, document, Some(&merged.ids))?;
    let of_words = of_both.row().iter().filter_map(|(id, count)| Some((words[id as usize]?, count)));
    let of_words = CountVector::from_pairs(of_words)
        .map_err(|e| Error::inconsistent("documents", "terms of the vocabulary", e))?;
    Ok([of_both, of_words])
}

/// The number of documents in the whole collection that each sampled document stands for, by class.
fn shares(documents: &[Example<'_>], totals: &[ClassTotals; 2]) -> Vec<f64> {
    let copies = |class: ClassId| -> f64 {
        documents.iter().filter(|d| d.class == class).map(|d| f64::from(d.multiplicity)).sum()
    };
    let each = [0, 1].map(|class| totals[class].documents as f64 / copies(class as ClassId));
    documents.iter().map(|d| f64::from(d.multiplicity) * each[usize::from(d.class)]).collect()
}

#[cfg(test)]
mod tests;
