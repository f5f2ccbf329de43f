//! Dual coordinate ascent for the L2-regularised logistic regression of the correction.

use std::array;

use rayon::prelude::*;

use crate::numbers::{SplitMix64, sigmoid};
use crate::validation::{BLOCK, Block, BlockReader, BlockRow};

/// Options of dual coordinate ascent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DualAscent {
    /// C
    pub(crate) c: f64,
    pub(crate) passes: usize,
    /// The ascent stops when no document's error changes by this much in a pass.
    pub(crate) tolerance: f64,
    pub(crate) seed: u64,
    /// Whether a document trains the columns of other classes only where those classes are likely (hard negatives).
    pub(crate) only_rivals: bool,
    /// The number of partitions that learn at the same time, if the documents are one of them.
    pub(crate) partitions: Option<u32>,
}

/// Columns with a probability below 0.05 are not rivals. As a margin of the log-odds, in nats.
const MAX_RIVAL_MARGIN: f64 = 2.944_438_979_166_440_3;

/// With few documents, the fit may take more passes: up to [`CHEAP_PASSES`], as long as it reads at most about this
/// many (document, term) pairs in all. Convergence is slow where equal texts have different labels and many copies.
const CHEAP_PAIRS: usize = 1 << 21;
const CHEAP_PASSES: usize = 1_000;

/// The smallest change of an error worth updating the weights for, as a share of the tolerance.
const MIN_STEP: f64 = 0.05;

/// The documents of a block that train any of the current columns.
#[derive(Clone, Default)]
pub(crate) struct TrainingRows<const N: usize> {
    /// Their positions in the block, increasing.
    pub(crate) positions: Vec<u32>,
    /// By position: tau times the counts' log-odds of each column; NaN for columns that do not learn from the document.
    pub(crate) offsets: Vec<[f32; N]>,
    /// By position: whether the document is of the column's class.
    pub(crate) is_positive: Vec<[bool; N]>,
    /// By position: the weight of the document.
    pub(crate) weights: Vec<f64>,
}

/// The weights of `N` columns: one per term, to multiply [vectors](Block::vector) by, and a bias.
pub(crate) struct DualWeights<const N: usize> {
    pub(crate) terms: Vec<[f32; N]>,
    pub(crate) bias: [f64; N],
}

impl<const N: usize> DualWeights<N> {
    pub(crate) fn new(n_terms: usize) -> Self {
        DualWeights { terms: vec![[0.0; N]; n_terms], bias: [0.0; N] }
    }

    /// The dot product of a document and the weights of each column, without the bias.
    #[inline]
    fn dot(&self, vector: BlockRow<'_>) -> [f32; N] {
        let mut sums = [0f32; N];
        for (id, value) in vector.iter() {
            let weights = self.terms[id as usize];
            sums = array::from_fn(|lane| sums[lane] + value * weights[lane]);
        }
        sums
    }

    /// The log-odds of each document by the first `n_columns` columns.
    pub(crate) fn decision_values(&self, documents: &Block, n_columns: usize) -> Vec<Vec<f64>> {
        let decide = |at: usize| {
            let sums = self.dot(documents.vector(at));
            (0..n_columns).map(|lane| f64::from(sums[lane]) + self.bias[lane]).collect()
        };
        (0..documents.len()).into_par_iter().map(decide).collect()
    }

    /// Adds `steps` times a document to the weights, and `n` times the steps to the biases.
    #[inline]
    fn add(&mut self, vector: BlockRow<'_>, steps: [f32; N], n: f32) {
        for (id, value) in vector.iter() {
            let weights = &mut self.terms[id as usize];
            *weights = array::from_fn(|lane| weights[lane] + value * steps[lane]);
        }
        for (bias, step) in self.bias.iter_mut().zip(steps) {
            *bias += f64::from(n * step);
        }
    }
}

/// The factor by which a partition multiplies its own change of a term's weight: the number of partitions that can have
/// the term, given its document frequency. CoCoA+ uses the number of all partitions for every term; but only partitions
/// that have a term add to its weight, and most terms are in few documents.
pub(crate) fn spread(n_partitions: u32, document_frequency: u64) -> f32 {
    document_frequency.min(n_partitions.into()) as f32
}

