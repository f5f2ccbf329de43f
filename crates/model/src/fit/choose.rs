//! What a fit chooses by held-out scores: tau, the stacking weights and the line of windows.

use crate::fit::fit::{Fit, Fitted, TriedTau};
use crate::left_out::held_out::HeldOut;
use crate::left_out::smoothing_choice::{SmoothingChoice, enough_to_choose};
use crate::left_out::stacking::StackingInput;
use crate::linear::choices::Choices;

/// The shares tau of the counts to choose from, for two classes.
pub const TAUS: [f64; 2] = [0.5, 1.0];

/// The held-out scores of a document.
pub(super) struct HeldOutScores {
    /// The scores of the counts.
    pub(super) held: HeldOut,
    /// d of every fitted column: of the document, then of each window with a known term.
    pub(super) said: Vec<Vec<f64>>,
}

impl HeldOutScores {
    /// The scores with d of a selection of the fitted columns.
    fn with(&self, group: impl Fn(&[f64]) -> Vec<f64>) -> HeldOut {
        let mut said = self.said.iter().map(|said| group(said));
        let mut held = HeldOut { correction: said.next().unwrap_or_default(), ..self.held.clone() };
        for (both, said) in held.windows.iter_mut().zip(said) {
            both[1] = said.first().copied().unwrap_or(0.0);
        }
        held
    }
}

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
        let (is_one, own) = (self.columns.is_one(), [fitted.choices.tau]);
        let chooses = enough_to_choose(self.documents, self.columns.n_classes());
        let taus = if is_one && chooses { &TAUS[..] } else { &own };
        let mut best: Option<(f64, usize, Choices, Vec<HeldOut>)> = None;
        for (lane, tau) in taus.iter().copied().enumerate() {
            let of_lane = |said: &[f64]| if is_one { vec![said[lane]] } else { said.to_vec() };
            let held_out: Vec<_> = read.iter().map(|read| read.with(of_lane)).collect();
            let (choices, loss) = self.with_stacking(Choices { tau, ..fitted.choices }, &held_out, chooses);
            if chooses && self.options.correction {
                fitted.taus.push(TriedTau { tau, loss });
            }
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, lane, choices, held_out));
            }
        }
        let Some((_, lane, choices, held_out)) = best else { return (fitted, 0) };
        let choices = self.with_window_line(choices, &held_out, chooses);
        (Fitted { choices, held_out, ..fitted }, lane)
    }

    /// The choices with stacking weights fitted to held-out scores, and their mean log loss.
    fn with_stacking(&self, choices: Choices, held_out: &[HeldOut], chooses: bool) -> (Choices, f64) {
        let columns = self.columns;
        let n_parts = if columns.is_one() { 3 } else { 2 };
        let mut parts = StackingInput::new(columns.len(), n_parts);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let both = held.bayes.iter().zip(&held.correction);
            let values = both.flat_map(|(b, d)| [*b, *d, 1.0].into_iter().take(n_parts));
            parts.push(values, columns.of(self.documents.label(held.document).class), held.weight);
        }
        let mut choices = choices;
        if chooses && self.options.correction && parts.len() > 0 {
            let default = Choices::for_classes(columns.n_classes()).stack;
            choices = choices.with_stack(&parts, &default[..n_parts]);
        }
        let loss = parts.mean(&parts.losses(&choices.stack[..n_parts]));
        (choices, if loss.is_nan() { f64::MAX } else { loss })
    }

    /// The choices with the calibration line for windows: from the highest log-odds of a document's windows to its
    /// log-odds.
    fn with_window_line(&self, choices: Choices, held_out: &[HeldOut], chooses: bool) -> Choices {
        if !self.documents.has_windows() || !chooses {
            return choices;
        }
        let mut parts = StackingInput::new(1, 2);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let z = held.log_odds(&choices).first().copied().unwrap_or(0.0);
            let column = self.columns.of(self.documents.label(held.document).class);
            parts.push([z, 1.0], column, held.weight);
        }
        choices.with_line(&parts)
    }
}
