//! The correction's coefficients: coordinate ascent in the dual of logistic regression.

use tamis_tokenizer::TermId;

use crate::counts::term_frequency::TF_UNIT;
use crate::left_out::documents::{BLOCK, Block, BlockReader, DocumentTerms};
use crate::numbers::random::SplitMix64;

/// How the ascent goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ascent {
    /// C
    pub(crate) c: f64,
    pub(crate) passes: usize,
    /// It ends when no document's error moved by so much in a pass.
    pub(crate) tolerance: f64,
    pub(crate) seed: u64,
    /// Whether a column that a document is not of learns from it only if it seems likely enough.
    pub(crate) only_rivals: bool,
}

/// Where a document of another class has no competitor: its probability is below 0.05; as log-odds, nats.
const COMPETES: f64 = 2.944_438_979_166_440_3;

/// Of the tolerance, the change of an error that is not worth touching the terms for.
const WORTH: f64 = 0.05;

/// Documents as vectors of length 1 at most: what stays the same from pass to pass.
pub(crate) struct Vectors<'a> {
    pub(crate) source: &'a BlockReader<'a>,
    /// idf idf of every term of the documents, nats squared.
    pub(crate) squares: Vec<f32>,
    /// 1 / |v| of every document, at most 1; 0 of one that is not learned from.
    pub(crate) scales: Vec<f32>,
}

/// The documents of a block that teach some of the columns at hand.
#[derive(Clone, Default)]
pub(crate) struct TrainingRows<const N: usize> {
    /// Their places in the block, increasing.
    pub(crate) places: Vec<u32>,
    /// By place, tau times the counts' log-odds of each column; not a number for one that learns nothing from it.
    pub(crate) offsets: Vec<[f32; N]>,
    /// By place, whether the document is of each column.
    pub(crate) is_own: Vec<[bool; N]>,
    /// By place, what the document counts.
    pub(crate) weights: Vec<f64>,
}

/// The weights of some columns: of every term `idf idf u`, and the biases.
pub(crate) struct DualWeights<const N: usize> {
    pub(crate) terms: Vec<[f32; N]>,
    pub(crate) bias: [f64; N],
}

impl<const N: usize> DualWeights<N> {
    pub(crate) fn new(n_terms: usize) -> Self {
        DualWeights { terms: vec![[0.0; N]; n_terms], bias: [0.0; N] }
    }

    /// What the weights say of each column of a document with 1 / |v|, less the bias.
    #[inline]
    pub(crate) fn read(&self, terms: DocumentTerms<'_>, scale: f32) -> [f64; N] {
        let mut sums = [0f32; N];
        for (id, factor) in terms.iter() {
            for (sum, weight) in sums.iter_mut().zip(&self.terms[id as usize]) {
                *sum += factor * weight;
            }
        }
        let scale = f64::from(scale) * TF_UNIT;
        sums.map(|sum| f64::from(sum) * scale)
    }

    /// Adds coefficients of a document.
    #[inline]
    fn add(&mut self, squares: &[f32], terms: DocumentTerms<'_>, scale: f32, steps: [f32; N]) {
        let scale = scale * TF_UNIT as f32;
        let steps_per_unit = steps.map(|step| step * scale);
        for (id, factor) in terms.iter() {
            let factor = factor * squares[id as usize];
            for (weight, step) in self.terms[id as usize].iter_mut().zip(steps_per_unit) {
                *weight += factor * step;
            }
        }
        for (bias, step) in self.bias.iter_mut().zip(steps) {
            *bias += f64::from(step);
        }
    }
}

impl Vectors<'_> {
    /// |x|^2 + 1, what a unit of its coefficient adds to a document's own log-odds.
    fn own(&self, terms: DocumentTerms<'_>, scale: f32) -> f64 {
        let square = |(id, factor): (TermId, f32)| factor * factor * self.squares[id as usize];
        let scale = f64::from(scale) * TF_UNIT;
        let sum: f32 = terms.iter().map(square).sum();
        1.0 + scale * scale * f64::from(sum)
    }
}

