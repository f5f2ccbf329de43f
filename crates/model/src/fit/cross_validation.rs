//! The fit of the correction: all columns on all documents and on each cross-validation fold, then calibration.

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::bayes::FitError;
use crate::counts::{Counts, Statistics, StatisticsError};
use crate::fit::held_rows::HeldRows;
use crate::fit::problem::{
    FEW_HELD_OUT, FOLDS_OF_ALL, FOLDS_OF_TERMS, FitProblem, MANY, MANY_FOR_TERMS, WeightedFit,
};
use crate::fit::training::{
    AscentStart, ColumnTrainer, GroupFit, Lane, PASSES, PASSES_OF_FOLD, PASSES_WITH, PASSES_WITHOUT, Passes,
    idf_of_terms,
};
use crate::linear::{Choices, Coefficients, priors};
use crate::validation::{
    Block, ColumnPrediction, Fold, Prediction, SmoothingChoice, TermScales, WeightedLoss,
};

/// The passes end when the held-out log loss is this many times the least so far.
const CLEARLY_WORSE: f64 = 1.01;

impl FitProblem<'_> {
    /// Fits everything: the correction, and by cross-validation the stacking weights of counts and correction. The same
    /// documents in the same order give the same result for any number of threads.
    ///
    /// `smoothing` is the result of [`SmoothingChoice::new`], which callers that compare tokenizations already have.
    ///
    /// ```
    /// use tamis_model::{Columns, Counts, FitProblem, Example, SmoothingChoice, Statistics, WeightedOptions};
    /// use tamis_tokenizer::CountVector;
    ///
    /// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
    /// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let document = |i: usize| Example { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64, fraction: 0, vector: &[] };
    /// let documents: Vec<_> = (0..4).map(document).collect();
    /// let mut counts = Statistics::new(2);
    /// for d in &documents {
    ///     counts.observe(d.class, d.row)?;
    /// }
    /// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
    /// let smoothing = SmoothingChoice::new(&counts, &documents, &columns, &options);
    /// let problem = FitProblem { counts: &counts, documents: &documents, columns, beside: Default::default(), options: &options };
    /// let fitted = problem.solve(smoothing)?;
    /// let weight = |term| fitted.correction.weights(term).map(|weight| weight.units).sum::<i64>();
    /// assert!(weight(0) < 0 && weight(1) > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Options out of their ranges; overflow of a sum of coefficients.
    pub fn solve(&self, smoothing: SmoothingChoice) -> Result<WeightedFit, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let choices = self.choices_with(&smoothing);
        let fit = WeightedFit::new(choices, smoothing);
        if !self.options.correction {
            return Ok(self.calibrate(fit, &mut self.predict_by_counts(&choices)).0);
        }
        let whole = CrossValidation::new(self, choices, Some(self.counts));
        let cross = whole.with_folds(self.max_held_out(), self.n_folds());
        let (coefficients, mut predictions) = cross.run();
        let (fit, lane) = self.calibrate(fit, &mut predictions);
        cross.with_correction(fit, coefficients, lane)
    }

    /// As [`solve`](Self::solve), without holding out any document: the stacking weights are those that suit the scores
    /// `held_out`, by other fits.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_by(
        &self,
        smoothing: SmoothingChoice,
        held_out: Vec<Prediction>,
    ) -> Result<WeightedFit, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let cross = CrossValidation::new(self, self.choices_with(&smoothing), Some(self.counts));
        let (prior, held_out) = (priors(self.counts.totals(), &self.columns), self.with_beside(held_out));
        let (choices, parts) = self.with_stacking(cross.choices, &prior, &held_out);
        let parts = (parts.documents > 0.0).then_some(parts);
        let fit = WeightedFit { prior, parts, ..WeightedFit::new(choices, smoothing) };
        cross.with_correction(WeightedFit { held_out, ..fit }, cross.run().0, 0)
    }

    /// The choices that suit the scores `held_out`, and p of each column.
    pub fn stack_for(&self, smoothing: &SmoothingChoice, held_out: &[Prediction]) -> (Choices, Vec<f64>) {
        let prior = priors(self.counts.totals(), &self.columns);
        (self.with_stacking(self.choices_with(smoothing), &prior, held_out).0, prior)
    }

    /// The mean log losses of held-out groups of documents, in fewer folds than [`solve`](Self::solve) has: for a comparison
    /// of terms. Empty if no document could be held out.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn try_terms(
        &self,
        smoothing: &SmoothingChoice,
    ) -> Result<Vec<WeightedLoss>, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let choices = self.choices_with(smoothing);
        let all = self.documents.len();
        let many = if self.columns.is_one() { 2 * MANY_FOR_TERMS } else { MANY_FOR_TERMS };
        let most = if all < many { all } else { all / FOLDS_OF_TERMS };
        let predictions = match self.options.correction {
            true => CrossValidation::new(self, choices, None).with_folds(most, FOLDS_OF_TERMS).held_out(),
            false => self.predict_by_counts(&choices),
        };
        Ok(self.losses(choices, &predictions))
    }

    /// Holds out every document in turn, and returns what `of` makes of its scores, with its number. The choices are
    /// those of an earlier [`solve`](Self::solve), for more than two classes or for labels.
    ///
    /// ```
    /// # use tamis_model::{Columns, Counts, FitProblem, Example, SmoothingChoice, Statistics, WeightedOptions};
    /// # use tamis_tokenizer::CountVector;
    /// let row = |i: u32| CountVector::from_pairs([(i % 3, 1), (3 + i % 5, 1)]);
    /// let rows = (0..30).map(row).collect::<Result<Vec<_>, _>>()?;
    /// let class = |i: usize| if i == 29 { 0 } else { i as u16 % 3 }; // the last one should be of class 2
    /// let document = |i: usize| Example { row: rows[i].row(), class: class(i), multiplicity: 1, group: i as u64, fraction: 0, vector: &[] };
    /// let documents: Vec<_> = (0..30).map(document).collect();
    /// let mut counts = Statistics::new(3);
    /// for d in &documents {
    ///     counts.observe(d.class, d.row)?;
    /// }
    /// let (columns, options) = (Columns::new(3, 0)?, WeightedOptions::default());
    /// let smoothing = SmoothingChoice::new(&counts, &documents, &columns, &options);
    /// let problem = FitProblem { counts: &counts, documents: &documents, columns, beside: Default::default(), options: &options };
    /// let choices = problem.solve(smoothing)?.choices;
    /// let scores = problem.hold_out_all(&choices, |held| held.log_odds(&choices, &[0.0; 3]));
    /// let (document, z) = &scores[29];
    /// assert!(*document == 29 && z[2] > z[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold_out_all<T: Send>(
        &self,
        choices: &Choices,
        of: impl Fn(&Prediction) -> T + Sync,
    ) -> Vec<(usize, T)> {
        let whole = CrossValidation::new(self, *choices, Some(self.counts));
        let cross = whole.with_folds(usize::MAX, FOLDS_OF_ALL.max(self.n_folds()));
        let fits = cross.train_all();
        let of_fold = |fold: &Fold| {
            let mut scores = cross.score(cross.hold_out(fold, true), &fits);
            self.keep_strength(&mut scores, choices.strength);
            let scored =
                |scores: &ColumnPrediction| (scores.held.document, of(&scores.with(<[f64]>::to_vec)));
            scores.iter().map(scored).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = cross.folds.iter().flat_map(of_fold).collect();
        all.sort_by_key(|(document, _)| *document);
        all.dedup_by_key(|(document, _)| *document);
        all
    }
}

