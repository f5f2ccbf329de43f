//! The correction's coefficients: coordinate ascent in the dual of logistic regression.

use tamis_tokenizer::TermId;

use crate::folds::Labelled;
use crate::random::SplitMix64;
use crate::term_frequency::{TF_UNIT, tf_units};

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

/// Documents that are shuffled at a time, so that not all of them need to be at hand.
pub(crate) const BLOCK: usize = 1 << 16;

/// What stays the same of the terms of documents, whichever of these are held out: ln(1 + tf) in units.
pub(crate) struct Factors {
    starts: Vec<usize>,
    factors: Vec<f32>,
}

impl Factors {
    pub(crate) fn new(documents: &[Labelled<'_>]) -> Factors {
        let mut all = Factors { starts: Vec::with_capacity(documents.len() + 1), factors: Vec::new() };
        for document in documents {
            all.starts.push(all.factors.len());
            all.factors.extend(document.row.counts().iter().map(|tf| tf_units(*tf) as f32));
        }
        all.starts.push(all.factors.len());
        all
    }

    #[inline]
    fn of(&self, document: usize) -> &[f32] {
        &self.factors[self.starts[document]..self.starts[document + 1]]
    }
}

/// Documents as vectors of length 1 at most: what stays the same from pass to pass.
pub(crate) struct Vectors<'a> {
    pub(crate) documents: &'a [Labelled<'a>],
    pub(crate) factors: &'a Factors,
    /// idf idf of every term of the documents, nats squared.
    pub(crate) squares: Vec<f32>,
    /// 1 / |v| of every document, at most 1; 0 of one that is not learned from.
    pub(crate) scales: Vec<f32>,
}

/// A document that teaches some of the columns at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pupil<const N: usize> {
    pub(crate) document: u32,
    /// tau times the counts' log-odds of each column; not a number for one that learns nothing from it.
    pub(crate) offsets: [f32; N],
    /// Whether the document is of each column.
    pub(crate) is_own: [bool; N],
    /// c of each column.
    pub(crate) coefficients: [f32; N],
}

/// The weights of some columns: of every term `idf idf u`, and the biases.
pub(crate) struct Weights<const N: usize> {
    pub(crate) terms: Vec<[f32; N]>,
    pub(crate) bias: [f64; N],
}

impl<const N: usize> Weights<N> {
    pub(crate) fn new(n_terms: usize) -> Self {
        Weights { terms: vec![[0.0; N]; n_terms], bias: [0.0; N] }
    }

    /// What the weights say of each column, less the bias.
    #[inline]
    pub(crate) fn read(&self, vectors: &Vectors<'_>, document: usize) -> [f64; N] {
        let ids = vectors.documents[document].row.ids();
        self.read_terms(ids, vectors.factors.of(document), vectors.scales[document])
    }

    #[inline]
    pub(crate) fn read_terms(&self, ids: &[TermId], factors: &[f32], scale: f32) -> [f64; N] {
        let mut sums = [0f32; N];
        for (&id, factor) in ids.iter().zip(factors) {
            for (sum, weight) in sums.iter_mut().zip(&self.terms[id as usize]) {
                *sum += factor * weight;
            }
        }
        let scale = f64::from(scale) * TF_UNIT;
        sums.map(|sum| f64::from(sum) * scale)
    }

    /// Adds coefficients of a document.
    #[inline]
    fn add(&mut self, vectors: &Vectors<'_>, document: usize, steps: [f32; N]) {
        let scale = vectors.scales[document] * TF_UNIT as f32;
        let steps_per_unit = steps.map(|step| step * scale);
        let ids = vectors.documents[document].row.ids();
        for (&id, factor) in ids.iter().zip(vectors.factors.of(document)) {
            let factor = factor * vectors.squares[id as usize];
            for (weight, step) in self.terms[id as usize].iter_mut().zip(steps_per_unit) {
                *weight += factor * step;
            }
        }
        for (bias, step) in self.bias.iter_mut().zip(steps) {
            *bias += f64::from(step);
        }
    }
}

