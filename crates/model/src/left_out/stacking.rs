//! Weights by which what several models say of a document is added up.

use rayon::prelude::*;

use crate::numbers::logs::{softmax_and_sum, softplus, softplus_and_sigmoid};

/// What several models say of documents, their parts: a number a document, column and part.
///
/// One column is the log-odds between two classes; of more columns the softmax is the probability of each.
#[derive(Clone, Debug)]
pub(crate) struct StackingInput {
    n_columns: usize,
    n_parts: usize,
    values: Vec<f64>,
    targets: Vec<Target>,
}

/// Of which column a document is, and what it counts.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// None of the columns, if there is one and the document is of the other class.
    column: Option<usize>,
    weight: f64,
}

/// As many documents is what the weights taken by default count for.
const PRIOR_DOCUMENTS: f64 = 50.0;

/// Of parts that were brought to deviation 1.
const RIDGE: f64 = 0.1;

/// Documents that are added up at a time; fixed, so that threads leave no trace in the sums.
const TOGETHER: usize = 512;

impl StackingInput {
    pub(crate) fn new(n_columns: usize, n_parts: usize) -> StackingInput {
        StackingInput { n_columns, n_parts, values: Vec::new(), targets: Vec::new() }
    }

    /// Adds a document: of each column its parts, one after the other. A document that counts nothing is left out.
    pub(crate) fn push(&mut self, values: impl IntoIterator<Item = f64>, column: Option<usize>, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        let start = self.values.len();
        self.values.extend(values);
        // written so that a number too few or too many never shifts the others
        self.values.resize(start + self.n_columns * self.n_parts, 0.0);
        if self.n_columns > 1 {
            self.centre(start);
        }
        self.targets.push(Target { column, weight });
    }

    /// Adds the documents of others after those here.
    pub(crate) fn append(&mut self, mut others: StackingInput) {
        self.values.append(&mut others.values);
        self.targets.append(&mut others.targets);
    }

    /// Takes the mean over its columns off each part of a document, which changes no probability.
    fn centre(&mut self, start: usize) {
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

    /// What each document counts.
    pub(crate) fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        self.targets.iter().map(|target| target.weight)
    }

    /// The weights of the parts of least log loss: by Newton's method, of parts that were brought to deviation 1, with targets
    /// smoothed as Platt's and a ridge around the weights taken by default; then brought towards these as if they were the best
    /// ones of 50 documents more. The first `n_positive` weights are never negative: one that would be is 0, and
    /// if all would be, what 50 documents say of them is left.
    ///
    /// Source: Platt, "Probabilistic Outputs for Support Vector Machines" (1999), for the targets and the halving of steps.
    pub(crate) fn fit(&self, default: &[f64], n_positive: usize) -> Vec<f64> {
        let mut free = vec![true; self.n_parts];
        loop {
            let mut weights = self.fit_free(default, &free);
            if let Some(part) = (0..n_positive).find(|part| weights[*part] < 0.0) {
                free[part] = false;
                continue;
            }
            if n_positive > 0 && !free[..n_positive].contains(&true) {
                let share = PRIOR_DOCUMENTS / (self.weight() + PRIOR_DOCUMENTS);
                weights
                    .iter_mut()
                    .zip(default)
                    .take(n_positive)
                    .for_each(|(w, default)| *w = share * default);
            }
            return weights;
        }
    }

    /// All that the documents count.
    fn weight(&self) -> f64 {
        self.weights().sum()
    }

