//! The fit of the correction: all columns on all documents and on each cross-validation fold, then stacking.

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, CountVector};

use crate::bayes::error::FitError;
use crate::counts::statistics::error::StatisticsError;
use crate::fit::ascent::DualWeights;
use crate::fit::choose::TAUS;
use crate::fit::column_fit::{COLUMNS_TOGETHER, ColumnFit, FitColumn};
use crate::fit::competitors::Competitors;
use crate::fit::fit::{Fit, Fitted, Fold, FoldView, scale};
use crate::fit::tried::HeldOutScores;
use crate::left_out::documents::{Block, BlockReader};
use crate::left_out::folds::hold_back_rows;
use crate::left_out::held_out::HeldOut;
use crate::left_out::smoothing_choice::SmoothingChoice;
use crate::linear::choices::Choices;
use crate::linear::coefficients::{Coefficients, GroupCoefficients};

impl Fit<'_> {
    /// Fits everything: the correction, and by cross-validation the stacking weights of counts and correction. The same
    /// documents in the same order give the same result for any number of threads.
    ///
    /// `smoothing` is the result of [`SmoothingChoice::new`], which callers that compare tokenizations already have.
    ///
    /// ```
    /// use tamis_model::{Columns, Counts, Fit, Labelled, SmoothingChoice, Statistics, WeightedOptions};
    /// use tamis_tokenizer::CountVector;
    ///
    /// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
    /// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64 };
    /// let documents: Vec<_> = (0..4).map(document).collect();
    /// let mut counts = Statistics::new(2);
    /// for d in &documents {
    ///     counts.observe(d.class, d.row)?;
    /// }
    /// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
    /// let smoothing = SmoothingChoice::new(&counts, &documents, columns, &options);
    /// let fit = Fit { counts: &counts, documents: &documents, columns, options: &options };
    /// let fitted = fit.fit(smoothing)?;
    /// let weight = |term| fitted.correction.weights(term).map(|weight| weight.units).sum::<i64>();
    /// assert!(weight(0) < 0 && weight(1) > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Options out of their ranges; overflow of a sum of coefficients.
    pub fn fit(&self, smoothing: SmoothingChoice) -> Result<Fitted, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let choices = self.choices_with(&smoothing);
        let none = Fitted::unfitted(choices, smoothing);
        if !self.options.correction && !self.documents.has_windows() {
            let by_groups = !self.documents.copies_are_apart();
            let read = if by_groups { self.left_out_by_groups(&choices) } else { self.left_out(&choices) };
            return Ok(self.choose(none, &read).0);
        }
        let source = BlockReader::new(self.documents);
        let competitors = Competitors::new(self.columns, self.counts, &source, &choices);
        let folds = self.folds(&source);
        let columns = ColumnFit { fit: self, source: &source, competitors: &competitors };
        let cross_fit = CrossFit { fit: self, columns, folds: &folds };
        if self.columns.is_one() { cross_fit.fit_two_classes(none) } else { cross_fit.fit_one_vs_rest(none) }
    }
}

/// The view without the documents of a fold, and their scores by the counts.
type FoldScores<'a> = (FoldView<'a>, Vec<HeldOut>);

/// Fits all columns, on all documents and by cross-validation.
struct CrossFit<'a> {
    fit: &'a Fit<'a>,
    columns: ColumnFit<'a>,
    folds: &'a [Fold],
}

impl<'a> CrossFit<'a> {
    /// Two classes, one column: chooses tau by the held-out loss.
    fn fit_two_classes(&self, fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let group = TAUS.map(|tau| FitColumn { column: 0, tau });
        let groups: [&[FitColumn]; 1] = [&group];
        let (mut coefficients, views) = self.fit_all(&fitted.choices, &groups);
        let read = self.fit_folds(&fitted.choices, &groups, &coefficients, views);
        let (mut fitted, lane) = self.fit.choose(fitted, &read);
        let group = coefficients.groups.iter_mut().flat_map(|group| group.columns.iter_mut().enumerate());
        group.filter(|(at, _)| *at != lane).for_each(|(_, column)| *column = None);
        fitted.correction = self.columns.sum_correction(&coefficients)?;
        Ok(self.with_coefficients(fitted, coefficients))
    }

    /// One-vs-rest: a column per class, [`COLUMNS_TOGETHER`] fitted together.
    fn fit_one_vs_rest(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let tau = fitted.choices.tau;
        let columns: Vec<FitColumn> =
            self.fit.columns.classes().map(|column| FitColumn { column, tau }).collect();
        let groups: Vec<&[FitColumn]> = columns.chunks(COLUMNS_TOGETHER).collect();
        let (coefficients, views) = self.fit_all(&fitted.choices, &groups);
        let (read, correction) = rayon::join(
            || self.fit_folds(&fitted.choices, &groups, &coefficients, views),
            || self.columns.sum_correction(&coefficients),
        );
        fitted.correction = correction?;
        let (fitted, _) = self.fit.choose(fitted, &read);
        Ok(self.with_coefficients(fitted, coefficients))
    }

