//! The correction as exact sums of per-document coefficients.

use std::convert::Infallible;

use tamis_tokenizer::{CountRow, TermId};

use crate::counts::cells::{Cells, ClassCell};
use crate::counts::counts::{Cell, ClassId, ClassWeights, KnownTerm, KnownTerms};
use crate::counts::statistics::Statistics;
use crate::counts::statistics::error::StatisticsError;
use crate::counts::term_frequency::{TF_UNIT, tf_units};

/// The number that stands for 1 in a [`Coefficient`]: 2^12.
pub(crate) const COEFFICIENT_ONE: i64 = 1 << 12;

/// The contribution of a document to the correction of a column, see [`Columns`](crate::Columns). In fixed point, so
/// that sums are exact in any order and can be undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coefficient {
    /// The column.
    pub class: ClassId,
    /// c, added to the bias of the column: C times the error of the document times its copies. Fixed point:
    /// 2^12 is 1.
    pub bias: i64,
    /// c / |v|, added to the weight of each term of the document times ln(1 + tf). Fixed point.
    pub units: i64,
}

impl Coefficient {
    /// Converts to fixed point; `None` if both round to 0. `scale` is 1 / |v|, at most 1.
    pub(crate) fn new(class: ClassId, c: f64, scale: f64) -> Option<Coefficient> {
        // casts saturate and map NaN to 0
        let fixed = |x: f64| (x * COEFFICIENT_ONE as f64).round() as i64;
        let coefficient = Coefficient { class, bias: fixed(c), units: fixed(c * scale) };
        (coefficient.bias != 0 || coefficient.units != 0).then_some(coefficient)
    }
}

/// The fitted coefficients of all documents: four bytes per document and column that may learn from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// 1 / |v| of every document.
    pub(crate) scales: Vec<f32>,
    /// In increasing order of columns.
    pub(crate) groups: Vec<GroupCoefficients>,
}

/// The coefficients of a group of columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupCoefficients {
    /// The column of each value of a document; `None` if the value is not used.
    pub(crate) columns: Vec<Option<ClassId>>,
    /// `columns.len()` values per document.
    pub(crate) values: Vec<f32>,
}

impl Coefficients {
    /// The coefficients of a document, in increasing order of columns.
    pub fn of(&self, document: usize) -> impl Iterator<Item = Coefficient> + '_ {
        let scale = f64::from(self.scales.get(document).copied().unwrap_or(0.0));
        let of_group = move |group: &'_ GroupCoefficients| {
            let n = group.columns.len();
            let values = group.values.get(document * n..(document + 1) * n).unwrap_or_default();
            std::iter::zip(&group.columns, values)
                .filter_map(move |(column, c)| {
                    Some((*column)?).filter(|_| *c != 0.0).map(|column| (column, f64::from(*c)))
                })
                .collect::<Vec<_>>()
        };
        let all = self.groups.iter().flat_map(of_group);
        all.filter_map(move |(column, c)| Coefficient::new(column, c, scale))
    }
}

/// The weight of a term in a column: the sum over documents of the coefficient's units times 16 log2(1 + tf), rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassWeight {
    /// The column.
    pub class: ClassId,
    /// The sum.
    pub units: i64,
}

impl ClassWeight {
    /// The contribution of a coefficient to the weight of a term that occurs `tf` times; `None` on overflow of `i64`.
    pub fn of(coefficient: &Coefficient, tf: u32) -> Option<Self> {
        Self::of_units(coefficient, tf_units(tf))
    }

    fn of_units(coefficient: &Coefficient, tf_units: u32) -> Option<Self> {
        let units = coefficient.units.checked_mul(i64::from(tf_units))?;
        Some(ClassWeight { class: coefficient.class, units })
    }

    /// The weight as a real number.
    #[inline]
    pub fn value(self) -> f64 {
        self.units as f64 * (TF_UNIT / COEFFICIENT_ONE as f64)
    }
}

impl ClassCell for ClassWeight {
    fn class(&self) -> ClassId {
        self.class
    }

    fn plus(self, _: TermId, other: Self) -> Result<Self, StatisticsError> {
        let units = self.units.checked_add(other.units).ok_or(TOO_LARGE)?;
        Ok(ClassWeight { units, ..self })
    }
}

const TOO_LARGE: StatisticsError = StatisticsError::Coefficients { expected: i64::MAX };

/// The correction of the counts by logistic regression: a weight per term and column, and a bias per column.
///
/// Both are exact sums over the [`Coefficient`]s of the documents. Store these with each document:
/// [`add`](Self::add)ing their negatives forgets it, adding those of other documents merges. Memory grows with the
/// terms of the documents, not with terms x classes.
#[derive(Clone, Debug, Default)]
pub struct Correction {
    cells: Cells<ClassWeight>,
    bias: Vec<i64>,
}

impl Correction {
    /// Adds the coefficients of a document.
    ///
    /// # Errors
    /// Overflow of `i64`, or more weights than a `u32` can number; some terms may already be updated.
    pub fn add(&mut self, row: CountRow<'_>, coefficients: &[Coefficient]) -> Result<(), StatisticsError> {
        self.add_units(row.iter().map(|(term, tf)| (term, tf_units(tf))), coefficients)
    }

    pub(crate) fn add_units(
        &mut self,
        terms: impl Iterator<Item = (TermId, u32)>,
        coefficients: &[Coefficient],
    ) -> Result<(), StatisticsError> {
        for (term, tf_units) in terms {
            for coefficient in coefficients {
                self.cells.add(term, ClassWeight::of_units(coefficient, tf_units).ok_or(TOO_LARGE)?)?;
            }
        }
        coefficients.iter().try_for_each(|c| self.add_bias(c.class, c.bias))
    }

