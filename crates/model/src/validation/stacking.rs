//! Stacking: weights that combine the scores of several models, fitted by logistic regression with Platt scaling's
//! targets.

use rayon::prelude::*;

use crate::linear::PARTS;
use crate::numbers::{softmax_and_sum, softplus, softplus_and_sigmoid};

/// Input of stacking: one score per document, column and model ("part").
///
/// A single column holds the log-odds between two classes; several columns go through softmax.
#[derive(Clone, Debug)]
pub(crate) struct StackingInput {
    n_columns: usize,
    pub(crate) n_parts: usize,
    values: Vec<f64>,
    targets: Vec<Target>,
}

/// Column and weight of a document.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// `None` for the negative class of two.
    column: Option<usize>,
    weight: f64,
}

/// The default weights count like this many documents.
const PRIOR_DOCUMENTS: f64 = 10.0;

/// Ridge penalty on standardized parts.
const RIDGE: f64 = 0.1;

/// Number of documents summed together; fixed, so that sums do not depend on the number of threads. The product of so
/// many numbers up to 2 is finite.
const CHUNK: usize = 512;

impl StackingInput {
    pub(crate) fn new(n_columns: usize, n_parts: usize) -> StackingInput {
        StackingInput { n_columns, n_parts, values: Vec::new(), targets: Vec::new() }
    }

    /// Adds a document: the parts of each column in turn. A document of weight 0 is skipped.
    pub(crate) fn push(&mut self, values: impl IntoIterator<Item = f64>, column: Option<usize>, weight: f64) {
        if weight <= 0.0 {
            return values.into_iter().for_each(drop);
        }
        let start = self.values.len();
        self.values.extend(values);
        // a missing or extra number must not shift other documents
        self.values.resize(start + self.n_columns * self.n_parts, 0.0);
        if self.n_columns > 1 {
            self.subtract_means(start);
        }
        self.targets.push(Target { column, weight });
    }

    /// Appends the documents of another input.
    pub(crate) fn append(&mut self, mut others: StackingInput) {
        self.values.append(&mut others.values);
        self.targets.append(&mut others.targets);
    }

