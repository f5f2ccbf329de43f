//! Dual coordinate ascent for the L2-regularised logistic regression of the correction.

use std::array;

use rayon::prelude::*;

use crate::fit::newton::{ErrorTable, error};
use crate::numbers::{SplitMix64, scramble, sigmoid};
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

/// Documents with up to this many (document, term) pairs (32 MB) are visited in an order that is all random. Of more,
/// windows are: a document that is not at hand costs six times as much as one that is. Few documents in a window, or the
/// same windows in each pass, fit worse.
const ALL_RANDOM: usize = 1 << 22;
const WINDOW: usize = 3 << 10;

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
    // in a function of its own, its sums stay in registers; two of each need not wait for one another
    #[inline(never)]
    fn dot(&self, vector: BlockRow<'_>) -> [f32; N] {
        let (mut even, mut odd) = ([0f32; N], [0f32; N]);
        let (ids, last) = vector.ids.as_chunks::<2>();
        let (values, last_value) = vector.factors.as_chunks::<2>();
        for ([id, next], [value, next_value]) in ids.iter().zip(values) {
            let (weights, next) = (self.terms[*id as usize], self.terms[*next as usize]);
            even = array::from_fn(|lane| even[lane] + value * weights[lane]);
            odd = array::from_fn(|lane| odd[lane] + next_value * next[lane]);
        }
        if let ([id], [value]) = (last, last_value) {
            let weights = self.terms[*id as usize];
            even = array::from_fn(|lane| even[lane] + value * weights[lane]);
        }
        array::from_fn(|lane| even[lane] + odd[lane])
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
    #[inline(never)]
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
    /// The ascent with the order of documents of a round; the first has that of the seed.
    pub(crate) fn of_round(self, round: u64) -> DualAscent {
        DualAscent { seed: self.seed.wrapping_add(scramble(round)), ..self }
    }

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
        let is_new = weights.is_none();
        let mut state = AscentState {
            ascent: self,
            errors: None,
            weights: weights.unwrap_or_else(|| DualWeights::new(source.terms.idf.len())),
            is_converged: vec![false; coefficients.len()],
            coefficients,
            worst: 0.0,
        };
        let (mut blocks, mut kept, mut n_pairs) = (Vec::new(), Vec::new(), 0);
        source.for_all_vectors(|first, block| {
            let rows = rows(first, block);
            for at in rows.positions.iter().map(|at| *at as usize) {
                let vector = block.vector(at);
                n_pairs += vector.len();
                if is_new && state.coefficients[first + at] != [0.0; N] {
                    state.weights.add(vector, state.coefficients[first + at], 1.0);
                }
            }
            blocks.extend((!rows.positions.is_empty()).then_some(first / source.block_len()));
            kept.extend(source.is_kept().then(|| (heads(&rows, block), rows)));
        });
        let (mut random, most) = (SplitMix64::new(self.seed), self.most_passes(n_pairs));
        state.errors = (most == self.passes).then(|| self.errors()).flatten();
        for _ in 0..most {
            state.worst = 0.0;
            // blocks in random order, documents shuffled within each, or within each window
            let mut order = blocks.clone();
            random.shuffle(&mut order);
            source.for_each_vector(&order, |first, block| {
                let own;
                let (heads, rows) = match kept.get(first / source.block_len()) {
                    Some(kept) => kept,
                    None => {
                        let rows = rows(first, block);
                        own = (heads(&rows, block), rows);
                        &own
                    }
                };
                let window = if n_pairs > ALL_RANDOM { WINDOW } else { BLOCK };
                for window in windows(heads, window, &mut random) {
                    let mut window = window.to_vec();
                    random.shuffle(&mut window);
                    window.into_iter().for_each(|(at, n)| {
                        state.visit(first, block, rows, at as usize, n as usize);
                    });
                }
            });
            if state.worst < self.tolerance {
                break;
            }
        }
        state.weights
    }

    /// The number of passes over (document, term) pairs.
    fn most_passes(&self, n_pairs: usize) -> usize {
        let is_alone = self.partitions.is_none_or(|n| n == 1) && self.passes > 0;
        let cheap = if is_alone { CHEAP_PAIRS / n_pairs.max(1) } else { 0 };
        self.passes.max(cheap.min(CHEAP_PASSES))
    }

    /// The errors of documents of weight 1 and length 1, if a table of them is precise enough. Small fits are exact.
    fn errors(&self) -> Option<ErrorTable> {
        let is_precise = self.tolerance >= 50.0 * ErrorTable::PRECISION;
        (is_precise && self.partitions.is_none()).then(|| ErrorTable::new(2.0 * self.c))
    }

    /// As [`update`](Self::update), for one document of weight 1 and length 1.
    #[inline(always)]
    fn update_one<const N: usize>(
        &self,
        errors: &ErrorTable,
        row: &TrainingRow<'_, N>,
        sums: [f32; N],
        bias: &[f64; N],
        own: &mut [f32; N],
    ) -> (Option<[f32; N]>, f64) {
        let c = self.c as f32;
        let least = c * (MIN_STEP * self.tolerance) as f32;
        let most = if self.only_rivals { MAX_RIVAL_MARGIN as f32 } else { f32::INFINITY };
        let (mut steps, mut worst) = ([0f32; N], 0f32);
        let ([offsets], [is_positive]) = (row.offsets, row.is_positive) else { return (None, 0.0) };
        for lane in 0..N {
            let before = own[lane];
            let without = offsets[lane] + sums[lane] + bias[lane] as f32 - 2.0 * before;
            let sign = if is_positive[lane] { 1.0 } else { -1.0 };
            let margin = sign * without;
            let error = if !is_positive[lane] && margin > most { 0.0 } else { errors.at(margin) };
            // NaN for a column that does not learn
            let step = if margin.is_nan() { 0.0 } else { sign * c * error - before };
            worst = worst.max(step.abs());
            steps[lane] = if step.abs() >= least { step } else { 0.0 };
        }
        let is_applied = worst >= least;
        if is_applied {
            *own = array::from_fn(|lane| own[lane] + steps[lane]);
        }
        (is_applied.then_some(steps), f64::from(worst / c))
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

/// An ascent on its way.
struct AscentState<'a, const N: usize> {
    ascent: &'a DualAscent,
    errors: Option<ErrorTable>,
    weights: DualWeights<N>,
    coefficients: &'a mut [[f32; N]],
    /// Whether a document did not move: with many columns most documents converge early.
    is_converged: Vec<bool>,
    /// The largest change of an error in this pass.
    worst: f64,
}

