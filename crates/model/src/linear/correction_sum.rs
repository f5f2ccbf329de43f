//! The correction of many documents at once.

use tamis_tokenizer::TermId;

use crate::counts::{ClassId, StatisticsError};
use crate::linear::coefficients::{ClassWeight, Coefficient, Correction, TOO_LARGE};

/// Adds up the coefficients of many documents: in a table of all terms and columns where it is small, which takes a sixth
/// of the time, else in the correction itself.
pub(crate) struct CorrectionSum {
    correction: Correction,
    n_columns: usize,
    /// The units of each column, term after term.
    table: Vec<i64>,
    /// No number of the table is farther from 0.
    bound: u64,
}

impl CorrectionSum {
    /// The table is used if it has at most `most` numbers.
    pub(crate) fn new(n_terms: usize, n_columns: usize, most: usize) -> Self {
        let size = n_terms.checked_mul(n_columns).filter(|size| *size <= most);
        CorrectionSum {
            correction: Correction::default(),
            n_columns: n_columns.max(1),
            table: vec![0; size.unwrap_or(0)],
            bound: 0,
        }
    }

    /// Adds the coefficients of a document. `terms` are its terms with ln(1 + tf) in units, at most `most`.
    ///
    /// # Errors
    /// As of [`Correction::add`].
    pub(crate) fn add(
        &mut self,
        terms: impl Iterator<Item = (TermId, u32)>,
        most: u32,
        coefficients: &[Coefficient],
    ) -> Result<(), StatisticsError> {
        if self.table.is_empty() {
            return self.correction.add_units(terms, coefficients);
        }
        let units = coefficients.iter().map(|of| of.units.unsigned_abs()).max().unwrap_or(0);
        let added =
            units.checked_mul(most.into()).filter(|added| i64::try_from(*added).is_ok()).ok_or(TOO_LARGE)?;
        if self.bound > i64::MAX as u64 - added {
            self.empty()?;
        }
        self.bound += added;
        for (term, units) in terms {
            let start = term as usize * self.n_columns;
            let Some(sums) = self.table.get_mut(start..start + self.n_columns) else { continue };
            coefficients.iter().for_each(|of| sums[usize::from(of.class)] += of.units * i64::from(units));
        }
        coefficients.iter().try_for_each(|of| self.correction.add_bias(of.class, of.bias))
    }

    /// The sum.
    ///
    /// # Errors
    /// As of [`Correction::add`].
    pub(crate) fn finish(mut self) -> Result<Correction, StatisticsError> {
        self.empty()?;
        Ok(self.correction)
    }

    /// Moves the table to the correction.
    fn empty(&mut self) -> Result<(), StatisticsError> {
        let mut cells = Vec::with_capacity(self.n_columns);
        for (term, sums) in (0..=TermId::MAX).zip(self.table.chunks_exact_mut(self.n_columns)) {
            let own = (0..=ClassId::MAX).zip(&*sums).filter(|(_, units)| **units != 0);
            cells.extend(own.map(|(class, units)| ClassWeight { class, units: *units }));
            self.correction.add_cells(term, &cells)?;
            cells.clear();
            sums.fill(0);
        }
        self.bound = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::counts::tf_units;

    proptest! {
        #[test]
        fn a_table_and_the_correction_have_the_same_sum(
            documents in proptest::collection::vec(
                (proptest::collection::btree_map(0u32..6, 1u32..90_000, 0..5), -1_i64 << 53..1 << 53, 0u16..3),
                1..12,
            ),
        ) {
            let (mut expected, mut table) = (Correction::default(), CorrectionSum::new(6, 3, 18));
            prop_assert!(!table.table.is_empty());
            let mut is_too_large = false;
            for (terms, units, class) in documents {
                let coefficients = [Coefficient { class, bias: units, units }];
                let row = CountVector::from_pairs(terms).unwrap();
                let terms: Vec<_> = row.row().iter().map(|(term, tf)| (term, tf_units(tf))).collect();
                let most = terms.iter().map(|(_, units)| *units).max().unwrap_or(0);
                is_too_large |= expected.add(row.row(), &coefficients).is_err();
                prop_assert!(table.add(terms.into_iter(), most, &coefficients).is_ok() || is_too_large);
            }
            match table.finish() {
                Ok(sum) => prop_assert!(is_too_large || sum == expected),
                Err(_) => prop_assert!(is_too_large),
            }
        }
    }
}
