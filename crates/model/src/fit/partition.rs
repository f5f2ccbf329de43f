//! The correction fitted by partitions: documents stay where they are, only changed weights travel.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::error::{FitError, ParametersError};
use crate::counts::counts::ClassId;
use crate::counts::statistics::Statistics;
use crate::counts::statistics::error::StatisticsError;
use crate::fit::ascent::{DualAscent, DualWeights, spread};
use crate::fit::column_fit::{COLUMNS_TOGETHER, ColumnFit, FitColumn, PASSES, Passes};
use crate::fit::competitors::Competitors;
use crate::fit::fit::Fit;
use crate::left_out::documents::{BlockReader, MAX_COPIES, TermScales};
use crate::linear::choices::Choices;
use crate::linear::coefficients::{COEFFICIENT_ONE, Coefficients, Correction, GroupCoefficients};
use crate::numbers::random::scramble;

/// The usual number of rounds of a fit by partitions.
pub const ROUNDS: usize = 10;

/// Passes of a partition over its documents per round, if there are several partitions.
const LOCAL_PASSES: usize = 6;

/// One of several partitions of the documents, with the coefficients of its own documents.
///
/// The correction is a sum over documents, so they can be fitted where they are. In a [`round`](Self::round) every
/// partition starts from the correction of all, changes the coefficients of its documents, and returns how the sum
/// changes by it; whoever leads [adds](Correction::merge) the changes of all partitions to the correction, once. They are
/// integers, so the order in which they arrive leaves no trace. Rounds do not stop early: where partitions have documents
/// of one label each, small changes say little about how far the optimum is.
///
/// A partition counts its own changes as often as there are partitions (sigma'), as if all others moved the same way;
/// those of a term no more often than there are documents with it. That makes the sum of the changes safe: rounds
/// converge to the correction that [`Fit::fit`] ends at, more slowly the more partitions there are. A single partition is
/// that fit, in one round.
///
/// Two classes are fitted with both shares [`TAUS`](crate::TAUS) of the counts at once. The columns of the correction are then the
/// shares instead of classes: [`Correction::column`] and [`Coefficients::column`] pick one.
///
/// ```
/// use tamis_model::{Choices, Columns, Correction, Fit, Labelled, Partition, ROUNDS, Statistics, WeightedOptions};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
/// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64 };
/// let halves: [Vec<_>; 2] = [[0, 2], [1, 3]].map(|half| half.map(document).to_vec());
/// let mut counts = Statistics::new(2);
/// for d in halves.iter().flatten() {
///     counts.observe(d.class, d.row)?;
/// }
/// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
/// let partition = |half| {
///     let fit = Fit { counts: &counts, documents: half, columns, options: &options };
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
    /// What the weights of a correction are multiplied by: idf of every term, by the root of its [`spread`].
    factors: Vec<f32>,
    columns: Vec<FitColumn>,
    coefficients: Coefficients,
    round: u64,
    ascent: DualAscent,
}

/// What a round of a [`Partition`] changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// What to add to the correction.
    pub correction: Correction,
    /// The largest change of the error of a document in a column, from 0 to 1.
    pub largest: f64,
}

impl<'a> Partition<'a> {
    /// One of so many partitions. The documents of `fit` are its own; its counts are of the documents of all
    /// partitions, and number terms alike everywhere. Of `choices`, smoothing, power of idf and k matter and, for more
    /// than two classes, tau.
    ///
    /// # Errors
    /// Options or choices out of their ranges.
    pub fn new(fit: Fit<'a>, choices: &Choices, n_partitions: u32) -> Result<Self, ParametersError> {
        Partition::without(fit, fit.counts, choices, n_partitions)
    }

