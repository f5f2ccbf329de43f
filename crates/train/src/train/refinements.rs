//! Which terms there are beside words, and how strongly the correction is regularised: as held-out documents of a sample are
//! predicted best. All documents are read again only if there are more terms.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use tamis_model::{Classes, Counts, Documents, FitProblem};
use tamis_store::config::column::ColumnKind;
use tamis_store::config::decision::DecisionOptions;
use tamis_store::config::labels::columns_of;
use tamis_store::config::refinement::{Refinement, TriedRefinement};
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::Result;
use tamis_store::file::fitted::columns_of_terms;

use crate::fit::solution;
use crate::gather::texts::{RawExample, TextPlace, Texts, label_hash};
use crate::train::trainer::Trainer;

/// The sample has about as many texts as have `MOST_WORDS` words together, more of them the fewer labels there are, at most
/// `MOST`, fewer of very many labels; and of each label at least `OF_EACH`, if it has so many, and if there are not too many
/// labels.
const MOST: usize = 4_000;
const TEXTS_TIMES_LABELS: usize = 150_000;
const MOST_WORDS: RangeInclusive<u64> = 1 << 16..=1 << 17;
const WORDS_TIMES_LABELS: u64 = 1 << 20;
const OF_EACH: usize = 10;

impl Trainer {
    /// Decides which [refinements](TrainOptions::to_try) are taken, one after another: each is if the held-out documents of
    /// a sample are then predicted better, counts and correction together. The documents learned
    /// so far decide; later ones are counted accordingly. [`finish`](Self::finish) does this too.
    ///
    /// # Errors
    /// If a count overflows, or a temporary file cannot be used.
    pub fn choose_terms(mut self) -> Result<Trainer> {
        let Some(texts) = self.choices.texts.take() else { return Ok(self) };
        let refinements = self.options.to_try().to_vec();
        // unlabelled documents are set apart only when training ends
        if refinements.is_empty() || self.n_unlabelled() > 0 || self.classes.len() < 2 {
            return Ok(self);
        }
        let sample = self.sample(&texts);
        let mut options = TrainOptions { refinements: Vec::new(), ..self.options.clone() };
        let loss_with = |options: &TrainOptions| {
            let trainer = learn_again(options, &self.classes, &texts, sample.clone(), in_group_of_text)?;
            held_out_loss(trainer)
        };
        let Some((mut least, documents)) = loss_with(&options)? else { return Ok(self) };
        let mut tried = Vec::new();
        // pieces have a second chance beside what was taken since
        let again = refinements.iter().filter(|refinement| **refinement == Refinement::Pieces);
        for (at, refinement) in refinements.iter().chain(again).copied().enumerate() {
            let Some(with) = options.with(refinement) else { continue };
            if at >= refinements.len() && options.recipe == self.options.recipe {
                continue;
            }
            let Some((loss, _)) = loss_with(&with)? else { continue };
            let trial = TriedRefinement { refinement, with: loss, without: least, documents };
            tried.push(trial);
            if trial.is_chosen() {
                (options, least) = (with, loss);
            }
        }
        let classes = self.classes.clone();
        let mut chosen = if options.recipe == self.options.recipe {
            self.options = options;
            self
        } else {
            drop(self);
            learn_again(&options, &classes, &texts, texts.places.clone(), |trainer, given| {
                trainer.learn(1, given)
            })?
        };
        chosen.choices.tried = tried;
        chosen.set_unlabelled_apart();
        Ok(chosen)
    }

