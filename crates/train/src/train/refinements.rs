//! Which terms there are beside words, and how strongly the correction is regularised: as held-out documents of a sample are
//! predicted best. All documents are read again only if there are more terms.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use tamis_model::{
    Beside, Classes, Counts, FitProblem, SmoothingChoice, Statistics, WeightedLoss, WeightedOptions,
};
use tamis_store::config::column::ColumnKind;
use tamis_store::config::decision::DecisionOptions;
use tamis_store::config::labels::columns_of;
use tamis_store::config::recipe::Recipe;
use tamis_store::config::refinement::{Refinement, TriedRefinement};
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::Result;
use tamis_store::file::fitted::columns_of_terms;
use tamis_tokenizer::{TermId, is_four};

use crate::fit::solution;
use crate::gather::collection::Collection;
use crate::gather::merged::Shard;
use crate::gather::texts::{RawExample, TextPlace, Texts, label_hash};
use crate::train::finish::TrainingSet;
use crate::train::trainer::Trainer;

/// The size of a sample. The more labels there are, the fewer words and texts it has, within limits. Of each label, it has at
/// least `OF_EACH` texts, if there are that many, and unless there are too many labels.
struct SampleSize {
    words_times_labels: u64,
    words: RangeInclusive<u64>,
    texts: RangeInclusive<u64>,
    texts_times_labels: u64,
}

/// The first sample, and the one that decides what the first leaves open.
const SAMPLES: [SampleSize; 2] = [
    SampleSize {
        words_times_labels: 1 << 20,
        words: 1 << 16..=1 << 17,
        texts: 0..=4_000,
        texts_times_labels: 150_000,
    },
    SampleSize {
        words_times_labels: 1 << 23,
        words: 1 << 18..=1 << 19,
        texts: 2_000..=16_000,
        texts_times_labels: 600_000,
    },
];
const OF_EACH: usize = 10;

/// A sample of so many words knows that pairs or signs bring nothing.
const ENOUGH_WORDS: u64 = 1 << 16;

/// Where more than one in so many terms is a sequence of four characters, which pairs would replace, these are not tried.
const FEW_FOURS: usize = 10;

