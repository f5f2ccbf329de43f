//! Fits columns of the correction to documents, and sums the fitted coefficients.

use crate::bayes::FitError;
use crate::counts::{ClassId, StatisticsError};
use crate::documents::{Block, BlockReader};
use crate::fit::ascent::{DualAscent, DualWeights, TrainingRows};
use crate::fit::competitors::Competitors;
use crate::fit::{Fit, Fold, copies_left};
use crate::linear::{Coefficient, Coefficients, Correction, GroupCoefficients};

/// Maximum passes over all documents, and then without each fold, starting from that fit.
pub(super) const PASSES: usize = 8;
pub(super) const PASSES_OF_FOLD: usize = 5;
/// Maximum passes if documents are held out only once: first without them, then with them. One pass with them is enough
/// if fewer than one document in [`FEW_HELD_OUT`] is held out.
pub(super) const PASSES_WITHOUT: usize = 4;
pub(super) const PASSES_WITH: usize = 3;
pub(super) const FEW_HELD_OUT: usize = 20;
/// The fit stops when no error changes by this much in a pass.
pub(super) const TOLERANCE: f64 = 0.02;
/// Number of columns fitted together.
pub(super) const COLUMNS_TOGETHER: usize = 8;

/// A column to fit: a class against the rest, with a share tau of the counts.
#[derive(Clone, Copy)]
pub(super) struct FitColumn {
    pub(super) column: ClassId,
    pub(super) tau: f64,
}

/// A series of passes over the documents.
pub(super) struct Passes<'a> {
    pub(super) most: usize,
    /// The fold that is held out, if any.
    pub(super) held: Option<&'a Fold>,
    /// The counts' log-odds of each document and competing column.
    pub(super) odds: &'a [f32],
}

/// A fitted group of columns.
pub(super) struct GroupFit {
    pub(super) coefficients: GroupCoefficients,
    /// For each held-out row, the log-odds d of every column.
    pub(super) decisions: Vec<Vec<f64>>,
}

/// Fits columns to documents.
#[derive(Clone, Copy)]
pub(super) struct ColumnFit<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) source: &'a BlockReader<'a>,
    pub(super) competitors: &'a Competitors,
}

