//! What stacking is to predict: the columns in which each document is positive.

use crate::counts::{ClassId, ClassTotals};
use crate::linear::Columns;
use crate::selection::stacking::StackingInput;

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
            let of_column = values.by_ref().take(to.n_parts());
            to.push(of_column, is_positive.then_some(0), if is_unknown { 0.0 } else { weight });
        }
    }
}
