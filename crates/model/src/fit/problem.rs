//! The inputs and the result of a fit, its folds, and the scores of held-out documents by the counts.

use std::collections::HashMap;
use std::convert::Infallible;

use rayon::prelude::*;
use tamis_tokenizer::{CountVector, TermId};

use crate::counts::{ClassId, Counts, DocumentSums, KnownTerms, Statistics, TermEntry, TermTable};
use crate::fit::competitors::LeftOutBayes;
use crate::fit::held_rows::HeldRows;
use crate::linear::{
    Choices, Coefficients, Columns, CorrectedStatistics, Correction, PartsTrial, Readings, STRENGTHS,
    TauTrial, WeightedLogOdds, WeightedOptions, priors,
};
use crate::validation::{
    BlockReader, ColumnPrediction, Documents, Fold, Groups, Prediction, SampleTerms, Sampled,
    SmoothingChoice, cross_validate, min_per_class, sample_size,
};
use crate::vectors::{VectorDiscriminant, VectorStatistics};

/// The result of a fit: choices, correction and held-out scores.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedFit {
    /// The fitted numbers.
    pub choices: Choices,
    /// The choice of smoothing and idf power.
    pub smoothing: SmoothingChoice,
    /// The shares tau of the counts that were tried; empty if documents were too few to choose.
    pub taus: Vec<TauTrial>,
    /// How well the parts of the log-odds predicted held-out documents; `None` if no document could be held out.
    pub parts: Option<PartsTrial>,
    /// p of each column, see [`priors`].
    pub prior: Vec<f64>,
    /// The calibration line of each label, from its log-odds z to calibrated ones: slope and offset. Empty if classes are
    /// not sets of labels.
    pub lines: Vec<[f64; 2]>,
    /// The correction.
    pub correction: Correction,
    /// The coefficients of the documents; the correction is their sum.
    pub coefficients: Coefficients,
    /// Scores of the held-out documents, in order.
    pub held_out: Vec<Prediction>,
}

impl WeightedFit {
    /// The result before anything but smoothing is chosen or fitted.
    pub(crate) fn new(choices: Choices, smoothing: SmoothingChoice) -> WeightedFit {
        WeightedFit {
            choices,
            smoothing,
            taus: Vec::new(),
            parts: None,
            prior: Vec::new(),
            lines: Vec::new(),
            correction: Correction::default(),
            coefficients: Coefficients::default(),
            held_out: Vec::new(),
        }
    }
}

/// Number of cross-validation folds. Labels need all documents held out, so that each fold is a fit of its own.
const FOLDS: usize = 5;
const FOLDS_OF_LABELS: usize = 4;
/// The number if it is the scores of all documents that are asked for.
pub(crate) const FOLDS_OF_ALL: usize = 10;
/// Up to this many documents, there are more folds, so that more documents are left to learn from.
const FEW: usize = 1_000;
const FOLDS_OF_FEW: usize = 20;
/// Maximum number of held-out documents: for independent columns, whose thresholds need many, and for others.
const MAX_HELD_OUT: [usize; 2] = [20_000, 2_000];
/// With at least this many documents, of which fewer than one in [`FEW_HELD_OUT`] are held out, those need no coefficients.
pub(crate) const MANY: usize = 40_000;
pub(crate) const FEW_HELD_OUT: usize = 20;
/// The number of folds in a comparison of terms.
pub(crate) const FOLDS_OF_TERMS: usize = 3;
/// Of this many documents or more, or of twice as many of two classes, only one of these folds is held out.
pub(crate) const MANY_FOR_TERMS: usize = 4_000;
/// Held-out documents that are enough for thresholds.
const ENOUGH_FOR_THRESHOLDS: usize = 4_000;

/// What stands beside the texts of documents, each a part of the log-odds.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Of a table, the held-out scores of documents by the columns that are not text, one per column of the scores.
    pub columns: Option<&'a HashMap<usize, Vec<f64>>>,
    /// The statistics of the documents' [vectors](Documents::vector).
    pub vectors: Option<&'a VectorStatistics>,
}

