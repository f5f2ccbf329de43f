//! The course of a fit: all columns, all folds, then the weights of both parts.

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, CountVector};

use crate::bayes::error::FitError;
use crate::counts::counts::ClassId;
use crate::counts::statistics::error::StatisticsError;
use crate::fit::ascent::{Ascent, DualWeights, TrainingRows};
use crate::fit::competitors::Competitors;
use crate::fit::fit::{Fit, Fitted, Fold, FoldView, scale};
use crate::left_out::documents::{Block, BlockReader};
use crate::left_out::folds::hold_back_rows;
use crate::left_out::held_out::HeldOut;
use crate::left_out::smoothing_choice::{SmoothingChoice, enough_to_choose};
use crate::left_out::stacking::StackingInput;
use crate::linear::choices::Choices;
use crate::linear::coefficients::{Coefficients, Correction, Lanes};

impl Fit<'_> {
    /// Chooses and fits all there is: smoothing and idf by leave-one-out, the correction, the weights of both by held-out scores.
    /// The same documents in the same order give the same result, whatever the number of threads.
    ///
    /// `smoothing` is what [`SmoothingChoice::new`] finds; it is passed on because who compares several ways of making terms has it.
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
    /// Options out of their ranges; a sum of coefficients that does not fit.
    pub fn fit(&self, smoothing: SmoothingChoice) -> Result<Fitted, FitError<StatisticsError>> {
        self.options.check().map_err(FitError::Parameters)?;
        let default = Choices::for_classes(self.columns.n_classes()).fixed_by(self.options);
        let SmoothingChoice { alpha, idf_power, bayes, .. } = smoothing;
        let choices = Choices { alpha, idf_power, bayes, ..default };
        let none = Fitted {
            choices,
            smoothing,
            taus: Vec::new(),
            correction: Correction::default(),
            coefficients: Coefficients::default(),
            held_out: Vec::new(),
        };
        if !self.options.correction && !self.documents.has_windows() {
            return Ok(Fitted { held_out: self.left_out(&choices), ..none });
        }
        let source = BlockReader::new(self.documents);
        let competitors = Competitors::new(self.columns, self.counts, &source, &choices);
        let folds = self.folds();
        let course = CrossFit { fit: self, source: &source, competitors: &competitors, folds: &folds };
        if self.columns.is_one() { course.two(none) } else { course.many(none) }
    }
}

/// The most passes over the documents, and over those of a fold, which begin where the others ended.
pub(super) const PASSES: usize = 10;
/// What no error moves by any more in the last pass.
pub(super) const TOLERANCE: f64 = 0.02;
/// Of two classes, the shares of the counts that are tried.
const TAUS: [f64; 2] = [0.5, 1.0];
/// Columns that are worked on together.
pub(super) const LANES: usize = 8;

/// A column of numbers that is fitted: of one class, with one share of the counts.
#[derive(Clone, Copy)]
struct Lane {
    column: ClassId,
    tau: f64,
}

/// What a fit of all documents says of one that it held out.
struct Read {
    /// What the counts say.
    held: HeldOut,
    /// d of every lane: of the whole, then of each window of which a term is known.
    said: Vec<Vec<f64>>,
}

impl Read {
    /// With d of some of the lanes.
    fn with(&self, lanes: impl Fn(&[f64]) -> Vec<f64>) -> HeldOut {
        let mut said = self.said.iter().map(|said| lanes(said));
        let mut held = HeldOut { correction: said.next().unwrap_or_default(), ..self.held.clone() };
        for (both, said) in held.windows.iter_mut().zip(said) {
            both[1] = said.first().copied().unwrap_or(0.0);
        }
        held
    }
}

/// What follows from counts without the documents of a fold, and what these say of them.
type Without<'a> = (FoldView<'a>, Vec<HeldOut>);

/// The fits of all columns and folds.
struct CrossFit<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) source: &'a BlockReader<'a>,
    pub(super) competitors: &'a Competitors,
    pub(super) folds: &'a [Fold],
}