/// Fits all columns, on all documents and without the held-out ones.
struct CrossValidation<'a> {
    trainer: ColumnTrainer<'a>,
    folds: Vec<Fold>,
    choices: Choices,
}

/// A fold, and what is needed to score it without having learned it.
struct Holdout<'a> {
    fold: &'a Fold,
    /// The scores by the counts of the other documents.
    by_counts: Vec<Prediction>,
    /// Each document followed by its parts, as vectors of the terms that other documents have.
    rows: Block,
    /// The number of rows of each document.
    lengths: Vec<usize>,
    /// The offsets of a fit without the fold; empty if the fold has no fit of its own.
    odds: Vec<f32>,
}

impl<'a> CrossValidation<'a> {
    /// Without folds. The offsets of the fit to all documents come from `counts`; without any, each fit leaves out a fold.
    fn new(problem: &FitProblem<'a>, choices: Choices, counts: Option<&Statistics>) -> Self {
        let scales = TermScales {
            idf: idf_of_terms(problem.counts, problem.documents.n_terms()),
            ..TermScales::default()
        };
        let trainer = ColumnTrainer::new(problem.clone(), scales, &choices, counts);
        CrossValidation { trainer, folds: Vec::new(), choices }
    }

    /// At most about `most` documents are held out, at most one in `n_folds` at a time.
    fn with_folds(self, most: usize, n_folds: usize) -> Self {
        let ColumnTrainer { problem, source, .. } = &self.trainer;
        CrossValidation { folds: problem.folds(source, most, n_folds), ..self }
    }

