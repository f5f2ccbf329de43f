//! Choices made by held-out scores: the stacking weights of counts and correction, tau, and the price of parts.

use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;

use crate::counts::{ClassTotals, Counts};
use crate::fit::problem::{FitProblem, WeightedFit};
use crate::linear::{Choices, DEFAULT_STRENGTH, MOST, PARTS, PartsTrial, STRENGTHS, TauTrial, priors};
use crate::validation::{
    ColumnPrediction, Prediction, SmoothingChoice, StackingInput, Targets, WeightedLoss,
};

/// The shares tau of the counts that a fit of two classes chooses from.
pub const TAUS: [f64; 2] = [0.5, 1.0];

/// The prices of a part that a fit chooses from, the lowest first; see [`Choices::parts`].
const PRICES: [[f64; 2]; 9] = [
    [0.0, 0.5],
    [0.0, 0.75],
    [0.5, 0.75],
    [0.0, 1.0],
    [1.0, 1.0],
    [0.0, 1.5],
    [2.0, 1.0],
    [4.0, 1.0],
    [8.0, 1.0],
];

/// The share by which parts may make held-out documents less likely.
const TOLERATED: f64 = 0.005;

/// So much ham tells what parts of ham say.
const ENOUGH_HAM: usize = 50;

impl FitProblem<'_> {
    /// The choices once smoothing is chosen: the rest are defaults, or fixed by the options.
    pub(crate) fn choices_with(&self, smoothing: &SmoothingChoice) -> Choices {
        let SmoothingChoice { alpha, idf_power, bayes, .. } = *smoothing;
        let default = Choices::for_columns(&self.columns).fixed_by(self.options);
        Choices { alpha, idf_power, bayes, ..default }
    }

    /// Chooses the strength of the vectors' prior, by how well the vectors alone predict, and reduces the predictions to its
    /// scores. Few documents choose nothing.
    fn choose_strength(&self, predictions: &mut [ColumnPrediction]) -> f64 {
        let (targets, n) = (Targets::new(&self.columns, self.counts.totals()), self.columns.len());
        if self.beside.vectors.is_none() {
            return DEFAULT_STRENGTH;
        }
        let prior = priors(self.counts.totals(), &self.columns);
        let loss = |at: usize| {
            let mut input = targets.input(2);
            for ColumnPrediction { held, .. } in &*predictions {
                let own = held.beside[1].iter().skip(at * n).zip(&prior).flat_map(|(v, p)| [*v, *p]);
                let weight = if held.beside[1].is_empty() { 0.0 } else { held.weight };
                targets.push(&mut input, own, self.documents.label(held.document).class, weight);
            }
            input.total(&input.losses(&input.fit(&[Choices::for_columns(&self.columns).stack[3], 0.0], 1)))
        };
        let losses: Vec<f64> = (0..STRENGTHS.len()).map(loss).collect();
        let best = (0..losses.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b]));
        let best = best.filter(|at| shrinkage(losses[0] - losses[*at]) > 0.0).unwrap_or(0);
        self.keep_strength(predictions, STRENGTHS[best]);
        STRENGTHS[best]
    }

    /// Reduces the predictions to the vectors' scores with one strength.
    pub(crate) fn keep_strength(&self, predictions: &mut [ColumnPrediction], strength: f64) {
        let (n, at) = (self.columns.len(), STRENGTHS.iter().position(|s| *s == strength).unwrap_or_default());
        for ColumnPrediction { held, .. } in predictions {
            held.beside[1] = held.beside[1].iter().skip(at * n).take(n).copied().collect();
        }
    }

    /// Chooses the stacking weights and, for two classes, which fitted column becomes the correction: there is one for
    /// each of [`TAUS`]. Returns the fit with these choices, and the position of that column.
    pub(crate) fn calibrate(
        &self,
        mut fit: WeightedFit,
        predictions: &mut [ColumnPrediction],
    ) -> (WeightedFit, usize) {
        fit.choices.strength = self.choose_strength(predictions);
        fit.prior = priors(self.counts.totals(), &self.columns);
        let lanes = self.stack_lanes(fit.choices, &fit.prior, predictions);
        if self.options.correction {
            let tried = lanes.iter().filter(|lane| lane.trial.documents > 0.0);
            fit.taus
                .extend(tried.map(|lane| TauTrial { tau: lane.choices.tau, loss: lane.trial.correction }));
        }
        let of = |lane: &(usize, StackedLane)| lane.1.trial.vectors;
        let best = lanes.into_iter().enumerate().min_by(|a, b| of(a).total_cmp(&of(b)));
        let Some((lane, StackedLane { trial: parts, choices, held_out })) = best else { return (fit, 0) };
        let choices = self.with_price(choices, &held_out);
        let parts = (parts.documents > 0.0).then_some(parts);
        let lines = self.label_lines(&choices, &fit.prior, &held_out);
        (WeightedFit { choices, held_out, parts, lines, ..fit }, lane)
    }

    /// Fits the stacking weights with each share tau that the fitted columns stand for.
    fn stack_lanes(
        &self,
        choices: Choices,
        prior: &[f64],
        predictions: &[ColumnPrediction],
    ) -> Vec<StackedLane> {
        let (is_one, own) = (self.columns.is_one(), [choices.tau]);
        let taus = if is_one && self.options.correction { &TAUS[..] } else { &own };
        let stacked = |(lane, tau): (usize, &f64)| {
            let of_lane = |decisions: &[f64]| if is_one { vec![decisions[lane]] } else { decisions.to_vec() };
            let held_out: Vec<_> = predictions.iter().map(|one| one.with(of_lane)).collect();
            let (choices, trial) = self.with_stacking(Choices { tau: *tau, ..choices }, prior, &held_out);
            StackedLane { trial, choices, held_out }
        };
        taus.iter().enumerate().map(stacked).collect()
    }

    /// How well held-out documents are predicted with the stacking weights that suit them best; `None` if there are none.
    pub(crate) fn best_trial(
        &self,
        choices: Choices,
        predictions: &[ColumnPrediction],
    ) -> Option<PartsTrial> {
        self.best_lane(choices, predictions).map(|lane| lane.trial)
    }

    fn best_lane(&self, choices: Choices, predictions: &[ColumnPrediction]) -> Option<StackedLane> {
        let prior = priors(self.counts.totals(), &self.columns);
        let lanes = self.stack_lanes(choices, &prior, predictions).into_iter();
        let known = lanes.filter(|lane| lane.trial.shares > 0.0);
        known.min_by(|a, b| a.trial.vectors.total_cmp(&b.trial.vectors))
    }

    /// The mean losses of held-out groups of documents, with the stacking weights that suit them. The groups are in order.
    pub(crate) fn losses(&self, choices: Choices, predictions: &[ColumnPrediction]) -> Vec<WeightedLoss> {
        let best = self.best_lane(choices, predictions);
        let Some(StackedLane { choices, held_out, .. }) = best else { return Vec::new() };
        let totals = self.counts.totals();
        let (prior, targets) = (priors(totals, &self.columns), Targets::new(&self.columns, totals));
        let mut groups: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
        for held in held_out.iter().filter(|held| held.weight > 0.0) {
            let (mut own, class) = (targets.input(1), self.documents.label(held.document).class);
            targets.push(&mut own, held.log_odds(&choices, &prior).into_iter(), class, held.weight);
            let [loss, weight] = groups.entry(self.documents.held_out_with(held.document)).or_default();
            (*loss, *weight) = (*loss + own.total(&own.losses(&[1.0])), *weight + held.weight);
        }
        groups.into_values().map(|[loss, weight]| WeightedLoss { loss: loss / weight, weight }).collect()
    }

    /// Fits the stacking weights to held-out scores. Returns the choices and how well they predict.
    ///
    /// Compares three models, each more complex than the one before: the class shares alone; counts and correction in
    /// their default ratio, and what stands beside them; all with fitted weights, or fewer where these do better. Each step is shrunk
    /// according to its gain on held-out documents, see [`shrinkage`]. The documents of a group count as one.
    pub(crate) fn with_stacking(
        &self,
        choices: Choices,
        prior: &[f64],
        held_out: &[Prediction],
    ) -> (Choices, PartsTrial) {
        let targets = Targets::new(&self.columns, self.counts.totals());
        let mut input = targets.input(PARTS);
        let (mut documents, mut groups) = (0.0, HashMap::new());
        // of a document without evidence, nothing but the class shares says anything
        let mut unknown = targets.input(PARTS);
        for held in held_out.iter().filter(|held| held.weight > 0.0) {
            let label = self.documents.label(held.document);
            if !held.has_evidence() {
                let values = prior.iter().flat_map(|p| [0.0, 0.0, 0.0, 0.0, *p]);
                targets.push(&mut unknown, values, label.class, held.weight);
                continue;
            }
            let values = held.parts().zip(prior).flat_map(|([b, d, c, v], p)| [b, d, c, v, *p]);
            targets.push(&mut input, values, label.class, held.weight);
            documents += f64::from(label.multiplicity);
            let group = self.documents.held_out_with(held.document);
            let (class, is_drawn, copies) = groups.entry(group).or_insert((label.class, false, 0.0));
            *is_drawn |= label.class != *class;
            *copies += f64::from(label.multiplicity);
        }
        let [negative, positive] =
            self.columns.order(self.counts.totals()).map(|totals| totals.documents as f64 + 0.5);
        let odds = if self.columns.is_one() { (positive / negative).ln() } else { 1.0 };
        let of_shares = [0.0, 0.0, 0.0, 0.0, odds];
        let unknown_loss = unknown.total(&unknown.losses(&of_shares)) * targets.per_document() as f64;
        let least = least_belief(self.never_held_out(held_out), held_out.len());
        if input.len() == 0 {
            let shares = if unknown.len() > 0 { unknown_loss / unknown.weight() } else { 0.0 };
            let trial = PartsTrial {
                shares,
                counts: shares,
                correction: shares,
                columns: shares,
                vectors: shares,
                ..PartsTrial::default()
            };
            // a model without two labels will learn one by one; what words say ranks labels, whatever shares few documents have
            let known = self.counts.totals().iter().filter(|totals| totals.documents > 0).count();
            let belief = if known < 2 || self.documents.is_empty() { 1.0 } else { least };
            return (Choices { stack: choices.stack.map(|q| belief * q), ..choices }, trial);
        }
        let candidate = |stack: [f64; PARTS]| {
            let loss = input.mean(&input.losses(&stack)) * targets.per_document() as f64;
            StackCandidate { stack, loss: if loss.is_nan() { f64::MAX } else { loss } }
        };
        let there = self.beside.is_there();
        // with more than two classes, the counts' log-odds already include the class shares, but the others do not
        let has_offset = self.columns.are_independent() || there.contains(&true);
        let fitted = |has_correction: bool, [columns, vector]: [bool; 2]| {
            let free = vec![true, has_correction, columns, vector, has_offset];
            let weights = input.fit_free(&choices.stack, free, 4);
            candidate(std::array::from_fn(|part| weights[part]))
        };
        let shares = candidate(of_shares);
        let default_ratio = candidate(input.scaled(choices.stack, there, has_offset));
        let counts = fitted(false, [false; 2]);
        let has_correction = self.options.correction;
        let correction = if has_correction { fitted(true, [false; 2]) } else { counts };
        let columns = if there[0] { fitted(has_correction, [true, false]) } else { correction };
        let vectors = if there[1] { fitted(has_correction, there) } else { columns };
        let better = |a: StackCandidate, b: StackCandidate| if a.loss <= b.loss { a } else { b };
        let own_ratio = [correction, columns, vectors].into_iter().fold(counts, better);
        // texts by one author, or copies of a newsletter, are not independent evidence, unless their labels differ
        let independent: f64 =
            groups.values().map(|(_, is_drawn, copies)| if *is_drawn { *copies } else { 1.0 }).sum();
        let gain = independent * (shares.loss - default_ratio.loss.min(own_ratio.loss));
        let gain_of_ratio = independent * (default_ratio.loss - own_ratio.loss);
        let (belief, belief_in_ratio) = (shrinkage(gain), shrinkage(gain_of_ratio));
        let ratio = between(default_ratio.stack, own_ratio.stack, belief_in_ratio);
        let least = if there[1] { least.max(least_of_vectors(independent)) } else { least };
        let belief = belief.max(least / input.deviation(&ratio).max(1.0));
        let stack = between(shares.stack, ratio, belief);
        let [known, all] = [input.weight(), input.weight() + unknown.weight()];
        let [shares, counts, correction, columns, vectors] =
            [shares, counts, correction, columns, vectors].map(|of| (of.loss * known + unknown_loss) / all);
        let trial =
            PartsTrial { documents, shares, counts, correction, columns, vectors, belief, belief_in_ratio };
        (Choices { stack, ..choices }, trial)
    }

    /// The number of labels without a held-out document.
    fn never_held_out(&self, held_out: &[Prediction]) -> usize {
        let held = held_out.iter().filter(|held| held.weight > 0.0);
        let classes: HashSet<_> = held.map(|held| self.documents.label(held.document).class).collect();
        let known = self.counts.totals().iter().filter(|totals| totals.documents > 0).count();
        if self.columns.are_labels() { 0 } else { known.saturating_sub(classes.len()) }
    }

    /// Chooses by how much parts are lowered, and what parts of ham hardly ever say; of few documents, the defaults stay.
    ///
    /// The price is the lowest at which parts cost nothing where nobody hides anything, as in the documents: not the one that
    /// predicts them best, since whoever pads spam is not among them.
    fn with_price(&self, choices: Choices, held_out: &[Prediction]) -> Choices {
        let known: Vec<_> = held_out.iter().filter(|held| held.has_evidence() && held.weight > 0.0).collect();
        let column = |held: &Prediction| self.columns.only(self.documents.label(held.document).class);
        let ham = known.iter().filter(|held| !held.windows.is_empty() && column(held).is_none());
        let mut of_ham: Vec<_> = ham.map(|held| held.part_scores(&choices).highest).collect();
        if of_ham.len() < ENOUGH_HAM {
            return choices;
        }
        of_ham.sort_by(f64::total_cmp);
        let loss = |parts: [f64; 2]| {
            let (choices, mut z) = (Choices { parts, ..choices }, StackingInput::new(1, 1));
            known.iter().for_each(|held| z.push(held.log_odds(&choices, &[1.0]), column(held), held.weight));
            z.total(&z.losses(&[1.0]))
        };
        let most = (1.0 + TOLERATED) * loss([MOST, 0.0]);
        let [.., highest] = PRICES;
        let parts = PRICES.into_iter().find(|parts| loss(*parts) <= most).unwrap_or(highest);
        Choices { parts, most_of_ham: Some(of_ham[of_ham.len() * 99 / 100]), ..choices }
    }

    /// Fits a calibration line for each label: slope and offset, from its log-odds z to calibrated ones (Platt scaling
    /// by the held-out documents). The step from no change to the fitted line is shrunk by its gain, so a label with few
    /// documents keeps what was fitted to all labels together.
    fn label_lines(&self, choices: &Choices, prior: &[f64], held_out: &[Prediction]) -> Vec<[f64; 2]> {
        if !self.columns.are_labels() {
            return Vec::new();
        }
        let known = held_out.iter().filter(|held| held.has_evidence() && held.weight > 0.0);
        let known: Vec<_> = known.map(|held| (held, held.log_odds(choices, prior))).collect();
        let totals = self.columns.totals(self.counts.totals());
        let line = |(column, totals): (usize, &ClassTotals)| {
            let mut parts = StackingInput::new(1, 2);
            for (held, z) in &known {
                let is_positive = self.columns.is_positive(self.documents.label(held.document).class, column);
                parts.push([z[column], 1.0], is_positive.then_some(0), held.weight);
            }
            if totals.documents < 2 || parts.len() == 0 {
                return IDENTITY;
            }
            let fitted = parts.fit(&IDENTITY, 1);
            let loss = |line: &[f64]| parts.mean(&parts.losses(line));
            let share = shrinkage(parts.len() as f64 * (loss(&IDENTITY) - loss(&fitted)));
            between(IDENTITY, [fitted[0], fitted[1]], share)
        };
        totals.par_iter().enumerate().with_max_len(8).map(line).collect()
    }
}

