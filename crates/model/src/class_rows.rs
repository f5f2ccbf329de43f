use std::hint::black_box;

use tamis_tokenizer::CountRow;

use crate::cells::Cells;
use crate::{ClassWeight, Labelled, StatisticsError};

/// The weights of a [`ClassCorrection`](crate::ClassCorrection) while they are learned.
pub(crate) enum Weights {
    /// Of few classes: a row of all of them for each term, which is read and added to much faster.
    Rows(Rows),
    /// Of any number.
    Cells(Cells<ClassWeight>),
}

/// So many classes have a row a term: 128 bytes at most.
const MAX_ROW: usize = 32;

/// How many classes are worked on at a time.
const BLOCK: usize = 8;

/// Units by term and class; a row is filled up with zeros to whole blocks.
pub(crate) struct Rows {
    blocks: Vec<[i32; BLOCK]>,
    /// Blocks of a row.
    width: usize,
}

/// A number a class, filled up with zeros to whole blocks.
pub(crate) struct Values(Vec<[f64; BLOCK]>);

impl Values {
    pub(crate) fn new(n_classes: usize) -> Values {
        Values(vec![[0.0; BLOCK]; n_classes.div_ceil(BLOCK)])
    }

    pub(crate) fn as_slice(&self) -> &[f64] {
        self.0.as_flattened()
    }
}

impl Weights {
    /// Zeros for the terms of these documents.
    pub(crate) fn new(n_classes: usize, documents: &[Labelled<'_>]) -> Weights {
        if n_classes > MAX_ROW {
            return Weights::Cells(Cells::default());
        }
        // ids increase: the last is the highest
        let last = documents.iter().filter_map(|d| d.row.ids().last()).max();
        let n_terms = last.map_or(0, |&id| id as usize + 1);
        let width = n_classes.div_ceil(BLOCK);
        Weights::Rows(Rows { blocks: vec![[0; BLOCK]; n_terms * width], width })
    }

    /// Makes each value the sum of a class's weights of the document's terms, in units, each times the term's factor.
    pub(crate) fn read(&self, row: CountRow<'_>, factors: &[f64], values: &mut Values) {
        match self {
            Weights::Rows(rows) => rows.read(row, factors, values),
            Weights::Cells(cells) => {
                // every term's weights are somewhere else in memory: asked for all at once they come in half the time
                let firsts = row.ids().iter().filter_map(|&term| cells.get(term).first());
                black_box(firsts.fold(0, |all, weight| all ^ weight.units));
                let values = values.0.as_flattened_mut();
                values.fill(0.0);
                for (&term, factor) in row.ids().iter().zip(factors) {
                    for weight in cells.get(term) {
                        values[usize::from(weight.class)] += factor * f64::from(weight.units);
                    }
                }
            }
        }
    }

    /// Adds the steps, in increasing class order, to the weights of every term of the document.
    pub(crate) fn add(&mut self, row: CountRow<'_>, steps: &[ClassWeight]) -> Result<(), StatisticsError> {
        match self {
            Weights::Rows(rows) => rows.add(row, steps),
            Weights::Cells(cells) => {
                // term by term, because a term's weights lie together
                for &term in row.ids() {
                    steps.iter().try_for_each(|step| cells.add(term, *step))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn into_cells(self) -> Result<Cells<ClassWeight>, StatisticsError> {
        match self {
            Weights::Rows(rows) => rows.into_cells(),
            Weights::Cells(cells) => Ok(cells),
        }
    }
}

impl Rows {
    fn read(&self, row: CountRow<'_>, factors: &[f64], values: &mut Values) {
        // as with cells; a row lies in two lines of the cache
        let ends = row.ids().iter().map(|&term| {
            let first = term as usize * self.width;
            self.blocks[first][0] ^ self.blocks[first + self.width - 1][BLOCK - 1]
        });
        black_box(ends.fold(0, |all, units| all ^ units));
        for (at, values) in values.0.iter_mut().enumerate() {
            let mut sums = [0.0; BLOCK];
            for (&term, factor) in row.ids().iter().zip(factors) {
                let units = &self.blocks[term as usize * self.width + at];
                sums.iter_mut().zip(units).for_each(|(sum, units)| *sum += factor * f64::from(*units));
            }
            *values = sums;
        }
    }

    fn add(&mut self, row: CountRow<'_>, steps: &[ClassWeight]) {
        for steps in steps.chunk_by(|a, b| usize::from(a.class) / BLOCK == usize::from(b.class) / BLOCK) {
            let at = usize::from(steps[0].class) / BLOCK;
            let mut step = [0; BLOCK];
            steps.iter().for_each(|weight| step[usize::from(weight.class) % BLOCK] = weight.units);
            for &term in row.ids() {
                let units = &mut self.blocks[term as usize * self.width + at];
                units.iter_mut().zip(step).for_each(|(units, step)| *units = units.wrapping_add(step));
            }
        }
    }

    fn into_cells(self) -> Result<Cells<ClassWeight>, StatisticsError> {
        let (mut cells, mut weights) = (Cells::default(), Vec::new());
        for (term, row) in (0..).zip(self.blocks.chunks(self.width)) {
            let units = (0..).zip(row.as_flattened()).filter(|(_, units)| **units != 0);
            weights.clear();
            weights.extend(units.map(|(class, &units)| ClassWeight { class, units }));
            cells.put(term, &weights)?;
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;

    proptest! {
        #[test]
        fn rows_and_cells_are_the_same(
            n_classes in 1..=MAX_ROW,
            documents in proptest::collection::vec(
                (proptest::collection::btree_map(0u32..20, 1u32..3, 0..8), proptest::collection::btree_map(0u16..32, any::<i32>(), 0..6)),
                1..12,
            ),
        ) {
            let vectors: Vec<_> = documents.iter().map(|(row, _)| CountVector::from_pairs(row.clone()).unwrap()).collect();
            let labelled: Vec<_> =
                vectors.iter().map(|v| Labelled { row: v.row(), class: 0, multiplicity: 1, group: 0 }).collect();
            let mut rows = Weights::new(n_classes, &labelled);
            let mut cells = Weights::Cells(Cells::default());
            prop_assert!(matches!(rows, Weights::Rows(_)));
            let [mut values, mut expected] = [Values::new(n_classes), Values::new(n_classes)];
            for (document, (_, steps)) in labelled.iter().zip(&documents) {
                let row = document.row;
                let factors: Vec<_> = row.ids().iter().map(|id| 0.3 + f64::from(*id)).collect();
                rows.read(row, &factors, &mut values);
                cells.read(row, &factors, &mut expected);
                prop_assert_eq!(values.as_slice(), expected.as_slice());
                let steps = steps.iter().filter(|(class, _)| usize::from(**class) < n_classes);
                let steps: Vec<_> = steps.map(|(&class, &units)| ClassWeight { class, units }).collect();
                rows.add(row, &steps).unwrap();
                cells.add(row, &steps).unwrap();
            }
            let [rows, cells] = [rows, cells].map(|weights| weights.into_cells().unwrap());
            for term in 0..20 {
                let weights = cells.get(term).iter().filter(|weight| weight.units != 0);
                prop_assert!(rows.get(term).iter().eq(weights));
            }
        }
    }
}