    fn fit_free(&self, default: &[f64], free: &[bool]) -> Vec<f64> {
        let all = self.weight();
        let scales = self.deviations(all);
        // in units of deviations
        let centre: Vec<f64> = default.iter().zip(&scales).map(|(weight, scale)| weight * scale).collect();
        let problem = Problem { parts: self, smoothing: Smoothed::new(self, all), scales, centre };
        let mut at: Vec<f64> =
            problem.centre.iter().zip(free).map(|(w, free)| if *free { *w } else { 0.0 }).collect();
        let mut here = problem.slope(&at);
        for _ in 0..100 {
            let step = problem.step(&at, &here, free);
            let shortened =
                |length: f64| at.iter().zip(&step).map(|(w, s)| w - length * s).collect::<Vec<_>>();
            let steps = (0..30).map(|halvings| shortened(0.5_f64.powi(halvings)));
            // a loss that is NaN is not less
            let Some((next, there)) =
                steps.map(|w| (problem.slope(&w), w)).find(|(s, _)| s.loss < here.loss).map(|(s, w)| (w, s))
            else {
                break;
            };
            let gain = here.loss - there.loss;
            (at, here) = (next, there);
            if gain < 1e-12 * (1.0 + here.loss.abs()) {
                break;
            }
        }
        let shrink = |(((w, scale), default), free): (((f64, &f64), &f64), &bool)| match free {
            true => (all * w / scale + PRIOR_DOCUMENTS * default) / (all + PRIOR_DOCUMENTS),
            false => 0.0,
        };
        at.into_iter().zip(&problem.scales).zip(default).zip(free).map(shrink).collect()
    }

    /// The deviation of each part over documents and columns, 1 of one that does not vary.
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

    /// The log loss of each document by these weights, in nats.
    pub(crate) fn losses(&self, weights: &[f64]) -> Vec<f64> {
        let mut z = Vec::new();
        let loss = |(values, target): (&[f64], &Target)| {
            self.add_up(values, weights, &mut z);
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

    /// The weighted mean of losses, or of other numbers of documents.
    pub(crate) fn mean(&self, numbers: &[f64]) -> f64 {
        let all = self.weight();
        numbers.iter().zip(&self.targets).map(|(n, target)| n * target.weight).sum::<f64>() / all
    }

    fn add_up(&self, values: &[f64], weights: &[f64], z: &mut Vec<f64>) {
        z.clear();
        let sum =
            |column: &[f64]| column.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
        z.extend(values.chunks_exact(self.n_parts).map(sum));
    }
}

/// What is aimed at: probabilities a little below 1 and above 0, so that classes which the parts separate do not ask for
/// infinite weights.
struct Smoothed {
    /// Of two classes, of a document of the positive class and one of the other.
    positive: f64,
    negative: f64,
    /// Of more, what is taken off the own class, and given to all alike.
    any: f64,
}

impl Smoothed {
    fn new(parts: &StackingInput, all: f64) -> Smoothed {
        let of_positive = parts.targets.iter().filter(|target| target.column.is_some());
        let positives: f64 = of_positive.map(|target| target.weight).sum();
        Smoothed {
            positive: (positives + 1.0) / (positives + 2.0),
            negative: 1.0 / (all - positives + 2.0),
            any: 1.0 / (all + 2.0),
        }
    }
}

struct Problem<'a> {
    parts: &'a StackingInput,
    smoothing: Smoothed,
    scales: Vec<f64>,
    centre: Vec<f64>,
}

/// What is to be the least, with its gradient and second derivatives.
#[derive(Clone, Copy, Default)]
struct Slope {
    loss: f64,
    gradient: [f64; MOST_PARTS],
    curvature: [[f64; MOST_PARTS]; MOST_PARTS],
}

const MOST_PARTS: usize = 3;

impl Problem<'_> {
    fn weights(&self, at: &[f64]) -> Vec<f64> {
        at.iter().zip(&self.scales).map(|(w, scale)| w / scale).collect()
    }

    /// The sum over the documents, in parallel, and always in the same order.
    fn sum(&self, of: impl Fn(&[f64], &Target, &mut Vec<f64>, &mut Slope) + Sync) -> Slope {
        let size = TOGETHER * self.parts.n_columns * self.parts.n_parts;
        let chunks = self.parts.values.par_chunks(size).zip(self.parts.targets.par_chunks(TOGETHER));
        let sums = chunks.map(|(values, targets)| {
            let (mut sum, mut z) = (Slope::default(), Vec::new());
            let values = values.chunks_exact(self.parts.n_columns * self.parts.n_parts);
            values.zip(targets).for_each(|(values, target)| of(values, target, &mut z, &mut sum));
            sum
        });
        let mut all = Slope::default();
        sums.collect::<Vec<_>>().into_iter().for_each(|sum| all.plus(sum));
        all
    }

