//! Fitting columns of the correction to documents, and adding up what was fitted.

use crate::bayes::error::FitError;
use crate::counts::counts::ClassId;
use crate::counts::statistics::error::StatisticsError;
use crate::fit::ascent::{DualAscent, DualWeights, TrainingRows};
use crate::fit::competitors::Competitors;
use crate::fit::fit::{Fit, FoldView};
use crate::left_out::documents::{Block, BlockReader};
use crate::linear::coefficients::{Coefficient, Coefficients, Correction, GroupCoefficients};

/// Maximum passes over the documents, and again per fold; a fold starts from the full fit.
pub(super) const PASSES: usize = 10;
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

/// Fits columns to documents.
#[derive(Clone, Copy)]
pub(super) struct ColumnFit<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) source: &'a BlockReader<'a>,
    pub(super) competitors: &'a Competitors,
}

impl ColumnFit<'_> {
    /// The ascent of all documents together.
    pub(super) fn ascent(&self) -> DualAscent {
        DualAscent {
            c: self.fit.options.regularisation,
            passes: if self.fit.options.correction { PASSES } else { 0 },
            tolerance: TOLERANCE,
            seed: self.fit.options.seed,
            only_rivals: !self.fit.columns.is_one(),
            partitions: None,
        }
    }

    /// Fits a group of columns to all documents.
    pub(super) fn fit_group(&self, view: &FoldView<'_>, group: &[FitColumn]) -> GroupCoefficients {
        let mut fitted = self.unfitted(group);
        match fitted.columns.len() {
            2 => drop(self.fit_columns::<2>(view, group, &mut fitted.values)),
            4 => drop(self.fit_columns::<4>(view, group, &mut fitted.values)),
            _ => drop(self.fit_columns::<COLUMNS_TOGETHER>(view, group, &mut fitted.values)),
        }
        fitted.packed()
    }

    /// The coefficients of a group of columns before anything is learned.
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

    /// Fits up to `N` columns without the held-out documents of the view. Starts from these values, `N` per document,
    /// and leaves the fitted ones. Returns the weights.
    pub(super) fn fit_columns<const N: usize>(
        &self,
        view: &FoldView<'_>,
        group: &[FitColumn],
        values: &mut [f32],
    ) -> DualWeights<N> {
        let mut weights = DualWeights::new(view.vectors.squares.len());
        self.ascend(&self.ascent(), (view, group), values, &mut weights);
        weights
    }

    /// The same by this ascent, from these weights.
    pub(super) fn ascend<const N: usize>(
        &self,
        ascent: &DualAscent,
        (view, group): (&FoldView<'_>, &[FitColumn]),
        values: &mut [f32],
        weights: &mut DualWeights<N>,
    ) {
        let group: [Option<FitColumn>; N] = std::array::from_fn(|lane| group.get(lane).copied());
        let rows = |first: usize, block: &Block| self.training_rows(view, group, first, block);
        ascent.fit((self.source, &view.vectors), rows, values.as_chunks_mut::<N>().0, weights);
    }

    /// The documents of a block that train any of these columns, in order.
    fn training_rows<const N: usize>(
        &self,
        view: &FoldView<'_>,
        group: [Option<FitColumn>; N],
        first: usize,
        block: &Block,
    ) -> TrainingRows<N> {
        let n = block.len();
        let (mut offsets, mut is_positive) = (vec![[f32::NAN; N]; n], vec![[false; N]; n]);
        let (mut positions, mut weights) = (Vec::with_capacity(n), vec![0.0; n]);
        for at in (0..block.len()).filter(|at| !block.terms(*at).is_empty()) {
            let document = first + at;
            let label = self.fit.documents.label(document);
            let copies = view.copies_left(document, &label);
            if copies == 0 {
                continue;
            }
            let own = self.fit.columns.of(label.class);
            weights[at] = self.source.weights.of(&label, copies);
            let columns = || group.iter().flatten().map(|of| of.column);
            let (Some(first), Some(last)) = (columns().min(), columns().max()) else { continue };
            if !self.competitors.has_any(document, first..=last) {
                continue;
            }
            for (lane, to) in group.iter().enumerate() {
                let Some(FitColumn { column, tau }) = to else { continue };
                if let Some(place) = self.competitors.place(document, *column) {
                    let is_own = own == Some(usize::from(*column));
                    let offset = view.odds[place] * *tau as f32;
                    offsets[at][lane] = offset;
                    is_positive[at][lane] = is_own;
                }
            }
            positions.extend(offsets[at].iter().any(|offset| !offset.is_nan()).then_some(at as u32));
        }
        TrainingRows { positions, offsets, is_positive, weights }
    }

    /// The correction: exact sums of the coefficients.
    pub(super) fn sum_correction(
        &self,
        coefficients: &Coefficients,
    ) -> Result<Correction, FitError<StatisticsError>> {
        self.sum(|document, own| own.extend(coefficients.of(document)))
    }

    /// The exact sum of a few coefficients of each document, which `of` appends.
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