    /// Subtracts from each part of a document its mean over the columns, which changes no probability.
    fn subtract_means(&mut self, start: usize) {
        let values = &mut self.values[start..];
        for part in 0..self.n_parts {
            let own = || (part..self.n_columns * self.n_parts).step_by(self.n_parts);
            let mean = own().map(|at| values[at]).sum::<f64>() / self.n_columns as f64;
            own().for_each(|at| values[at] -= mean);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// The weight of each document.
    pub(crate) fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        self.targets.iter().map(|target| target.weight)
    }

    /// Fits the weights with the least log loss, by Newton's method on standardized parts, with Platt's smoothed
    /// targets and a ridge penalty around the default weights. The result is then shrunk towards the default, as if
    /// that came from 10 more documents. The first `n_positive` weights are never negative: a negative one becomes 0,
    /// and the others are fitted again. If all of them become 0, each is set to the part of its default that this
    /// shrinkage leaves.
    ///
    /// Source: Platt, "Probabilistic Outputs for Support Vector Machines" (1999): the targets and the step halving.
    pub(crate) fn fit(&self, default: &[f64], n_positive: usize) -> Vec<f64> {
        self.fit_free(default, vec![true; self.n_parts], n_positive)
    }

    /// As [`fit`](Self::fit), but only for the parts that are `free`; the others get weight 0.
    pub(crate) fn fit_free(&self, default: &[f64], mut free: Vec<bool>, n_positive: usize) -> Vec<f64> {
        loop {
            let mut weights = self.minimize(default, &free);
            if let Some(part) = (0..n_positive).find(|part| weights[*part] < 0.0) {
                free[part] = false;
                continue;
            }
            if n_positive > 0 && !free[..n_positive].contains(&true) {
                let share = PRIOR_DOCUMENTS / (self.weight() + PRIOR_DOCUMENTS);
                weights[..n_positive].iter_mut().zip(default).for_each(|(w, default)| *w = share * default);
            }
            return weights;
        }
    }

    /// Scales the default weights by the factors that give the least log loss: one of counts and correction, and one each of
    /// columns and vector if they are `there`. With `has_offset`, fits the weight of the offset too.
    pub(crate) fn scaled(&self, default: [f64; PARTS], there: [bool; 2], has_offset: bool) -> [f64; PARTS] {
        let mut sums = StackingInput::new(self.n_columns, 4);
        for (values, target) in self.documents() {
            let of_terms = |column: &[f64]| default[0] * column[0] + default[1] * column[1];
            let parts = |column: &[f64]| {
                [of_terms(column), default[2] * column[2], default[3] * column[3], column[4]]
            };
            sums.push(values.chunks_exact(self.n_parts).flat_map(parts), target.column, target.weight);
        }
        let [columns, vector] = there;
        let fitted = sums.fit_free(&[1.0, 1.0, 1.0, 0.0], vec![true, columns, vector, has_offset], 3);
        let factors = [fitted[0], fitted[0], fitted[1], fitted[2]];
        let scaled =
            |part: usize| if part < factors.len() { factors[part] * default[part] } else { fitted[3] };
        std::array::from_fn(scaled)
    }

    /// The summed weight of the documents.
    pub(crate) fn weight(&self) -> f64 {
        self.weights().sum()
    }

    fn minimize(&self, default: &[f64], free: &[bool]) -> Vec<f64> {
        let all = self.weight();
        let scales = self.deviations(all);
        // in units of standard deviations
        let centre: Vec<f64> = default.iter().zip(&scales).map(|(weight, scale)| weight * scale).collect();
        let problem = NewtonProblem { parts: self, targets: PlattTargets::new(self, all), scales, centre };
        let mut at: Vec<f64> =
            problem.centre.iter().zip(free).map(|(w, free)| if *free { *w } else { 0.0 }).collect();
        let mut here = problem.derivatives(&at);
        for _ in 0..100 {
            let (step, gain) = problem.step(&at, &here, free);
            if gain < least_gain(here.loss) {
                break;
            }
            let shortened =
                |length: f64| at.iter().zip(&step).map(|(w, s)| w - length * s).collect::<Vec<_>>();
            let steps = (0..30).map(|halvings| shortened(0.5_f64.powi(halvings)));
            // a NaN loss is not less
            let mut tried = steps.map(|w| (problem.derivatives(&w), w));
            let Some((there, next)) = tried.find(|(s, _)| s.loss < here.loss) else { break };
            let gain = here.loss - there.loss;
            (at, here) = (next, there);
            if gain < least_gain(here.loss) {
                break;
            }
        }
        let shrink = |(((w, scale), default), free): (((f64, &f64), &f64), &bool)| match free {
            true => (all * w / scale + PRIOR_DOCUMENTS * default) / (all + PRIOR_DOCUMENTS),
            false => 0.0,
        };
        at.into_iter().zip(&problem.scales).zip(default).zip(free).map(shrink).collect()
    }

    /// The standard deviation of each part over documents and columns; 1 if it is constant.
    fn deviations(&self, all: f64) -> Vec<f64> {
        let n = all * self.n_columns as f64;
        let mut moments = vec![[0.0; 2]; self.n_parts];
        for (values, target) in self.documents() {
            for column in values.chunks_exact(self.n_parts) {
                for (moments, value) in moments.iter_mut().zip(column) {
                    moments[0] += target.weight * value;
                    moments[1] += target.weight * value * value;
                }
            }
        }
        let deviation = |[sum, square]: [f64; 2]| (square / n - (sum / n) * (sum / n)).max(0.0).sqrt();
        moments.into_iter().map(deviation).map(|d| if d > 1e-9 && d.is_finite() { d } else { 1.0 }).collect()
    }

    fn documents(&self) -> impl Iterator<Item = (&[f64], &Target)> {
        self.values.chunks_exact(self.n_columns * self.n_parts).zip(&self.targets)
    }

    /// The log loss of each document with the given `weights`, in nats.
    pub(crate) fn losses(&self, weights: &[f64]) -> Vec<f64> {
        let mut z = Vec::new();
        let loss = |(values, target): (&[f64], &Target)| {
            self.combine(values, weights, &mut z);
            match (&mut z[..], target.column) {
                ([z], column) => softplus(if column.is_some() { -*z } else { *z }),
                (z, column) => {
                    let own = column.and_then(|column| z.get(column)).copied().unwrap_or(0.0);
                    softmax_and_sum(z) - own
                }
            }
        };
        self.documents().map(loss).collect()
    }

    /// The weighted mean of one number per document.
    pub(crate) fn mean(&self, numbers: &[f64]) -> f64 {
        self.total(numbers) / self.weight()
    }

    /// The weighted sum of one number per document.
    pub(crate) fn total(&self, numbers: &[f64]) -> f64 {
        numbers.iter().zip(&self.targets).map(|(n, target)| n * target.weight).sum()
    }

    /// The root mean square of what the parts say with the given `weights`, in nats.
    pub(crate) fn deviation(&self, weights: &[f64]) -> f64 {
        let mut z = Vec::new();
        let square = |(values, target): (&[f64], &Target)| {
            self.combine(values, weights, &mut z);
            target.weight * z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64
        };
        (self.documents().map(square).sum::<f64>() / self.weight()).sqrt()
    }

    fn combine(&self, values: &[f64], weights: &[f64], z: &mut Vec<f64>) {
        z.clear();
        let sum =
            |column: &[f64]| column.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        z.extend(values.chunks_exact(self.n_parts).map(sum));
    }
}

/// Platt's smoothed targets, slightly below 1 and above 0, so that separable classes do not lead to infinite weights.
struct PlattTargets {
    /// Two classes: the target of a positive document, and of a negative one.
    positive: f64,
    negative: f64,
    /// More classes: the probability spread evenly over all.
    uniform: f64,
}

impl PlattTargets {
    fn new(parts: &StackingInput, all: f64) -> PlattTargets {
        let of_positive = parts.targets.iter().filter(|target| target.column.is_some());
        let positives: f64 = of_positive.map(|target| target.weight).sum();
        PlattTargets {
            positive: (positives + 1.0) / (positives + 2.0),
            negative: 1.0 / (all - positives + 2.0),
            uniform: 1.0 / (all + 2.0),
        }
    }
}

struct NewtonProblem<'a> {
    parts: &'a StackingInput,
    targets: PlattTargets,
    scales: Vec<f64>,
    centre: Vec<f64>,
}

