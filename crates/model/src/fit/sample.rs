//! Choices of a fit by partitions, made by a sample of documents that its correction has not learned from.

use crate::bayes::FitError;
use crate::counts::{ClassId, StatisticsError};
use crate::documents::{Block, BlockReader, TermScales, forget_fold};
use crate::fit::choose::TAUS;
use crate::fit::column_fit::COLUMNS_TOGETHER;
use crate::fit::partition::weights_of;
use crate::fit::tried::HeldOutScores;
use crate::fit::{Fit, Fitted, Fold};
use crate::linear::{Choices, Columns, Correction};
use crate::numbers::scramble;
use crate::selection::{HeldOut, SmoothingChoice};

impl Fit<'_> {
    /// Makes the choices of a fit by [partitions](crate::Partition): the stacking weights of counts and correction and,
    /// for two classes, tau. This fit's documents are the sample to choose by; the correction must not have learned
    /// from them. The counts must be those of all documents, from which the sample is then subtracted.
    ///
    /// The result has no coefficients. Its correction is the current one; [`Choices::correction`] selects the columns
    /// of a later one.
    ///
    /// # Errors
    /// Options out of their ranges; more weights than a `u32` can number.
    pub fn choose_by_sample(
        &self,
        smoothing: SmoothingChoice,
        correction: &Correction,
    ) -> Result<Fitted, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let choices = self.choices_with(&smoothing);
        let documents: Vec<usize> = (0..self.documents.len()).collect();
        let source = BlockReader::unread(self.documents);
        let fold = Fold {
            copies: documents.iter().map(|i| self.documents.label(*i).multiplicity).collect(),
            weights: documents.iter().map(|i| source.weight(*i)).collect(),
            rows: self.documents.rows(&documents),
            documents,
        };
        let counts = forget_fold(self.counts, self.documents, fold.rows());
        let read = self.with_correction(self.score_held_out(&choices, &fold, &counts), &fold, correction);
        let (fitted, _) = self.choose(Fitted::unfitted(choices, smoothing), &read);
        let correction = fitted.choices.correction(&self.columns, correction).map_err(FitError::Counts)?;
        Ok(Fitted { correction, ..fitted })
    }

    /// Adds the log-odds d of each column of the correction to the held-out scores.
    fn with_correction(
        &self,
        held_out: Vec<HeldOut>,
        fold: &Fold,
        correction: &Correction,
    ) -> Vec<HeldOutScores> {
        let idf = self.idf(self.counts);
        let mut block = Block::of(fold.rows.iter().map(|row| row.row()));
        block.vectorize(&TermScales { idf: idf.clone(), ..TermScales::default() });
        let n_columns = if self.columns.is_one() { TAUS.len() } else { self.columns.len() };
        let of_group = |first: usize| {
            let n = COLUMNS_TOGETHER.min(n_columns - first);
            weights_of::<COLUMNS_TOGETHER>(correction, &idf, first, n).decision_values(&block, n)
        };
        let groups: Vec<_> = (0..n_columns).step_by(COLUMNS_TOGETHER).map(of_group).collect();
        let scores = |(at, held)| HeldOutScores {
            held,
            decisions: vec![groups.iter().flat_map(|group| &group[at]).copied().collect()],
        };
        held_out.into_iter().enumerate().map(scores).collect()
    }
}

impl Choices {
    /// Selects the columns that these choices use of a correction fitted by [partitions](crate::Partition): for two
    /// classes that of tau, otherwise all.
    ///
    /// # Errors
    /// More weights than a `u32` can number.
    pub fn correction(
        &self,
        columns: &Columns,
        correction: &Correction,
    ) -> Result<Correction, StatisticsError> {
        match columns.is_one() {
            true => {
                let lane = TAUS.iter().position(|tau| *tau == self.tau).unwrap_or(0);
                correction.column(lane as ClassId)
            }
            false => Ok(correction.clone()),
        }
    }
}

/// Whether the documents of `group` are in a sample of the given `share` of all. A group in a sample is also in every
/// sample of the same or a larger share.
pub fn is_sampled(group: u64, share: f64) -> bool {
    // 2^64 times the share; casts saturate
    share >= 1.0 || scramble(group) < (share * 2f64.powi(64)) as u64
}
