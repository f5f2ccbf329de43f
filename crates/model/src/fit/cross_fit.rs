//! The fit of the correction: all columns on all documents and on each cross-validation fold, then stacking.

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::bayes::FitError;
use crate::counts::StatisticsError;
use crate::documents::{Block, BlockReader, TermScales, forget_fold};
use crate::fit::choose::TAUS;
use crate::fit::column_fit::{
    COLUMNS_TOGETHER, ColumnFit, FEW_HELD_OUT, FitColumn, GroupFit, PASSES, PASSES_OF_FOLD, PASSES_WITH,
    PASSES_WITHOUT, Passes,
};
use crate::fit::competitors::Competitors;
use crate::fit::tried::HeldOutScores;
use crate::fit::{FOLDS_OF_ALL, Fit, Fitted, Fold};
use crate::linear::{Choices, Coefficients};
use crate::selection::{HeldOut, SmoothingChoice};

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
    /// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64, fraction: 0 };
    /// let documents: Vec<_> = (0..4).map(document).collect();
    /// let mut counts = Statistics::new(2);
    /// for d in &documents {
    ///     counts.observe(d.class, d.row)?;
    /// }
    /// let (columns, options) = (Columns::new(2, 1)?, WeightedOptions::default());
    /// let smoothing = SmoothingChoice::new(&counts, &documents, &columns, &options);
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
        let idf = self.idf(self.counts);
        let source =
            BlockReader::new(self.documents).with_vectors(TermScales { idf, ..TermScales::default() });
        let (competitors, odds) = Competitors::new(&self.columns, self.counts, &source, &choices);
        let odds = odds.unwrap_or_else(|| self.odds(&choices, &source, &competitors, self.counts, None));
        let folds = self.folds(&source, self.max_held_out(), self.n_folds());
        let columns = ColumnFit { fit: self, source: &source, competitors: &competitors };
        let to_fit = self.fit_columns(&choices);
        let groups = to_fit.chunks(COLUMNS_TOGETHER).collect();
        let (mut coefficients, read) = CrossFit { columns, groups, folds: &folds, choices }.fit(&odds);
        let (mut fitted, lane) = self.choose(none, &read);
        if !self.options.correction {
            return Ok(fitted);
        }
        if self.columns.is_one() {
            let group = coefficients.groups.iter_mut().flat_map(|group| group.columns.iter_mut().enumerate());
            group.filter(|(at, _)| *at != lane).for_each(|(_, column)| *column = None);
        }
        fitted.correction = columns.sum_correction(&coefficients)?;
        Ok(Fitted { coefficients, ..fitted })
    }

    /// Holds out every document in turn, and returns what `of` makes of its scores, with its number. The choices are
    /// those of an earlier [`fit`](Self::fit), for more than two classes or for labels.
    ///
    /// ```
    /// # use tamis_model::{Columns, Counts, Fit, Labelled, SmoothingChoice, Statistics, WeightedOptions};
    /// # use tamis_tokenizer::CountVector;
    /// let row = |i: u32| CountVector::from_pairs([(i % 3, 1), (3 + i % 5, 1)]);
    /// let rows = (0..30).map(row).collect::<Result<Vec<_>, _>>()?;
    /// let class = |i: usize| if i == 29 { 0 } else { i as u16 % 3 }; // the last one should be of class 2
    /// let document = |i: usize| Labelled { row: rows[i].row(), class: class(i), multiplicity: 1, group: i as u64, fraction: 0 };
    /// let documents: Vec<_> = (0..30).map(document).collect();
    /// let mut counts = Statistics::new(3);
    /// for d in &documents {
    ///     counts.observe(d.class, d.row)?;
    /// }
    /// let (columns, options) = (Columns::new(3, 0)?, WeightedOptions::default());
    /// let smoothing = SmoothingChoice::new(&counts, &documents, &columns, &options);
    /// let fit = Fit { counts: &counts, documents: &documents, columns, options: &options };
    /// let choices = fit.fit(smoothing)?.choices;
    /// let scores = fit.hold_out_all(&choices, |held| held.log_odds(&choices, &[0.0; 3]));
    /// let (document, z) = &scores[29];
    /// assert!(*document == 29 && z[2] > z[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold_out_all<T: Send>(
        &self,
        choices: &Choices,
        of: impl Fn(&HeldOut) -> T + Sync,
    ) -> Vec<(usize, T)> {
        let idf = self.idf(self.counts);
        let source =
            BlockReader::new(self.documents).with_vectors(TermScales { idf, ..TermScales::default() });
        let (competitors, odds) = Competitors::new(&self.columns, self.counts, &source, choices);
        let odds = odds.unwrap_or_else(|| self.odds(choices, &source, &competitors, self.counts, None));
        let folds = self.folds(&source, usize::MAX, FOLDS_OF_ALL);
        let columns = ColumnFit { fit: self, source: &source, competitors: &competitors };
        let to_fit = self.fit_columns(choices);
        let groups = to_fit.chunks(COLUMNS_TOGETHER).collect();
        let cross = CrossFit { columns, groups, folds: &folds, choices: *choices };
        let passes = Passes { most: PASSES, held: None, odds: &odds };
        let fitted = cross.fit_groups(None, &[passes], &Block::default());
        let of_fold = |fold: &Fold| {
            let scores = cross.score(&cross.hold_out(fold), &fitted);
            let with = |scores: &HeldOutScores| scores.with(<[f64]>::to_vec);
            scores.iter().map(|scores| (scores.held.document, of(&with(scores)))).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = folds.iter().flat_map(of_fold).collect();
        all.sort_by_key(|(document, _)| *document);
        all.dedup_by_key(|(document, _)| *document);
        all
    }

    /// The columns to fit: for two classes, one for each share of the counts; otherwise one per class.
    pub(super) fn fit_columns(&self, choices: &Choices) -> Vec<FitColumn> {
        match self.columns.is_one() {
            true => TAUS.map(|tau| FitColumn { column: 0, tau }).to_vec(),
            false => self.columns.ids().map(|column| FitColumn { column, tau: choices.tau }).collect(),
        }
    }
}

