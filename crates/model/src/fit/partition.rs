//! Fits the correction in partitions: documents stay where they are, and only changed weights travel.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::{FitError, ParametersError};
use crate::counts::{ClassId, Statistics, StatisticsError};
use crate::fit::ascent::{DualAscent, spread};
use crate::fit::calibration::TAUS;
use crate::fit::held_rows::HeldRows;
use crate::fit::problem::{FitProblem, WeightedFit};
use crate::fit::training::{
    AscentStart, COLUMNS_TOGETHER, ColumnTrainer, Lane, PASSES, Passes, idf_of_terms, weights_of,
};
use crate::linear::{Choices, Coefficients, Columns, Correction, GroupCoefficients};
use crate::numbers::scramble;
use crate::validation::{
    Block, BlockReader, ColumnPrediction, Fold, MAX_COPIES, Prediction, SmoothingChoice, TermScales,
};

/// The usual number of rounds of a fit by partitions.
pub const ROUNDS: usize = 10;

/// Maximum passes of a partition over its documents in a round, if there are several partitions.
const LOCAL_PASSES: usize = 6;

/// One of several partitions of the documents, with the coefficients of its own documents.
///
/// The correction is a sum over documents, so each document can be fitted where it is. In a [`round`](Self::round),
/// every partition starts from the correction of all documents, changes the coefficients of its own, and returns how
/// that changes the sum. The lead then [adds](Correction::merge) the changes of all partitions to the correction, each
/// once. They are integers, so their order of arrival does not matter. Let a few rounds pass
/// before stopping early: where each partition has documents of one label only, small changes say little about the
/// distance to the optimum.
///
/// Each partition multiplies its own changes by the number of partitions (sigma'), as if all others moved the same way;
/// for a term, by at most the number of documents that contain it. This makes it safe to add up the changes: rounds
/// converge to the correction that [`FitProblem::solve`] finds, more slowly with more partitions. One round of a single
/// partition is that fit.
///
/// For two classes, both shares [`TAUS`](crate::TAUS) of the counts are fitted at once. The columns of the correction
/// then stand for the shares instead of classes: [`Correction::column`] picks one.
///
/// ```
/// use tamis_model::{Choices, Columns, Correction, FitProblem, Example, Partition, ROUNDS, Statistics, WeightedOptions};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
/// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let document = |i: usize| Example { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64, fraction: 0, vector: &[] };
/// let halves: [Vec<_>; 2] = [[0, 2], [1, 3]].map(|half| half.map(document).to_vec());
/// let mut counts = Statistics::new(2);
/// for d in halves.iter().flatten() {
///     counts.observe(d.class, d.row)?;
/// }
/// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
/// let partition = |half| {
///     let problem = FitProblem { counts: &counts, documents: half, columns: columns.clone(), beside: Default::default(), options: &options };
///     Partition::new(problem, &counts, &Choices::for_classes(2), 2)
/// };
/// let mut partitions = [partition(&halves[0])?, partition(&halves[1])?];
/// let mut correction = Correction::default();
/// for _ in 0..ROUNDS {
///     let [one, other] = &mut partitions;
///     let changes = [one.round(&correction)?, other.round(&correction)?];
///     for change in &changes {
///         correction.merge(&change.correction)?;
///     }
/// }
/// let of_classes = correction.column(0)?;
/// let weight = |term| of_classes.weights(term).map(|weight| weight.units).sum::<i64>();
/// assert!(weight(0) < 0 && weight(1) > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Ma, Smith, Jaggi, Jordan, Richtárik and Takáč, "Adding vs. averaging in distributed primal-dual
/// optimization" (2015): CoCoA+.
pub struct Partition<'a> {
    trainer: ColumnTrainer<'a>,
    /// The factor of each term's weights in a correction: the term's idf, divided by the root of its [`spread`].
    factors: Vec<f32>,
    coefficients: Coefficients,
    round: u64,
    ascent: DualAscent,
}

/// What a round of a [`Partition`] changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundChange {
    /// The change to add to the correction.
    pub correction: Correction,
    /// The largest change of the error of a document in a column, from 0 to 1.
    pub largest: f64,
}

