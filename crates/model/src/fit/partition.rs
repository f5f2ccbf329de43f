//! Fits the correction in partitions: documents stay where they are, and only changed weights travel.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::{FitError, ParametersError};
use crate::counts::{ClassId, Statistics, StatisticsError};
use crate::documents::{BlockReader, MAX_COPIES, TermScales};
use crate::fit::Fit;
use crate::fit::ascent::{DualAscent, DualWeights, spread};
use crate::fit::column_fit::{COLUMNS_TOGETHER, ColumnFit, FitColumn, PASSES, Passes};
use crate::fit::competitors::Competitors;
use crate::linear::{COEFFICIENT_ONE, Choices, Coefficients, Correction, GroupCoefficients};
use crate::numbers::scramble;

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
/// converge to the correction that [`Fit::fit`] finds, more slowly with more partitions. One round of a single
/// partition is that fit.
///
/// For two classes, both shares [`TAUS`](crate::TAUS) of the counts are fitted at once. The columns of the correction
/// then stand for the shares instead of classes: [`Correction::column`] and [`Coefficients::column`] pick one.
///
/// ```
/// use tamis_model::{Choices, Columns, Correction, Fit, Labelled, Partition, ROUNDS, Statistics, WeightedOptions};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
/// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64, fraction: 0 };
/// let halves: [Vec<_>; 2] = [[0, 2], [1, 3]].map(|half| half.map(document).to_vec());
/// let mut counts = Statistics::new(2);
/// for d in halves.iter().flatten() {
///     counts.observe(d.class, d.row)?;
/// }
/// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
/// let partition = |half| {
///     let fit = Fit { counts: &counts, documents: half, columns: columns.clone(), options: &options };
///     Partition::new(fit, &Choices::for_classes(2), 2)
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
    fit: Fit<'a>,
    source: BlockReader<'a>,
    competitors: Competitors,
    odds: Vec<f32>,
    /// The factor of each term's weights in a correction: the term's idf, divided by the root of its [`spread`].
    factors: Vec<f32>,
    columns: Vec<FitColumn>,
    coefficients: Coefficients,
    round: u64,
    ascent: DualAscent,
}

/// What a round of a [`Partition`] changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The change to add to the correction.
    pub correction: Correction,
    /// The largest change of the error of a document in a column, from 0 to 1.
    pub largest: f64,
}

impl<'a> Partition<'a> {
    /// Creates one of `n_partitions` partitions. `fit` has the partition's own documents, but the counts of the
    /// documents of all partitions, with the same term ids everywhere. Of `choices`, only smoothing, power of idf, k
    /// and, for more than two classes, tau are used.
    ///
    /// # Errors
    /// Options or choices out of their ranges.
    pub fn new(fit: Fit<'a>, choices: &Choices, n_partitions: u32) -> Result<Self, ParametersError> {
        let counts = fit.counts;
        Partition::without(fit, counts, choices, n_partitions)
    }

