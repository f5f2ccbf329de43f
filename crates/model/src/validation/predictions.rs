//! Held-out scores, and refitting stacking weights to them.

use crate::counts::{ClassId, ClassTotals};
use crate::linear::{Choices, Columns, HeldOut, PARTS, PartScores};
use crate::validation::stacking::StackingInput;

/// The scores of a document by a model that has seen neither it nor any of its group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
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
    /// The log-odds c of the columns of a table that are not text, and v of its vector, one per column of the scores; empty
    /// without them. During a fit, v of each strength in turn.
    pub beside: [Vec<f64>; 2],
    /// B and d of each of its [windows](crate::windows), if it has any.
    pub windows: Vec<[f64; 2]>,
    /// B and d of what people see of it, if not all.
    pub seen: Option<[f64; 2]>,
}

impl Prediction {
    /// Whether anything speaks for a class: a known term, or what stands beside the text.
    pub fn has_evidence(&self) -> bool {
        self.known_terms > 0 || self.beside.iter().any(|of| !of.is_empty())
    }

    /// c and v of a column.
    fn beside(&self, column: usize) -> [f64; 2] {
        self.beside.each_ref().map(|of| of.get(column).copied().unwrap_or(0.0))
    }

    /// B, d, c and v of each column.
    pub(crate) fn parts(&self) -> impl Iterator<Item = [f64; 4]> {
        self.bayes.iter().zip(&self.correction).enumerate().map(|(column, (b, d))| {
            let [c, v] = self.beside(column);
            [*b, *d, c, v]
        })
    }

    /// B, d, c and v of a document of two classes, and its [lift](Choices::lift).
    pub fn held_out(&self, choices: &Choices) -> Option<HeldOut> {
        let [b, d, c, v] = self.parts().next()?;
        Some([b, d, c, v, choices.lift(choices.stacked_of_two([b, d, c, v]), &self.part_scores(choices))])
    }

    /// The scores of the document's parts.
    pub(crate) fn part_scores(&self, choices: &Choices) -> PartScores {
        let [c, v] = self.beside(0);
        let z = |[b, d]: &[f64; 2]| choices.stacked_of_two([*b, *d, c, v]);
        let highest = self.windows.iter().map(z).fold(f64::NEG_INFINITY, f64::max);
        PartScores { windows: self.windows.len(), highest, seen: self.seen.as_ref().map(z) }
    }

    /// The document's log-odds with `choices`, see [`WeightedLogOdds::log_odds`](crate::WeightedLogOdds::log_odds);
    /// `prior` is p of each column.
    pub fn log_odds(&self, choices: &Choices, prior: &[f64]) -> Vec<f64> {
        let mut z: Vec<_> = self.parts().zip(prior).map(|(parts, p)| choices.stacked(parts, *p)).collect();
        if let [z] = &mut z[..] {
            *z += choices.lift(*z, &self.part_scores(choices));
        }
        z
    }
}

impl Choices {
    /// Refits the stacking weights to held-out documents of two classes, each given as its scores, whether it is
    /// positive, and its weight. Changes nothing if a class has fewer than 50 documents.
    #[must_use]
    pub fn refitted(self, scored: &[(HeldOut, bool, f64)]) -> Self {
        let of = |is_positive| scored.iter().filter(|(_, of, _)| *of == is_positive).count();
        if of(true).min(of(false)) < 50 {
            return self;
        }
        let mut parts = StackingInput::new(1, PARTS);
        for ([b, d, c, v, _], is_positive, weight) in scored {
            parts.push([*b, *d, *c, *v, 1.0], is_positive.then_some(0), *weight);
        }
        let has = |part: usize| scored.iter().any(|(parts, ..)| parts[part] != 0.0);
        let default = Choices::for_classes(2).stack;
        let stack = parts.fit_free(&default, vec![true, true, has(2), has(3), true], 4);
        Choices { stack: std::array::from_fn(|part| stack[part]), ..self }
    }
}

/// The held-out scores of a document.
pub(crate) struct ColumnPrediction {
    /// The scores of the counts.
    pub(crate) held: Prediction,
    /// d of every fitted column: first of the document, then of each window, then of what people see.
    pub(crate) decisions: Vec<Vec<f64>>,
}

impl ColumnPrediction {
    /// The scores of the counts alone.
    pub(crate) fn by_counts(held: Prediction) -> Self {
        ColumnPrediction { decisions: vec![vec![0.0; held.bayes.len()]], held }
    }

    /// The held-out scores, with d taken from the fitted columns that `group` selects.
    pub(crate) fn with(&self, group: impl Fn(&[f64]) -> Vec<f64>) -> Prediction {
        let mut decisions = self.decisions.iter().map(|decisions| group(decisions));
        let mut held = Prediction { correction: decisions.next().unwrap_or_default(), ..self.held.clone() };
        for (both, decisions) in held.windows.iter_mut().chain(&mut held.seen).zip(decisions) {
            both[1] = decisions.first().copied().unwrap_or(0.0);
        }
        held
    }

