//! Linear discriminant analysis of dense vectors, with a shrunk covariance and shrunk means.

use crate::bayes::ParametersError;
use crate::counts::{ClassId, ObservationError};
use crate::linear::Columns;
use crate::numbers::{Cholesky, dot};
use crate::vectors::statistics::VectorStatistics;

/// A linear score per [column](Columns): within a class, vectors are normal with a mean of its own and a covariance shared
/// by all.
///
/// Both are shrunk, so that there is an answer from the first document on. The covariance is
/// `(W + s d t I) / (f + s d)`, where W is the scatter within classes with f degrees of freedom, d the number of
/// dimensions, and t the mean variance of a dimension: `strength` s says how many times d documents the prior, equal
/// variances, is worth. The mean of a class with n documents is drawn to the mean of all by `k = t / b` documents,
/// where b is the mean square of a dimension's differences between the means. t itself is drawn to the variance of all
/// documents by one document, since copies, or one document a class, have no variance within classes.
///
/// The score of a class is its log-likelihood, up to a constant. That of two classes, and of a label, is the
/// log-likelihood ratio of the documents that have it and the others. A class without documents has the mean of all.
/// Vectors that are all equal give every column the score 0. Scores leave class shares out, and are too certain: they
/// want a weight ([`Choices::stack`](crate::Choices::stack)).
///
/// Memory is 8 bytes per column and dimension. Deriving takes d^3 / 6 multiplications and d^2 per class.
///
/// Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices" (2004), for the
/// target; Friedman, "Regularized Discriminant Analysis" (1989).
///
/// ```
/// use tamis_model::{Columns, VectorDiscriminant, VectorStatistics};
///
/// let mut statistics = VectorStatistics::new(3, 2)?;
/// for (class, x) in [(0, [0.1, 0.9]), (0, [-0.1, 0.8]), (1, [0.9, 0.1]), (1, [0.8, -0.2]), (2, [-0.9, -0.7])] {
///     statistics.observe_times(class, &x, 1)?;
/// }
/// let model = VectorDiscriminant::derive(&statistics, &Columns::new(3, 0)?, 4.0)?;
/// let mut scores = Vec::new();
/// model.scores(&[0.7, 0.3], &mut scores)?;
/// assert!(scores[1] > scores[0] && scores[1] > scores[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VectorDiscriminant {
    /// The mean of all documents, subtracted to avoid cancellation.
    center: Vec<f64>,
    /// A vector per column: the inverse covariance times a mean less the center, or times the difference of two means.
    weights: Vec<f64>,
    offsets: Vec<f64>,
}

impl VectorDiscriminant {
    /// Derives the scores.
    ///
    /// # Errors
    /// A `strength` out of [1e-3, 1e6]; statistics of another number of classes than the columns are of.
    pub fn derive(
        statistics: &VectorStatistics,
        columns: &Columns,
        strength: f64,
    ) -> Result<Self, ParametersError> {
        let (expected, got) = (columns.n_classes(), statistics.documents().len());
        if expected != got {
            return Err(ParametersError::NumberOfClasses { expected, got });
        }
        if !(1e-3..=1e6).contains(&strength) {
            let (name, expected) = ("strength", "a number in [1e-3, 1e6]");
            return Err(ParametersError::OutOfRange { name, expected, got: strength });
        }
        Ok(Self::with_strength(statistics, columns, strength))
    }

    pub(crate) fn with_strength(
        statistics: &VectorStatistics,
        columns: &Columns,
        strength: f64,
    ) -> VectorDiscriminant {
        let centered = Centered::new(statistics);
        let mut means = centered.means.clone();
        let weights = centered.shrink(&mut means, strength);
        let d = statistics.n_dimensions();
        let mut model = VectorDiscriminant {
            center: centered.center,
            weights: Vec::with_capacity(columns.len() * d),
            offsets: Vec::with_capacity(columns.len()),
        };
        // the mean of some classes, weighted by their documents, and the inverse covariance times it
        let side = |column: usize, is_positive: bool| {
            let is_of = |class: &usize| columns.is_positive(*class as ClassId, column) == is_positive;
            let classes: Vec<usize> = (0..columns.n_classes()).filter(is_of).collect();
            let all: f64 = classes.iter().map(|class| centered.documents[*class]).sum();
            let mean = |of: &[f64]| {
                let mut sum = vec![0.0; d];
                for class in &classes {
                    let share = centered.documents[*class] / all.max(1.0);
                    sum.iter_mut().zip(&of[class * d..]).for_each(|(sum, x)| *sum += share * x);
                }
                sum
            };
            (mean(&means), mean(&weights))
        };
        for column in 0..columns.len() {
            let (mean, mut weights) = side(column, true);
            let mut offset = -0.5 * dot(&mean, &weights);
            if columns.are_independent() {
                let (mean, others) = side(column, false);
                offset += 0.5 * dot(&mean, &others);
                weights.iter_mut().zip(&others).for_each(|(weight, other)| *weight -= other);
            }
            model.weights.append(&mut weights);
            model.offsets.push(offset);
        }
        model
    }