impl<'a> Vectors<'a> {
    /// |x|^2 + 1, what a unit of its coefficient adds to a document's own log-odds.
    fn own(&self, document: usize) -> f64 {
        let ids = self.documents[document].row.ids().iter();
        let square = |(&id, factor): (&TermId, &f32)| factor * factor * self.squares[id as usize];
        let scale = f64::from(self.scales[document]) * TF_UNIT;
        let sum: f32 = ids.zip(self.factors.of(document)).map(square).sum();
        1.0 + scale * scale * f64::from(sum)
    }
}

impl Ascent {
    /// Each document's coefficient in turn becomes C times its own error, given all others, until hardly any moves; starts from the
    /// coefficients that the pupils have. `weights` are zeros, and in the end those of the coefficients.
    ///
    /// At the optimum of L2-regularised logistic loss, C being the variance of the weights, every coefficient is C times the error
    /// of its document. Since the optimum is one, order leaves no trace but below the tolerance.
    ///
    /// Source: Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models" (2011).
    pub(crate) fn climb<const N: usize>(
        &self,
        vectors: &Vectors<'_>,
        pupils: &mut [Pupil<N>],
        weights: &mut Weights<N>,
    ) {
        for pupil in pupils.iter().filter(|pupil| pupil.coefficients != [0.0; N]) {
            weights.add(vectors, pupil.document as usize, pupil.coefficients);
        }
        let owns: Vec<f32> = pupils.iter().map(|pupil| vectors.own(pupil.document as usize) as f32).collect();
        let mut random = SplitMix64::new(self.seed);
        let mut is_still = vec![false; pupils.len()];
        for _ in 0..self.passes {
            let mut worst = 0.0;
            for at in order(pupils, &mut random) {
                let at = at as usize;
                // of many columns most are settled early: a document that did not move is passed over once
                if std::mem::take(&mut is_still[at]) {
                    continue;
                }
                let moved = self.visit(vectors, &mut pupils[at], f64::from(owns[at]), weights);
                is_still[at] = self.only_rivals && moved < WORTH * self.tolerance;
                worst = f64::max(worst, moved);
            }
            if worst < self.tolerance {
                break;
            }
        }
    }

    /// Replaces the coefficients of a document; returns by how much its error moved at most.
    fn visit<const N: usize>(
        &self,
        vectors: &Vectors<'_>,
        pupil: &mut Pupil<N>,
        own: f64,
        weights: &mut Weights<N>,
    ) -> f64 {
        let document = pupil.document as usize;
        let c = self.c * vectors.documents[document].weight();
        let sums = weights.read(vectors, document);
        let (mut steps, mut worst, mut is_worth) = ([0f32; N], 0.0, false);
        for lane in 0..N {
            let (offset, before) = (f64::from(pupil.offsets[lane]), f64::from(pupil.coefficients[lane]));
            if offset.is_nan() {
                continue;
            }
            let z = offset + weights.bias[lane] + sums[lane];
            let after = self.coefficient(z - own * before, pupil.is_own[lane], own, c, before);
            let moved = (after - before).abs() / c;
            worst = f64::max(worst, moved);
            if moved >= WORTH * self.tolerance {
                steps[lane] = (after - before) as f32;
                pupil.coefficients[lane] += steps[lane];
                is_worth = true;
            }
        }
        if is_worth {
            weights.add(vectors, document, steps);
        }
        worst
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

/// The places of pupils, which are in the order of their documents: block after block in random order, shuffled within.
fn order<const N: usize>(pupils: &[Pupil<N>], random: &mut SplitMix64) -> Vec<u32> {
    let places: Vec<u32> = (0..pupils.len() as u32).collect();
    let block = |at: &u32| pupils[*at as usize].document as usize / BLOCK;
    let mut blocks: Vec<Vec<u32>> =
        places.chunk_by(|a, b| block(a) == block(b)).map(<[u32]>::to_vec).collect();
    random.shuffle(&mut blocks);
    blocks.iter_mut().for_each(|block| random.shuffle(block));
    blocks.concat()
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
