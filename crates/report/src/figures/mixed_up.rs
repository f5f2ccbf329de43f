//! The pairs of labels that are mixed up most.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tamis_model::metrics::ConfusionMatrix;
use tamis_train::{ClassId, Classes};

use crate::figures::bars::{self, Bar};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, count, cut, grouped, percent_cell, share};

/// Maximum number of pairs in the drawing, and of rows in the table.
const MOST: usize = 12;
const MOST_ROWS: usize = 1_000;

/// The pairs of labels that were mixed up, those with the most documents first. For each pair, how many documents of
/// the first label were taken for the second, and how many of the second for the first. The first label is the one with
/// more.
fn pairs(matrix: &ConfusionMatrix) -> Vec<([ClassId; 2], [u64; 2])> {
    let mut of_pair = BTreeMap::new();
    for (truth, verdict, n) in matrix.cells() {
        if let Some(verdict) = verdict.filter(|verdict| *verdict != truth) {
            let both: &mut [u64; 2] = of_pair.entry([truth.min(verdict), truth.max(verdict)]).or_default();
            both[usize::from(truth > verdict)] = n;
        }
    }
    let more_first = |([a, b], [there, back]): ([ClassId; 2], [u64; 2])| match there >= back {
        true => ([a, b], [there, back]),
        false => ([b, a], [back, there]),
    };
    let mut pairs: Vec<_> = of_pair.into_iter().map(more_first).collect();
    // stable: equal pairs stay in the order of labels
    pairs.sort_by_key(|(_, [x, y])| Reverse(x + y));
    pairs
}

/// Creates the figure, for more than two labels; `None` if nothing is mixed up.
pub(crate) fn mixed_up(classes: &Classes, matrix: &ConfusionMatrix) -> Option<Chart> {
    let pairs = pairs(matrix);
    let label = |class: ClassId| classes.label(class).unwrap_or_default();
    let ([first, second], [there, back]) = *pairs.first()?;
    let bar = |([a, b], [there, back]): &([ClassId; 2], [u64; 2])| {
        let [a, b] = [*a, *b].map(|class| Name(&cut(label(class), 19)).to_string());
        let value = (there + back) as f64;
        Bar { name: format!("{a} – {b}"), value: Some(value), shown: format!("{there} + {back}") }
    };
    let drawn: Vec<_> = pairs.iter().take(MOST).map(bar).collect();
    let ([first, second], [there, back]) =
        ([first, second].map(|class| Name(label(class))), [there, back].map(grouped));
    let finding = format!(
        "{first} and {second} are mixed up most: {there} of {first} are taken for {second}, {back} the other way."
    );
    let row = |([a, b], [there, back]): &([ClassId; 2], [u64; 2])| {
        let names = [a, b].map(|class| Name(label(*class)).to_string());
        vec![names[0].clone(), names[1].clone(), count(*there), count(*back), count(there + back)]
    };
    let head = ["label", "mixed up with", "taken for it", "the other way", "documents"];
    let table = DataTable::new("", &head, pairs.iter().take(MOST_ROWS).map(row).collect()).with_texts(2);
    Some(Chart {
        finding: Some(finding),
        note: format!(
            "{} of {} pairs; the numbers are documents of the first taken for the second, and of the second taken for \
             the first.",
            drawn.len(),
            grouped(pairs.len() as u64)
        ),
        description: "Bars of the documents that two labels have mixed up, the longest first.".to_owned(),
        ..bars::chart("Labels mixed up most", &drawn, bars::FOR_SPAM, table)
    })
}

/// A table of the wrong verdicts, by true label and verdict.
pub(crate) fn pairs_table(classes: &Classes, matrix: &ConfusionMatrix) -> DataTable {
    let label = |class: ClassId| Name(classes.label(class).unwrap_or_default()).to_string();
    let mut wrong: Vec<_> = matrix.cells().filter(|(truth, verdict, _)| *verdict != Some(*truth)).collect();
    wrong.sort_by_key(|(.., n)| Reverse(*n));
    let n_wrong = wrong.len();
    let row = |(truth, verdict, n): (ClassId, Option<ClassId>, u64)| {
        let verdict = verdict.map_or("unsure".to_owned(), label);
        vec![label(truth), verdict, count(n), percent_cell(share(n, matrix.support(truth)))]
    };
    let rows: Vec<_> = wrong.into_iter().take(MOST_ROWS).map(row).collect();
    let caption = match n_wrong > MOST_ROWS {
        true => {
            format!("Wrong verdicts: the first {} of {}", grouped(MOST_ROWS as u64), grouped(n_wrong as u64))
        }
        false => "Wrong verdicts".to_owned(),
    };
    DataTable::new(caption, &["true label", "verdict", "documents", "share of the label"], rows).with_texts(2)
}
