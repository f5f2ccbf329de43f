//! Held-out scores, and refitting stacking weights to them.

use crate::linear::Choices;
use crate::selection::stacking::StackingInput;

/// The scores of a document by a model that has seen neither it nor any of its group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// The position of the document.
    pub document: usize,
    /// Its weight: the number of copies, times the sampling weight.
    pub weight: f64,
    /// The number of its distinct terms that the model knew; 0 means no evidence.
    pub known_terms: usize,
    /// The counts' log-odds B, one per column.
    pub bayes: Vec<f64>,
    /// The correction's log-odds d, one per column.
    pub correction: Vec<f64>,
    /// B and d of each of its windows, if it has any; the highest score counts.
    pub windows: Vec<[f64; 2]>,
}

impl HeldOut {
    /// B and d of the highest-scoring part of the document, the whole or a window, for two classes.
    pub fn highest(&self, choices: &Choices) -> Option<[f64; 2]> {
        let whole = self.bayes.first().zip(self.correction.first()).map(|(b, d)| [*b, *d]);
        let parts = whole.into_iter().chain(self.windows.iter().copied());
        parts.max_by(|a, b| choices.stacked_of_two(*a).total_cmp(&choices.stacked_of_two(*b)))
    }

    /// The document's log-odds with `choices`, see [`WeightedLogOdds::log_odds`](crate::WeightedLogOdds::log_odds);
    /// `prior` is p of each column.
    pub fn log_odds(&self, choices: &Choices, prior: &[f64]) -> Vec<f64> {
        let of_columns = self.bayes.iter().zip(&self.correction).zip(prior);
        match self.windows.is_empty() {
            true => of_columns.map(|((b, d), p)| choices.stacked([*b, *d, *p])).collect(),
            false => self.highest(choices).into_iter().map(|both| choices.log_odds(both)).collect(),
        }
    }
}

impl Choices {
    /// Refits the stacking weights to held-out documents of two classes, each given as its B and d, whether it is
    /// positive, and its weight. With `of_windows`, refits the calibration line of windows instead. Changes nothing if
    /// a class has fewer than 50 documents.
    #[must_use]
    pub fn refitted(self, scored: &[([f64; 2], bool, f64)], of_windows: bool) -> Self {
        let of = |is_positive| scored.iter().filter(|(_, of, _)| *of == is_positive).count();
        if of(true).min(of(false)) < 50 {
            return self;
        }
        let mut parts = StackingInput::new(1, if of_windows { 2 } else { 3 });
        for (both, is_positive, weight) in scored {
            let stacked = if of_windows { &[self.stacked_of_two(*both)][..] } else { both };
            parts.push(stacked.iter().copied().chain([1.0]), is_positive.then_some(0), *weight);
        }
        let default = Choices::for_classes(2);
        if of_windows { self.with_line(&parts) } else { self.with_stack(&parts, &default.stack) }
    }

    pub(crate) fn with_stack(self, parts: &StackingInput, default: &[f64]) -> Self {
        let weights = parts.fit(default, 2);
        Choices { stack: [weights[0], weights[1], weights.get(2).copied().unwrap_or(0.0)], ..self }
    }

    pub(crate) fn with_line(self, parts: &StackingInput) -> Self {
        let line = parts.fit(&Choices::for_classes(2).line, 1);
        Choices { line: [line[0], line[1]], ..self }
    }
}
