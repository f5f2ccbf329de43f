use rayon::prelude::*;
use tamis_tokenizer::{CountRow, TermId};

use crate::ascent::{Ascent, Factors, Pupil, Vectors, Weights};
use crate::columns::Columns;
use crate::competitors::{Competitors, odds};
use crate::folds::{Groups, Labelled, hold_back};
use crate::leave_one_out::LeaveOneOut;
use crate::smoothing_choice::{SmoothingChoice, enough_to_choose, least_of_class, priors, sample_size};
use crate::stacking::Parts;
use crate::term_frequency::{TF_UNIT, tf_units};
use crate::transform::{idf, log_documents};
use crate::weighted::at_least_one;
use crate::{
    COEFFICIENT_ONE, Choices, ClassId, Coefficient, Correction, Counts, FitError, Readings, Statistics,
    StatisticsError, WeightedLogOdds, WeightedOptions,
};

/// What fitting finds: the choices, the correction, and what models that had not seen a document say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The numbers to score by.
    pub choices: Choices,
    /// The smoothings and powers of idf that were tried.
    pub smoothing: SmoothingChoice,
    /// The shares of the counts that the correction was tried on top of, each with the mean held-out log loss, in nats a
    /// document; none where there was nothing to choose by.
    pub taus: Vec<(f64, f64)>,
    /// The correction.
    pub correction: Correction,
    /// The coefficients of each document that the correction is the sum of, in increasing order of columns.
    pub coefficients: Vec<Vec<Coefficient>>,
    /// Documents that were held out, in their order.
    pub held_out: Vec<HeldOut>,
}

/// What models say of a document that have seen neither it nor any of its group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// Which document, by its position.
    pub document: usize,
    /// How many documents it stands for: more than its copies where it is of a sample.
    pub weight: f64,
    /// How many of its distinct terms the model knew; 0 is no evidence at all.
    pub known_terms: usize,
    /// The counts' log-odds B, one a column.
    pub bayes: Vec<f64>,
    /// What the correction says, d, one a column.
    pub correction: Vec<f64>,
    /// B and d of each of its windows, where these were asked for: of those the highest score counts.
    pub windows: Vec<[f64; 2]>,
}

impl HeldOut {
    /// B and d of the part of it that scores highest, of two classes.
    pub fn highest(&self, choices: &Choices) -> Option<[f64; 2]> {
        let whole = self.bayes.first().zip(self.correction.first()).map(|(b, d)| [*b, *d]);
        let parts = whole.into_iter().chain(self.windows.iter().copied());
        parts.max_by(|a, b| stacked(choices, *a).total_cmp(&stacked(choices, *b)))
    }

    /// Its log-odds by these choices, see [`WeightedLogOdds::log_odds`].
    pub fn log_odds(&self, choices: &Choices) -> Vec<f64> {
        match self.windows.is_empty() {
            true => {
                self.bayes.iter().zip(&self.correction).map(|(b, d)| stacked(choices, [*b, *d])).collect()
            }
            false => self.highest(choices).into_iter().map(|both| choices.log_odds(both)).collect(),
        }
    }
}

impl Choices {
    /// The log-odds between two classes of a document, given B and d of the part of it that scores highest.
    pub fn log_odds(&self, both: [f64; 2]) -> f64 {
        self.line[0] * stacked(self, both) + self.line[1]
    }
}

/// q0 B + q1 d + q2
fn stacked(choices: &Choices, [b, d]: [f64; 2]) -> f64 {
    let [q0, q1, q2] = choices.stack;
    q0 * b + q1 * d + q2
}

/// Folds that documents are held out in.
const FOLDS: usize = 5;
/// The most documents that are held out of two classes, where thresholds need them, and of more.
const HELD_OUT: [usize; 2] = [20_000, 2_000];
/// The most passes over the documents, and over those of a fold, which begin where the others ended.
const PASSES: usize = 10;
/// What no error moves by any more in the last pass.
const TOLERANCE: f64 = 0.02;
/// Of two classes, the shares of the counts that are tried.
const TAUS: [f64; 2] = [0.5, 1.0];
/// Columns that are worked on together.
const LANES: usize = 8;

impl Choices {
    /// The same with the weights of counts and correction that do best on documents of two classes, given B and d of each by a model
    /// that had not seen it, whether it is of the positive class, and what it counts; or, of windows, with such a line. As
    /// they were where there are fewer than 50 documents of a class.
    #[must_use]
    pub fn refitted(self, scored: &[([f64; 2], bool, f64)], of_windows: bool) -> Self {
        let of = |is_positive| scored.iter().filter(|(_, of, _)| *of == is_positive).count();
        if of(true).min(of(false)) < 50 {
            return self;
        }
        let mut parts = Parts::new(1, if of_windows { 2 } else { 3 });
        for ([b, d], is_positive, weight) in scored {
            let column = is_positive.then_some(0);
            match of_windows {
                true => parts.push([stacked(&self, [*b, *d]), 1.0], column, *weight),
                false => parts.push([*b, *d, 1.0], column, *weight),
            }
        }
        let default = Choices::for_classes(2);
        if of_windows { self.with_line(&parts) } else { self.with_stack(&parts, &default.stack) }
    }

