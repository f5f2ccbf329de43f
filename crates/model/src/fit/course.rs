use rayon::prelude::*;
use tamis_tokenizer::CountRow;

use super::{Fit, Fitted, View, scale};
use crate::ascent::{Ascent, Pupil, Weights};
use crate::competitors::Competitors;
use crate::smoothing_choice::enough_to_choose;
use crate::stacking::Parts;
use crate::term_frequency::tf_units;
use crate::{Choices, ClassId, Coefficient, FitError, HeldOut, StatisticsError};

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

/// What the lanes of a block say: the coefficients by document, and of each held-out document (fold by fold, whole and windows) d.
struct Block<const N: usize> {
    pupils: Vec<Pupil<N>>,
    held: Vec<Vec<[f64; N]>>,
}

/// The fits of all columns and folds.
pub(super) struct Course<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) competitors: &'a Competitors,
    pub(super) full: &'a View<'a>,
    pub(super) views: &'a [View<'a>],
}

impl Course<'_> {
    /// Of two classes both shares of the counts are tried.
    pub(super) fn two(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let lanes = TAUS.map(|tau| Some(Lane { column: 0, tau }));
        let block = self.block(lanes);
        let mut best: Option<(f64, usize, Choices, Vec<HeldOut>)> = None;
        let chooses = enough_to_choose(self.fit.documents, 2);
        for (lane, tau) in TAUS.into_iter().enumerate().take(if chooses { TAUS.len() } else { 1 }) {
            let held_out = self.held_out(|fold, row| vec![block.held[fold][row][lane]]);
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
        if self.fit.options.correction {
            let lane_of = |lane_at: usize| (lane_at == lane).then_some(0);
            self.keep(&mut fitted.coefficients, &block.pupils, lane_of);
        }
        self.add_up(fitted)
    }

    /// Of more classes, each is a column, and so many are worked on together.
    pub(super) fn many(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        let tau = fitted.choices.tau;
        let columns: Vec<ClassId> = self.fit.columns.classes().collect();
        let blocks: Vec<Block<LANES>> = columns
            .par_chunks(LANES)
            .map(|columns| {
                let mut lanes = [None; LANES];
                lanes
                    .iter_mut()
                    .zip(columns)
                    .for_each(|(lane, column)| *lane = Some(Lane { column: *column, tau }));
                self.block(lanes)
            })
            .collect();
        let of_column =
            |fold: usize, row: usize, column: usize| blocks[column / LANES].held[fold][row][column % LANES];
        let held_out = self
            .held_out(|fold, row| (0..columns.len()).map(|column| of_column(fold, row, column)).collect());
        let chooses = enough_to_choose(self.fit.documents, columns.len());
        let (choices, loss) = self.stack(fitted.choices, &held_out, chooses);
        if chooses && self.fit.options.correction {
            fitted.taus.push((tau, loss));
        }
        (fitted.choices, fitted.held_out) = (choices, held_out);
        if self.fit.options.correction {
            for (block, first) in blocks.iter().zip((0..).step_by(LANES)) {
                self.keep(&mut fitted.coefficients, &block.pupils, |lane| Some((first + lane) as ClassId));
            }
        }
        self.add_up(fitted)
    }

    /// Fits some columns to all documents, and then, starting from there, to those of each fold.
    fn block<const N: usize>(&self, lanes: [Option<Lane>; N]) -> Block<N> {
        let n_terms = self.full.vectors.squares.len();
        let passes = if self.fit.options.correction { PASSES } else { 0 };
        let ascent = Ascent {
            c: self.fit.options.regularisation,
            passes,
            tolerance: TOLERANCE,
            seed: self.fit.options.seed,
            only_rivals: !self.fit.columns.is_one(),
        };
        let mut pupils = self.pupils(self.full, lanes);
        let mut weights = Weights::new(n_terms);
        ascent.climb(&self.full.vectors, &mut pupils, &mut weights);
        drop(weights);
        let of_fold = |view: &View<'_>| {
            let mut others = self.pupils(view, lanes);
            let mut known = pupils.iter().peekable();
            for pupil in &mut others {
                while known.next_if(|known| known.document < pupil.document).is_some() {}
                if let Some(known) = known.next_if(|known| known.document == pupil.document) {
                    pupil.coefficients = known.coefficients;
                }
            }
            let mut weights = Weights::<N>::new(n_terms);
            ascent.climb(&view.vectors, &mut others, &mut weights);
            let with_bias = |sums: [f64; N]| std::array::from_fn(|lane| sums[lane] + weights.bias[lane]);
            let read = |document: &usize| {
                let windows = self.fit.windows.get(*document).into_iter().flatten();
                let window = |row: &CountRow<'_>| {
                    let factors: Vec<_> = row.counts().iter().map(|tf| tf_units(*tf) as f32).collect();
                    weights.read_terms(row.ids(), &factors, scale(&view.vectors.squares, *row))
                };
                let whole = weights.read(&view.vectors, *document);
                std::iter::once(whole).chain(windows.map(window)).map(with_bias).collect::<Vec<_>>()
            };
            view.held.par_iter().map(read).collect::<Vec<_>>().concat()
        };
        let held = self.views.par_iter().map(of_fold).collect();
        Block { pupils, held }
    }

    /// The documents that teach any of these columns, in their order.
    fn pupils<const N: usize>(&self, view: &View<'_>, lanes: [Option<Lane>; N]) -> Vec<Pupil<N>> {
        let mut pupils = Vec::new();
        let mut held = view.held.iter().peekable();
        for (i, document) in self.fit.documents.iter().enumerate() {
            if held.next_if(|held| **held == i).is_some() || document.row.is_empty() {
                continue;
            }
            let mut pupil = Pupil {
                document: i as u32,
                offsets: [f32::NAN; N],
                is_own: [false; N],
                coefficients: [0.0; N],
            };
            let own = self.fit.columns.of(document.class);
            for (lane, to) in lanes.iter().enumerate() {
                let Some(Lane { column, tau }) = to else { continue };
                if let Some(at) = self.competitors.place(i, *column) {
                    pupil.offsets[lane] = view.odds[at] * *tau as f32;
                    pupil.is_own[lane] = own == Some(usize::from(*column));
                }
            }
            if pupil.offsets.iter().any(|offset| !offset.is_nan()) {
                pupils.push(pupil);
            }
        }
        pupils
    }

    /// The documents held out, in their order, with what the correction says of each row of a fold: its documents one after the
    /// other, each whole and then its windows.
    fn held_out(&self, correction: impl Fn(usize, usize) -> Vec<f64>) -> Vec<HeldOut> {
        let mut all = Vec::new();
        for (fold, view) in self.views.iter().enumerate() {
            let mut row = 0;
            for held in &view.readings {
                let mut held = HeldOut { correction: correction(fold, row), ..held.clone() };
                row += 1;
                // a window of which no term is known has no part in it
                let mut known = held.windows.iter_mut();
                for window in self.fit.windows.get(held.document).into_iter().flatten() {
                    let is_known = window.ids().iter().any(|id| view.vectors.squares[*id as usize] > 0.0);
                    if let Some(both) = is_known.then(|| known.next()).flatten() {
                        both[1] = correction(fold, row).first().copied().unwrap_or(0.0);
                    }
                    row += 1;
                }
                all.push(held);
            }
        }
        all.sort_unstable_by_key(|held| held.document);
        all
    }

    /// The choices with the weights of counts and correction that do best on documents held out, and their mean log loss.
    fn stack(&self, choices: Choices, held_out: &[HeldOut], chooses: bool) -> (Choices, f64) {
        let columns = self.fit.columns;
        let n_parts = if columns.is_one() { 3 } else { 2 };
        let mut parts = Parts::new(columns.len(), n_parts);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let both = held.bayes.iter().zip(&held.correction);
            let values = both.flat_map(|(b, d)| [*b, *d, 1.0].into_iter().take(n_parts));
            parts.push(values, columns.of(self.fit.documents[held.document].class), held.weight);
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
        if self.fit.windows.is_empty() || !chooses {
            return choices;
        }
        let mut parts = Parts::new(1, 2);
        for held in held_out.iter().filter(|held| held.known_terms > 0) {
            let z = held.log_odds(&choices).first().copied().unwrap_or(0.0);
            let column = self.fit.columns.of(self.fit.documents[held.document].class);
            parts.push([z, 1.0], column, held.weight);
        }
        choices.with_line(&parts)
    }

    /// Keeps the coefficients of the lanes that stand for a column, in fixed point.
    fn keep<const N: usize>(
        &self,
        coefficients: &mut [Vec<Coefficient>],
        pupils: &[Pupil<N>],
        column_of: impl Fn(usize) -> Option<ClassId>,
    ) {
        for pupil in pupils {
            let document = pupil.document as usize;
            for (lane, c) in pupil.coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0) {
                let Some(class) = column_of(lane) else { continue };
                let scale = f64::from(self.full.vectors.scales[document]);
                coefficients[document].extend(Coefficient::new(class, f64::from(*c), scale));
            }
        }
    }

    /// The exact sums of the coefficients.
    fn add_up(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
        for (document, coefficients) in self.fit.documents.iter().zip(&fitted.coefficients) {
            fitted.correction.add(document.row, coefficients).map_err(FitError::Counts)?;
        }
        Ok(fitted)
    }
}