/// Buffers of a chunk.
#[derive(Default)]
struct ChunkBuffers {
    z: Vec<f64>,
    logs: SumOfLogs,
}

/// A weighted sum of logarithms of factors from 1 to 2, at most [`CHUNK`] at a time. Factors of equal weight are
/// multiplied, since a logarithm takes many times as long.
struct SumOfLogs {
    product: f64,
    weight: f64,
}

impl Default for SumOfLogs {
    fn default() -> Self {
        SumOfLogs { product: 1.0, weight: 0.0 }
    }
}

impl SumOfLogs {
    /// Adds a factor. Returns the sum of those before, if their weight is another.
    #[inline]
    fn add(&mut self, factor: f64, weight: f64) -> f64 {
        let before = if weight == self.weight { 0.0 } else { self.take() };
        (self.product, self.weight) = (self.product * factor, weight);
        before
    }

    /// The sum of the factors since the last sum.
    fn take(&mut self) -> f64 {
        let SumOfLogs { product, weight } = std::mem::take(self);
        weight * product.ln()
    }
}

/// Loss, gradient and Hessian.
#[derive(Clone, Copy, Default)]
struct Derivatives {
    loss: f64,
    gradient: [f64; PARTS],
    hessian: [[f64; PARTS]; PARTS],
}

