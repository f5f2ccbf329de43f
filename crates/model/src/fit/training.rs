//! Trains columns of the correction on documents, and sums the fitted coefficients.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::FitError;
use crate::counts::{ClassId, Counts, Statistics, StatisticsError, idf, log_documents};
use crate::fit::ascent::{DualAscent, DualWeights, TrainingRows};
use crate::fit::calibration::TAUS;
use crate::fit::competitors::{Competitors, LeftOutBayes};
use crate::fit::problem::FitProblem;
use crate::linear::{COEFFICIENT_ONE, Choices, Coefficient, Correction, CorrectionSum, GroupCoefficients};
use crate::validation::{Block, BlockReader, Fold, Label, TermScales};

/// Maximum passes over all documents, and then without each fold, starting from that fit.
pub(crate) const PASSES: usize = 8;
pub(crate) const PASSES_OF_FOLD: usize = 5;
/// Maximum passes if documents are held out only once: first without them, then with them.
pub(crate) const PASSES_WITHOUT: usize = 4;
pub(crate) const PASSES_WITH: usize = 3;
/// The fit stops when no error changes by this much in a pass.
pub(crate) const TOLERANCE: f64 = 0.02;
/// The same where texts come again, with many copies under several labels: there each pass moves all errors a little.
const TOLERANCE_OF_COPIES: f64 = 0.0004;
/// The correction is summed in a table of at most this many numbers (32 MB), and no more than there are (document, term)
/// pairs.
const MOST_SUMS: usize = 1 << 22;
/// Number of columns fitted together.
pub(crate) const COLUMNS_TOGETHER: usize = 8;

/// A column to fit: a class against the rest, with a share tau of the counts.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) column: ClassId,
    pub(crate) tau: f64,
}

/// A series of passes over the documents.
pub(crate) struct Passes<'a> {
    pub(crate) most: usize,
    /// The fold that is held out, if any.
    pub(crate) held: Option<&'a Fold>,
    /// The counts' log-odds of each document and competing column.
    pub(crate) odds: &'a [f32],
}

/// A fitted group of columns.
pub(crate) struct GroupFit {
    pub(crate) coefficients: GroupCoefficients,
    /// For each held-out row, the log-odds d of every column.
    pub(crate) decisions: Vec<Vec<f64>>,
}

/// Where the ascent of a group of columns starts.
pub(crate) struct AscentStart<'a> {
    pub(crate) coefficients: GroupCoefficients,
    /// The correction to start from, the factor of each term's weights in it, and the number of the group's first
    /// column there; `None` if the weights are to be summed from the coefficients.
    pub(crate) weights: Option<(&'a Correction, &'a [f32], usize)>,
}

/// Trains columns on the documents of a fit.
pub(crate) struct ColumnTrainer<'a> {
    pub(crate) problem: FitProblem<'a>,
    pub(crate) source: BlockReader<'a>,
    pub(crate) competitors: Competitors,
    /// The counts' log-odds of each document and competing column.
    pub(crate) odds: Vec<f32>,
    pub(crate) lanes: Vec<Lane>,
}

impl<'a> ColumnTrainer<'a> {
    /// `counts` are those that the offsets of the documents come from; without any, there are none. The documents are read
    /// as vectors by the other counts, those of the problem.
    pub(crate) fn new(
        problem: FitProblem<'a>,
        scales: TermScales,
        choices: &Choices,
        counts: Option<&Statistics>,
    ) -> Self {
        let source = BlockReader::new(problem.documents).with_vectors(scales);
        let (competitors, odds) = Competitors::new(&problem.columns, problem.counts, &source, choices);
        let lanes = match problem.columns.is_one() {
            true => TAUS.map(|tau| Lane { column: 0, tau }).to_vec(),
            false => problem.columns.ids().map(|column| Lane { column, tau: choices.tau }).collect(),
        };
        let mut trainer = ColumnTrainer { problem, source, competitors, odds: Vec::new(), lanes };
        if let Some(counts) = counts {
            let odds = odds.filter(|_| std::ptr::eq(counts, trainer.problem.counts));
            trainer.odds = odds.unwrap_or_else(|| trainer.odds(choices, counts, None));
        }
        trainer
    }

    /// The groups of columns that are trained together.
    pub(crate) fn groups(&self) -> impl IndexedParallelIterator<Item = &[Lane]> {
        self.lanes.par_chunks(COLUMNS_TOGETHER).with_max_len(1)
    }