impl ColumnFit<'_> {
    /// The options of an ascent over all documents together.
    pub(super) fn ascent(&self) -> DualAscent {
        DualAscent {
            c: self.fit.options.regularisation,
            passes: PASSES,
            tolerance: TOLERANCE,
            seed: self.fit.options.seed,
            only_rivals: !self.fit.columns.is_one(),
            partitions: None,
        }
    }

    /// Fits a group of columns by `passes`, one after another, starting from the coefficients `start` or from 0. Scores
    /// `rows` after the first of the passes.
    pub(super) fn fit_group(
        &self,
        group: &[FitColumn],
        start: Option<&GroupCoefficients>,
        passes: &[Passes<'_>],
        rows: &Block,
    ) -> GroupFit {
        match group.len() {
            0..=2 => self.fit_columns::<2>(group, start, passes, rows),
            3..=4 => self.fit_columns::<4>(group, start, passes, rows),
            _ => self.fit_columns::<COLUMNS_TOGETHER>(group, start, passes, rows),
        }
    }

    fn fit_columns<const N: usize>(
        &self,
        group: &[FitColumn],
        start: Option<&GroupCoefficients>,
        passes: &[Passes<'_>],
        rows: &Block,
    ) -> GroupFit {
        let mut fitted = self.unfitted(group);
        if let Some(start) = start {
            fitted.values = start.of_all(self.fit.documents.len());
        }
        let (mut weights, mut decisions) = (None, None);
        for passes in passes {
            let most = if self.fit.options.correction { passes.most } else { 0 };
            let ascent = DualAscent { passes: most, ..self.ascent() };
            let after: DualWeights<N> =
                self.ascend(&ascent, passes, group, &mut fitted.values, weights.take());
            decisions.get_or_insert_with(|| after.decision_values(rows, group.len()));
            weights = Some(after);
        }
        GroupFit { coefficients: fitted.packed(), decisions: decisions.unwrap_or_default() }
    }

    /// The initial coefficients of a group of columns: all 0.
    pub(super) fn unfitted(&self, group: &[FitColumn]) -> GroupCoefficients {
        let width = match group.len() {
            0..=2 => 2,
            3..=4 => 4,
            _ => COLUMNS_TOGETHER,
        };
        let columns = group.iter().map(|lane| Some(lane.column));
        GroupCoefficients {
            columns: columns.chain(std::iter::repeat(None)).take(width).collect(),
            values: vec![0.0; width * self.fit.documents.len()],
            documents: None,
        }
    }

    /// Fits up to `N` columns, starting from `values`, `N` per document, and from `weights`, which are summed from the
    /// documents if `None`. Overwrites `values` with the fitted ones and returns the weights.
    pub(super) fn ascend<const N: usize>(
        &self,
        ascent: &DualAscent,
        passes: &Passes<'_>,
        group: &[FitColumn],
        values: &mut [f32],
        weights: Option<DualWeights<N>>,
    ) -> DualWeights<N> {
        let group: [Option<FitColumn>; N] = std::array::from_fn(|lane| group.get(lane).copied());
        let rows = |first: usize, block: &Block| self.training_rows(passes, group, first, block);
        ascent.fit(self.source, rows, values.as_chunks_mut::<N>().0, weights)
    }

    /// The documents of a block that train any column of `group`, in order.
    fn training_rows<const N: usize>(
        &self,
        passes: &Passes<'_>,
        group: [Option<FitColumn>; N],
        first: usize,
        block: &Block,
    ) -> TrainingRows<N> {
        let n = block.len();
        let (mut offsets, mut is_positive) = (vec![[f32::NAN; N]; n], vec![[false; N]; n]);
        let (mut positions, mut weights) = (Vec::with_capacity(n), vec![0.0; n]);
        for at in (0..block.len()).filter(|at| !block.vector(*at).is_empty()) {
            let document = first + at;
            let label = self.fit.documents.label(document);
            let copies = copies_left(passes.held, document, &label);
            if copies == 0 {
                continue;
            }
            weights[at] = self.source.weights.of(&label, copies);
            let columns = || group.iter().flatten().map(|of| of.column);
            let (Some(first), Some(last)) = (columns().min(), columns().max()) else { continue };
            if !self.competitors.has_any(document, first..=last) {
                continue;
            }
            for (lane, to) in group.iter().enumerate() {
                let Some(FitColumn { column, tau }) = to else { continue };
                if let Some(place) = self.competitors.place(document, *column) {
                    let is_own = self.fit.columns.is_positive(label.class, usize::from(*column));
                    let offset = passes.odds[place] * *tau as f32;
                    offsets[at][lane] = offset;
                    is_positive[at][lane] = is_own;
                }
            }
            positions.extend(offsets[at].iter().any(|offset| !offset.is_nan()).then_some(at as u32));
        }
        TrainingRows { positions, offsets, is_positive, weights }
    }

    /// 1 / |v| of every document.
    pub(super) fn scales(&self) -> Vec<f32> {
        let mut scales = Vec::with_capacity(self.fit.documents.len());
        self.source.for_all_vectors(|_, block| scales.extend_from_slice(block.scales()));
        scales
    }

    /// The correction: exact sums of the coefficients.
    pub(super) fn sum_correction(
        &self,
        coefficients: &Coefficients,
    ) -> Result<Correction, FitError<StatisticsError>> {
        self.sum(|document, own| own.extend(coefficients.of(document)))
    }

    /// The exact sum of the coefficients that `of` appends for each document.
    pub(super) fn sum(
        &self,
        of: impl Fn(usize, &mut Vec<Coefficient>) + Send + Sync,
    ) -> Result<Correction, FitError<StatisticsError>> {
        let (mut correction, mut result, mut own) = (Correction::default(), Ok(()), Vec::new());
        if !self.fit.options.correction {
            return Ok(correction);
        }
        self.source.for_all(|first, block| {
            for at in 0..block.len() {
                own.clear();
                of(first + at, &mut own);
                // factors are whole numbers
                let terms = block.terms(at).iter().map(|(term, factor)| (term, factor as u32));
                let added = correction.add_units(terms, &own);
                result = std::mem::replace(&mut result, Ok(())).and(added);
            }
        });
        result.map_err(FitError::Counts).map(|()| correction)
    }
}