/// The stacking weights with one tau, how well they predict, and the held-out scores that they are fitted to.
struct StackedLane {
    trial: PartsTrial,
    choices: Choices,
    held_out: Vec<Prediction>,
}

/// The share of a step to keep if it gains `gain` nats of log likelihood on held-out documents: 1 - c / 2G for the gain
/// G, or 0 if that is negative.
///
/// By chance alone, twice the gain is a chi-squared variable with one degree of freedom, which rarely exceeds c = 4.
///
/// Source: James and Stein, "Estimation with quadratic loss" (1961): the positive part of their estimator.
pub(crate) fn shrinkage(gain: f64) -> f64 {
    if gain > 2.0 { 1.0 - 2.0 / gain } else { 0.0 }
}

/// The minimum trust in the counts: enough to prefer a label where the class shares prefer none.
#[doc(hidden)]
pub const LEAST_BELIEF: f64 = 0.05;

/// The same with vectors, of which an encoder knows something before the first of these documents: up to two fifths. Where
/// that is wrong it costs little, since no more of the log-odds' deviation is believed.
fn least_of_vectors(documents: f64) -> f64 {
    0.4 * documents / (documents + 16.0)
}

/// The trust that need not be earned on `held_out` documents: the more labels have a single one, which cannot be held
/// out, the more of them the default weights tell apart.
pub(crate) fn least_belief(singles: usize, held_out: usize) -> f64 {
    LEAST_BELIEF.max(singles as f64 / (singles + held_out + UNSURE) as f64)
}