impl Ascent {
    /// Each document's coefficient in turn becomes C times its own error, given all others, until hardly any moves; starts from the
    /// coefficients, of all documents, that there are. `weights` are zeros, and in the end those of the coefficients of the pupils.
    ///
    /// At the optimum of L2-regularised logistic loss, C being the variance of the weights, every coefficient is C times the error
    /// of its document. Since the optimum is one, order leaves no trace but below the tolerance.
    ///
    /// Source: Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models" (2011).
    pub(crate) fn climb<const N: usize>(
        &self,
        vectors: &Vectors<'_>,
        pupils: impl Fn(usize, &Block) -> TrainingRows<N> + Sync,
        coefficients: &mut [[f32; N]],
        weights: &mut DualWeights<N>,
    ) {
        let Vectors { source, squares, scales } = vectors;
        let mut owns = vec![0f32; coefficients.len()];
        let (mut blocks, mut kept) = (Vec::new(), Vec::new());
        source.for_all(|first, block| {
            let pupils = pupils(first, block);
            for at in pupils.places.iter().map(|at| *at as usize) {
                let (terms, scale) = (block.terms(at), scales[first + at]);
                owns[first + at] = vectors.own(terms, scale) as f32;
                if coefficients[first + at] != [0.0; N] {
                    weights.add(squares, terms, scale, coefficients[first + at]);
                }
            }
            blocks.extend((!pupils.places.is_empty()).then_some(first / BLOCK));
            kept.extend(source.is_kept().then_some(pupils));
        });
        let mut random = SplitMix64::new(self.seed);
        let mut is_still = vec![false; coefficients.len()];
        for _ in 0..self.passes {
            let mut worst = 0.0;
            // block after block in random order, shuffled within
            let mut order = blocks.clone();
            random.shuffle(&mut order);
            source.for_each(&order, |first, block| {
                let own;
                let pupils = match kept.get(first / BLOCK) {
                    Some(kept) => kept,
                    None => {
                        own = pupils(first, block);
                        &own
                    }
                };
                let mut places = pupils.places.clone();
                random.shuffle(&mut places);
                for at in places.into_iter().map(|at| at as usize) {
                    let document = first + at;
                    // of many columns most are settled early: a document that did not move is passed over once
                    if std::mem::take(&mut is_still[document]) {
                        continue;
                    }
                    let (terms, scale) = (block.terms(at), scales[document]);
                    let pupil = Pupil {
                        offsets: &pupils.offsets[at],
                        is_own: &pupils.is_own[at],
                        own: f64::from(owns[document]),
                        c: self.c * pupils.weights[at],
                    };
                    let sums = weights.read(terms, scale);
                    let (steps, moved) = self.visit(pupil, sums, &weights.bias, &mut coefficients[document]);
                    if let Some(steps) = steps {
                        weights.add(squares, terms, scale, steps);
                    }
                    is_still[document] = self.only_rivals && moved < WORTH * self.tolerance;
                    worst = f64::max(worst, moved);
                }
            });
            if worst < self.tolerance {
                break;
            }
        }
    }

    /// Replaces the coefficients of a document of which the weights say these sums; returns its steps, unless they are not worth it, and
    /// by how much its error moved at most.
    fn visit<const N: usize>(
        &self,
        Pupil { offsets, is_own, own, c }: Pupil<'_, N>,
        sums: [f64; N],
        bias: &[f64; N],
        coefficients: &mut [f32; N],
    ) -> (Option<[f32; N]>, f64) {
        let (mut steps, mut worst, mut is_worth) = ([0f32; N], 0.0, false);
        for lane in 0..N {
            let (offset, before) = (f64::from(offsets[lane]), f64::from(coefficients[lane]));
            if offset.is_nan() {
                continue;
            }
            let z = offset + bias[lane] + sums[lane];
            let after = self.coefficient(z - own * before, is_own[lane], own, c, before);
            let moved = (after - before).abs() / c;
            worst = f64::max(worst, moved);
            if moved >= WORTH * self.tolerance {
                steps[lane] = (after - before) as f32;
                coefficients[lane] += steps[lane];
                is_worth = true;
            }
        }
        (is_worth.then_some(steps), worst)
    }

    /// The coefficient of a document with these log-odds without it: C times its error with it. `own` is what a unit of it adds to
    /// them, `before` a guess.
    pub(crate) fn coefficient(&self, without: f64, is_own: bool, own: f64, c: f64, before: f64) -> f64 {
        let sign = if is_own { 1.0 } else { -1.0 };
        let margin = sign * without;
        if self.only_rivals && !is_own && margin > COMPETES {
            return 0.0;
        }
        sign * c * error(margin, own * c, before.abs() / c, 0.5e-3 * self.tolerance)
    }
}

/// The e between 0 and 1 for which `e = sigmoid(-(margin + gain e))`: by Newton's method, kept inside a bracket.
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

/// A document that teaches: what is known of it before the weights are read.
struct Pupil<'a, const N: usize> {
    offsets: &'a [f32; N],
    is_own: &'a [bool; N],
    /// What a unit of its coefficient adds to its own log-odds.
    own: f64,
    /// C times its copies.
    c: f64,
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