    /// Fits groups of columns to all documents; also makes the views of the folds if documents are few.
    fn fit_all(
        &self,
        choices: &Choices,
        groups: &[&[FitColumn]],
    ) -> (Coefficients, Option<Vec<FoldScores<'a>>>) {
        let CrossFit { columns: ColumnFit { fit, source, competitors }, folds, .. } = *self;
        let full = || {
            let view = fit.view(choices, source, competitors, None, (fit.counts, fit.squares(fit.counts)));
            let of_group = |group: &&[FitColumn]| self.columns.fit_group(&view, group);
            let groups = groups.par_iter().with_max_len(1).map(of_group).collect();
            Coefficients { scales: view.vectors.scales, groups }
        };
        // with many documents, only after the full view is dropped, to save memory
        let views = || {
            let view = |fold: &'a Fold| self.view_fold(choices, fold);
            source.is_kept().then(|| folds.par_iter().map(view).collect())
        };
        rayon::join(full, views)
    }

    /// Scores of the held-out documents, in their order, by fits without each fold that start from these coefficients.
    fn fit_folds(
        &self,
        choices: &Choices,
        groups: &[&[FitColumn]],
        coefficients: &Coefficients,
        views: Option<Vec<FoldScores<'a>>>,
    ) -> Vec<HeldOutScores> {
        let of_fold = |(at, fold): (usize, &'a Fold)| {
            let own;
            let (view, readings) = match views.as_ref().and_then(|views| views.get(at)) {
                Some(view) => view,
                None => {
                    own = self.view_fold(choices, fold);
                    &own
                }
            };
            self.score_fold(view, readings, (fold, groups), coefficients)
        };
        let mut read: Vec<HeldOutScores> = self.folds.par_iter().enumerate().map(of_fold).flatten().collect();
        read.sort_by_key(|read| read.held.document);
        // copies of a document in several folds count together, by the mean of their scores
        read.dedup_by(|other, read| other.held.document == read.held.document && read.add(other));
        read
    }

    /// The view without the documents of a fold, and their scores by the counts.
    fn view_fold(&self, choices: &Choices, fold: &'a Fold) -> FoldScores<'a> {
        let ColumnFit { fit, source, competitors } = self.columns;
        let counts = hold_back_rows(fit.counts, fit.documents, fold.rows());
        let readings = fit.score_held_out(choices, fold, &counts);
        let counts = (&counts, fit.squares(&counts));
        (fit.view(choices, source, competitors, Some(fold), counts), readings)
    }

    /// Scores of the documents of a fold by the fit without them.
    fn score_fold(
        &self,
        view: &FoldView<'_>,
        readings: &[HeldOut],
        (fold, groups): (&Fold, &[&[FitColumn]]),
        coefficients: &Coefficients,
    ) -> Vec<HeldOutScores> {
        let is_known =
            |row: &CountVector| row.row().ids().iter().any(|id| view.vectors.squares[*id as usize] > 0.0);
        let rows = |(document, row): (&usize, &CountVector)| {
            let windows = self.fit.documents.windows(*document).into_iter().filter(is_known);
            std::iter::once(row.clone()).chain(windows).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<CountVector>> = fold.documents.iter().zip(&fold.rows).map(rows).collect();
        let all: Vec<CountRow<'_>> = rows.iter().flatten().map(CountVector::row).collect();
        let terms = Block::of(all.into_iter());
        let groups = groups.par_iter().zip(&coefficients.groups).with_max_len(1);
        let said: Vec<Vec<Vec<f64>>> =
            groups.map(|(group, start)| self.fit_and_score(view, group, start, &terms)).collect();
        let mut first = 0;
        let read = |(held, rows): (&HeldOut, &Vec<_>)| {
            let own = first..first + rows.len();
            first = own.end;
            let of_row = |row: usize| said.iter().flat_map(|said| &said[row]).copied().collect();
            HeldOutScores { held: held.clone(), said: own.map(of_row).collect() }
        };
        readings.iter().zip(&rows).map(read).collect()
    }

    /// Fits a group of columns without the held-out documents, starting from these coefficients, and scores each row.
    fn fit_and_score(
        &self,
        view: &FoldView<'_>,
        group: &[FitColumn],
        start: &GroupCoefficients,
        rows: &Block,
    ) -> Vec<Vec<f64>> {
        match group.len() {
            0..=2 => self.fit_and_score_rows::<2>(view, group, start, rows),
            3..=4 => self.fit_and_score_rows::<4>(view, group, start, rows),
            _ => self.fit_and_score_rows::<COLUMNS_TOGETHER>(view, group, start, rows),
        }
    }

    fn fit_and_score_rows<const N: usize>(
        &self,
        view: &FoldView<'_>,
        group: &[FitColumn],
        start: &GroupCoefficients,
        rows: &Block,
    ) -> Vec<Vec<f64>> {
        let weights: DualWeights<N> =
            self.columns.fit_columns(view, group, &mut start.of_all(self.fit.documents.len()));
        let read = |row: usize| {
            let terms = rows.terms(row);
            let sums = weights.dot(terms, scale(&view.vectors.squares, terms));
            (0..group.len()).map(|lane| sums[lane] + weights.bias[lane]).collect()
        };
        (0..rows.len()).into_par_iter().map(read).collect()
    }

    /// Adds the coefficients, if there is a correction.
    fn with_coefficients(&self, fitted: Fitted, coefficients: Coefficients) -> Fitted {
        if self.fit.options.correction { Fitted { coefficients, ..fitted } } else { fitted }
    }
}

#[cfg(test)]
mod tests;
