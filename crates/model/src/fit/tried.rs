//! Held-out scores of a fit.

use crate::selection::HeldOut;

/// The held-out scores of a document.
pub(super) struct HeldOutScores {
    /// The scores of the counts.
    pub(super) held: HeldOut,
    /// d of every fitted column: first of the document, then of each window with a known term.
    pub(super) decisions: Vec<Vec<f64>>,
}

impl HeldOutScores {
    /// The held-out scores, with d taken from the fitted columns that `group` selects.
    pub(super) fn with(&self, group: impl Fn(&[f64]) -> Vec<f64>) -> HeldOut {
        let mut decisions = self.decisions.iter().map(|decisions| group(decisions));
        let mut held = HeldOut { correction: decisions.next().unwrap_or_default(), ..self.held.clone() };
        for (both, decisions) in held.windows.iter_mut().zip(decisions) {
            both[1] = decisions.first().copied().unwrap_or(0.0);
        }
        held
    }

    /// Merges the scores of further copies: takes weighted means and adds the weights. Always returns true.
    pub(super) fn add(&mut self, other: &HeldOutScores) -> bool {
        let all = self.held.weight + other.held.weight;
        let share = if all > 0.0 { other.held.weight / all } else { 0.0 };
        let mean = |to: &mut Vec<f64>, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += share * (from - *to));
        };
        mean(&mut self.held.bayes, &other.held.bayes);
        self.decisions.iter_mut().zip(&other.decisions).for_each(|(to, from)| mean(to, from));
        self.held.known_terms = self.held.known_terms.max(other.held.known_terms);
        self.held.weight = all;
        true
    }
}