impl Beside<'_> {
    /// Whether there are columns, and vectors.
    pub(crate) fn is_there(&self) -> [bool; 2] {
        [self.columns.is_some(), self.vectors.is_some()]
    }
}

/// The inputs of a fit: documents, counts, columns and options.
#[derive(Clone)]
pub struct FitProblem<'a> {
    /// The counts of the documents.
    pub counts: &'a Statistics,
    /// The distinct documents, in a reproducible order.
    pub documents: &'a dyn Documents,
    /// The columns to fit.
    pub columns: Columns,
    /// What stands beside the texts of the documents.
    pub beside: Beside<'a>,
    /// The options.
    pub options: &'a WeightedOptions,
}

impl FitProblem<'_> {
    /// Held-out scores without a correction: by exact leave-one-out where a group is the copies of a text, else by
    /// cross-validation.
    pub(crate) fn predict_by_counts(&self, choices: &Choices) -> Vec<ColumnPrediction> {
        // what stands beside is left out with its fold, since each discriminant takes long
        let held_out = match self.documents.groups_are_copies() && self.beside.is_there() == [false; 2] {
            true => self.leave_one_out(choices),
            false => self.leave_groups_out(choices),
        };
        held_out.into_iter().map(ColumnPrediction::by_counts).collect()
    }

    fn leave_one_out(&self, choices: &Choices) -> Vec<Prediction> {
        let left_out = LeftOutBayes::new(&self.columns, choices, self.counts);
        let sample =
            Groups::new(self.documents).sample(self.max_held_out(), min_per_class(&self.columns)).weights;
        let reads_most = sample.len() > self.documents.len() / 2;
        let source =
            if reads_most { BlockReader::new(self.documents) } else { BlockReader::unread(self.documents) };
        let sampled = SampleTerms::new(&source, &sample);
        let score = |((document, _), at): (&(usize, f64), usize)| {
            let (Sampled { copies, weight }, terms) = (&sampled.documents[at], sampled.terms(at));
            let mut bayes = Vec::new();
            left_out.log_odds(copies, terms, &mut bayes);
            let known_terms = left_out.known_terms(terms, copies);
            Prediction { document: *document, weight: *weight, known_terms, bayes, ..Prediction::default() }
        };
        let is_scored = |held: &Prediction| {
            self.columns.are_labels()
                || self.counts.totals()[usize::from(self.documents.label(held.document).class)].documents > 1
        };
        sample.par_iter().zip(0..sample.len()).map(score).filter(is_scored).collect()
    }

    fn leave_groups_out(&self, choices: &Choices) -> Vec<Prediction> {
        let source = BlockReader::unread(self.documents);
        let folds = self.folds(&source, self.max_held_out(), self.n_folds());
        let score = |fold: &Fold, counts: &Statistics| {
            Ok(self.score_held_out(
                choices,
                fold,
                &HeldRows::of_fold(self.documents, &self.columns, fold),
                counts,
            ))
        };
        let Ok::<_, Infallible>(scored) = cross_validate(&folds, self.counts, self.documents, score);
        let mut held_out: Vec<_> = scored.into_iter().flatten().collect();
        held_out.sort_by_key(|held| held.document);
        held_out
    }

    /// The number of folds that all documents would be dealt into.
    pub(crate) fn n_folds(&self) -> usize {
        match self.documents.len() {
            ..=FEW => FOLDS_OF_FEW,
            _ if self.columns.are_labels() => FOLDS_OF_LABELS,
            _ => FOLDS,
        }
    }

    pub(crate) fn max_held_out(&self) -> usize {
        let [independent, others] = MAX_HELD_OUT;
        // of very many documents of two classes, so few that they are held out once
        let few = (self.documents.len() / (FEW_HELD_OUT + 1)).saturating_sub(1);
        let is_enough = self.columns.is_one() && few >= ENOUGH_FOR_THRESHOLDS;
        let independent = if is_enough { independent.min(few) } else { independent };
        sample_size(if self.columns.are_independent() { independent } else { others }, &self.columns)
    }

    /// At most about `most` held-out documents, dealt into folds, of which none has more than one in `n` of all documents.
    pub(crate) fn folds(&self, source: &BlockReader<'_>, most: usize, n: usize) -> Vec<Fold> {
        let sample = Groups::new(self.documents).sample(most, min_per_class(&self.columns));
        let held_out = sample.groups.documents();
        let n_folds = (n * held_out.len()).div_ceil(self.documents.len().max(1));
        let copies = |document: usize| self.documents.label(document).multiplicity;
        let is_one = n_folds < 2;
        let folds = if is_one {
            let part = |document: usize| (document, source.repeats.part(copies(document), FOLDS));
            vec![held_out.into_iter().map(part).collect()]
        } else {
            sample.groups.deal(self.documents, &source.repeats, n_folds)
        };
        let weight = |document: usize, held: u32| {
            let at = sample.weights.binary_search_by_key(&document, |(document, _)| *document);
            // the held-out copies of a single fold stand for all copies
            let stand_for = if is_one { copies(document) } else { held };
            let weight = source.repeats.weigh(&self.documents.label(document), stand_for);
            at.map_or(0.0, |at| sample.weights[at].1 * weight)
        };
        let folds = folds.into_iter().filter(|fold| !fold.is_empty());
        folds.map(|held| Fold::new(self.documents, held, weight)).collect()
    }

    /// The discriminants of the vectors without those of a fold, one for each of [`STRENGTHS`].
    fn discriminants_without(&self, fold: &Fold) -> Vec<VectorDiscriminant> {
        let Some(vectors) = self.beside.vectors else { return Vec::new() };
        let (mut without, mut gone) = (vectors.clone(), vectors.emptied());
        for (document, copies) in fold.documents.iter().zip(&fold.copies) {
            let vector = self.documents.vector(*document);
            if !vector.is_empty() {
                // refused without a change if it cannot have been learned
                let _ = gone.observe_times(self.documents.label(*document).class, vector, *copies);
            }
        }
        let _ = without.subtract(&gone);
        let of = |strength: &f64| VectorDiscriminant::with_strength(&without, &self.columns, *strength);
        STRENGTHS.par_iter().map(of).collect()
    }

    /// The scores of what stands beside a document's text.
    fn beside_of(&self, document: usize, discriminants: &[VectorDiscriminant]) -> [Vec<f64>; 2] {
        let columns = self.beside.columns.and_then(|of| of.get(&document)).cloned().unwrap_or_default();
        [columns, vector_scores(discriminants, self.documents.vector(document))]
    }

    /// Adds what stands beside the texts to the scores of other fits, unless they have it: that of vectors without a twentieth of the documents,
    /// and with the default strength.
    pub(crate) fn with_beside(&self, mut held_out: Vec<Prediction>) -> Vec<Prediction> {
        let n_together = held_out.len().div_ceil(FOLDS_OF_FEW).max(1);
        let is_open = |held: &Prediction| held.beside.iter().all(Vec::is_empty);
        let is_missing = self.beside.is_there().contains(&true) && held_out.iter().all(is_open);
        for together in held_out.chunks_mut(n_together).filter(|_| is_missing) {
            let held = |held: &Prediction| (held.document, self.documents.label(held.document).multiplicity);
            let fold = Fold::new(self.documents, together.iter().map(held).collect(), |_, _| 0.0);
            let discriminants = self.discriminants_without(&fold);
            for held in together {
                held.beside = self.beside_of(held.document, &discriminants[..discriminants.len().min(1)]);
            }
        }
        held_out
    }

    /// Scores the documents of `fold`, of which `held` has the rows, by `counts`, which must be without them.
    pub(crate) fn score_held_out(
        &self,
        choices: &Choices,
        fold: &Fold,
        held: &[HeldRows<'_>],
        counts: &Statistics,
    ) -> Vec<Prediction> {
        let totals = counts.totals();
        let Ok(scorer) =
            WeightedLogOdds::new(choices, &[], totals, counts.n_features() as u64, &self.columns)
        else {
            return Vec::new();
        };
        // with priors from the counts without the fold, a class would seem rarer just for its own documents
        let scorer = scorer.with_prior(priors(self.counts.totals(), &self.columns));
        let weighed = WeighedTerms::new(&scorer, counts, &fold.rows);
        let discriminants = self.discriminants_without(fold);
        let read = |held: &HeldRows<'_>| {
            let label = self.documents.label(held.document);
            let (mut readings, mut bayes) = (Readings::default(), Vec::new());
            let mut read = |row: &CountVector| {
                weighed.read(&scorer, row, &mut readings);
                scorer.bayes(&readings, &mut bayes);
                [bayes.first().copied().unwrap_or(0.0), 0.0]
            };
            let windows = held.windows.iter().map(&mut read).collect();
            let seen = held.seen.as_ref().map(&mut read);
            read(held.whole);
            let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
            let is_scored = self.columns.are_labels()
                || has_documents(label.class)
                    && (!self.columns.is_one() || has_documents(0) && has_documents(1));
            Prediction {
                document: held.document,
                weight: if is_scored { held.weight } else { 0.0 },
                known_terms: readings.known_terms,
                correction: Vec::new(),
                bayes,
                beside: self.beside_of(held.document, &discriminants),
                windows,
                seen,
            }
        };
        held.par_iter().map(read).collect()
    }
}