    /// The counts' log-odds of each document and competing column, with the document itself left out. `counts` must be
    /// without the fold `held`.
    pub(crate) fn odds(&self, choices: &Choices, counts: &Statistics, held: Option<&Fold>) -> Vec<f32> {
        let documents = self.problem.documents;
        let left_out = LeftOutBayes::new(&self.problem.columns, choices, counts);
        let width = self.competitors.width;
        let mut odds = vec![0.0; documents.len() * width];
        self.source.for_all(|first, block| {
            let prepare = |(at, out): (usize, &mut [f32])| {
                let (terms, document) = (block.terms(at), first + at);
                if copies_left(held, document, &documents.label(document)) > 0 {
                    let (copies, mut b) = (self.source.copies(document), Vec::new());
                    left_out.log_odds(&copies, terms, &mut b);
                    left_out.write_offsets(&copies, &mut b, self.competitors.columns(document), out);
                }
            };
            let end = first + block.len();
            let out = odds[first * width..end * width].par_chunks_mut(width);
            out.with_min_len(64).enumerate().for_each(prepare);
        });
        odds
    }

    /// The options of an ascent over all documents together.
    pub(crate) fn ascent(&self) -> DualAscent {
        let come_again = self.source.repeats.unit.is_some();
        DualAscent {
            c: self.problem.options.regularisation,
            passes: PASSES,
            tolerance: if come_again { TOLERANCE_OF_COPIES } else { TOLERANCE },
            seed: self.problem.options.seed,
            only_rivals: !self.problem.columns.is_one(),
            partitions: None,
        }
    }

    /// The initial coefficients of a group of columns: all 0.
    pub(crate) fn zeros(&self, group: &[Lane]) -> GroupCoefficients {
        let width = match group.len() {
            0..=2 => 2,
            3..=4 => 4,
            _ => COLUMNS_TOGETHER,
        };
        let columns = group.iter().map(|lane| Some(lane.column));
        GroupCoefficients {
            columns: columns.chain(std::iter::repeat(None)).take(width).collect(),
            values: vec![0.0; width * self.problem.documents.len()],
            documents: None,
        }
    }

