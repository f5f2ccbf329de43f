use std::hint::black_box;

use tamis_tokenizer::TermId;

use crate::cells::Cells;
use crate::{ClassWeight, StatisticsError};

/// The weights of a [`ClassCorrection`](crate::ClassCorrection) while they are learned.
pub(crate) enum Weights {
    /// Of few classes: a row of all of them for each term, which is read and added to much faster.
    Rows(Rows),
    /// Of any number.
    Cells(Box<Cells<ClassWeight>>),
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
    /// Zeros.
    pub(crate) fn new(n_classes: usize, n_terms: usize) -> Weights {
        if n_classes > MAX_ROW {
            return Weights::Cells(Box::default());
        }
        let width = n_classes.div_ceil(BLOCK);
        // Written, not handed out as zeros by the system: a page of those that is read before it is written faults twice,
        // and the second time every processor has to be told.
        let mut blocks = Vec::with_capacity(n_terms * width);
        blocks.resize(n_terms * width, [0; BLOCK]);
        Weights::Rows(Rows { blocks, width })
    }

    /// Makes each value the sum of a class's weights of these terms, in units, each times the term's factor.
    pub(crate) fn read(&self, terms: &[TermId], factors: &[f64], values: &mut Values) {
        match self {
            Weights::Rows(rows) => rows.read(terms, factors, values),
            Weights::Cells(cells) => {
                // every term's weights are somewhere else in memory: asked for all at once they come in half the time
                let firsts = terms.iter().filter_map(|&term| cells.get(term).first());
                black_box(firsts.fold(0, |all, weight| all ^ weight.units));
                let values = values.0.as_flattened_mut();
                values.fill(0.0);
                for (&term, factor) in terms.iter().zip(factors) {
                    for weight in cells.get(term) {
                        values[usize::from(weight.class)] += factor * f64::from(weight.units);
                    }
                }
            }
        }
    }

    /// Adds the steps, in increasing class order, to the weights of each of these terms.
    pub(crate) fn add(&mut self, terms: &[TermId], steps: &[ClassWeight]) -> Result<(), StatisticsError> {
        match self {
            Weights::Rows(rows) => rows.add(terms, steps),
            Weights::Cells(cells) => {
                // term by term, because a term's weights lie together
                for &term in terms {
                    steps.iter().try_for_each(|step| cells.add(term, *step))?;
                }
            }
        }
        Ok(())
    }

    /// The weights under other ids: `ids[i]` for the term `i`.
    pub(crate) fn into_cells(self, ids: &[TermId]) -> Result<Cells<ClassWeight>, StatisticsError> {
        let mut result = Cells::default();
        let mut weights = Vec::new();
        for (term, &id) in (0..).zip(ids) {
            match &self {
                Weights::Rows(rows) => {
                    weights.clear();
                    weights.extend(rows.weights(term));
                    result.put(id, &weights)?;
                }
                Weights::Cells(cells) => result.put(id, cells.get(term))?,
            }
        }
        Ok(result)
    }
}

impl Rows {
    fn read(&self, terms: &[TermId], factors: &[f64], values: &mut Values) {
        // as with cells; a row lies in two lines of the cache
        let ends = terms.iter().map(|&term| {
            let first = term as usize * self.width;
            self.blocks[first][0] ^ self.blocks[first + self.width - 1][BLOCK - 1]
        });
        black_box(ends.fold(0, |all, units| all ^ units));
        for (at, values) in values.0.iter_mut().enumerate() {
            let mut sums = [0.0; BLOCK];
            for (&term, factor) in terms.iter().zip(factors) {
                let units = &self.blocks[term as usize * self.width + at];
                sums.iter_mut().zip(units).for_each(|(sum, units)| *sum += factor * f64::from(*units));
            }
            *values = sums;
        }
    }

    fn add(&mut self, terms: &[TermId], steps: &[ClassWeight]) {
        for steps in steps.chunk_by(|a, b| usize::from(a.class) / BLOCK == usize::from(b.class) / BLOCK) {
            let at = usize::from(steps[0].class) / BLOCK;
            let mut step = [0; BLOCK];
            steps.iter().for_each(|weight| step[usize::from(weight.class) % BLOCK] = weight.units);
            for &term in terms {
                let units = &mut self.blocks[term as usize * self.width + at];
                units.iter_mut().zip(step).for_each(|(units, step)| *units = units.wrapping_add(step));
            }
        }
    }

    /// The weights of a term that are not 0.
    fn weights(&self, term: TermId) -> impl Iterator<Item = ClassWeight> {
        let row = &self.blocks[term as usize * self.width..][..self.width];
        let weights = (0..).zip(row.as_flattened()).map(|(class, &units)| ClassWeight { class, units });
        weights.filter(|weight| weight.units != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Terms, and steps by class.
    type Document = (Vec<TermId>, Vec<(u16, i32)>);

    fn documents() -> impl Strategy<Value = Vec<Document>> {
        let terms = proptest::collection::btree_set(0u32..20, 0..8);
        let steps = proptest::collection::btree_map(0u16..32, any::<i32>(), 0..6);
        let document = (terms, steps).prop_map(|(t, s)| (t.into_iter().collect(), s.into_iter().collect()));
        proptest::collection::vec(document, 1..12)
    }

    proptest! {
        #[test]
        fn rows_and_cells_are_the_same(n_classes in 1..=MAX_ROW, documents in documents()) {
            let mut rows = Weights::new(n_classes, 20);
            let mut cells = Weights::Cells(Box::default());
            prop_assert!(matches!(rows, Weights::Rows(_)));
            let [mut values, mut expected] = [Values::new(n_classes), Values::new(n_classes)];
            for (terms, steps) in &documents {
                let factors: Vec<_> = terms.iter().map(|term| 0.3 + f64::from(*term)).collect();
                rows.read(terms, &factors, &mut values);
                cells.read(terms, &factors, &mut expected);
                prop_assert_eq!(values.as_slice(), expected.as_slice());
                let steps = steps.iter().filter(|(class, _)| usize::from(*class) < n_classes);
                let steps: Vec<_> = steps.map(|&(class, units)| ClassWeight { class, units }).collect();
                rows.add(terms, &steps).unwrap();
                cells.add(terms, &steps).unwrap();
            }
            // under other ids
            let ids: Vec<_> = (0..20).map(|term| (term * 7 + 3) % 20).collect();
            let [rows, cells] = [rows, cells].map(|weights| weights.into_cells(&ids).unwrap());
            for id in ids {
                let weights = cells.get(id).iter().filter(|weight| weight.units != 0);
                prop_assert!(rows.get(id).iter().eq(weights));
            }
        }
    }
}