impl<'a> Partition<'a> {
    /// Creates one of `n_partitions` partitions. `problem` has the partition's own documents, but the counts of the
    /// documents of all partitions, with the same term ids everywhere. Of `choices`, only smoothing, power of idf, k
    /// and, for more than two classes, tau are used.
    ///
    /// `counts` are those of `problem`, less any documents that are held out of all partitions. Only the counts'
    /// log-odds of each document come from `counts`. Everything else is as it will be when the held-out documents take
    /// part as a partition of their own, so that the rounds can [continue](Self::resume) with them.
    ///
    /// # Errors
    /// Options or choices out of their ranges.
    pub fn new(
        problem: FitProblem<'a>,
        counts: &Statistics,
        choices: &Choices,
        n_partitions: u32,
    ) -> Result<Self, ParametersError> {
        problem.options.check()?;
        choices.check()?;
        let idf = idf_of_terms(problem.counts, problem.documents.n_terms());
        let root = |term| spread(n_partitions, problem.counts.document_frequency(term)).sqrt().max(1.0);
        let roots: Vec<f32> = (0..=TermId::MAX).take(idf.len()).map(root).collect();
        let factors = std::iter::zip(&idf, &roots).map(|(idf, root)| idf / root).collect();
        let trainer = ColumnTrainer::new(problem, TermScales { idf, roots }, choices, Some(counts));
        let zeros = |(at, group): (usize, &[Lane])| {
            let mut zeros = trainer.zeros(group);
            let numbers = (0..=ClassId::MAX).skip(at * COLUMNS_TOGETHER);
            zeros.columns.iter_mut().flatten().zip(numbers).for_each(|(column, number)| *column = number);
            zeros
        };
        let groups = trainer.groups().enumerate().map(zeros).collect();
        let coefficients = Coefficients { scales: trainer.scales(), groups };
        let ascent = trainer.ascent();
        let ascent = DualAscent {
            passes: ascent.passes.min(if n_partitions > 1 { LOCAL_PASSES } else { PASSES }),
            // steps are up to `n_partitions` times shorter than in a fit on one machine
            tolerance: ascent.tolerance / f64::from(n_partitions.max(1)),
            partitions: Some(n_partitions),
            ..ascent
        };
        Ok(Partition { trainer, factors, coefficients, round: 0, ascent })
    }

    /// The number of rounds done, and the coefficients as numbers: all that [`resume`](Self::resume) needs to continue
    /// elsewhere.
    pub fn state(&self) -> (u64, impl Iterator<Item = f32> + '_) {
        (self.round, self.coefficients.groups.iter().flat_map(|group| group.values.iter().copied()))
    }

    /// Restores a partition after `round` rounds from its saved coefficients, which must be of the same documents and
    /// columns.
    ///
    /// Returns `false` and changes nothing if the number of coefficients is wrong, or if one is larger than a
    /// coefficient can be.
    #[must_use]
    pub fn resume(&mut self, round: u64, coefficients: &[f32]) -> bool {
        let n: usize = self.coefficients.groups.iter().map(|group| group.values.len()).sum();
        // C times the largest weight of a document, with room for rounding
        let most = 2.0 * self.ascent.c * f64::from(MAX_COPIES);
        if n != coefficients.len() || !coefficients.iter().all(|c| f64::from(c.abs()) <= most) {
            return false;
        }
        let values = self.coefficients.groups.iter_mut().flat_map(|group| &mut group.values);
        values.zip(coefficients).for_each(|(to, value)| *to = *value);
        self.round = round;
        true
    }

    /// Runs one round: fits the partition's documents to the correction of all partitions, which is empty in the first
    /// round.
    ///
    /// # Errors
    /// Overflow of a sum of coefficients.
    pub fn round(&mut self, correction: &Correction) -> Result<RoundChange, FitError<StatisticsError>> {
        let Partition { trainer, factors, coefficients, round, ascent } = self;
        // each round has its own order of documents; the first has that of a fit on one machine
        let ascent = ascent.of_round(*round);
        *round += 1;
        let before = coefficients.groups.clone();
        let train = |(at, (group, fitted)): (usize, (&[Lane], &mut GroupCoefficients))| {
            let weights = Some((correction, &factors[..], at * COLUMNS_TOGETHER));
            let start = AscentStart { coefficients: std::mem::take(fitted), weights };
            let passes = [Passes { most: ascent.passes, held: None, odds: &trainer.odds }];
            *fitted = trainer.train(group, &ascent, start, &passes, &Block::default()).coefficients;
        };
        trainer.groups().zip(&mut coefficients.groups).enumerate().for_each(train);
        let correction = trainer.sum(|at, own| own.extend(coefficients.change(&before, at)))?;
        Ok(RoundChange { correction, largest: self.largest_change(&before) })
    }