impl NewtonProblem<'_> {
    fn weights(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scales).map(|(w, scale)| w / scale).collect()
    }

    /// The sum over the documents: in parallel, but always in the same order.
    fn sum(&self, of: impl Fn(&[f64], &Target, &mut ChunkBuffers, &mut Derivatives) + Sync) -> Derivatives {
        let size = CHUNK * self.parts.n_columns * self.parts.n_parts;
        let chunks = self.parts.values.par_chunks(size).zip(self.parts.targets.par_chunks(CHUNK));
        let sums = chunks.map(|(values, targets)| {
            let (mut sum, mut scratch) = (Derivatives::default(), ChunkBuffers::default());
            let values = values.chunks_exact(self.parts.n_columns * self.parts.n_parts);
            values.zip(targets).for_each(|(values, target)| of(values, target, &mut scratch, &mut sum));
            sum.loss += scratch.logs.take();
            sum
        });
        let mut all = Derivatives::default();
        sums.collect::<Vec<_>>().into_iter().for_each(|sum| all.plus(sum));
        all
    }

    /// Loss with the ridge penalty; gradient and Hessian of the documents only.
    fn derivatives(&self, at: &[f64]) -> Derivatives {
        match self.parts.n_parts {
            1 => self.derivatives_of::<1>(at),
            2 => self.derivatives_of::<2>(at),
            3 => self.derivatives_of::<3>(at),
            4 => self.derivatives_of::<4>(at),
            _ => self.derivatives_of::<PARTS>(at),
        }
    }

    /// As [`derivatives`](Self::derivatives), with the number of parts known at compile time.
    fn derivatives_of<const N: usize>(&self, at: &[f64]) -> Derivatives {
        let weights = self.weights(at);
        let of_document =
            |values: &[f64], target: &Target, scratch: &mut ChunkBuffers, derivatives: &mut Derivatives| {
                let ChunkBuffers { z, logs } = scratch;
                self.parts.combine(values, &weights, z);
                if let [z] = z[..] {
                    let target_probability =
                        if target.column.is_some() { self.targets.positive } else { self.targets.negative };
                    let ([softplus, factor], p) = softplus_and_sigmoid(z);
                    derivatives.loss += target.weight * (softplus - target_probability * z);
                    derivatives.loss += logs.add(factor, target.weight);
                    let values = values.first_chunk().unwrap_or(&[0.0; N]);
                    let error = target.weight * (p - target_probability);
                    return derivatives.add(values, error, target.weight * p * (1.0 - p));
                }
                let uniform = self.targets.uniform;
                let mean = z.iter().sum::<f64>() / z.len() as f64;
                let own = target.column.and_then(|column| z.get(column)).copied().unwrap_or(mean);
                derivatives.loss +=
                    target.weight * (softmax_and_sum(z) - (1.0 - uniform) * own - uniform * mean);
                let mut means = [0.0; N];
                for (column, (values, p)) in values.as_chunks::<N>().0.iter().zip(&*z).enumerate() {
                    let own = if target.column == Some(column) { 1.0 - uniform } else { 0.0 };
                    let target_probability = own + uniform / z.len() as f64;
                    derivatives.add(values, target.weight * (p - target_probability), target.weight * p);
                    means.iter_mut().zip(values).for_each(|(mean, value)| *mean += p * value);
                }
                derivatives.add(&means, 0.0, -target.weight);
            };
        let penalty: f64 = at.iter().zip(&self.centre).map(|(w, centre)| (w - centre) * (w - centre)).sum();
        let derivatives = self.sum(of_document);
        Derivatives { loss: derivatives.loss + RIDGE / 2.0 * penalty, ..derivatives }
    }

    /// The Newton step, to be subtracted, and how much loss it saves if the loss is quadratic.
    fn step(&self, at: &[f64], derivatives: &Derivatives, free: &[bool]) -> (Vec<f64>, f64) {
        let (n, mut derivatives) = (self.parts.n_parts, *derivatives);
        for i in 0..n {
            for j in 0..n {
                derivatives.hessian[i][j] /= self.scales[i] * self.scales[j];
            }
            derivatives.gradient[i] =
                derivatives.gradient[i] / self.scales[i] + RIDGE * (at[i] - self.centre[i]);
            derivatives.hessian[i][i] += RIDGE + 1e-9;
            if !free[i] {
                (derivatives.gradient[i], derivatives.hessian[i]) = (0.0, [0.0; PARTS]);
                derivatives.hessian.iter_mut().for_each(|row| row[i] = 0.0);
                derivatives.hessian[i][i] = 1.0;
            }
        }
        let step = derivatives.solve(n);
        let gain = step.iter().zip(derivatives.gradient).map(|(s, g)| s * g).sum::<f64>() / 2.0;
        (step, gain)
    }
}

/// Newton's method stops when a step gains less than this.
fn least_gain(loss: f64) -> f64 {
    1e-12 * (1.0 + loss.abs())
}

