//! The header of format 3, whose sections are those of today but for the size of blocks.

use serde::Deserialize;
use tamis_model::{ClassTotals, Classes, ExpectedNaiveBayes, Summary, Temperature};

use super::N_SECTIONS;
use crate::mixed::Table;
use crate::recipe::Recipe;
use crate::scoring::{Decision, Expected, Scoring};
use crate::store::Size;
use crate::trainer::Keep;

/// The header as it was written. A type in it that is to change gets a frozen copy, as in [`super::v1`].
#[derive(Deserialize)]
pub(super) struct Header {
    recipe: Recipe,
    keep: Keep,
    scoring: Scoring,
    classes: Classes,
    totals: Vec<ClassTotals>,
    summary: Option<Summary>,
    table: Option<Table>,
    decision: Decision,
    temperature: Temperature,
    expected_model: Option<ExpectedNaiveBayes>,
    expected: Option<Expected>,
    size: Size,
    lengths: [u64; N_SECTIONS],
}

impl From<Header> for super::Header {
    fn from(old: Header) -> Self {
        super::Header {
            recipe: old.recipe,
            keep: old.keep,
            scoring: old.scoring,
            classes: old.classes,
            totals: old.totals,
            asked: None,
            changes: 0,
            unfitted: 0,
            summary: old.summary,
            table: old.table,
            decision: old.decision,
            temperature: old.temperature,
            expected_model: old.expected_model,
            expected: old.expected,
            size: old.size,
            lengths: old.lengths,
        }
    }
}