    /// Trains a group of columns by `passes`, one after another. Scores `rows` after the first of the passes.
    pub(crate) fn train(
        &self,
        group: &[Lane],
        ascent: &DualAscent,
        start: AscentStart<'_>,
        passes: &[Passes<'_>],
        rows: &Block,
    ) -> GroupFit {
        match start.coefficients.columns.len() {
            2 => self.train_lanes::<2>(group, ascent, start, passes, rows),
            4 => self.train_lanes::<4>(group, ascent, start, passes, rows),
            _ => self.train_lanes::<COLUMNS_TOGETHER>(group, ascent, start, passes, rows),
        }
    }

    fn train_lanes<const N: usize>(
        &self,
        group: &[Lane],
        ascent: &DualAscent,
        AscentStart { mut coefficients, weights }: AscentStart<'_>,
        passes: &[Passes<'_>],
        rows: &Block,
    ) -> GroupFit {
        let lanes: [Option<Lane>; N] = std::array::from_fn(|lane| group.get(lane).copied());
        let mut weights: Option<DualWeights<N>> =
            weights.map(|(correction, factors, first)| weights_of(correction, factors, first, group.len()));
        let mut decisions = None;
        for passes in passes {
            let ascent = DualAscent { passes: passes.most, ..*ascent };
            let training = |first: usize, block: &Block| self.training_rows(passes, lanes, first, block);
            let values = coefficients.values.as_chunks_mut::<N>().0;
            let after = ascent.ascend(&self.source, training, values, weights.take());
            decisions.get_or_insert_with(|| after.decision_values(rows, group.len()));
            weights = Some(after);
        }
        GroupFit { coefficients, decisions: decisions.unwrap_or_default() }
    }

    /// The documents of a block that train any column of `group`, in order.
    fn training_rows<const N: usize>(
        &self,
        passes: &Passes<'_>,
        group: [Option<Lane>; N],
        first: usize,
        block: &Block,
    ) -> TrainingRows<N> {
        let n = block.len();
        let (mut offsets, mut is_positive) = (vec![[f32::NAN; N]; n], vec![[false; N]; n]);
        let (mut positions, mut weights) = (Vec::with_capacity(n), vec![0.0; n]);
        for at in (0..block.len()).filter(|at| !block.vector(*at).is_empty()) {
            let document = first + at;
            let label = self.problem.documents.label(document);
            let copies = copies_left(passes.held, document, &label);
            if copies == 0 {
                continue;
            }
            weights[at] = self.source.repeats.weigh(&label, copies);
            let columns = || group.iter().flatten().map(|lane| lane.column);
            let (Some(first), Some(last)) = (columns().min(), columns().max()) else { continue };
            if !self.competitors.has_any(document, first..=last) {
                continue;
            }
            for (lane, to) in group.iter().enumerate() {
                let Some(Lane { column, tau }) = to else { continue };
                if let Some(place) = self.competitors.place(document, *column) {
                    offsets[at][lane] = passes.odds[place] * *tau as f32;
                    is_positive[at][lane] =
                        self.problem.columns.is_positive(label.class, usize::from(*column));
                }
            }
            positions.extend(offsets[at].iter().any(|offset| !offset.is_nan()).then_some(at as u32));
        }
        TrainingRows { positions, offsets, is_positive, weights }
    }

    /// 1 / |v| of every document.
    pub(crate) fn scales(&self) -> Vec<f32> {
        let mut scales = Vec::with_capacity(self.problem.documents.len());
        self.source.for_all_vectors(|_, block| scales.extend_from_slice(&block.scales));
        scales
    }

    /// The exact sum of the coefficients that `of` appends for each document.
    pub(crate) fn sum(
        &self,
        of: impl Fn(usize, &mut Vec<Coefficient>) + Send + Sync,
    ) -> Result<Correction, FitError<StatisticsError>> {
        let documents = self.problem.documents;
        let most = documents.n_pairs().min(MOST_SUMS);
        let mut sum = CorrectionSum::new(documents.n_terms(), self.lanes.len(), most);
        let (mut result, mut own) = (Ok(()), Vec::new());
        if self.problem.options.correction {
            self.source.for_all(|first, block| {
                for at in 0..block.len() {
                    own.clear();
                    of(first + at, &mut own);
                    let row = block.terms(at);
                    // factors are whole numbers
                    let terms = row.iter().map(|(term, factor)| (term, factor as u32));
                    let most = row.factors.iter().copied().fold(0.0, f32::max) as u32;
                    let added = sum.add(terms, most, &own);
                    result = std::mem::replace(&mut result, Ok(())).and(added);
                }
            });
        }
        result.and_then(|()| sum.finish()).map_err(FitError::Counts)
    }
}

/// The number of a document's copies outside the fold `held`.
fn copies_left(held: Option<&Fold>, document: usize, label: &Label) -> u32 {
    label.multiplicity.saturating_sub(held.map_or(0, |fold| fold.copies_of(document)))
}

/// idf of every term below `n_terms` by `counts`, in nats; 0 for a term without counts.
pub(crate) fn idf_of_terms(counts: &Statistics, n_terms: usize) -> Vec<f32> {
    let log_documents = log_documents(counts.totals().iter().map(|totals| totals.documents).sum());
    let ids: Vec<TermId> = (0..=TermId::MAX).take(n_terms).collect();
    let idf = |term: &TermId| match counts.document_frequency(*term) {
        0 => 0.0,
        df => idf(df, log_documents) as f32,
    };
    ids.par_iter().with_min_len(1 << 12).map(idf).collect()
}

/// The weights of `n` columns of a correction, starting at `first`, each times the factor of its term.
pub(crate) fn weights_of<const N: usize>(
    correction: &Correction,
    factors: &[f32],
    first: usize,
    n: usize,
) -> DualWeights<N> {
    let mut weights = DualWeights::<N>::new(factors.len());
    // columns are numbered by `ClassId`
    let columns = first as ClassId..=(first + n - 1) as ClassId;
    for ((term, to), factor) in (0..).zip(&mut weights.terms).zip(factors) {
        for weight in correction.weights_of(term, columns.clone()) {
            to[usize::from(weight.class) - first] = (weight.value() * f64::from(*factor)) as f32;
        }
    }
    for (to, units) in weights.bias.iter_mut().zip(correction.bias().iter().skip(first).take(n)) {
        *to = *units as f64 / COEFFICIENT_ONE as f64;
    }
    weights
}
