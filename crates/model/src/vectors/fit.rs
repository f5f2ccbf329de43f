//! The strength and the scale of a vector discriminant that predict held-out documents best.

use rayon::prelude::*;

use crate::counts::{ClassId, ObservationError};
use crate::fit::shrinkage;
use crate::numbers::softmax_and_sum;
use crate::vectors::discriminant::VectorDiscriminant;
use crate::vectors::statistics::VectorStatistics;

/// A document of a fit.
#[derive(Clone, Copy, Debug)]
pub struct VectorDocument<'a> {
    /// Its class.
    pub class: ClassId,
    /// Its vector.
    pub vector: &'a [f32],
    /// How many times it was learned.
    pub times: u32,
    /// Its weight among held-out documents: less than `times` if copies are not evidence of their own.
    pub weight: f64,
    /// Documents of the same fold are held out together.
    pub fold: usize,
}

/// What held-out documents say of a [`VectorDiscriminant`].
///
/// ```
/// use tamis_model::{VectorDiscriminant, VectorDocument, VectorFit, VectorStatistics};
///
/// let vectors: [[f32; 2]; 6] = [[0.1, 0.9], [0.9, 0.1], [-0.1, 0.8], [0.8, -0.2], [0.2, 0.7], [0.9, 0.3]];
/// let document = |fold: usize| {
///     VectorDocument { class: fold as u16 % 2, vector: &vectors[fold], times: 1, weight: 1.0, fold }
/// };
/// let documents: Vec<_> = (0..6).map(document).collect();
/// let mut statistics = VectorStatistics::new(2, 2)?;
/// documents.iter().try_for_each(|document| statistics.observe(document.class, document.vector))?;
///
/// let fit = VectorFit::new(&statistics, &documents)?;
/// assert!(fit.loss < fit.shares);
/// let (model, mut p) = (VectorDiscriminant::derive(&statistics, fit.strength)?, Vec::new());
/// model.predict_proba(&[1.0, 0.0], fit.scale, &mut p)?;
/// assert!(p[1] > 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VectorFit {
    /// The strength of the covariance's prior, see [`VectorDiscriminant`].
    pub strength: f64,
    /// What to multiply scores by: 0 would leave the class shares alone.
    pub scale: f64,
    /// The mean log loss (nats) of held-out documents; 0 if none could be held out.
    pub loss: f64,
    /// Their mean log loss by the class shares alone.
    pub shares: f64,
    /// For each document, the scores of the classes by the documents of other folds.
    pub held_out: Vec<Vec<f64>>,
}

/// The strengths tried.
const STRENGTHS: [f64; 3] = [1.0, VectorDiscriminant::STRENGTH, 16.0];
const DEFAULT: usize = 1;

/// The least scale times the root of the number of dimensions, with which scores of noise grow: enough to prefer a
/// class where little or nothing is held out, and too little to be certain.
const LEAST_SCALE: f64 = 0.05;
/// The scale of a model that is right: shrinkage and dimensions that are not normal ask for less.
const MAX_SCALE: f64 = 1.0;