impl Trainer {
    /// Decides which [refinements](TrainOptions::to_try) are taken, one after another: each is if the held-out documents of
    /// a sample are then predicted better, counts and correction together. What a small sample leaves open, a larger one
    /// decides. The documents learned so far decide; later ones are counted accordingly. [`finish`](Self::finish) does this too.
    ///
    /// # Errors
    /// If a count overflows, or a temporary file cannot be used.
    pub fn choose_terms(mut self) -> Result<Trainer> {
        let Some(texts) = self.texts.take() else { return Ok(self) };
        let mut open = self.options.to_try().to_vec();
        // unlabelled documents are set apart only when training ends
        if open.is_empty() || self.n_unlabelled() > 0 || self.classes.len() < 2 {
            return Ok(self);
        }
        let terms = || self.parts.iter().flat_map(|part| part.vocabulary.iter());
        if terms().filter(|(_, term)| is_four(term)).count() * FEW_FOURS > terms().count() {
            open.retain(|refinement| *refinement != Refinement::Pairs);
        }
        let mut options = TrainOptions { refinements: Vec::new(), ..self.options.clone() };
        let [first, last] = self.samples(&texts);
        // a first sample spares little if it is half of the last
        let samples = if last.len() < 2 * first.len() { vec![last] } else { vec![first, last] };
        let (mut tried, n_samples) = (Vec::new(), samples.len());
        for (places, at) in samples.into_iter().zip(1..) {
            if !open.is_empty() {
                let is_last = at == n_samples;
                let trials = Trials { trainer: &self, texts: &texts, places, is_last, options, tried };
                (options, tried, open) = trials.run(&open)?;
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
        chosen.tried = tried;
        chosen.set_unlabelled_apart();
        Ok(chosen)
    }

    /// The number of labelled documents, and of their words.
    fn labelled(&self) -> (u64, u64) {
        let totals = self.parts.iter().flat_map(|part| part.statistics.totals());
        totals.fold((0, 0), |(n, tf), of| (n + of.documents, tf + of.tf))
    }

    /// The texts to decide with: those with the lowest hashes, so that the order of texts does not matter.
    fn samples(&self, texts: &Texts) -> [Vec<TextPlace>; 2] {
        let mut places = texts.places.clone();
        places.sort_unstable_by_key(|place| place.hash);
        SAMPLES.map(|size| self.sample(&places, &size))
    }

    /// The first of these `places`.
    fn sample(&self, places: &[TextPlace], size: &SampleSize) -> Vec<TextPlace> {
        let (documents, words) = self.labelled();
        let within = |range: &RangeInclusive<u64>, n: u64| n.clamp(*range.start(), *range.end());
        let n_labels = self.classes.len() as u64;
        let most_words = within(&size.words, size.words_times_labels / n_labels);
        let most = within(&size.texts, most_words * documents / words.max(1));
        let most = most.min((size.texts_times_labels / n_labels).max(*size.texts.start())) as usize;
        let of_each = OF_EACH.min(most / self.classes.len());
        // of each label, the number of texts in the sample
        let mut of_labels: HashMap<u32, usize> =
            self.classes.iter().map(|(_, label)| (label_hash(Some(label)), 0)).collect();
        let mut different = HashSet::new();
        // all copies of a text are in the sample, or none
        let is_in_sample = |place: &&TextPlace| {
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
        places.iter().filter(is_in_sample).copied().collect()
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

/// Refinements that are tried on a sample.
struct Trials<'a> {
    trainer: &'a Trainer,
    texts: &'a Texts,
    places: Vec<TextPlace>,
    /// Whether there is no larger sample.
    is_last: bool,
    /// The options with what was taken.
    options: TrainOptions,
    tried: Vec<TriedRefinement>,
}

impl Trials<'_> {
    /// Tries what is open. Returns the options, the trials that decided, and what is open still.
    fn run(mut self, open: &[Refinement]) -> Result<(TrainOptions, Vec<TriedRefinement>, Vec<Refinement>)> {
        let (mut sample, mut left) = (self.count(&self.options, open)?, Vec::new());
        let is_enough = sample.n_words >= ENOUGH_WORDS;
        let n_documents = self.trainer.labelled().0 as f64;
        let mut least = sample.losses(&self.options)?;
        if least.is_empty() {
            return Ok((self.options, self.tried, Vec::new()));
        }
        // what pieces bring beside pairs may be more
        let again = open.iter().filter(|refinement| self.is_last && **refinement == Refinement::Pieces);
        for (at, refinement) in open.iter().chain(again).copied().enumerate() {
            if at >= open.len() && !self.may_be_more(refinement) {
                continue;
            }
            // whether pieces of all lengths are better than others can be asked before these are taken
            let with_pieces = self.options.with(Refinement::Pieces);
            let before = with_pieces
                .filter(|_| refinement == Refinement::AllPieces && left.contains(&Refinement::Pieces));
            let without = before.as_ref().map(|before| sample.losses(before)).transpose()?;
            let Some(with) = before.as_ref().unwrap_or(&self.options).with(refinement) else { continue };
            if with.recipe.pieces.is_some_and(|lengths| sample.options.recipe.pieces != Some(lengths)) {
                let counted = self.count(&with, &open[at.min(open.len())..])?;
                sample = Sample { smoothing: sample.smoothing, ..counted };
            }
            let losses = sample.losses(&with)?;
            let trial =
                TriedRefinement::new(refinement, &losses, without.as_ref().unwrap_or(&least), n_documents);
            match if self.is_last { Some(trial.is_chosen()) } else { trial.verdict(is_enough) } {
                Some(true) => (self.options, least) = (with, losses),
                Some(false) => (),
                None => {
                    left.push(refinement);
                    continue;
                }
            }
            self.tried.push(trial);
        }
        Ok((self.options, self.tried, left))
    }

    /// Whether what was refused may bring more beside pairs, which were taken since.
    fn may_be_more(&self, refinement: Refinement) -> bool {
        let last = |of| self.tried.iter().rposition(|trial| trial.refinement == of);
        let Some(at) = last(refinement) else { return false };
        last(Refinement::Pairs).is_some_and(|pairs| pairs > at)
            && self.options.recipe.has(Refinement::Pairs)
            && !self.tried[at].is_hopeless()
    }

    /// Counts the sample with all that may be taken.
    fn count(&self, options: &TrainOptions, open: &[Refinement]) -> Result<Sample> {
        let open = open.iter().filter(|refinement| **refinement != Refinement::AllPieces);
        let widest = open.fold(options.clone(), |with, refinement| with.with(*refinement).unwrap_or(with));
        let Trials { trainer, texts, places, .. } = self;
        let counted = learn_again(&widest, &trainer.classes, texts, places.clone(), in_group_of_text)?;
        Sample::new(counted, &trainer.parts)
    }
}

/// Texts that decide, counted once with all the terms that may be taken.
struct Sample {
    options: TrainOptions,
    classes: Classes,
    counts: Statistics,
    documents: Collection,
    /// What each term came with; `None` for those that were there without.
    families: Vec<Option<Refinement>>,
    n_words: u64,
    /// What suits words.
    smoothing: Option<SmoothingChoice>,
    trials: Vec<Trial>,
}

impl Sample {
    /// The sample that a trainer has learned; the counts of `base` have all terms that nothing was added to.
    fn new(mut trainer: Trainer, base: &[Shard]) -> Result<Sample> {
        let TrainingSet { texts, merged, mut documents, .. } = trainer.take_in_order()?;
        let recipe = &trainer.options.recipe;
        let mut ids: Vec<TermId> = (0..merged.n_terms() as TermId).collect();
        if recipe.has_other_columns() {
            let columns = columns_of_terms(recipe, &merged.statistics, |id| Ok(merged.term(&texts, id).1))?;
            ids.retain(|id| recipe.columns[columns[*id as usize]].kind == ColumnKind::Text);
            documents = documents.only(&ids)?;
        }
        let counts = merged.statistics.permuted(&ids);
        let text = |id: TermId| Ok(merged.term(&texts, ids[id as usize]).1);
        // before it is open which terms there are
        documents.hold_near_duplicates_together(recipe.kind, &counts, text)?;
        let family = |id: &TermId| {
            let (fingerprint, text) = merged.term(&texts, *id);
            let is_word = base.iter().any(|part| part.vocabulary.id_of_fingerprint(fingerprint).is_some());
            // a pair may look like a word in a field
            (!is_word).then(|| Refinement::of_term(text).unwrap_or(Refinement::Pairs))
        };
        let families: Vec<_> = ids.par_iter().map(family).collect();
        let words = (0..).zip(&families).filter(|(_, family)| family.is_none());
        let n_words = words.flat_map(|(id, _)| counts.cells(id)).map(|cell| u64::from(cell.tf)).sum();
        let (options, classes) = (trainer.options, trainer.classes);
        Ok(Sample {
            options,
            classes,
            counts,
            documents,
            families,
            n_words,
            smoothing: None,
            trials: Vec::new(),
        })
    }

    /// The terms that a recipe has.
    fn terms_of(&self, recipe: &Recipe) -> Vec<TermId> {
        let is_kept = |of: &Option<Refinement>| of.is_none_or(|refinement| recipe.has(refinement));
        (0..).zip(&self.families).filter(|(_, of)| is_kept(of)).map(|(id, _)| id).collect()
    }

    /// The counts and the documents with some terms.
    fn with(&self, terms: &[TermId]) -> Result<(Statistics, Collection)> {
        Ok((self.counts.permuted(terms), self.documents.only(terms)?))
    }

    /// The number of the trial with these terms, in `self.trials`.
    fn trial(&mut self, terms: Vec<TermId>, options: &WeightedOptions) -> Result<usize> {
        if let Some(at) = self.trials.iter().position(|trial| trial.terms == terms) {
            return Ok(at);
        }
        let (counts, documents) = self.with(&terms)?;
        let smoothing = match &self.smoothing {
            Some(words) => words.near(&counts, &documents, &columns_of(&self.classes)?, options),
            None => solution::smoothing(options, &counts, &documents, &self.classes)?,
        };
        self.smoothing.get_or_insert_with(|| smoothing.clone());
        self.trials.push(Trial { terms, counts, documents, smoothing, losses: Vec::new() });
        Ok(self.trials.len() - 1)
    }

    /// The log losses of held-out documents; none if none could be held out.
    fn losses(&mut self, options: &TrainOptions) -> Result<Vec<WeightedLoss>> {
        let Scoring::Weighted(weighted) = options.scoring() else { return Ok(Vec::new()) };
        let (terms, columns) = (self.terms_of(&options.recipe), columns_of(&self.classes)?);
        let at = self.trial(terms, &weighted)?;
        let Trial { counts, documents, smoothing, losses, .. } = &mut self.trials[at];
        if let Some((_, known)) = losses.iter().find(|(options, _)| *options == weighted) {
            // there are no terms of a family
            return Ok(known.clone());
        }
        let problem =
            FitProblem { counts, documents, columns, beside: Beside::default(), options: &weighted };
        let found = problem.try_terms(smoothing).map_err(solution::refused)?;
        losses.push((weighted, found.clone()));
        Ok(found)
    }
}

/// A sample with some of its terms.
struct Trial {
    terms: Vec<TermId>,
    counts: Statistics,
    documents: Collection,
    smoothing: SmoothingChoice,
    /// The log losses of held-out documents, by options.
    losses: Vec<(WeightedOptions, Vec<WeightedLoss>)>,
}

#[cfg(test)]
mod tests;