impl DualAscent {
    /// Sets each document's coefficient in turn to C times its error given all others, until hardly any coefficient
    /// changes. Starts from the given coefficients and weights; if `weights` is `None`, they are summed from the
    /// documents. Returns the weights.
    ///
    /// For a partition, `weights` are those of all partitions. Each change made here is then multiplied by the number
    /// of partitions, as if all made the same one, so that the changes of all can be added up. The returned weights are
    /// of no use in that case.
    ///
    /// At the optimum of L2-regularised logistic loss, with C the prior variance of the weights, every coefficient is C
    /// times the error of its document. The optimum is unique, so the order matters only within the tolerance.
    ///
    /// Source: Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models"
    /// (2011). Partitions: Ma et al., "Adding vs. averaging in distributed primal-dual optimization" (2015).
    pub(crate) fn ascend<const N: usize>(
        &self,
        source: &BlockReader<'_>,
        rows: impl Fn(usize, &Block) -> TrainingRows<N> + Sync,
        coefficients: &mut [[f32; N]],
        weights: Option<DualWeights<N>>,
    ) -> DualWeights<N> {
        let n_partitions = self.partitions.map_or(1.0, |n| n as f32);
        let is_new = weights.is_none();
        let mut weights = weights.unwrap_or_else(|| DualWeights::new(source.idf().len()));
        let (mut blocks, mut kept, mut n_pairs) = (Vec::new(), Vec::new(), 0);
        source.for_all_vectors(|first, block| {
            let rows = rows(first, block);
            for at in rows.positions.iter().map(|at| *at as usize) {
                let vector = block.vector(at);
                n_pairs += vector.len();
                if is_new && coefficients[first + at] != [0.0; N] {
                    weights.add(vector, coefficients[first + at], 1.0);
                }
            }
            blocks.extend((!rows.positions.is_empty()).then_some(first / BLOCK));
            kept.extend(source.is_kept().then(|| (heads(&rows, block), rows)));
        });
        let mut random = SplitMix64::new(self.seed);
        let mut is_converged = vec![false; coefficients.len()];
        let more = if self.partitions.is_none_or(|n| n == 1) && self.passes > 0 {
            CHEAP_PAIRS / n_pairs.max(1)
        } else {
            0
        };
        for _ in 0..self.passes.max(more.min(CHEAP_PASSES)) {
            let mut worst = 0.0;
            // blocks in random order, documents shuffled within each
            let mut order = blocks.clone();
            random.shuffle(&mut order);
            source.for_each_vector(&order, |first, block| {
                let own;
                let (heads, rows) = match kept.get(first / BLOCK) {
                    Some(kept) => kept,
                    None => {
                        let rows = rows(first, block);
                        own = (heads(&rows, block), rows);
                        &own
                    }
                };
                let mut heads = heads.clone();
                random.shuffle(&mut heads);
                for (at, n) in heads.into_iter().map(|(at, n)| (at as usize, n as usize)) {
                    let document = first + at;
                    // with many columns most documents converge early: one that did not move is skipped once
                    if std::mem::take(&mut is_converged[document]) {
                        continue;
                    }
                    let vector = block.vector(at);
                    let row = TrainingRow {
                        offsets: &rows.offsets[at..at + n],
                        is_positive: &rows.is_positive[at..at + n],
                        weights: &rows.weights[at..at + n],
                        squared_norm: f64::from(n_partitions + block.squared_norm(at)),
                    };
                    let sums = weights.dot(vector);
                    let own = &mut coefficients[document..document + n];
                    let (steps, moved) = self.update(row, sums, &weights.bias, own);
                    if let Some(steps) = steps {
                        weights.add(vector, steps, n_partitions);
                    }
                    is_converged[document] = self.only_rivals && moved < MIN_STEP * self.tolerance;
                    worst = f64::max(worst, moved);
                }
            });
            if worst < self.tolerance {
                break;
            }
        }
        weights
    }

    /// Updates the coefficients of equal documents from their dot products `sums`. Returns the sum of their steps, if
    /// large enough to apply, and the largest change of an error.
    fn update<const N: usize>(
        &self,
        TrainingRow { offsets, is_positive, weights, squared_norm }: TrainingRow<'_, N>,
        sums: [f32; N],
        bias: &[f64; N],
        coefficients: &mut [[f32; N]],
    ) -> (Option<[f32; N]>, f64) {
        let (mut steps, mut worst, mut is_applied) = ([0f32; N], 0.0, false);
        for lane in 0..N {
            let z = bias[lane] + f64::from(sums[lane]);
            let mut change = |coefficient: &mut f32, after: f64| {
                let before = f64::from(*coefficient);
                let moved = (after - before).abs() / self.c;
                worst = f64::max(worst, moved);
                if moved >= MIN_STEP * self.tolerance {
                    let step = (after - before) as f32;
                    steps[lane] += step;
                    *coefficient += step;
                    is_applied = true;
                }
            };
            if let ([offset], [own]) = (offsets, &mut *coefficients) {
                let (offset, before) = (f64::from(offset[lane]), f64::from(own[lane]));
                if !offset.is_nan() {
                    let without = offset + z - squared_norm * before;
                    let c = self.c * weights[0];
                    let after = self.coefficient(without, is_positive[0][lane], squared_norm, c, before);
                    change(&mut own[lane], after);
                }
                continue;
            }
            let takes_part: Vec<usize> =
                (0..offsets.len()).filter(|at| !offsets[*at][lane].is_nan()).collect();
            let before: f64 = takes_part.iter().map(|at| f64::from(coefficients[*at][lane])).sum();
            let example = |at: &usize| EqualDocument {
                margin: f64::from(offsets[*at][lane]) + z - squared_norm * before,
                is_positive: is_positive[*at][lane],
                c: self.c * weights[*at],
            };
            let examples: Vec<EqualDocument> = takes_part.iter().map(example).collect();
            let all = sum_of_equal(&examples, squared_norm);
            for (at, example) in takes_part.iter().zip(&examples) {
                change(&mut coefficients[*at][lane], example.coefficient(squared_norm * all));
            }
        }
        (is_applied.then_some(steps), worst)
    }