    fn with_stack(self, parts: &Parts, default: &[f64]) -> Self {
        let weights = parts.fit(default, 2);
        // without either part nothing would be said
        let says = weights[0] > 0.0 || weights[1] > 0.0;
        let stack = [weights[0], weights[1], weights.get(2).copied().unwrap_or(0.0)];
        if says { Choices { stack, ..self } } else { self }
    }

    fn with_line(self, parts: &Parts) -> Self {
        let line = parts.fit(&Choices::for_classes(2).line, 1);
        if line[0] > 0.0 { Choices { line: [line[0], line[1]], ..self } } else { self }
    }
}

/// What there is to fit to.
#[derive(Clone, Copy)]
pub struct Fit<'a> {
    /// The counts of the documents.
    pub counts: &'a Statistics,
    /// The documents, each once, in an order that does not depend on chance.
    pub documents: &'a [Labelled<'a>],
    /// The windows of each document, of two classes; or none at all.
    pub windows: &'a [Vec<CountRow<'a>>],
    /// The columns to fit.
    pub columns: Columns,
    /// What is fixed, and what is to be chosen.
    pub options: &'a WeightedOptions,
}

/// Counts without the documents of a fold, and what follows from them.
struct View<'a> {
    /// The documents held out, increasing.
    held: Vec<usize>,
    vectors: Vectors<'a>,
    /// tau = 1 times the offsets of each document and competing column.
    odds: Vec<f32>,
    /// B of the rows of the documents held out, whole and windows, and how many terms are known.
    readings: Vec<HeldOut>,
}

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
    /// let fit = Fit { counts: &counts, documents: &documents, windows: &[], columns, options: &options };
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
            coefficients: vec![Vec::new(); self.documents.len()],
            held_out: Vec::new(),
        };
        if !self.options.correction && self.windows.is_empty() {
            return Ok(Fitted { held_out: self.left_out(&choices), ..none });
        }
        let competitors = Competitors::new(self, &choices);
        let (folds, factors) = (self.folds(), Factors::new(self.documents));
        let (full, views) = rayon::join(
            || self.view(&choices, &competitors, &factors, &[], self.counts),
            || {
                let views = folds.par_iter().map(|(fold, weights)| {
                    let counts = hold_back(self.counts, self.documents, fold);
                    let mut view = self.view(&choices, &competitors, &factors, fold, &counts);
                    view.readings.iter_mut().zip(weights).for_each(|(held, weight)| held.weight *= weight);
                    view
                });
                views.collect::<Vec<_>>()
            },
        );
        let course = Course { fit: self, competitors: &competitors, full: &full, views: &views };
        if self.columns.is_one() { course.two(none) } else { course.many(none) }
    }

    /// Held-out scores where there is no correction: leaving one out is exact.
    fn left_out(&self, choices: &Choices) -> Vec<HeldOut> {
        let left_out = LeaveOneOut::new(choices.alpha, self.counts, self.columns);
        let prior = priors(self.counts.totals(), self.columns);
        let sample =
            Groups::new(self.documents).sample(self.most_held_out(), least_of_class(self.columns)).weights;
        let score = |(document, stands_for): &(usize, f64)| {
            let labelled = &self.documents[*document];
            let mut scores = [Vec::new()];
            left_out.scores(labelled.row, labelled.class, &[choices.idf_power], &mut scores);
            let others = |term: &TermId| self.counts.document_frequency(*term) > 1;
            let bayes = |(s, p): (&f64, &f64)| choices.bayes[0] * s + choices.bayes[1] * p;
            HeldOut {
                document: *document,
                weight: stands_for * labelled.weight(),
                known_terms: labelled.row.ids().iter().filter(|term| others(term)).count(),
                bayes: scores[0].iter().zip(&prior).map(bayes).collect(),
                correction: vec![0.0; self.columns.len()],
                windows: Vec::new(),
            }
        };
        let is_judged = |held: &HeldOut| {
            self.counts.totals()[usize::from(self.documents[held.document].class)].documents > 1
        };
        sample.par_iter().map(score).filter(is_judged).collect()
    }

    fn most_held_out(&self) -> usize {
        let [two, many] = HELD_OUT;
        sample_size(if self.columns.is_one() { two } else { many }, self.columns)
    }

    /// The documents of each fold, and how many each stands for.
    fn folds(&self) -> Vec<(Vec<usize>, Vec<f64>)> {
        let groups = Groups::new(self.documents);
        let sample = groups.sample(self.most_held_out(), least_of_class(self.columns));
        // no fold is larger than a fifth of all
        let n_folds = (FOLDS * sample.weights.len()).div_ceil(self.documents.len().max(1));
        let folds = match n_folds {
            0 | 1 => vec![sample.weights.iter().map(|(i, _)| *i).collect()],
            n_folds => sample.groups.deal(n_folds),
        };
        let weight = |i: &usize| match sample.weights.binary_search_by_key(i, |(i, _)| *i) {
            Ok(at) => sample.weights[at].1,
            Err(_) => 0.0,
        };
        let with_weights = |fold: Vec<usize>| {
            let weights = fold.iter().map(weight).collect();
            (fold, weights)
        };
        folds.into_iter().filter(|fold| !fold.is_empty()).map(with_weights).collect()
    }

    /// What follows from counts without the documents of a fold.
    fn view<'a>(
        &'a self,
        choices: &Choices,
        competitors: &Competitors,
        factors: &'a Factors,
        fold: &[usize],
        counts: &Statistics,
    ) -> View<'a> {
        let documents = counts.totals().iter().map(|totals| totals.documents).sum();
        let log_documents = log_documents(documents);
        // ids increase: the last of a row is its highest
        let rows = self.documents.iter().map(|document| &document.row).chain(self.windows.iter().flatten());
        let last = rows.filter_map(|row| row.ids().last()).max();
        let n_terms = last.map_or(0, |&id| id as usize + 1);
        let ids: Vec<TermId> = (0..=TermId::MAX).take(n_terms).collect();
        let square = |term: &TermId| {
            let df = counts.document_frequency(*term);
            let idf = if df == 0 { 0.0 } else { idf(df, log_documents) };
            (idf * idf) as f32
        };
        let squares: Vec<f32> = ids.par_iter().with_min_len(1 << 12).map(square).collect();
        let scale = |d: &Labelled<'_>| if d.row.is_empty() { 0.0 } else { scale(&squares, d.row) };
        let scales = self.documents.par_iter().map(scale).collect();
        let odds = odds(choices, self, counts, competitors, fold);
        let readings = self.read_held_out(choices, fold, counts);
        View {
            held: fold.to_vec(),
            vectors: Vectors { documents: self.documents, factors, squares, scales },
            odds,
            readings,
        }
    }

    /// What the counts alone say of the documents of a fold.
    fn read_held_out(&self, choices: &Choices, fold: &[usize], counts: &Statistics) -> Vec<HeldOut> {
        let positive = self.columns.classes().next().unwrap_or_default();
        let totals = counts.totals();
        let Ok(scorer) = WeightedLogOdds::new(choices, &[], totals, counts.n_features() as u64, positive)
        else {
            return Vec::new();
        };
        let read = |document: &usize| {
            let labelled = &self.documents[*document];
            let (mut readings, mut bayes) = (Readings::default(), Vec::new());
            let mut windows = Vec::new();
            for window in self.windows.get(*document).into_iter().flatten() {
                let Ok(()) = scorer.read(counts, None::<&Correction>, *window, &mut readings);
                scorer.bayes(&readings, &mut bayes);
                windows.extend(bayes.first().filter(|_| readings.known_terms > 0).map(|b| [*b, 0.0]));
            }
            let Ok(()) = scorer.read(counts, None::<&Correction>, labelled.row, &mut readings);
            scorer.bayes(&readings, &mut bayes);
            let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
            let is_judged = match self.columns.is_one() {
                true => has_documents(0) && has_documents(1),
                false => has_documents(labelled.class),
            };
            HeldOut {
                document: *document,
                weight: if is_judged { labelled.weight() } else { 0.0 },
                known_terms: readings.known_terms,
                correction: vec![0.0; bayes.len()],
                bayes,
                windows,
            }
        };
        fold.par_iter().map(read).collect()
    }
}