    /// The same while some documents are held out, in no partition: `counts` are without them, those of `fit` are of all.
    ///
    /// Only what the counts say of a document comes from `counts`; everything else stays as it is when the held-out
    /// documents take part as a partition of their own, so the rounds can [go on](Self::resume) with them.
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
        let source = BlockReader::new(fit.documents).weighed(TermScales { idf, roots });
        let (competitors, _) = Competitors::new(fit.columns, fit.counts, &source, choices);
        let odds = fit.odds(choices, &source, &competitors, (counts, None));
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
            // steps are up to that much shorter than those of a fit by one machine
            tolerance: ascent.tolerance / f64::from(n_partitions.max(1)),
            partitions: Some(n_partitions),
            ..ascent
        };
        Ok(Partition { fit, source, competitors, odds, factors, columns, coefficients, round: 0, ascent })
    }

    /// The coefficients of its documents.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// The number of rounds it has fitted, and its coefficients as numbers: what [`resume`](Self::resume) needs to go on
    /// elsewhere.
    pub fn state(&self) -> (u64, impl Iterator<Item = f32> + '_) {
        (self.round, self.coefficients.groups.iter().flat_map(|group| group.values.iter().copied()))
    }

    /// Goes on after so many rounds with these coefficients, those of the same documents and columns.
    ///
    /// Returns whether they were of the right number, and none larger than a coefficient can be; otherwise nothing changes.
    #[must_use]
    pub fn resume(&mut self, round: u64, coefficients: &[f32]) -> bool {
        let n: usize = self.coefficients.groups.iter().map(|group| group.values.len()).sum();
        // C times the weight of a document, and rounding
        let most = 2.0 * self.ascent.c * f64::from(MAX_COPIES);
        if n != coefficients.len() || !coefficients.iter().all(|c| f64::from(c.abs()) <= most) {
            return false;
        }
        let values = self.coefficients.groups.iter_mut().flat_map(|group| &mut group.values);
        values.zip(coefficients).for_each(|(to, value)| *to = *value);
        self.round = round;
        true
    }

    /// Fits its documents to the correction of all partitions, which is empty in the first round.
    ///
    /// # Errors
    /// Overflow of a sum of coefficients.
    pub fn round(&mut self, correction: &Correction) -> Result<Change, FitError<StatisticsError>> {
        let Partition { fit, source, competitors, odds, factors, columns, coefficients, round, ascent } =
            self;
        let column_fit = ColumnFit { fit, source, competitors };
        let passes = Passes { most: ascent.passes, held: None, odds };
        // the same order of documents in no two rounds; in the first that of a fit by one machine
        let ascent = DualAscent { seed: ascent.seed.wrapping_add(scramble(*round)), ..*ascent };
        *round += 1;
        let before = coefficients.groups.clone();
        let groups = columns.par_chunks(COLUMNS_TOGETHER).zip(&mut coefficients.groups).enumerate();
        groups.with_max_len(1).for_each(|(at, (group, fitted))| {
            let how = (&ascent, (correction, &factors[..]), at * COLUMNS_TOGETHER);
            match fitted.columns.len() {
                2 => ascend::<2>(column_fit, how, (&passes, group), fitted),
                4 => ascend::<4>(column_fit, how, (&passes, group), fitted),
                _ => ascend::<COLUMNS_TOGETHER>(column_fit, how, (&passes, group), fitted),
            }
        });
        let correction = column_fit.sum(|at, own| own.extend(coefficients.change(&before, at)))?;
        Ok(Change { correction, largest: self.largest_change(&before) })
    }

    /// The largest change of an error since these coefficients.
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

/// Fits a group of columns, of which the first is this one, from the weights of a correction.
fn ascend<const N: usize>(
    fit: ColumnFit<'_>,
    (ascent, (correction, factors), first): (&DualAscent, (&Correction, &[f32]), usize),
    to_fit: (&Passes<'_>, &[FitColumn]),
    fitted: &mut GroupCoefficients,
) {
    let weights = weights_of::<N>(correction, factors, first, to_fit.1.len());
    fit.ascend(ascent, to_fit, &mut fitted.values, Some(weights));
}

/// The weights of so many columns of a correction, the first of which is this one, each times the factor of its term.
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