    pub(crate) fn add_bias(&mut self, class: ClassId, bias: i64) -> Result<(), StatisticsError> {
        let column = usize::from(class);
        self.bias.resize(self.bias.len().max(column + 1), 0);
        self.bias[column] = self.bias[column].checked_add(bias).ok_or(TOO_LARGE)?;
        Ok(())
    }

    /// The non-zero weights of a term, in increasing order of columns.
    pub fn weights(&self, term: TermId) -> impl Iterator<Item = ClassWeight> + '_ {
        self.cells.get(term).iter().copied().filter(|weight| weight.units != 0)
    }

    /// The bias of each column; missing ones are 0.
    pub fn bias(&self) -> &[i64] {
        &self.bias
    }
}

impl PartialEq for Correction {
    fn eq(&self, other: &Self) -> bool {
        let n_terms = self.cells.n_terms().max(other.cells.n_terms());
        let bias = |of: &Self, at: usize| of.bias.get(at).copied().unwrap_or(0);
        let n_columns = self.bias.len().max(other.bias.len());
        (0..n_columns).all(|at| bias(self, at) == bias(other, at))
            && (0..=TermId::MAX).take(n_terms).all(|term| self.weights(term).eq(other.weights(term)))
    }
}

impl ClassWeights for Correction {
    type Error = Infallible;

    fn for_each_weight(&self, term: TermId, mut visit: impl FnMut(ClassId, f64)) -> Result<(), Infallible> {
        self.cells.get(term).iter().for_each(|weight| visit(weight.class, weight.value()));
        Ok(())
    }
}

/// Counts in memory with the correction on top of them, as terms that [`WeightedLogOdds`](crate::WeightedLogOdds) reads.
#[derive(Debug)]
pub struct CorrectedStatistics<'a> {
    statistics: &'a Statistics,
    correction: Option<&'a Correction>,
    cells: Vec<Cell>,
    weights: Vec<(ClassId, f64)>,
}

impl<'a> CorrectedStatistics<'a> {
    /// Without a correction, no term has weights.
    pub fn new(statistics: &'a Statistics, correction: Option<&'a Correction>) -> Self {
        CorrectedStatistics { statistics, correction, cells: Vec::new(), weights: Vec::new() }
    }
}

impl KnownTerms for CorrectedStatistics<'_> {
    type Error = Infallible;

    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>, Infallible> {
        self.cells.clear();
        self.cells.extend(self.statistics.cells(id));
        self.weights.clear();
        let weights = self.correction.map(|correction| correction.weights(id));
        self.weights.extend(weights.into_iter().flatten().map(|weight| (weight.class, weight.value())));
        Ok(KnownTerm { cells: &self.cells, weights: &self.weights })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;

    type Document = (Vec<(u32, u32)>, Vec<(u16, i64, i64)>);

    fn documents() -> impl Strategy<Value = Vec<Document>> {
        let row = proptest::collection::btree_map(0u32..12, 1u32..90_000, 0..8);
        let coefficients =
            proptest::collection::btree_map(0u16..5, (-1_i64 << 30..1 << 30, -1_i64 << 30..1 << 30), 0..4);
        let document = (row, coefficients).prop_map(|(row, coefficients)| {
            (
                row.into_iter().collect(),
                coefficients.into_iter().map(|(class, (b, u))| (class, b, u)).collect(),
            )
        });
        proptest::collection::vec(document, 1..12)
    }

    fn add(correction: &mut Correction, (row, coefficients): &Document, sign: i64) {
        let row = CountVector::from_pairs(row.iter().copied()).unwrap();
        let signed = |&(class, bias, units): &(u16, i64, i64)| Coefficient {
            class,
            bias: sign * bias,
            units: sign * units,
        };
        correction.add(row.row(), &coefficients.iter().map(signed).collect::<Vec<_>>()).unwrap();
    }

    proptest! {
        #[test]
        fn order_leaves_no_trace_and_forgetting_is_exact(documents in documents(), forgotten in 0usize..12) {
            let (mut one, mut other) = (Correction::default(), Correction::default());
            documents.iter().for_each(|d| add(&mut one, d, 1));
            documents.iter().rev().for_each(|d| add(&mut other, d, 1));
            prop_assert_eq!(&one, &other);
            let forgotten = forgotten.min(documents.len());
            documents[..forgotten].iter().for_each(|d| add(&mut one, d, -1));
            let mut rest = Correction::default();
            documents[forgotten..].iter().for_each(|d| add(&mut rest, d, 1));
            prop_assert_eq!(one, rest);
        }
    }

    #[test]
    fn sums_that_do_not_fit_are_refused() {
        let row = CountVector::from_pairs([(0, 3)]).unwrap();
        let huge = Coefficient { class: 0, bias: 0, units: i64::MAX / 32 };
        let mut correction = Correction::default();
        assert_eq!(correction.add(row.row(), &[huge]), Ok(()));
        assert!(correction.add(row.row(), &[huge]).is_err());
        assert!(Correction::default().add(row.row(), &[Coefficient { units: i64::MAX, ..huge }]).is_err());
        let bias = Coefficient { bias: i64::MAX, units: 0, ..huge };
        assert!(correction.add(row.row(), &[bias, bias]).is_err());
    }
}