/// Fits all columns, on all documents and without the held-out ones.
struct CrossFit<'a> {
    columns: ColumnFit<'a>,
    groups: Vec<&'a [FitColumn]>,
    folds: &'a [Fold],
    choices: Choices,
}

/// A fold, and what is needed to score it without having learned it.
struct HeldFold<'a> {
    fold: &'a Fold,
    /// The scores by the counts of the other documents.
    read: Vec<HeldOut>,
    /// Each document followed by its windows with a known term, as vectors of the terms that other documents have.
    rows: Block,
    /// The number of rows of each document.
    lengths: Vec<usize>,
    /// The offsets of a fit without the fold; `None` if the fold has no fit of its own.
    odds: Option<Vec<f32>>,
}

impl<'a> CrossFit<'a> {
    /// Returns the coefficients of all documents, and the held-out scores in document order.
    ///
    /// A fold that [joins later](Self::joins_later) is left out of the first passes only. Otherwise, each fold is left
    /// out of a separate fit, which starts from the fit to all documents.
    fn fit(&self, odds: &[f32]) -> (Coefficients, Vec<HeldOutScores>) {
        let ColumnFit { fit, source, .. } = self.columns;
        let with = |most| Passes { most, held: None, odds };
        let (fitted, read) = if let Some(fold) = self.joins_later() {
            let held = self.hold_out(fold);
            let without = Passes { held: Some(fold), ..with(PASSES_WITHOUT) };
            let are_few = fold.documents.len() * FEW_HELD_OUT < fit.documents.len();
            let last = with(if are_few { 1 } else { PASSES_WITH });
            let fitted = self.fit_groups(None, &[without, last], &held.rows);
            let read = held.scores(&fitted);
            (fitted, read)
        } else {
            let full = || self.fit_groups(None, &[with(PASSES)], &Block::default());
            // with many documents, folds are prepared only when they are scored, to save memory
            let hold_out = || self.folds.par_iter().map(|fold| self.hold_out(fold)).collect::<Vec<_>>();
            let (fitted, held) = rayon::join(full, || source.is_kept().then(hold_out));
            let read = match held {
                Some(held) => held.par_iter().map(|held| self.score(held, &fitted)).flatten().collect(),
                None => {
                    let score = |fold| self.score(&self.hold_out(fold), &fitted);
                    self.folds.par_iter().map(score).flatten().collect()
                }
            };
            (fitted, read)
        };
        let groups = fitted.into_iter().map(|fit| fit.coefficients).collect();
        (Coefficients { scales: self.columns.scales(), groups }, in_order(read))
    }