/// The scores of a vector by each discriminant in turn; none without a vector.
fn vector_scores(discriminants: &[VectorDiscriminant], vector: &[f32]) -> Vec<f64> {
    let mut scores = Vec::new();
    // the statistics have accepted the vector
    let of = |model: &VectorDiscriminant| model.scores(vector, &mut scores).map(|()| scores.clone());
    let all = discriminants.iter().filter(|_| !vector.is_empty()).map(of);
    all.collect::<Result<Vec<_>, _>>().map_or(Vec::new(), |all| all.concat())
}

/// The weights of the terms of some documents, each derived once.
struct WeighedTerms {
    table: TermTable,
    /// The place of each term in the table.
    places: Vec<u32>,
}

impl WeighedTerms {
    fn new(scorer: &WeightedLogOdds, counts: &Statistics, rows: &[CountVector]) -> Self {
        let mut table = TermTable::new(scorer.n_sums());
        let mut places = vec![TermTable::NOTHING; counts.n_terms()];
        let (mut terms, mut entry) = (CorrectedStatistics::new(counts, None), TermEntry::default());
        for id in rows.iter().flat_map(|row| row.row().ids()) {
            let Some(place) = places.get_mut(*id as usize).filter(|place| **place == TermTable::NOTHING)
            else {
                continue;
            };
            let Ok(term) = terms.term(*id);
            scorer.weigh_term(term, &mut entry);
            // a table that is full has 32 GiB
            *place = table.push(&entry).unwrap_or(TermTable::NOTHING);
        }
        WeighedTerms { table, places }
    }

    /// Writes the scores of one of the documents to `out`.
    fn read(&self, scorer: &WeightedLogOdds, row: &CountVector, out: &mut Readings) {
        let mut sums = DocumentSums::default();
        sums.begin(scorer.n_sums());
        let place = |id: TermId| self.places.get(id as usize).copied().unwrap_or(TermTable::NOTHING);
        self.table.accumulate(row.row().iter().map(|(id, tf)| (place(id), scorer.amount(tf))), &mut sums);
        scorer.read_sums(&sums, out);
    }
}