    /// Writes the scores of a vector (nats) to `out`, one per column.
    ///
    /// # Errors
    /// A wrong number of values; a value that is not finite or is above 1,024 in magnitude.
    pub fn scores(&self, x: &[f32], out: &mut Vec<f64>) -> Result<(), ObservationError> {
        let d = self.center.len();
        VectorStatistics::check(d, x)?;
        let x: Vec<f64> = x.iter().zip(&self.center).map(|(x, center)| f64::from(*x) - center).collect();
        let weights = |column: usize| &self.weights[column * d..(column + 1) * d];
        out.clear();
        out.extend(self.offsets.iter().enumerate().map(|(column, offset)| dot(weights(column), &x) + offset));
        Ok(())
    }
}

/// The statistics as real numbers, with the mean of all documents as the origin.
struct Centered {
    documents: Vec<f64>,
    /// The mean of all documents.
    center: Vec<f64>,
    /// The mean of each class less that of all; 0 without documents.
    means: Vec<f64>,
    /// The lower triangle of the scatter within classes.
    within: Vec<Vec<f64>>,
    /// The mean variance of a dimension over all documents.
    variance: f64,
}

impl Centered {
    /// Subtracts the mean of all documents from the integers, so that no digits cancel however far from 0 they are.
    fn new(statistics: &VectorStatistics) -> Centered {
        let (d, step) = (statistics.n_dimensions(), VectorStatistics::STEP);
        let n = i128::from(statistics.n_documents().max(1));
        let classes = || (0..).zip(statistics.documents()).map(|(class, n)| (statistics.sum(class), *n));
        let mut totals = vec![0i128; d];
        classes()
            .for_each(|(sum, _)| totals.iter_mut().zip(sum).for_each(|(all, own)| *all += i128::from(*own)));
        let mean = |(sum, total): (&i64, &i128), own: u64| {
            let difference = n * i128::from(*sum) - i128::from(own) * total;
            difference as f64 / (n as f64 * own.max(1) as f64) * step
        };
        let class =
            |(sum, own): (&'_ [i64], u64)| sum.iter().zip(&totals).map(|both| mean(both, own)).collect();
        let means: Vec<f64> = classes().flat_map::<Vec<f64>, _>(class).collect();
        let scatter = |i: usize, j: usize, sum: &i64| {
            (n * i128::from(*sum) - totals[i] * totals[j]) as f64 / n as f64 * step * step
        };
        let row = |i| statistics.products(i).iter().enumerate().map(|(j, sum)| scatter(i, j, sum)).collect();
        let mut within: Vec<Vec<f64>> = (0..d).map(row).collect();
        let squares: f64 = within.iter().filter_map(|row| row.last()).sum();
        let documents: Vec<f64> = classes().map(|(_, n)| n as f64).collect();
        for (mean, n) in means.chunks_exact(d.max(1)).zip(&documents) {
            for (row, a) in within.iter_mut().zip(mean) {
                let a = n * a;
                row.iter_mut().zip(mean).for_each(|(sum, b)| *sum -= a * b);
            }
        }
        let center = totals.iter().map(|total| *total as f64 / n as f64 * step).collect();
        Centered { documents, center, means, within, variance: squares / (n as f64 * d.max(1) as f64) }
    }

    /// Shrinks means and covariance. Returns the inverse covariance times each mean.
    fn shrink(&self, means: &mut [f64], strength: f64) -> Vec<f64> {
        let d = self.center.len();
        if d == 0 {
            return Vec::new();
        }
        let n_classes = self.documents.iter().filter(|n| **n > 0.0).count() as f64;
        let freedom = self.documents.iter().sum::<f64>() - n_classes;
        let trace: f64 = self.within.iter().filter_map(|row| row.last()).sum();
        let variance = (trace.max(0.0) / d as f64 + self.variance) / (freedom + 1.0);
        let prior = strength * d as f64;
        let mut covariance = self.within.clone();
        for row in &mut covariance {
            row.iter_mut().for_each(|sum| *sum /= freedom + prior);
            row.last_mut().into_iter().for_each(|sum| *sum += prior * variance / (freedom + prior));
        }
        // fails if all vectors are equal, or there are none
        let Ok(factor) = Cholesky::new(&covariance) else { return vec![0.0; means.len()] };
        let between = dot(means, means) / (d as f64 * n_classes);
        let classes = || means.chunks_exact(d).zip(&self.documents);
        let share = |n: f64| n * between / (n * between + variance);
        let shrunk: Vec<f64> = classes().flat_map(|(mean, n)| mean.iter().map(|m| m * share(*n))).collect();
        means.copy_from_slice(&shrunk);
        let mut weights = shrunk;
        weights.chunks_exact_mut(d).for_each(|weights| factor.solve(weights));
        weights
    }
}