impl<const N: usize> AscentState<'_, N> {
    /// Updates the coefficients of equal documents of a block, unless they did not move when they were last visited.
    #[inline(always)]
    fn visit(&mut self, first: usize, block: &Block, rows: &TrainingRows<N>, at: usize, n: usize) {
        let document = first + at;
        if std::mem::take(&mut self.is_converged[document]) {
            return;
        }
        let (ascent, vector, squared_norm) = (self.ascent, block.vector(at), block.squared_norm(at));
        let n_partitions = ascent.partitions.map_or(1.0, |n| n as f32);
        let sums = self.weights.dot(vector);
        let own = &mut self.coefficients[document..document + n];
        let row = TrainingRow {
            offsets: &rows.offsets[at..at + n],
            is_positive: &rows.is_positive[at..at + n],
            weights: &rows.weights[at..at + n],
            squared_norm: f64::from(n_partitions + squared_norm),
        };
        let (steps, moved) = match (&self.errors, &mut *own) {
            (Some(errors), [own]) if row.weights[0] == 1.0 && (squared_norm - 1.0).abs() < 1e-3 => {
                ascent.update_one(errors, &row, sums, &self.weights.bias, own)
            }
            _ => ascent.update(row, sums, &self.weights.bias, own),
        };
        if let Some(steps) = steps {
            self.weights.add(vector, steps, n_partitions);
        }
        self.is_converged[document] = ascent.only_rivals && moved < MIN_STEP * ascent.tolerance;
        self.worst = self.worst.max(moved);
    }
}

/// Splits documents into windows of at most `most`, in random order. If there are several, they begin elsewhere each time.
fn windows<'h, T>(documents: &'h [T], most: usize, random: &mut SplitMix64) -> Vec<&'h [T]> {
    let start = if documents.len() > most { random.below(most) } else { 0 };
    let (front, others) = documents.split_at(start);
    let mut windows: Vec<_> = others.chunks(most).chain((start > 0).then_some(front)).collect();
    random.shuffle(&mut windows);
    windows
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
    fn windows_are_all_documents_and_begin_elsewhere_each_time() {
        let (documents, mut random) = ((0..1_000).collect::<Vec<_>>(), SplitMix64::new(1));
        let mut splits = |most: usize| {
            let windows = windows(&documents, most, &mut random);
            assert!(windows.iter().all(|window| (1..=most).contains(&window.len())));
            let mut all = windows.concat();
            all.sort_unstable();
            assert_eq!(all, documents);
            windows.into_iter().map(|window| window[0]).collect::<Vec<_>>()
        };
        assert_eq!([splits(1_000), splits(5_000)], [[0], [0]]);
        let (one, other) = (splits(64), splits(64));
        assert!(one.len() > 15 && one != other && one.iter().any(|first| !other.contains(first)));
    }
}