    /// The fit with the correction that the coefficients sum up to; of one column, those of one lane.
    fn with_correction(
        &self,
        mut fit: WeightedFit,
        mut coefficients: Coefficients,
        lane: usize,
    ) -> Result<WeightedFit, FitError<StatisticsError>> {
        if !self.trainer.problem.options.correction {
            return Ok(fit);
        }
        if self.trainer.problem.columns.is_one() {
            let group = coefficients.groups.iter_mut().flat_map(|group| group.columns.iter_mut().enumerate());
            group.filter(|(at, _)| *at != lane).for_each(|(_, column)| *column = None);
        }
        fit.correction = self.trainer.sum(|document, own| own.extend(coefficients.of_document(document)))?;
        Ok(WeightedFit { coefficients, ..fit })
    }

    /// Returns the coefficients of all documents, and the held-out scores in document order.
    ///
    /// A [single](Self::single) fold is left out of the first passes only, or of all if it is small. Otherwise, each fold
    /// is left out of a separate fit, which starts from the fit to all documents.
    fn run(&self) -> (Coefficients, Vec<ColumnPrediction>) {
        let (fits, predictions) = if let Some(fold) = self.single() {
            let held = self.hold_out(fold, false);
            if self.are_few(fold) {
                self.train_to_best(&held)
            } else {
                let without = Passes { held: Some(fold), ..self.passes(PASSES_WITHOUT) };
                let fits = self.train(None, 0, &[without, self.passes(PASSES_WITH)], &held.rows);
                let predictions = held.predictions(&fits);
                (fits, predictions)
            }
        } else {
            // with many documents, folds are prepared only when they are scored, to save memory
            let hold_out = || self.folds.par_iter().map(|fold| self.hold_out(fold, true)).collect::<Vec<_>>();
            let is_kept = self.trainer.source.is_kept();
            let (fits, held) = rayon::join(|| self.train_all(), || is_kept.then(hold_out));
            let predictions = match held {
                Some(held) => held.into_par_iter().map(|held| self.score(held, &fits)).flatten().collect(),
                None => {
                    let score = |fold| self.score(self.hold_out(fold, true), &fits);
                    self.folds.par_iter().map(score).flatten().collect()
                }
            };
            (fits, predictions)
        };
        let groups = fits.into_iter().map(|fit| fit.coefficients).collect();
        (Coefficients { scales: self.trainer.scales(), groups }, self.in_order(predictions))
    }

    /// The held-out scores alone: each fold is left out of a fit of its own.
    fn held_out(&self) -> Vec<ColumnPrediction> {
        let score = |fold: &Fold| {
            let held = self.hold_out(fold, true);
            let without =
                Passes { held: Some(fold), odds: &held.odds, ..self.passes(PASSES_WITHOUT + PASSES_WITH) };
            held.predictions(&self.train(None, 0, &[without], &held.rows))
        };
        self.in_order(self.folds.par_iter().map(score).flatten().collect())
    }

    /// Copies of a document in several folds become one score, their weighted mean.
    fn in_order(&self, mut predictions: Vec<ColumnPrediction>) -> Vec<ColumnPrediction> {
        predictions.sort_by_key(|one| one.held.document);
        predictions.dedup_by(|other, one| other.held.document == one.held.document && one.add(other));
        predictions
    }

    /// Trains by passes without a fold, until they predict it clearly worse, and returns the best fits. Of many documents
    /// the first pass may be the best, and further ones only fit them more closely. With so many labels that few learn from
    /// a document, preparing a pass takes longer than the pass, so there are several at once.
    fn train_to_best(&self, held: &Holdout<'_>) -> (Vec<GroupFit>, Vec<ColumnPrediction>) {
        let at_once = if self.trainer.competitors.learn_from_all() { 1 } else { PASSES_WITHOUT };
        let pass = |from: Option<&[GroupFit]>, round| {
            let without = Passes { held: Some(held.fold), ..self.passes(at_once) };
            let fits = self.train(from, round, &[without], &held.rows);
            let predictions = held.predictions(&fits);
            let trial = self.trainer.problem.best_trial(self.choices, &predictions);
            (trial.map_or(f64::INFINITY, |trial| trial.correction), fits, predictions)
        };
        let (mut best, mut last) = (pass(None, 0), None);
        for round in 1..(PASSES_WITHOUT / at_once) as u64 {
            let from: &Vec<GroupFit> = last.as_ref().unwrap_or(&best.1);
            let next = pass(Some(from), round);
            if next.0 > CLEARLY_WORSE * best.0 {
                break;
            }
            (best, last) = if next.0 < best.0 { (next, None) } else { (best, Some(next.1)) };
        }
        (best.1, best.2)
    }

