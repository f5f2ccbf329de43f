//! Choices made by held-out scores: the stacking weights of counts and correction, tau, and the calibration line of
//! windows.

use std::collections::HashSet;

use crate::counts::Counts;
use crate::fit::tried::HeldOutScores;
use crate::fit::{Fit, Fitted};
use crate::linear::{Choices, TriedParts, TriedTau, priors};
use crate::selection::{HeldOut, SmoothingChoice, StackingInput, Targets};

/// The shares tau of the counts that a fit of two classes chooses from.
pub const TAUS: [f64; 2] = [0.5, 1.0];

/// Parts of a log-odds: counts, correction, class shares.
const PARTS: usize = 3;

impl Fit<'_> {
    /// The choices once smoothing is chosen: the rest are defaults, or fixed by the options.
    pub(super) fn choices_with(&self, smoothing: &SmoothingChoice) -> Choices {
        let SmoothingChoice { alpha, idf_power, bayes, .. } = *smoothing;
        let default = Choices::for_columns(&self.columns).fixed_by(self.options);
        Choices { alpha, idf_power, bayes, ..default }
    }

    /// Chooses the stacking weights and, for two classes, which fitted column becomes the correction: there is one for
    /// each of [`TAUS`]. Returns the fit with these choices, and the position of that column.
    pub(super) fn choose(&self, mut fitted: Fitted, read: &[HeldOutScores]) -> (Fitted, usize) {
        fitted.prior = priors(self.counts.totals(), &self.columns);
        let (is_one, own) = (self.columns.is_one(), [fitted.choices.tau]);
        let taus = if is_one && self.options.correction { &TAUS[..] } else { &own };
        let mut best: Option<(TriedParts, usize, Choices, Vec<HeldOut>)> = None;
        for (lane, tau) in taus.iter().copied().enumerate() {
            let of_lane = |decisions: &[f64]| if is_one { vec![decisions[lane]] } else { decisions.to_vec() };
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
        let lines = self.label_lines(&choices, &fitted.prior, &held_out);
        (Fitted { choices, held_out, parts, lines, ..fitted }, lane)
    }

    /// Fits the stacking weights to held-out scores. Returns the choices and how well they predict.
    ///
    /// Compares three models, each more complex than the one before: the class shares alone; counts and correction in
    /// their default ratio; the two with fitted weights, or the counts alone where these do better. Each step is shrunk
    /// according to its gain on held-out documents, see [`shrinkage`]. The documents of a group count as one, unless
    /// `copies_are_apart`.
    fn with_stacking(&self, choices: Choices, prior: &[f64], held_out: &[HeldOut]) -> (Choices, TriedParts) {
        let (columns, totals) = (&self.columns, self.counts.totals());
        let targets = Targets::new(columns, totals);
        let mut parts = targets.input(PARTS);
        let (mut documents, mut groups) = (0.0, HashSet::new());
        for held in held_out.iter().filter(|held| held.known_terms > 0 && held.weight > 0.0) {
            let label = self.documents.label(held.document);
            let values = held.bayes.iter().zip(&held.correction).zip(prior);
            let values = values.flat_map(|((b, d), p)| [*b, *d, *p]);
            targets.push(&mut parts, values, label.class, held.weight);
            documents += f64::from(label.multiplicity);
            groups.insert(label.group);
        }
        if parts.len() == 0 {
            return (choices, TriedParts::default());
        }
        // texts by one author, or copies of a newsletter, are not independent evidence
        let independent = if self.documents.copies_are_apart() { documents } else { groups.len() as f64 };
        let [negative, positive] = columns.order(totals).map(|totals| totals.documents as f64 + 0.5);
        let by_shares = [0.0, 0.0, if columns.is_one() { (positive / negative).ln() } else { 1.0 }];
        let default = choices.stack;
        let loss = |stack: &[f64; PARTS]| {
            let loss = parts.mean(&parts.losses(stack));
            if loss.is_nan() { f64::MAX } else { loss * targets.per_document() as f64 }
        };
        // with more than two classes, the counts' log-odds already include the class shares
        let has_offset = columns.are_independent();
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

    /// Fits the calibration line of windows, from the highest log-odds of a document's windows to the document's
    /// log-odds. Without windows, returns the choices unchanged.
    fn with_window_line(&self, choices: Choices, held_out: &[HeldOut]) -> Choices {
        if !self.documents.has_windows() {
            return choices;
        }
        let mut parts = StackingInput::new(1, 2);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let z = held.log_odds(&choices, &[1.0]).first().copied().unwrap_or(0.0);
            let column = self.columns.only(self.documents.label(held.document).class);
            parts.push([z, 1.0], column, held.weight);
        }
        choices.with_line(&parts)
    }
}

/// The share of a step to keep if it gains `gain` nats of log likelihood on held-out documents: 1 - c / 2G for the gain
/// G, or 0 if that is negative.
///
/// By chance alone, twice the gain is a chi-squared variable with one degree of freedom, which rarely exceeds c = 4.
///
/// Source: James and Stein, "Estimation with quadratic loss" (1961): the positive part of their estimator.
pub(super) fn shrinkage(gain: f64) -> f64 {
    if gain > 2.0 { 1.0 - 2.0 / gain } else { 0.0 }
}

/// The minimum trust in the counts: enough to prefer a label where the class shares prefer none.
#[doc(hidden)]
pub const LEAST_BELIEF: f64 = 0.05;