    /// Of the documents, and the loss with the ridge.
    fn slope(&self, at: &[f64]) -> Slope {
        match self.parts.n_parts {
            1 => self.slope_of::<1>(at),
            2 => self.slope_of::<2>(at),
            _ => self.slope_of::<MOST_PARTS>(at),
        }
    }

    /// The same of so many parts.
    fn slope_of<const N: usize>(&self, at: &[f64]) -> Slope {
        let weights = self.weights(at);
        let of_document = |values: &[f64], target: &Target, z: &mut Vec<f64>, slope: &mut Slope| {
            self.parts.add_up(values, &weights, z);
            if let [z] = z[..] {
                let aim =
                    if target.column.is_some() { self.smoothing.positive } else { self.smoothing.negative };
                let (softplus, p) = softplus_and_sigmoid(z);
                slope.loss += target.weight * (softplus - aim * z);
                let values = values.first_chunk().unwrap_or(&[0.0; N]);
                slope.add(values, target.weight * (p - aim), target.weight * p * (1.0 - p));
                return;
            }
            let any = self.smoothing.any;
            let mean = z.iter().sum::<f64>() / z.len() as f64;
            let own = target.column.and_then(|column| z.get(column)).copied().unwrap_or(mean);
            slope.loss += target.weight * (softmax_and_sum(z) - (1.0 - any) * own - any * mean);
            let mut means = [0.0; N];
            for (column, (values, p)) in values.as_chunks::<N>().0.iter().zip(&*z).enumerate() {
                let own = if target.column == Some(column) { 1.0 - any } else { 0.0 };
                let aim = own + any / z.len() as f64;
                slope.add(values, target.weight * (p - aim), target.weight * p);
                means.iter_mut().zip(values).for_each(|(mean, value)| *mean += p * value);
            }
            slope.add(&means, 0.0, -target.weight);
        };
        let penalty: f64 = at.iter().zip(&self.centre).map(|(w, centre)| (w - centre) * (w - centre)).sum();
        let slope = self.sum(of_document);
        Slope { loss: slope.loss + RIDGE / 2.0 * penalty, ..slope }
    }

    /// What Newton's method subtracts.
    fn step(&self, at: &[f64], slope: &Slope, free: &[bool]) -> Vec<f64> {
        let (n, mut slope) = (self.parts.n_parts, *slope);
        for i in 0..n {
            for j in 0..n {
                slope.curvature[i][j] /= self.scales[i] * self.scales[j];
            }
            slope.gradient[i] = slope.gradient[i] / self.scales[i] + RIDGE * (at[i] - self.centre[i]);
            slope.curvature[i][i] += RIDGE + 1e-9;
            if !free[i] {
                (slope.gradient[i], slope.curvature[i]) = (0.0, [0.0; MOST_PARTS]);
                slope.curvature.iter_mut().for_each(|row| row[i] = 0.0);
                slope.curvature[i][i] = 1.0;
            }
        }
        slope.solve(n)
    }
}

impl Slope {
    fn add<const N: usize>(&mut self, values: &[f64; N], error: f64, weight: f64) {
        for i in 0..N {
            self.gradient[i] += error * values[i];
            for j in 0..N {
                self.curvature[i][j] += weight * values[i] * values[j];
            }
        }
    }

    fn plus(&mut self, other: Slope) {
        self.loss += other.loss;
        for i in 0..MOST_PARTS {
            self.gradient[i] += other.gradient[i];
            for j in 0..MOST_PARTS {
                self.curvature[i][j] += other.curvature[i][j];
            }
        }
    }

    /// The gradient divided by the curvature, which is positive definite: by elimination.
    fn solve(mut self, n: usize) -> Vec<f64> {
        for pivot in 0..n {
            for row in pivot + 1..n {
                let factor = self.curvature[row][pivot] / self.curvature[pivot][pivot];
                for column in pivot..n {
                    self.curvature[row][column] -= factor * self.curvature[pivot][column];
                }
                self.gradient[row] -= factor * self.gradient[pivot];
            }
        }
        let mut solution = vec![0.0; n];
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|column| self.curvature[row][column] * solution[column]).sum();
            solution[row] = (self.gradient[row] - known) / self.curvature[row][row];
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::logs::sigmoid;

    /// Scores of two classes of which the higher 3 in 4 are positive, and the lower 1 in 4.
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
        // of few documents the default is left
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