impl VectorFit {
    /// Holds out one fold of `documents` after the other, each of which `statistics` must contain. A document whose
    /// class has no others outside of its fold has scores, but no say.
    ///
    /// # Errors
    /// A document that the statistics refuse or cannot contain.
    pub fn new(
        statistics: &VectorStatistics,
        documents: &[VectorDocument<'_>],
    ) -> Result<VectorFit, ObservationError> {
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.sort_by_key(|document| documents[*document].fold);
        let folds: Vec<&[usize]> = order.chunk_by(|a, b| documents[*a].fold == documents[*b].fold).collect();
        let scored = folds.par_iter().map(|fold| hold_out(statistics, documents, fold));
        let scored: Vec<Vec<HeldOut>> = scored.collect::<Result<_, ObservationError>>()?;
        let mut held: Vec<HeldOut> = scored.into_iter().flatten().collect();
        held.sort_unstable_by_key(|held| held.document);
        let least = LEAST_SCALE / (statistics.n_dimensions().max(1) as f64).sqrt();
        let trials: Vec<[f64; 2]> = (0..STRENGTHS.len()).map(|at| fit_scale(&held, at, least)).collect();
        let best = (0..trials.len()).min_by(|a, b| trials[*a][1].total_cmp(&trials[*b][1]));
        // few documents must not choose
        let is_better = |at: &usize| shrinkage(trials[DEFAULT][1] - trials[*at][1]) > 0.0;
        let best = best.filter(is_better).unwrap_or(DEFAULT);
        let [scale, loss] = trials[best];
        let n = held.iter().map(|held| held.weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let shares = slope_and_loss(&held, best, [0.0, 0.0])[1];
        let held_out = held.into_iter().map(|mut held| held.scores.swap_remove(best)).collect();
        Ok(VectorFit { strength: STRENGTHS[best], scale, loss: loss / n, shares: shares / n, held_out })
    }
}

/// A held-out document, and what the others say of it.
struct HeldOut {
    document: usize,
    class: usize,
    /// Its weight; 0 if no others have its class.
    weight: f64,
    log_shares: Vec<f64>,
    /// By strength, then class.
    scores: Vec<Vec<f64>>,
}

/// Scores the documents of a fold by the others.
fn hold_out(
    statistics: &VectorStatistics,
    documents: &[VectorDocument<'_>],
    fold: &[usize],
) -> Result<Vec<HeldOut>, ObservationError> {
    let mut gone = VectorStatistics::new(statistics.documents().len(), statistics.n_dimensions())?;
    for document in fold.iter().map(|at| &documents[*at]) {
        gone.observe_times(document.class, document.vector, document.times)?;
    }
    let mut rest = statistics.clone();
    rest.subtract(&gone)?;
    let models = STRENGTHS.map(|strength| VectorDiscriminant::with_strength(&rest, strength));
    let score = |document: usize| {
        let VectorDocument { class, vector, weight, .. } = documents[document];
        let class = usize::from(class);
        let scores = models.iter().map(|model| {
            let mut scores = Vec::new();
            model.scores(vector, &mut scores).map(|()| scores)
        });
        let weight = if rest.documents()[class] > 0 { weight } else { 0.0 };
        let log_shares = models[DEFAULT].log_shares().to_vec();
        Ok(HeldOut { document, class, weight, log_shares, scores: scores.collect::<Result<_, _>>()? })
    };
    fold.iter().map(|document| score(*document)).collect()
}

/// The scale with one strength, and the summed log loss with it.
///
/// The scale has the least log loss, found by bisection of its slope, since the loss is convex in the scale. As in Platt
/// scaling, targets are slightly below 1, so that separable documents do not lead to certainty. The step from the `least`
/// scale is shrunk according to its gain over the class shares, see [`shrinkage`]. By chance that gain is twice as large
/// as from independent documents: two that are alike raise the scores of one another.
fn fit_scale(held: &[HeldOut], strength: usize, least: f64) -> [f64; 2] {
    let n: f64 = held.iter().map(|held| held.weight).sum();
    let [mut low, mut high] = [0.0, MAX_SCALE];
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        let is_above = slope_and_loss(held, strength, [middle, 1.0 / (n + 2.0)])[0] > 0.0;
        *(if is_above { &mut high } else { &mut low }) = middle;
    }
    let loss = |scale| slope_and_loss(held, strength, [scale, 0.0])[1];
    let belief = shrinkage((loss(0.0) - loss(low)) / 2.0);
    let scale = least + belief * (low - least).max(0.0);
    [scale, loss(scale)]
}

/// The summed log loss at a scale, after its slope. Of each target, the part `spread` is spread over all classes.
fn slope_and_loss(held: &[HeldOut], strength: usize, [scale, spread]: [f64; 2]) -> [f64; 2] {
    let mut p = Vec::new();
    held.iter().filter(|held| held.weight > 0.0).fold([0.0; 2], |[slope, loss], held| {
        let scores = &held.scores[strength];
        p.clear();
        p.extend(scores.iter().zip(&held.log_shares).map(|(score, share)| scale * score + share));
        let target = |z: &[f64]| {
            let mean = z.iter().sum::<f64>() / z.len() as f64;
            (1.0 - spread) * z[held.class] + spread * mean
        };
        let own = target(&p);
        let loss = loss + held.weight * (softmax_and_sum(&mut p) - own);
        let expected: f64 = p.iter().zip(scores).map(|(p, score)| p * score).sum();
        [slope + held.weight * (expected - target(scores)), loss]
    })
}