    /// The only fold, if choices made by its scores hold for the fit. If it joins later, that does not include the offset
    /// of independent columns, which does not hold until the bias has settled.
    fn single(&self) -> Option<&Fold> {
        let columns = &self.trainer.problem.columns;
        let holds = |fold: &&Fold| !columns.are_independent() || columns.is_one() && self.are_few(fold);
        <&[Fold; 1]>::try_from(&self.folds[..]).ok().map(|[fold]| fold).filter(holds)
    }

    /// Whether a fold is so small a part of all documents that they do without its coefficients.
    fn are_few(&self, fold: &Fold) -> bool {
        let all = self.trainer.problem.documents.len();
        all >= MANY && fold.documents.len() * FEW_HELD_OUT < all
    }

    /// At most `most` passes over all documents.
    fn passes(&self, most: usize) -> Passes<'_> {
        let most = if self.trainer.problem.options.correction { most } else { 0 };
        Passes { most, held: None, odds: &self.trainer.odds }
    }

    /// Trains all columns on all documents.
    fn train_all(&self) -> Vec<GroupFit> {
        self.train(None, 0, &[self.passes(PASSES)], &Block::default())
    }

    /// Trains all columns by `passes`. Each round has its own order of documents.
    fn train(
        &self,
        from: Option<&[GroupFit]>,
        round: u64,
        passes: &[Passes<'_>],
        rows: &Block,
    ) -> Vec<GroupFit> {
        let (trainer, ascent) = (&self.trainer, self.trainer.ascent().of_round(round));
        let fit = |(at, group): (usize, &[Lane])| {
            let mut coefficients = trainer.zeros(group);
            if let Some(from) = from.and_then(|fits| fits.get(at)) {
                coefficients.values = from.coefficients.of_all(trainer.problem.documents.len());
            }
            let fit =
                trainer.train(group, &ascent, AscentStart { coefficients, weights: None }, passes, rows);
            GroupFit { coefficients: fit.coefficients.packed(), ..fit }
        };
        trainer.groups().enumerate().map(fit).collect()
    }

    /// Scores a fold by a fit without it, which starts from the fit to all documents.
    fn score(&self, held: Holdout<'_>, fits: &[GroupFit]) -> Vec<ColumnPrediction> {
        let without = Passes { held: Some(held.fold), odds: &held.odds, ..self.passes(PASSES_OF_FOLD) };
        let own = self.train(Some(fits), 0, &[without], &held.rows);
        held.predictions(&own)
    }

    /// Prepares a fold for scoring. With odds of its own, the fit that scores it knows nothing of the fold, not even by the
    /// counts that the offsets of other documents come from.
    fn hold_out<'f>(&self, fold: &'f Fold, has_own_odds: bool) -> Holdout<'f> {
        let ColumnTrainer { problem, source, .. } = &self.trainer;
        let counts = fold.counts_without(problem.counts, problem.documents);
        let held = HeldRows::of_fold(problem.documents, &problem.columns, fold);
        let by_counts = problem.score_held_out(&self.choices, fold, &held, &counts);
        let lengths = held.iter().map(|held| held.all().count()).collect();
        let all: Vec<CountRow<'_>> = held.iter().flat_map(HeldRows::all).map(CountVector::row).collect();
        let mut rows = Block::from_rows(all.into_iter());
        let is_known = |id: &TermId| counts.document_frequency(*id) > 0;
        let ids = (0..=TermId::MAX).zip(&source.terms.idf);
        let idf = ids.map(|(id, idf)| if is_known(&id) { *idf } else { 0.0 }).collect();
        rows.vectorize(&TermScales { idf, ..TermScales::default() });
        let odds = match has_own_odds {
            true => self.trainer.odds(&self.choices, &counts, Some(fold)),
            false => Vec::new(),
        };
        Holdout { fold, by_counts, rows, lengths, odds }
    }
}

impl Holdout<'_> {
    /// The held-out scores, with the log-odds d of the fitted columns.
    fn predictions(&self, fits: &[GroupFit]) -> Vec<ColumnPrediction> {
        let mut first = 0;
        let scores = |(held, n): (Prediction, usize)| {
            let own = first..first + n;
            first = own.end;
            let of_row = |row: usize| fits.iter().flat_map(|fit| &fit.decisions[row]).copied().collect();
            ColumnPrediction { held, decisions: own.map(of_row).collect() }
        };
        self.by_counts.iter().cloned().zip(self.lengths.iter().copied()).map(scores).collect()
    }
}

#[cfg(test)]
mod tests;