impl<'a> CrossFit<'a> {
    /// Of two classes both shares of the counts are tried.
    fn two(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let lanes = TAUS.map(|tau| Lane { column: 0, tau });
        let groups: [&[Lane]; 1] = [&lanes];
        let (mut coefficients, views) = self.fit_all(&fitted.choices, &groups);
        let read = self.fit_folds(&fitted.choices, &groups, &coefficients, views);
        let mut best: Option<(f64, usize, Choices, Vec<HeldOut>)> = None;
        let chooses = enough_to_choose(self.fit.documents, 2);
        for (lane, tau) in TAUS.into_iter().enumerate().take(if chooses { TAUS.len() } else { 1 }) {
            let held_out: Vec<_> = read.iter().map(|read| read.with(|said| vec![said[lane]])).collect();
            let (choices, loss) = self.stack(Choices { tau, ..fitted.choices }, &held_out, chooses);
            if chooses && self.fit.options.correction {
                fitted.taus.push((tau, loss));
            }
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, lane, choices, held_out));
            }
        }
        let Some((_, lane, choices, held_out)) = best else { return Ok(fitted) };
        (fitted.choices, fitted.held_out) = (self.line(choices, &held_out, chooses), held_out);
        let lanes = coefficients.lanes.iter_mut().flat_map(|lanes| lanes.columns.iter_mut().enumerate());
        lanes.filter(|(at, _)| *at != lane).for_each(|(_, column)| *column = None);
        fitted.correction = self.add_up(&coefficients)?;
        Ok(self.with_coefficients(fitted, coefficients))
    }

    /// Of more classes, each is a column, and so many are worked on together.
    fn many(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let tau = fitted.choices.tau;
        let lanes: Vec<Lane> = self.fit.columns.classes().map(|column| Lane { column, tau }).collect();
        let groups: Vec<&[Lane]> = lanes.chunks(LANES).collect();
        let (coefficients, views) = self.fit_all(&fitted.choices, &groups);
        let (read, correction) = rayon::join(
            || self.fit_folds(&fitted.choices, &groups, &coefficients, views),
            || self.add_up(&coefficients),
        );
        fitted.correction = correction?;
        let held_out: Vec<_> = read.iter().map(|read| read.with(<[f64]>::to_vec)).collect();
        let chooses = enough_to_choose(self.fit.documents, lanes.len());
        let (choices, loss) = self.stack(fitted.choices, &held_out, chooses);
        if chooses && self.fit.options.correction {
            fitted.taus.push((tau, loss));
        }
        (fitted.choices, fitted.held_out) = (choices, held_out);
        Ok(self.with_coefficients(fitted, coefficients))
    }

    /// Fits the columns of groups, each together, to all documents; with the views of folds where these are few documents.
    fn fit_all(&self, choices: &Choices, groups: &[&[Lane]]) -> (Coefficients, Option<Vec<Without<'a>>>) {
        let CrossFit { fit, source, competitors, folds } = *self;
        let full = || {
            let view = fit.view(choices, source, competitors, &[], fit.counts);
            let of_group = |lanes: &&[Lane]| self.of_all(&view, lanes);
            let lanes = groups.par_iter().with_max_len(1).map(of_group).collect();
            Coefficients { scales: view.vectors.scales, lanes }
        };
        // of many documents, not before the other view has gone
        let views = || {
            let view = |fold: &'a Fold| self.view_without(choices, fold);
            source.is_kept().then(|| folds.par_iter().map(view).collect())
        };
        rayon::join(full, views)
    }

    /// What is said of the documents held out, in their order, by fits to the documents of each fold that start from these coefficients.
    fn fit_folds(
        &self,
        choices: &Choices,
        groups: &[&[Lane]],
        coefficients: &Coefficients,
        views: Option<Vec<Without<'a>>>,
    ) -> Vec<Read> {
        let of_fold = |(at, fold): (usize, &'a Fold)| {
            let own;
            let (view, readings) = match views.as_ref().and_then(|views| views.get(at)) {
                Some(view) => view,
                None => {
                    own = self.view_without(choices, fold);
                    &own
                }
            };
            self.read_fold(view, readings, (fold, groups), coefficients)
        };
        let mut read: Vec<Read> = self.folds.par_iter().enumerate().map(of_fold).flatten().collect();
        read.sort_unstable_by_key(|read| read.held.document);
        read
    }

    /// What follows from counts without the documents of a fold, and what these say of them.
    fn view_without(&self, choices: &Choices, fold: &'a Fold) -> Without<'a> {
        let CrossFit { fit, source, competitors, .. } = *self;
        let rows = std::iter::zip(fold.documents.iter().copied(), &fold.rows);
        let counts = hold_back_rows(fit.counts, fit.documents, rows);
        let readings = fit.read_held_out(choices, fold, &counts);
        (fit.view(choices, source, competitors, &fold.documents, &counts), readings)
    }

    /// What the fit without the documents of a fold says of these.
    fn read_fold(
        &self,
        view: &FoldView<'_>,
        readings: &[HeldOut],
        (fold, groups): (&Fold, &[&[Lane]]),
        coefficients: &Coefficients,
    ) -> Vec<Read> {
        let is_known =
            |row: &CountVector| row.row().ids().iter().any(|id| view.vectors.squares[*id as usize] > 0.0);
        let rows = |(document, row): (&usize, &CountVector)| {
            let windows = self.fit.documents.windows(*document).into_iter().filter(is_known);
            std::iter::once(row.clone()).chain(windows).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<CountVector>> = fold.documents.iter().zip(&fold.rows).map(rows).collect();
        let all: Vec<CountRow<'_>> = rows.iter().flatten().map(CountVector::row).collect();
        let terms = Block::of(all.into_iter());
        let groups = groups.par_iter().zip(&coefficients.lanes).with_max_len(1);
        let said: Vec<Vec<Vec<f64>>> =
            groups.map(|(lanes, start)| self.of_fold(view, lanes, &start.values, &terms)).collect();
        let mut first = 0;
        let read = |(held, rows): (&HeldOut, &Vec<_>)| {
            let own = first..first + rows.len();
            first = own.end;
            let of_row = |row: usize| said.iter().flat_map(|said| &said[row]).copied().collect();
            Read { held: held.clone(), said: own.map(of_row).collect() }
        };
        readings.iter().zip(&rows).map(read).collect()
    }

    /// The coefficients of all documents.
    fn of_all(&self, view: &FoldView<'_>, lanes: &[Lane]) -> Lanes {
        let values = match lanes.len() {
            0..=2 => self.climb::<2>(view, lanes, None).0,
            3..=4 => self.climb::<4>(view, lanes, None).0,
            _ => self.climb::<LANES>(view, lanes, None).0,
        };
        let columns = lanes.iter().map(|lane| Some(lane.column));
        let width = values.len() / self.fit.documents.len().max(1);
        Lanes { columns: columns.chain(std::iter::repeat(None)).take(width).collect(), values }
    }

    /// What is said of each row by the fit to the documents that a view does not hold out, which starts from these coefficients.
    fn of_fold(&self, view: &FoldView<'_>, lanes: &[Lane], start: &[f32], rows: &Block) -> Vec<Vec<f64>> {
        match lanes.len() {
            0..=2 => self.said::<2>(view, lanes, start, rows),
            3..=4 => self.said::<4>(view, lanes, start, rows),
            _ => self.said::<LANES>(view, lanes, start, rows),
        }
    }

    fn said<const N: usize>(
        &self,
        view: &FoldView<'_>,
        lanes: &[Lane],
        start: &[f32],
        rows: &Block,
    ) -> Vec<Vec<f64>> {
        let weights = self.climb::<N>(view, lanes, Some(start)).1;
        let read = |row: usize| {
            let terms = rows.terms(row);
            let sums = weights.read(terms, scale(&view.vectors.squares, terms));
            (0..lanes.len()).map(|lane| sums[lane] + weights.bias[lane]).collect()
        };
        (0..rows.len()).into_par_iter().map(read).collect()
    }

    /// Fits some columns to the documents that a view does not hold out; the coefficients, as many a document, and the weights.
    fn climb<const N: usize>(
        &self,
        view: &FoldView<'_>,
        lanes: &[Lane],
        start: Option<&[f32]>,
    ) -> (Vec<f32>, DualWeights<N>) {
        let ascent = Ascent {
            c: self.fit.options.regularisation,
            passes: if self.fit.options.correction { PASSES } else { 0 },
            tolerance: TOLERANCE,
            seed: self.fit.options.seed,
            only_rivals: !self.fit.columns.is_one(),
        };
        let lanes: [Option<Lane>; N] = std::array::from_fn(|lane| lanes.get(lane).copied());
        let mut values = match start {
            Some(start) => start.to_vec(),
            None => vec![0.0; N * self.fit.documents.len()],
        };
        let mut weights = DualWeights::new(view.vectors.squares.len());
        let pupils = |first: usize, block: &Block| self.pupils(view, lanes, first, block);
        ascent.climb(&view.vectors, pupils, values.as_chunks_mut::<N>().0, &mut weights);
        (values, weights)
    }

    /// The documents of a block that teach any of these columns, in their order.
    fn pupils<const N: usize>(
        &self,
        view: &FoldView<'_>,
        lanes: [Option<Lane>; N],
        first: usize,
        block: &Block,
    ) -> TrainingRows<N> {
        let n = block.len();
        let (mut offsets, mut is_own) = (vec![[f32::NAN; N]; n], vec![[false; N]; n]);
        let (mut places, mut weights) = (Vec::with_capacity(n), vec![0.0; n]);
        for at in (0..block.len()).filter(|at| !block.terms(*at).is_empty()) {
            let document = first + at;
            if view.held.binary_search(&document).is_ok() {
                continue;
            }
            let label = self.fit.documents.label(document);
            let own = self.fit.columns.of(label.class);
            weights[at] = label.weight();
            for (lane, to) in lanes.iter().enumerate() {
                let Some(Lane { column, tau }) = to else { continue };
                if let Some(place) = self.competitors.place(document, *column) {
                    offsets[at][lane] = view.odds[place] * *tau as f32;
                    is_own[at][lane] = own == Some(usize::from(*column));
                }
            }
            places.extend(offsets[at].iter().any(|offset| !offset.is_nan()).then_some(at as u32));
        }
        TrainingRows { places, offsets, is_own, weights }
    }

    /// The choices with the weights of counts and correction that do best on documents held out, and their mean log loss.
    fn stack(&self, choices: Choices, held_out: &[HeldOut], chooses: bool) -> (Choices, f64) {
        let columns = self.fit.columns;
        let n_parts = if columns.is_one() { 3 } else { 2 };
        let mut parts = StackingInput::new(columns.len(), n_parts);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let both = held.bayes.iter().zip(&held.correction);
            let values = both.flat_map(|(b, d)| [*b, *d, 1.0].into_iter().take(n_parts));
            parts.push(values, columns.of(self.fit.documents.label(held.document).class), held.weight);
        }
        let mut choices = choices;
        if chooses && self.fit.options.correction && parts.len() > 0 {
            let default = Choices::for_classes(columns.n_classes()).stack;
            choices = choices.with_stack(&parts, &default[..n_parts]);
        }
        let loss = parts.mean(&parts.losses(&choices.stack[..n_parts]));
        (choices, if loss.is_nan() { f64::MAX } else { loss })
    }

    /// The choices with the line from the highest log-odds of a document's windows to its log-odds.
    fn line(&self, choices: Choices, held_out: &[HeldOut], chooses: bool) -> Choices {
        if !self.fit.documents.has_windows() || !chooses {
            return choices;
        }
        let mut parts = StackingInput::new(1, 2);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let z = held.log_odds(&choices).first().copied().unwrap_or(0.0);
            let column = self.fit.columns.of(self.fit.documents.label(held.document).class);
            parts.push([z, 1.0], column, held.weight);
        }
        choices.with_line(&parts)
    }

    /// With the coefficients, where there is a correction.
    fn with_coefficients(&self, fitted: Fitted, coefficients: Coefficients) -> Fitted {
        if self.fit.options.correction { Fitted { coefficients, ..fitted } } else { fitted }
    }

    /// The exact sums of the coefficients, where there is a correction.
    fn add_up(&self, coefficients: &Coefficients) -> Result<Correction, FitError<StatisticsError>> {
        let (mut correction, mut result, mut own) = (Correction::default(), Ok(()), Vec::new());
        if !self.fit.options.correction {
            return Ok(correction);
        }
        self.source.for_all(|first, block| {
            for at in 0..block.len() {
                own.clear();
                own.extend(coefficients.of(first + at));
                // factors are whole numbers
                let terms = block.terms(at).iter().map(|(term, factor)| (term, factor as u32));
                let added = correction.add_units(terms, &own);
                result = std::mem::replace(&mut result, Ok(())).and(added);
            }
        });
        result.map_err(FitError::Counts).map(|()| correction)
    }
}

#[cfg(test)]
mod tests;