    /// The new coefficient of a document: `c` times its error, where `c` is C times its weight. `without` is the
    /// document's log-odds without the coefficient, `squared_norm` what one unit of the coefficient adds to them,
    /// `before` an initial guess.
    pub(crate) fn coefficient(
        &self,
        without: f64,
        is_positive: bool,
        squared_norm: f64,
        c: f64,
        before: f64,
    ) -> f64 {
        let sign = if is_positive { 1.0 } else { -1.0 };
        let margin = sign * without;
        if self.only_rivals && !is_positive && margin > MAX_RIVAL_MARGIN {
            return 0.0;
        }
        // heavier documents need a more exact error
        let tolerance = 0.5e-3 * self.tolerance * (self.c / c).min(1.0);
        sign * c * error(margin, squared_norm * c, before.abs() / c, tolerance)
    }
}

/// Solves `e = sigmoid(-(margin + gain e))` for e in (0, 1), by Newton's method within a bracket.
fn error(margin: f64, gain: f64, guess: f64, tolerance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut e = guess.clamp(1e-3, 0.999);
    for _ in 0..30 {
        let p = 1.0 / (1.0 + (margin + gain * e).min(500.0).exp());
        if e > p {
            high = e
        } else {
            low = e
        }
        let newton = e - (e - p) / (1.0 + gain * p * (1.0 - p));
        let next = if low < newton && newton < high { newton } else { (low + high) / 2.0 };
        let moved = (next - e).abs();
        e = next;
        if moved < tolerance {
            break;
        }
    }
    e
}

/// A run of equal documents to learn from.
struct TrainingRow<'a, const N: usize> {
    offsets: &'a [[f32; N]],
    is_positive: &'a [[bool; N]],
    weights: &'a [f64],
    /// |x|^2 plus 1, or plus the number of partitions.
    squared_norm: f64,
}

/// One of several equal documents in a column.
struct EqualDocument {
    /// Its log-odds without the contribution of any of them.
    margin: f64,
    is_positive: bool,
    /// C times its weight.
    c: f64,
}

impl EqualDocument {
    /// C times its error if all of them together add `added` to the log-odds.
    fn coefficient(&self, added: f64) -> f64 {
        self.c * (f64::from(u8::from(self.is_positive)) - sigmoid(self.margin + added))
    }
}

/// The sum of the coefficients of equal documents at which each coefficient is C times its own error. Updated one after
/// another, documents with different labels would only outbid each other.
fn sum_of_equal(examples: &[EqualDocument], squared_norm: f64) -> f64 {
    let of = |sum: f64| examples.iter().map(|example| example.coefficient(squared_norm * sum)).sum::<f64>();
    // the sum of the coefficients falls as `sum` grows: bisection
    let most: f64 = examples.iter().map(|example| example.c).sum();
    let (mut low, mut high) = (-most, most);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if of(middle) > middle { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The first position and the length of each run of equal documents that train. Documents are ordered so that equal
/// ones are neighbours.
fn heads<const N: usize>(rows: &TrainingRows<N>, block: &Block) -> Vec<(u32, u32)> {
    let mut heads: Vec<(u32, u32)> = Vec::with_capacity(rows.positions.len());
    for at in rows.positions.iter().copied() {
        match heads.last_mut() {
            Some((head, n))
                if *head + *n == at && block.vector(*head as usize) == block.vector(at as usize) =>
            {
                *n += 1
            }
            _ => heads.push((at, 1)),
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_its_own_sigmoid() {
        for margin in [-600.0, -30.0, -1.0, 0.0, 0.5, 3.0, 40.0, 900.0] {
            for gain in [1e-6, 1.0, 32.0, 1e6] {
                for guess in [0.0, 0.5, 1.0] {
                    let e = error(margin, gain, guess, 1e-12);
                    let p = 1.0 / (1.0 + (margin + gain * e).min(700.0).exp());
                    assert!((0.0..=1.0).contains(&e) && (e - p).abs() < 1e-6, "{margin} {gain} {e} {p}");
                }
            }
        }
    }
}