    /// The largest change of an error since the coefficients `before`.
    fn largest_change(&self, before: &[GroupCoefficients]) -> f64 {
        let of_document = |document: usize| {
            let c = self.ascent.c * self.trainer.source.weight(document);
            let of_group = |(before, now): (&GroupCoefficients, &GroupCoefficients)| {
                let n = now.columns.len();
                let own = document * n..(document + 1) * n;
                let both = std::iter::zip(&before.values[own.clone()], &now.values[own]);
                both.map(|(before, now)| f64::from((now - before).abs()) / c).fold(0.0, f64::max)
            };
            std::iter::zip(before, &self.coefficients.groups).map(of_group).fold(0.0, f64::max)
        };
        (0..self.trainer.problem.documents.len()).map(of_document).fold(0.0, f64::max)
    }
}

impl FitProblem<'_> {
    /// Makes the choices of a fit by [partitions](crate::Partition): the stacking weights of counts and correction and,
    /// for two classes, tau. This fit's documents are the sample to choose by; the correction must not have learned
    /// from them. The counts must be those of all documents, from which the sample is then subtracted.
    ///
    /// The result has no coefficients. Its correction is the current one; [`Choices::correction`] selects the columns
    /// of a later one.
    ///
    /// # Errors
    /// Options out of their ranges; more weights than a `u32` can number.
    pub fn calibrate_by_sample(
        &self,
        smoothing: SmoothingChoice,
        correction: &Correction,
    ) -> Result<WeightedFit, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let choices = self.choices_with(&smoothing);
        let source = BlockReader::unread(self.documents);
        let all = (0..self.documents.len()).map(|i| (i, self.documents.label(i).multiplicity)).collect();
        let fold = Fold::new(self.documents, all, |document, _| source.weight(document));
        let counts = fold.counts_without(self.counts, self.documents);
        let held = HeldRows::of_fold(self.documents, &self.columns, &fold);
        let by_counts = self.score_held_out(&choices, &fold, &held, &counts);
        let mut predictions = self.with_correction(by_counts, &fold, correction);
        let (fitted, _) = self.calibrate(WeightedFit::new(choices, smoothing), &mut predictions);
        let correction = fitted.choices.correction(&self.columns, correction).map_err(FitError::Counts)?;
        Ok(WeightedFit { correction, ..fitted })
    }

    /// Adds the log-odds d of each column of the correction to the held-out scores.
    fn with_correction(
        &self,
        held_out: Vec<Prediction>,
        fold: &Fold,
        correction: &Correction,
    ) -> Vec<ColumnPrediction> {
        let idf = idf_of_terms(self.counts, self.documents.n_terms());
        let mut block = Block::from_rows(fold.rows.iter().map(|row| row.row()));
        block.vectorize(&TermScales { idf: idf.clone(), ..TermScales::default() });
        let n_columns = if self.columns.is_one() { TAUS.len() } else { self.columns.len() };
        let of_group = |first: usize| {
            let n = COLUMNS_TOGETHER.min(n_columns - first);
            weights_of::<COLUMNS_TOGETHER>(correction, &idf, first, n).decision_values(&block, n)
        };
        let groups: Vec<_> = (0..n_columns).step_by(COLUMNS_TOGETHER).map(of_group).collect();
        let scores = |(at, held)| ColumnPrediction {
            held,
            decisions: vec![groups.iter().flat_map(|group| &group[at]).copied().collect()],
        };
        held_out.into_iter().enumerate().map(scores).collect()
    }
}

impl Choices {
    /// Selects the columns that these choices use of a correction fitted by [partitions](crate::Partition): for two
    /// classes that of tau, otherwise all.
    ///
    /// # Errors
    /// More weights than a `u32` can number.
    pub fn correction(
        &self,
        columns: &Columns,
        correction: &Correction,
    ) -> Result<Correction, StatisticsError> {
        match columns.is_one() {
            true => {
                let lane = TAUS.iter().position(|tau| *tau == self.tau).unwrap_or(0);
                correction.column(lane as ClassId)
            }
            false => Ok(correction.clone()),
        }
    }
}

/// Whether the documents of `group` are in a sample of the given `share` of all. A group in a sample is also in every
/// sample of the same or a larger share.
pub fn is_sampled(group: u64, share: f64) -> bool {
    // 2^64 times the share; casts saturate
    share >= 1.0 || scramble(group) < (share * 2f64.powi(64)) as u64
}

#[cfg(test)]
mod tests;