    /// The only fold, if choices made by its scores still hold after further passes. Not for independent columns: their
    /// choices include an offset, which does not hold until the bias has settled.
    fn joins_later(&self) -> Option<&'a Fold> {
        match self.folds {
            [fold] if !self.columns.fit.columns.are_independent() => Some(fold),
            _ => None,
        }
    }

    fn fit_groups(&self, start: Option<&[GroupFit]>, passes: &[Passes<'_>], rows: &Block) -> Vec<GroupFit> {
        let fit = |(at, group): (usize, &&[FitColumn])| {
            let start = start.and_then(|fitted| fitted.get(at)).map(|fitted| &fitted.coefficients);
            self.columns.fit_group(group, start, passes, rows)
        };
        self.groups.par_iter().enumerate().with_max_len(1).map(fit).collect()
    }

    /// Scores a fold by a fit without it.
    fn score(&self, held: &HeldFold<'_>, fitted: &[GroupFit]) -> Vec<HeldOutScores> {
        let odds = held.odds.as_deref().unwrap_or_default();
        let without = Passes { most: PASSES_OF_FOLD, held: Some(held.fold), odds };
        held.scores(&self.fit_groups(Some(fitted), &[without], &held.rows))
    }

    fn hold_out(&self, fold: &'a Fold) -> HeldFold<'a> {
        let ColumnFit { fit, source, competitors } = self.columns;
        let counts = forget_fold(fit.counts, fit.documents, fold.rows());
        let read = fit.score_held_out(&self.choices, fold, &counts);
        let is_known = |id: &TermId| counts.document_frequency(*id) > 0;
        let windows = |document: &usize| {
            let windows = fit.documents.windows(*document).into_iter();
            windows.filter(|row| row.row().ids().iter().any(is_known)).collect::<Vec<_>>()
        };
        let rows = |(document, row): (&usize, &CountVector)| {
            std::iter::once(row.clone()).chain(windows(document)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<CountVector>> = fold.documents.iter().zip(&fold.rows).map(rows).collect();
        let lengths = rows.iter().map(Vec::len).collect();
        let all: Vec<CountRow<'_>> = rows.iter().flatten().map(CountVector::row).collect();
        let mut rows = Block::of(all.into_iter());
        let ids = (0..=TermId::MAX).zip(source.idf());
        let idf = ids.map(|(id, idf)| if is_known(&id) { *idf } else { 0.0 }).collect();
        rows.vectorize(&TermScales { idf, ..TermScales::default() });
        let odds = || fit.odds(&self.choices, source, competitors, &counts, Some(fold));
        let odds = self.joins_later().is_none().then(odds);
        HeldFold { fold, read, rows, lengths, odds }
    }
}

impl HeldFold<'_> {
    /// The held-out scores, with the log-odds d of the fitted columns.
    fn scores(&self, fitted: &[GroupFit]) -> Vec<HeldOutScores> {
        let mut first = 0;
        let scores = |(held, n): (&HeldOut, &usize)| {
            let own = first..first + n;
            first = own.end;
            let of_row = |row: usize| fitted.iter().flat_map(|fit| &fit.decisions[row]).copied().collect();
            HeldOutScores { held: held.clone(), decisions: own.map(of_row).collect() }
        };
        self.read.iter().zip(&self.lengths).map(scores).collect()
    }
}

/// Sorts scores by document. Copies of a document in several folds become one score, their weighted mean.
fn in_order(mut read: Vec<HeldOutScores>) -> Vec<HeldOutScores> {
    read.sort_by_key(|read| read.held.document);
    read.dedup_by(|other, read| other.held.document == read.held.document && read.add(other));
    read
}

#[cfg(test)]
mod tests;