/// Of so many labels with one document each, half of what the default weights say is believed. On 20 sets of texts with 2
/// to 77 labels, none of which gets worse than class shares by more than .001 nats, more would harm those that are few.
const UNSURE: usize = 40;

/// The line that changes no log-odds.
const IDENTITY: [f64; 2] = [1.0, 0.0];

/// A candidate for the stacking weights.
#[derive(Clone, Copy)]
struct StackCandidate {
    stack: [f64; PARTS],
    /// The mean log loss of held-out documents, in nats.
    loss: f64,
}

/// The point between two, at a `share` of the way.
fn between<const N: usize>(from: [f64; N], to: [f64; N], share: f64) -> [f64; N] {
    std::array::from_fn(|part| from[part] + share * (to[part] - from[part]))
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::counts::Statistics;
    use crate::linear::{Columns, WeightedOptions};
    use crate::validation::Example;

    /// The choices by held-out documents that are given as whether they are spam, what the whole says, and what each of its
    /// windows says.
    fn priced(held_out: &[(bool, f64, Vec<f64>)]) -> Choices {
        let row = CountVector::from_pairs([(0, 1)]).unwrap();
        let example = |(is_spam, ..): &(bool, f64, Vec<f64>)| {
            let class = u16::from(*is_spam);
            Example { row: row.row(), class, multiplicity: 1, group: 0, fraction: 0, vector: &[] }
        };
        let documents: Vec<_> = held_out.iter().map(example).collect();
        let prediction = |(document, (_, z, windows)): (usize, &(bool, f64, Vec<f64>))| Prediction {
            document,
            weight: 1.0,
            known_terms: 1,
            bayes: vec![*z],
            correction: vec![0.0],
            windows: windows.iter().map(|z| [*z, 0.0]).collect(),
            ..Prediction::default()
        };
        let predictions: Vec<_> = held_out.iter().enumerate().map(prediction).collect();
        let (counts, options) = (Statistics::new(2), WeightedOptions::default());
        let columns = Columns::new(2, 1).unwrap();
        let problem = FitProblem {
            counts: &counts,
            documents: &documents,
            columns,
            beside: Default::default(),
            options: &options,
        };
        problem.with_price(Choices::for_classes(2), &predictions)
    }

    /// So many documents of spam and ham each: what the whole says, and the highest and the other of eight windows.
    fn of_both(n: usize, spam: [f64; 3], ham: [f64; 3]) -> Vec<(bool, f64, Vec<f64>)> {
        let document = |is_spam, [z, highest, other]: [f64; 3]| {
            (is_spam, z, (0..8).map(|at| if at == 3 { highest } else { other }).collect::<Vec<_>>())
        };
        (0..n).flat_map(|_| [document(true, spam), document(false, ham)]).collect()
    }

    #[test]
    fn the_price_of_parts_is_the_lowest_that_costs_nothing() {
        let ([lowest, .., highest], default) = (PRICES, Choices::for_classes(2).parts);
        // ham of which a part is hardly, or clearly, worse than the whole
        let (silent, alike, worse) = ([-2.0, -3.0, -4.0], [-2.0, 1.5, -3.0], [-2.0, 30.0, -3.0]);
        let spam = [5.0, 5.0, 2.0];
        assert_eq!(priced(&of_both(100, spam, silent)).parts, lowest);
        // ln 8 is 2.08: the price that takes 1.5 down to -2
        assert_eq!(priced(&of_both(100, spam, alike)).parts, [2.0, 1.0]);
        assert_eq!(priced(&of_both(100, spam, worse)).parts, highest);
        // too few
        assert_eq!(priced(&of_both(2, spam, worse)).parts, default);
    }

    #[test]
    fn what_parts_of_ham_say_is_known_from_enough_ham_with_parts() {
        let ham = |n: i32| {
            (0..n).map(|i| (false, -9.0, vec![-9.0, f64::from(i) / 10.0 - 30.0])).collect::<Vec<_>>()
        };
        let spam = (true, 9.0, vec![99.0, 99.0]);
        let of = |n| priced(&[&ham(n)[..], &[spam.clone(), (false, 50.0, Vec::new())]].concat()).most_of_ham;
        assert_eq!(of(49), None);
        // the parts of 198 hams are not worse
        assert_eq!(of(400), Some(39.6 - 30.0));
        let wholes: Vec<_> = ham(400).into_iter().map(|(is_spam, z, _)| (is_spam, z, Vec::new())).collect();
        assert_eq!(priced(&wholes), Choices::for_classes(2));
    }
}