    /// The texts to decide with: those with the lowest hashes, so that the order of texts does not matter.
    fn sample(&self, texts: &Texts) -> Vec<TextPlace> {
        let totals = || self.parts.iter().flat_map(|part| part.statistics.totals());
        let (documents, words) = totals().fold((0, 0), |(n, tf), of| (n + of.documents, tf + of.tf));
        let most_words =
            (WORDS_TIMES_LABELS / self.classes.len() as u64).clamp(*MOST_WORDS.start(), *MOST_WORDS.end());
        let most_texts = MOST.min(TEXTS_TIMES_LABELS / self.classes.len());
        let most = most_texts.min((most_words * documents / words.max(1)) as usize);
        let of_each = OF_EACH.min(most_texts / self.classes.len());
        // of each label, the number of texts in the sample
        let mut of_labels: HashMap<u32, usize> =
            self.classes.iter().map(|(_, label)| (label_hash(Some(label)), 0)).collect();
        let mut places = texts.places.clone();
        places.sort_unstable_by_key(|place| place.hash);
        let mut different = HashSet::new();
        // all copies of a text are in the sample, or none
        let is_in_sample = |place: &TextPlace| {
            let Some(of_label) = of_labels.get_mut(&place.label) else { return false };
            if different.contains(&place.hash) {
                return true;
            }
            let is_one = different.len() < most || *of_label < of_each;
            if is_one {
                different.insert(place.hash);
                *of_label += 1;
            }
            is_one
        };
        places.into_iter().filter(is_in_sample).collect()
    }
}

/// Trains on the texts at `places`.
fn learn_again(
    options: &TrainOptions,
    classes: &Classes,
    texts: &Texts,
    mut places: Vec<TextPlace>,
    learn: impl Fn(&mut Trainer, &RawExample<'_>) -> Result<()> + Sync,
) -> Result<Trainer> {
    places.sort_unstable();
    // requirements on decisions are checked when training ends, and need not equal themselves
    let (mut options, decision) = (options.clone(), DecisionOptions::default());
    let decision = std::mem::replace(&mut options.decision, decision);
    let each = places.len().div_ceil(rayon::current_num_threads()).max(1);
    let learn_some = |places: &[TextPlace]| {
        let mut trainer = Trainer::new(options.clone())?;
        texts.for_each(places, |given| learn(&mut trainer, &given))?;
        Ok(trainer)
    };
    let trainers = places.par_chunks(each).map(learn_some).collect::<Result<Vec<_>>>()?;
    let mut all = Trainer::new(options.clone())?;
    for (_, label) in classes.iter() {
        all.class_of(label)?;
    }
    trainers.into_iter().try_for_each(|trainer| all.merge(trainer))?;
    Ok(all.with_decision(decision))
}

/// Learns a text in a group that depends on the text alone, so that whatever its terms are, the same texts are held out
/// together.
fn in_group_of_text(trainer: &mut Trainer, given: &RawExample<'_>) -> Result<()> {
    let own = format!("{:016x}", given.text_hash());
    let group = given.group.or(Some(&own));
    trainer.learn(1, &RawExample { group, dense: Cow::Borrowed(&[]), ..*given })
}

/// The mean log loss of held-out documents, in nats, and their number; `None` if none could be held out.
fn held_out_loss(mut trainer: Trainer) -> Result<Option<(f64, f64)>> {
    let Scoring::Weighted(options) = trainer.options.scoring() else { return Ok(None) };
    let mut learned = trainer.take_in_order()?;
    if trainer.options.recipe.has_other_columns() {
        let (recipe, texts) = (&trainer.options.recipe, &learned.texts);
        let (merged, text) = (&learned.merged, |id| Ok(learned.merged.term(texts, id).1));
        let columns = columns_of_terms(recipe, &merged.statistics, text)?;
        let is_other = |column: &usize| recipe.columns[*column].kind != ColumnKind::Text;
        learned.documents.left_out = columns.iter().map(is_other).collect();
    }
    learned.documents.hold_near_duplicates_together(&learned.merged.statistics);
    let (counts, documents) = (&learned.merged.statistics, &learned.documents);
    let smoothing = solution::smoothing(&options, counts, documents, &trainer.classes)?;
    let problem = FitProblem {
        counts,
        documents,
        columns: columns_of(&trainer.classes)?,
        beside: Default::default(),
        options: &options,
    };
    let parts = problem.try_terms(&smoothing).map_err(solution::refused)?;
    Ok(parts.map(|parts| (parts.counts.min(parts.correction), documents.len() as f64)))
}

#[cfg(test)]
mod tests;