/// 1 / max(|v|, 1) of a document.
fn scale(squares: &[f32], row: CountRow<'_>) -> f32 {
    let square = |(id, tf): (TermId, u32)| {
        let tf = f64::from(tf_units(tf));
        tf * tf * f64::from(squares.get(id as usize).copied().unwrap_or(0.0))
    };
    let sum: f64 = row.iter().map(square).sum();
    (1.0 / at_least_one(sum * TF_UNIT * TF_UNIT)) as f32
}

/// The fits of all columns and folds.
struct Course<'a> {
    fit: &'a Fit<'a>,
    competitors: &'a Competitors,
    full: &'a View<'a>,
    views: &'a [View<'a>],
}

impl Course<'_> {
    /// Of two classes both shares of the counts are tried.
    fn two(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
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
    fn many(&self, mut fitted: Fitted) -> Result<Fitted, FitError<StatisticsError>> {
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
                for window in self.fit.windows.get(held.document).into_iter().flatten().enumerate() {
                    if let Some(both) = held.windows.get_mut(window.0) {
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

impl Coefficient {
    /// In fixed point; none if nothing is left of it. `scale` is 1 / |v|, at most 1.
    pub(crate) fn new(class: ClassId, c: f64, scale: f64) -> Option<Coefficient> {
        // casts saturate, and take what is not a number to 0
        let fixed = |x: f64| (x * COEFFICIENT_ONE as f64).round() as i64;
        let coefficient = Coefficient { class, bias: fixed(c), units: fixed(c * scale) };
        (coefficient.bias != 0 || coefficient.units != 0).then_some(coefficient)
    }
}

#[cfg(test)]
mod tests;