    /// Merges the scores of further copies: takes weighted means and adds the weights. Always returns true.
    pub(crate) fn add(&mut self, other: &ColumnPrediction) -> bool {
        let all = self.held.weight + other.held.weight;
        let share = if all > 0.0 { other.held.weight / all } else { 0.0 };
        let mean = |to: &mut Vec<f64>, from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += share * (from - *to));
        };
        mean(&mut self.held.bayes, &other.held.bayes);
        let beside = self.held.beside.iter_mut().zip(&other.held.beside);
        beside.for_each(|(to, from)| mean(to, from));
        self.decisions.iter_mut().zip(&other.decisions).for_each(|(to, from)| mean(to, from));
        self.held.known_terms = self.held.known_terms.max(other.held.known_terms);
        self.held.weight = all;
        true
    }
}

/// Turns the scores of documents into the input of stacking.
///
/// Classes compete, so a document is one target. Labels do not: each label of a document is a target of its own.
pub(crate) struct Targets<'a> {
    columns: &'a Columns,
    /// The totals of the positive documents of each column.
    totals: Vec<ClassTotals>,
}

impl<'a> Targets<'a> {
    pub(crate) fn new(columns: &'a Columns, of_classes: &[ClassTotals]) -> Self {
        Targets { columns, totals: columns.totals(of_classes) }
    }

    /// Input without documents.
    pub(crate) fn input(&self, n_parts: usize) -> StackingInput {
        StackingInput::new(if self.columns.are_labels() { 1 } else { self.columns.len() }, n_parts)
    }

    /// The number of targets of a document.
    pub(crate) fn per_document(&self) -> usize {
        if self.columns.are_labels() { self.columns.len() } else { 1 }
    }

    /// Adds a document of `class`: the `n_parts` numbers of each column in turn. A label that no other document has is
    /// left out, since without the document it is unknown.
    pub(crate) fn push(
        &self,
        to: &mut StackingInput,
        values: impl Iterator<Item = f64>,
        class: ClassId,
        weight: f64,
    ) {
        if !self.columns.are_labels() {
            return to.push(values, self.columns.only(class), weight);
        }
        let mut values = values;
        for (column, totals) in self.totals.iter().enumerate() {
            let is_positive = self.columns.is_positive(class, column);
            let is_unknown = is_positive && totals.documents <= 1;
            let of_column = values.by_ref().take(to.n_parts);
            to.push(of_column, is_positive.then_some(0), if is_unknown { 0.0 } else { weight });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correction_of_a_part_is_read_from_its_own_row() {
        let held = Prediction {
            bayes: vec![1.0],
            windows: vec![[2.0, 0.0], [3.0, 0.0]],
            seen: Some([4.0, 0.0]),
            ..Prediction::default()
        };
        let decisions = [10.0, 20.0, 30.0, 40.0].map(|d| vec![d, -d]).to_vec();
        let of = |column: usize| {
            ColumnPrediction { held: held.clone(), decisions: decisions.clone() }.with(|d| vec![d[column]])
        };
        let first = of(0);
        assert_eq!(
            (first.correction, first.windows, first.seen),
            (vec![10.0], vec![[2.0, 20.0], [3.0, 30.0]], Some([4.0, 40.0]))
        );
        assert_eq!(of(1).seen, Some([4.0, -40.0]));
        assert_eq!(
            ColumnPrediction::by_counts(held.clone()).with(<[f64]>::to_vec),
            Prediction { correction: vec![0.0], ..held }
        );
    }

    #[test]
    fn held_out_log_odds_are_those_of_the_worst_part() {
        let choices =
            Choices { parts: [0.5, 1.0], stack: [1.0, 1.0, 1.0, 1.0, 0.25], ..Choices::for_classes(2) };
        let held = |windows: &[[f64; 2]], seen| Prediction {
            bayes: vec![-2.0],
            correction: vec![0.5],
            beside: [vec![0.125], Vec::new()],
            windows: windows.to_vec(),
            seen,
            ..Prediction::default()
        };
        // what stands beside the text counts for every part
        let (whole, part) = (-1.125, 4.0 + 0.375 - 0.5 - 2_f64.ln());
        for (windows, seen, expected) in [
            (&[][..], None, whole),
            (&[[3.0, 1.0], [1.0, 1.0]], None, part),
            (&[[-9.0, 1.0], [-8.0, 1.0]], None, whole),
            (&[], Some([1.0, 1.0]), 2.375),
        ] {
            let held = held(windows, seen);
            assert!((held.log_odds(&choices, &[1.0])[0] - expected).abs() < 1e-12);
            assert!((choices.log_odds(held.held_out(&choices).unwrap()) - expected).abs() < 1e-12);
        }
    }
}