    /// As [`new`](Self::new), while some documents are held out of all partitions: `counts` excludes them, the counts
    /// of `fit` include them.
    ///
    /// Only the counts' log-odds of each document come from `counts`. Everything else is as it will be when the
    /// held-out documents take part as a partition of their own, so that the rounds can [continue](Self::resume) with
    /// them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn without(
        fit: Fit<'a>,
        counts: &Statistics,
        choices: &Choices,
        n_partitions: u32,
    ) -> Result<Self, ParametersError> {
        fit.options.check()?;
        choices.check()?;
        let idf = fit.idf(fit.counts);
        let root = |term| spread(n_partitions, fit.counts.document_frequency(term)).sqrt().max(1.0);
        let roots: Vec<f32> = (0..=TermId::MAX).take(idf.len()).map(root).collect();
        let factors = std::iter::zip(&idf, &roots).map(|(idf, root)| idf / root).collect();
        let source = BlockReader::new(fit.documents).with_vectors(TermScales { idf, roots });
        let (competitors, _) = Competitors::new(&fit.columns, fit.counts, &source, choices);
        let odds = fit.odds(choices, &source, &competitors, counts, None);
        let columns = fit.fit_columns(choices);
        let column_fit = ColumnFit { fit: &fit, source: &source, competitors: &competitors };
        let unfitted = |(at, group): (usize, &[FitColumn])| {
            let mut unfitted = column_fit.unfitted(group);
            let numbers = (0..=ClassId::MAX).skip(at * COLUMNS_TOGETHER);
            let numbered = unfitted.columns.iter_mut().flatten().zip(numbers);
            numbered.for_each(|(column, number)| *column = number);
            unfitted
        };
        let groups = columns.chunks(COLUMNS_TOGETHER).enumerate().map(unfitted).collect();
        let coefficients = Coefficients { scales: column_fit.scales(), groups };
        let ascent = column_fit.ascent();
        let ascent = DualAscent {
            passes: ascent.passes.min(if n_partitions > 1 { LOCAL_PASSES } else { PASSES }),
            // steps are up to `n_partitions` times shorter than in a fit on one machine
            tolerance: ascent.tolerance / f64::from(n_partitions.max(1)),
            partitions: Some(n_partitions),
            ..ascent
        };
        Ok(Partition { fit, source, competitors, odds, factors, columns, coefficients, round: 0, ascent })
    }

    /// The coefficients of the partition's documents.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
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
    pub fn round(&mut self, correction: &Correction) -> Result<Change, FitError<StatisticsError>> {
        let Partition { fit, source, competitors, odds, factors, columns, coefficients, round, ascent } =
            self;
        let column_fit = ColumnFit { fit, source, competitors };
        let passes = Passes { most: ascent.passes, held: None, odds };
        // each round has its own order of documents; the first has that of a fit on one machine
        let ascent = DualAscent { seed: ascent.seed.wrapping_add(scramble(*round)), ..*ascent };
        *round += 1;
        let before = coefficients.groups.clone();
        let groups = columns.par_chunks(COLUMNS_TOGETHER).zip(&mut coefficients.groups).enumerate();
        let ascent = GroupAscent { column_fit, ascent, correction, factors, passes };
        groups.with_max_len(1).for_each(|(at, (group, fitted))| {
            let first = at * COLUMNS_TOGETHER;
            match fitted.columns.len() {
                2 => ascent.fit::<2>(group, first, &mut fitted.values),
                4 => ascent.fit::<4>(group, first, &mut fitted.values),
                _ => ascent.fit::<COLUMNS_TOGETHER>(group, first, &mut fitted.values),
            }
        });
        let correction = column_fit.sum(|at, own| own.extend(coefficients.change(&before, at)))?;
        Ok(Change { correction, largest: self.largest_change(&before) })
    }

    /// The largest change of an error since the coefficients `before`.
    fn largest_change(&self, before: &[GroupCoefficients]) -> f64 {
        let of_document = |document: usize| {
            let c = self.ascent.c * self.source.weight(document);
            let of_group = |(before, now): (&GroupCoefficients, &GroupCoefficients)| {
                let n = now.columns.len();
                let own = document * n..(document + 1) * n;
                let both = std::iter::zip(&before.values[own.clone()], &now.values[own]);
                both.map(|(before, now)| f64::from((now - before).abs()) / c).fold(0.0, f64::max)
            };
            std::iter::zip(before, &self.coefficients.groups).map(of_group).fold(0.0, f64::max)
        };
        (0..self.fit.documents.len()).map(of_document).fold(0.0, f64::max)
    }
}

/// The ascent of a round, from the weights of a correction.
struct GroupAscent<'a> {
    column_fit: ColumnFit<'a>,
    ascent: DualAscent,
    correction: &'a Correction,
    factors: &'a [f32],
    passes: Passes<'a>,
}

impl GroupAscent<'_> {
    /// Fits a group of columns, of which `first` is the number of the first.
    fn fit<const N: usize>(&self, group: &[FitColumn], first: usize, values: &mut [f32]) {
        let weights = weights_of::<N>(self.correction, self.factors, first, group.len());
        self.column_fit.ascend(&self.ascent, &self.passes, group, values, Some(weights));
    }
}

/// The weights of `n` columns of a correction, starting at `first`, each times the factor of its term.
pub(super) fn weights_of<const N: usize>(
    correction: &Correction,
    factors: &[f32],
    first: usize,
    n: usize,
) -> DualWeights<N> {
    let mut weights = DualWeights::<N>::new(factors.len());
    // columns are numbered by `ClassId`
    let columns = first as ClassId..=(first + n - 1) as ClassId;
    for ((term, to), factor) in (0..).zip(&mut weights.terms).zip(factors) {
        for weight in correction.weights_of(term, columns.clone()) {
            to[usize::from(weight.class) - first] = (weight.value() * f64::from(*factor)) as f32;
        }
    }
    for (to, units) in weights.bias.iter_mut().zip(correction.bias().iter().skip(first).take(n)) {
        *to = *units as f64 / COEFFICIENT_ONE as f64;
    }
    weights
}

#[cfg(test)]
mod tests;
