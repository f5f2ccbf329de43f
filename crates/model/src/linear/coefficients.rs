//! The correction as exact sums of per-document coefficients.

use std::convert::Infallible;
use std::ops::RangeInclusive;

use tamis_tokenizer::{CountRow, TermId};

use crate::counts::{
    Cell, CellArena, ClassCell, ClassId, ClassWeights, KnownTerm, KnownTerms, Statistics, StatisticsError,
    TF_UNIT, tf_units,
};

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
        Coefficient::fixed(class, c, scale).unless_zero()
    }

    /// c as the fit gave it: C times the document's error times its copies, in nats. 0 if the document was learned since.
    pub fn fitted(&self) -> f64 {
        self.bias as f64 / COEFFICIENT_ONE as f64
    }

    /// c / |v| as a real number.
    pub(crate) fn value(&self) -> f64 {
        self.units as f64 / COEFFICIENT_ONE as f64
    }

    fn fixed(class: ClassId, c: f64, scale: f64) -> Coefficient {
        // casts saturate and map NaN to 0
        let fixed = |x: f64| (x * COEFFICIENT_ONE as f64).round() as i64;
        Coefficient { class, bias: fixed(c), units: fixed(c * scale) }
    }

    fn unless_zero(self) -> Option<Coefficient> {
        (self.bias != 0 || self.units != 0).then_some(self)
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
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupCoefficients {
    /// The column of each value of a document; `None` if the value is not used.
    pub(crate) columns: Vec<Option<ClassId>>,
    /// `columns.len()` values per document.
    pub(crate) values: Vec<f32>,
    /// The documents that have values, increasing; `None` if all have.
    pub(crate) documents: Option<Vec<u32>>,
}

impl GroupCoefficients {
    /// The values of a document; none if all are 0.
    fn values_of(&self, document: usize) -> &[f32] {
        let at = match &self.documents {
            None => Some(document),
            // documents are numbered by u32
            Some(documents) => documents.binary_search(&(document as u32)).ok(),
        };
        let n = self.columns.len();
        at.and_then(|at| self.values.get(at * n..(at + 1) * n)).unwrap_or_default()
    }

    /// The values of all `n_documents` documents, zeros included.
    pub(crate) fn of_all(&self, n_documents: usize) -> Vec<f32> {
        let Some(documents) = &self.documents else { return self.values.clone() };
        let n = self.columns.len();
        let mut all = vec![0.0; n * n_documents];
        for (document, values) in documents.iter().zip(self.values.chunks_exact(n)) {
            let start = n * *document as usize;
            all[start..start + n].copy_from_slice(values);
        }
        all
    }

    /// Drops the documents whose values are all 0, if at least three quarters are such: with many columns, few
    /// documents train any one of them.
    pub(crate) fn packed(self) -> GroupCoefficients {
        let n = self.columns.len();
        let has_values = |(_, values): &(u32, &[f32])| values.iter().any(|c| *c != 0.0);
        let rows = || (0..).zip(self.values.chunks_exact(n)).filter(has_values);
        if self.documents.is_some() || 4 * rows().count() > self.values.len() / n {
            return self;
        }
        let documents = rows().map(|(document, _)| document).collect();
        let values = rows().flat_map(|(_, values)| values).copied().collect();
        GroupCoefficients { documents: Some(documents), values, columns: self.columns }
    }
}

impl Coefficients {
    /// The coefficients of a document, in increasing order of columns.
    pub fn of_document(&self, document: usize) -> impl Iterator<Item = Coefficient> + '_ {
        let scale = f64::from(self.scales.get(document).copied().unwrap_or(0.0));
        let of_group = move |group: &'_ GroupCoefficients| {
            let values =
                std::iter::zip(&group.columns, group.values_of(document)).filter(|(_, c)| **c != 0.0);
            values.filter_map(|(column, c)| Some(((*column)?, f64::from(*c)))).collect::<Vec<_>>()
        };
        let all = self.groups.iter().flat_map(of_group);
        all.filter_map(move |(column, c)| Coefficient::new(column, c, scale))
    }

    /// Keeps only the coefficients of `column`, which becomes column 0.
    #[cfg(test)]
    pub(crate) fn column(mut self, column: ClassId) -> Self {
        let of_column = |to: &mut Option<ClassId>| *to = (*to == Some(column)).then_some(0);
        self.groups.iter_mut().flat_map(|group| &mut group.columns).for_each(of_column);
        self
    }

    /// The change of a document's coefficients since `before`, which must be of the same documents and columns.
    pub(crate) fn change(&self, before: &[GroupCoefficients], document: usize) -> Vec<Coefficient> {
        let scale = f64::from(self.scales[document]);
        let changed = move |column: ClassId, [before, now]: [f32; 2]| {
            let [before, now] = [before, now].map(|c| Coefficient::fixed(column, f64::from(c), scale));
            let (bias, units) = (now.bias - before.bias, now.units - before.units);
            Coefficient { class: column, bias, units }.unless_zero()
        };
        let of_group = |(group, before): (&GroupCoefficients, &GroupCoefficients)| {
            let n = group.columns.len();
            let own = document * n..(document + 1) * n;
            let values = std::iter::zip(&before.values[own.clone()], &group.values[own]);
            let of_columns = group.columns.iter().zip(values).filter(|(_, (before, now))| before != now);
            of_columns
                .filter_map(|(column, (before, now))| changed((*column)?, [*before, *now]))
                .collect::<Vec<_>>()
        };
        std::iter::zip(&self.groups, before).flat_map(of_group).collect()
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
    pub fn contribution(coefficient: &Coefficient, tf: u32) -> Option<Self> {
        let units = coefficient.units.checked_mul(i64::from(tf_units(tf)))?;
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

pub(crate) const TOO_LARGE: StatisticsError = StatisticsError::Coefficients { expected: i64::MAX };

/// The correction of the counts by logistic regression: a weight per term and column, and a bias per column.
///
/// Both are exact sums over the [`Coefficient`]s of the documents. Store the coefficients with each document:
/// [`add`](Self::add)ing their negatives forgets the document, and adding those of other documents merges them. Memory
/// grows with the terms of the documents, not with terms x classes.
#[derive(Clone, Debug, Default)]
pub struct Correction {
    cells: CellArena<ClassWeight>,
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
        let most = coefficients.iter().map(|coefficient| coefficient.units.unsigned_abs()).max().unwrap_or(0);
        for (term, tf_units) in terms {
            if most.checked_mul(tf_units.into()).is_none_or(|product| product > i64::MAX as u64) {
                return Err(TOO_LARGE);
            }
            let units = |c: &Coefficient| c.units.wrapping_mul(tf_units.into());
            self.cells.add_all(
                term,
                coefficients.iter().map(|c| ClassWeight { class: c.class, units: units(c) }),
            )?;
        }
        coefficients.iter().try_for_each(|c| self.add_bias(c.class, c.bias))
    }

    /// Adds weights to those of a term. They are in increasing order of columns.
    pub(crate) fn add_cells(&mut self, term: TermId, weights: &[ClassWeight]) -> Result<(), StatisticsError> {
        match self.cells.get(term) {
            [] => self.cells.set(term, weights),
            _ => self.cells.add_all(term, weights.iter().copied()),
        }
    }

    /// Adds a stored weight to that of a term in a column.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_weight(&mut self, term: TermId, weight: ClassWeight) -> Result<(), StatisticsError> {
        self.cells.add(term, weight)
    }

    /// Adds to the bias of a column.
    ///
    /// # Errors
    /// Overflow of `i64`.
    pub fn add_bias(&mut self, class: ClassId, bias: i64) -> Result<(), StatisticsError> {
        let column = usize::from(class);
        self.bias.resize(self.bias.len().max(column + 1), 0);
        self.bias[column] = self.bias[column].checked_add(bias).ok_or(TOO_LARGE)?;
        Ok(())
    }

    /// Adds another correction of the same terms and columns, such as that of other documents.
    ///
    /// # Errors
    /// Overflow of `i64`, or more weights than a `u32` can number; some terms may already be updated.
    pub fn merge(&mut self, other: &Correction) -> Result<(), StatisticsError> {
        for term in (0..=TermId::MAX).take(other.cells.n_terms()) {
            other.weights(term).try_for_each(|weight| self.cells.add(term, weight))?;
        }
        (0..=ClassId::MAX).zip(&other.bias).try_for_each(|(class, bias)| self.add_bias(class, *bias))
    }

    /// The weights and bias of one column, which becomes column 0.
    ///
    /// # Errors
    /// More weights than a `u32` can number.
    pub fn column(&self, column: ClassId) -> Result<Correction, StatisticsError> {
        let mut alone = Correction::default();
        for term in (0..=TermId::MAX).take(self.cells.n_terms()) {
            let mut weights = self.weights_of(term, column..=column);
            weights.try_for_each(|weight| alone.cells.add(term, ClassWeight { class: 0, ..weight }))?;
        }
        alone.add_bias(0, self.bias.get(usize::from(column)).copied().unwrap_or(0))?;
        Ok(alone)
    }

    /// The non-zero weights of a term in the range `columns`, in increasing order.
    pub(crate) fn weights_of(
        &self,
        term: TermId,
        columns: RangeInclusive<ClassId>,
    ) -> impl Iterator<Item = ClassWeight> + '_ {
        let cells = self.cells.get(term);
        let start = cells.partition_point(|weight| weight.class < *columns.start());
        let of_columns = cells[start..].iter().take_while(move |weight| columns.contains(&weight.class));
        of_columns.copied().filter(|weight| weight.units != 0)
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

/// Counts in memory, with or without a correction, as terms that [`WeightedLogOdds`](crate::WeightedLogOdds) reads.
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

    fn add(correction: &mut Correction, document: &Document, sign: i64) {
        let (row, coefficients) = document;
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

    #[test]
    fn what_is_packed_has_the_same_values() {
        let all = GroupCoefficients {
            columns: vec![Some(3), None],
            values: (0..40).map(|at| if at % 12 == 5 { at as f32 } else { 0.0 }).collect(),
            documents: None,
        };
        let packed = all.clone().packed();
        assert_eq!(packed.documents.as_deref(), Some(&[2, 8, 14][..]));
        assert_eq!(packed.of_all(20), all.values);
        assert!(
            (0..20).all(|at| packed.values_of(at).is_empty() || packed.values_of(at) == all.values_of(at))
        );
        let full = GroupCoefficients { values: vec![1.0; 40], ..all };
        assert_eq!(full.clone().packed().values, full.values);
    }
}