impl Derivatives {
    fn add<const N: usize>(&mut self, values: &[f64; N], error: f64, weight: f64) {
        for i in 0..N {
            self.gradient[i] += error * values[i];
            for j in 0..N {
                self.hessian[i][j] += weight * values[i] * values[j];
            }
        }
    }

    fn plus(&mut self, other: Derivatives) {
        self.loss += other.loss;
        for i in 0..PARTS {
            self.gradient[i] += other.gradient[i];
            for j in 0..PARTS {
                self.hessian[i][j] += other.hessian[i][j];
            }
        }
    }

    /// Solves Hessian x = gradient by elimination; the Hessian is positive definite.
    fn solve(mut self, n: usize) -> Vec<f64> {
        for pivot in 0..n {
            for row in pivot + 1..n {
                let factor = self.hessian[row][pivot] / self.hessian[pivot][pivot];
                for column in pivot..n {
                    self.hessian[row][column] -= factor * self.hessian[pivot][column];
                }
                self.gradient[row] -= factor * self.gradient[pivot];
            }
        }
        let mut solution = vec![0.0; n];
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|column| self.hessian[row][column] * solution[column]).sum();
            solution[row] = (self.gradient[row] - known) / self.hessian[row][row];
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::sigmoid;

    /// Two classes: 3 in 4 of the higher scores are positive, 1 in 4 of the lower.
    fn two(n: usize) -> StackingInput {
        let mut parts = StackingInput::new(1, 2);
        for i in 0..n {
            let (high, fourth) = (i % 2 == 0, i / 2 % 4 == 0);
            parts.push([if high { 2.0 } else { -2.0 }, 1.0], (high != fourth).then_some(0), 1.0);
        }
        parts
    }

    #[test]
    fn two_classes_are_calibrated() {
        let weights = two(8_000).fit(&[0.3, 0.0], 1);
        assert!((sigmoid(2.0 * weights[0] + weights[1]) - 0.75).abs() < 1e-2, "{weights:?}");
        // with few documents the default is kept
        let few = two(2).fit(&[0.3, 0.0], 1);
        assert!((few[0] - 0.3).abs() < 0.1, "{few:?}");
        assert_eq!(StackingInput::new(1, 2).fit(&[0.3, 0.1], 1), [0.3, 0.1]);
    }

    #[test]
    fn many_classes_are_calibrated() {
        let mut parts = StackingInput::new(4, 1);
        for i in 0..4_000 {
            let own = i % 4;
            let said = if i / 4 % 10 == 0 { (own + 1) % 4 } else { own };
            parts.push((0..4).map(|column| f64::from(u8::from(column == said))), Some(own), 1.0);
        }
        let weights = parts.fit(&[1.0], 1);
        // e^q / (e^q + 3) = 0.9
        assert!((weights[0] - 27f64.ln()).abs() < 0.05, "{weights:?}");
        let mean = parts.mean(&parts.losses(&[27f64.ln()]));
        assert!((mean - (-0.9 * 0.9f64.ln() - 0.1 * (0.1f64 / 3.0).ln())).abs() < 1e-9);
    }

    #[test]
    fn what_contradicts_the_labels_gets_no_weight() {
        let mut parts = StackingInput::new(1, 3);
        for i in 0..1_000 {
            let positive = i % 2 == 0;
            let sign = if positive { 1.0 } else { -1.0 };
            parts.push([sign + f64::from(i % 7), -sign, 1.0], positive.then_some(0), 1.0);
        }
        let weights = parts.fit(&[0.5, 1.0, 0.0], 2);
        assert!(weights[0] > 0.0 && weights[1] == 0.0, "{weights:?}");
    }

    #[test]
    fn weights_count_as_copies_do() {
        let (mut once, mut thrice) = (StackingInput::new(1, 2), StackingInput::new(1, 2));
        for i in 0..50 {
            let (value, column) = (f64::from(i * 7919 % 101) / 50.0 - 1.0, (i * 31 % 7 < 3).then_some(0));
            once.push([value, 1.0], column, f64::from(i % 3));
            (0..i % 3).for_each(|_| thrice.push([value, 1.0], column, 1.0));
        }
        let [a, b] = [once, thrice].map(|parts| parts.fit(&[0.3, 0.0], 1));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?}");
    }
}
