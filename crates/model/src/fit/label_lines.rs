//! The calibration of each label by itself.

use rayon::prelude::*;

use crate::counts::{ClassTotals, Counts};
use crate::fit::Fit;
use crate::fit::choose::shrinkage;
use crate::linear::Choices;
use crate::selection::{HeldOut, StackingInput};

/// The line that changes no log-odds.
const IDENTITY: [f64; 2] = [1.0, 0.0];

impl Fit<'_> {
    /// Fits a calibration line for each label: slope and offset, from its log-odds z to calibrated ones (Platt scaling
    /// by the held-out documents). The step from no change to the fitted line is shrunk by its gain, so a label with few
    /// documents keeps what was fitted to all labels together.
    pub(super) fn label_lines(
        &self,
        choices: &Choices,
        prior: &[f64],
        held_out: &[HeldOut],
    ) -> Vec<[f64; 2]> {
        if !self.columns.are_labels() {
            return Vec::new();
        }
        let known = held_out.iter().filter(|held| held.known_terms > 0 && held.weight > 0.0);
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
            std::array::from_fn(|part| IDENTITY[part] + share * (fitted[part] - IDENTITY[part]))
        };
        totals.par_iter().enumerate().with_max_len(8).map(line).collect()
    }
}
