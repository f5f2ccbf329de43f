//! What a fit chooses by held-out scores: how far counts and correction are believed, tau, and the line of windows.

use std::collections::HashSet;

use crate::counts::counts::Counts;
use crate::fit::fit::{Fit, Fitted};
use crate::fit::tried::HeldOutScores;
use crate::left_out::held_out::HeldOut;
use crate::left_out::smoothing_choice::{SmoothingChoice, priors};
use crate::left_out::stacking::StackingInput;
use crate::linear::choices::Choices;
use crate::linear::tried::{TriedParts, TriedTau};

/// The shares tau of the counts to choose from, for two classes.
pub const TAUS: [f64; 2] = [0.5, 1.0];

/// Parts of a log-odds: counts, correction, class shares.
const PARTS: usize = 3;

impl Fit<'_> {
    /// The choices before anything but smoothing is chosen.
    pub(super) fn choices_with(&self, smoothing: &SmoothingChoice) -> Choices {
        let SmoothingChoice { alpha, idf_power, bayes, .. } = *smoothing;
        let default = Choices::for_classes(self.columns.n_classes()).fixed_by(self.options);
        Choices { alpha, idf_power, bayes, ..default }
    }

    /// Chooses the stacking weights and, for two classes, which of the fitted columns is the correction: one of each of
    /// [`TAUS`]. Returns the fit with what was chosen, and the column.
    pub(super) fn choose(&self, mut fitted: Fitted, read: &[HeldOutScores]) -> (Fitted, usize) {
        fitted.prior = priors(self.counts.totals(), self.columns);
        let (is_one, own) = (self.columns.is_one(), [fitted.choices.tau]);
        let taus = if is_one && self.options.correction { &TAUS[..] } else { &own };
        let mut best: Option<(TriedParts, usize, Choices, Vec<HeldOut>)> = None;
        for (lane, tau) in taus.iter().copied().enumerate() {
            let of_lane = |said: &[f64]| if is_one { vec![said[lane]] } else { said.to_vec() };
            let held_out: Vec<_> = read.iter().map(|read| read.with(of_lane)).collect();
            let (choices, tried) =
                self.with_stacking(Choices { tau, ..fitted.choices }, &fitted.prior, &held_out);
            if tried.documents > 0.0 && self.options.correction {
                fitted.taus.push(TriedTau { tau, loss: tried.correction });
            }
            if best.as_ref().is_none_or(|(least, ..)| tried.correction < least.correction) {
                best = Some((tried, lane, choices, held_out));
            }
        }
        let Some((parts, lane, choices, held_out)) = best else { return (fitted, 0) };
        let choices = self.with_window_line(choices, &held_out);
        let parts = (parts.documents > 0.0).then_some(parts);
        (Fitted { choices, held_out, parts, ..fitted }, lane)
    }

    /// The choices with stacking weights fitted to held-out scores, and how well they do.
    ///
    /// Three answers, each less simple than the one before: the class shares; counts and correction in their default ratio; the
    /// two with fitted weights, or the counts alone where these do better. Each step is kept as far as held-out documents
    /// speak for it, see [`shrinkage`]; documents of a group speak once.
    fn with_stacking(&self, choices: Choices, prior: &[f64], held_out: &[HeldOut]) -> (Choices, TriedParts) {
        let (columns, totals) = (self.columns, self.counts.totals());
        let mut parts = StackingInput::new(columns.len(), PARTS);
        let (mut documents, mut groups) = (0.0, HashSet::new());
        for held in held_out.iter().filter(|held| held.known_terms > 0 && held.weight > 0.0) {
            let label = self.documents.label(held.document);
            let values = held.bayes.iter().zip(&held.correction).zip(prior);
            parts.push(values.flat_map(|((b, d), p)| [*b, *d, *p]), columns.of(label.class), held.weight);
            documents += f64::from(label.multiplicity);
            groups.insert(label.group);
        }
        if parts.len() == 0 {
            return (choices, TriedParts::default());
        }
        // what one author wrote, or copies of a newsletter, say the same thing more than once
        let independent = if self.documents.copies_are_apart() { documents } else { groups.len() as f64 };
        let [negative, positive] = columns.order(totals).map(|totals| totals.documents as f64 + 0.5);
        let by_shares = [0.0, 0.0, if columns.is_one() { (positive / negative).ln() } else { 1.0 }];
        let default = choices.stack;
        let loss = |stack: &[f64; PARTS]| {
            let loss = parts.mean(&parts.losses(stack));
            if loss.is_nan() { f64::MAX } else { loss }
        };
        // the shares are part of the counts' log-odds of many classes
        let has_offset = columns.is_one();
        let fit = |has_correction: bool| {
            let is_free = vec![true, has_correction, has_offset];
            let fitted = parts.fit_free(&default, is_free, 2);
            std::array::from_fn(|part| fitted[part])
        };
        let by_default = parts.scaled(default, has_offset);
        let by_counts = fit(false);
        let by_both = if self.options.correction { fit(true) } else { by_counts };
        let [shares, scaled, counts, correction] =
            [by_shares, by_default, by_counts, by_both].map(|stack| loss(&stack));
        let (by_best, best) = if counts <= correction { (by_counts, counts) } else { (by_both, correction) };
        let belief = shrinkage(independent * (shares - scaled.min(best))).max(LEAST_BELIEF);
        let belief_in_ratio = shrinkage(independent * (scaled - best));
        let between = |from: [f64; PARTS], to: [f64; PARTS], share: f64| -> [f64; PARTS] {
            std::array::from_fn(|part| from[part] + share * (to[part] - from[part]))
        };
        let stack = between(by_shares, between(by_default, by_best, belief_in_ratio), belief);
        let tried = TriedParts { documents, shares, counts, correction, belief, belief_in_ratio };
        (Choices { stack, ..choices }, tried)
    }

    /// The choices with the calibration line for windows: from the highest log-odds of a document's windows to its
    /// log-odds.
    fn with_window_line(&self, choices: Choices, held_out: &[HeldOut]) -> Choices {
        if !self.documents.has_windows() {
            return choices;
        }
        let mut parts = StackingInput::new(1, 2);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let z = held.log_odds(&choices, &[1.0]).first().copied().unwrap_or(0.0);
            let column = self.columns.of(self.documents.label(held.document).class);
            parts.push([z, 1.0], column, held.weight);
        }
        choices.with_line(&parts)
    }
}

/// What is left of a step that gained so much log likelihood on held-out documents, in nats: 1 - c / 2G, or nothing.
///
/// Under chance alone twice the gain is a chi-squared variable of one degree of freedom, which rarely exceeds c = 4.
///
/// Source: James and Stein, "Estimation with quadratic loss" (1961): the positive part of their estimator.
fn shrinkage(gain: f64) -> f64 {
    if gain > 2.0 { 1.0 - 2.0 / gain } else { 0.0 }
}

/// How far the counts are believed at the least: enough to prefer a label where the shares prefer none.
#[doc(hidden)]
pub const LEAST_BELIEF: f64 = 0.05;
