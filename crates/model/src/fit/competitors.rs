//! Which one-vs-rest columns learn from a document, and the leave-one-out offsets they start from.

use std::ops::RangeInclusive;

use rayon::prelude::*;

use crate::counts::{ClassId, ClassTotals, Counts, Statistics};
use crate::linear::{Choices, Columns, priors};
use crate::numbers::softmax_and_sum;
use crate::validation::{BlockReader, BlockRow, Copies, LeaveOneOut, Points};

/// The columns that learn from each document: all whose classes have documents or, with many classes, only the
/// document's own and its highest-scoring rivals.
pub(crate) struct Competitors {
    n_columns: usize,
    /// Whether each column's class has documents; for the single column of two classes, whether both have.
    is_learned: Vec<bool>,
    /// The number of columns that learn from a document.
    pub(crate) width: usize,
    /// These columns, document after document, each in increasing order; empty if all columns learn from all documents.
    lists: Vec<ClassId>,
}

/// Minimum number of columns that learn from a document besides its own.
pub(crate) const RIVALS: usize = 32;

/// The largest offset of a one-vs-rest column, in nats.
const MAX_OFFSET: f64 = 15.0;

impl Competitors {
    /// Also returns the [offsets](LeftOutBayes::offsets) of all documents, if they were needed to find rivals.
    pub(crate) fn new(
        columns: &Columns,
        counts: &Statistics,
        source: &BlockReader<'_>,
        choices: &Choices,
    ) -> (Competitors, Option<Vec<f32>>) {
        let (totals, documents) = (counts.totals(), source.documents);
        let is_learned = match columns.is_one() {
            true => vec![totals.iter().all(|totals| totals.documents > 0)],
            false => columns.totals(totals).iter().map(|totals| totals.documents > 0).collect(),
        };
        let width = (RIVALS + columns.most_positive()).min(columns.len());
        let mut competitors = Competitors { n_columns: columns.len(), width, is_learned, lists: Vec::new() };
        if width == columns.len() {
            return (competitors, None);
        }
        let bayes = LeftOutBayes::new(columns, choices, counts);
        let mut lists = vec![0; documents.len() * width];
        let mut odds = vec![0.0; documents.len() * width];
        source.for_all(|first, block| {
            let prepare = |(at, (list, odds)): (usize, (&mut [ClassId], &mut [f32]))| {
                let class = documents.label(first + at).class;
                let mut scores = Vec::new();
                let copies = source.copies(first + at);
                bayes.log_odds(&copies, block.terms(at), &mut scores);
                let mut ranked: Vec<_> = (0..=ClassId::MAX).zip(scores.iter().copied()).collect();
                keep_rivals(&mut ranked, width, |column| columns.is_positive(class, usize::from(column)));
                list.iter_mut().zip(&ranked).for_each(|(to, (column, _))| *to = *column);
                bayes.write_offsets(&copies, &mut scores, list.iter().copied(), odds);
            };
            let of_block = first * width..(first + block.len()) * width;
            let odds = odds[of_block.clone()].par_chunks_mut(width);
            lists[of_block].par_chunks_mut(width).zip(odds).with_min_len(64).enumerate().for_each(prepare);
        });
        competitors.lists = lists;
        (competitors, Some(odds))
    }

    /// The columns that compete for a document, in increasing order.
    pub(crate) fn columns(&self, document: usize) -> impl Iterator<Item = ClassId> + '_ {
        let all = (0..=ClassId::MAX).take(if self.learn_from_all() { self.n_columns } else { 0 });
        self.list(document).iter().copied().chain(all)
    }

    /// Whether all columns learn from all documents.
    pub(crate) fn learn_from_all(&self) -> bool {
        self.width == self.n_columns
    }

    fn list(&self, document: usize) -> &[ClassId] {
        self.lists.get(document * self.width..(document + 1) * self.width).unwrap_or_default()
    }

    /// Whether any column in the range `columns` may learn from a document.
    pub(crate) fn has_any(&self, document: usize, columns: RangeInclusive<ClassId>) -> bool {
        let list = self.list(document);
        let at = list.partition_point(|column| column < columns.start());
        self.learn_from_all() || list.get(at).is_some_and(|column| column <= columns.end())
    }

    /// The index of the value stored for a document and a column; `None` if the column does not learn from the
    /// document.
    pub(crate) fn place(&self, document: usize, column: ClassId) -> Option<usize> {
        let at = match self.learn_from_all() {
            true => usize::from(column),
            false => self.list(document).binary_search(&column).ok()?,
        };
        self.is_learned[usize::from(column)].then_some(document * self.width + at)
    }
}

/// Keeps `n` columns, the document's own and those that score highest, in the order of columns.
pub(crate) fn keep_rivals(ranked: &mut Vec<(ClassId, f64)>, n: usize, is_own: impl Fn(ClassId) -> bool) {
    if ranked.len() > n {
        ranked.select_nth_unstable_by(n - 1, |a, b| {
            is_own(b.0).cmp(&is_own(a.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
        });
        ranked.truncate(n);
        ranked.sort_unstable_by_key(|(column, _)| *column);
    }
}

/// Leave-one-out log-odds B of the counts.
pub(crate) struct LeftOutBayes<'a> {
    scores: LeaveOneOut<'a>,
    columns: &'a Columns,
    /// The totals of the columns; of both classes, where they share one.
    totals: Vec<ClassTotals>,
    choices: &'a Choices,
    prior: Vec<f64>,
}

impl<'a> LeftOutBayes<'a> {
    pub(crate) fn new(columns: &'a Columns, choices: &'a Choices, counts: &'a Statistics) -> Self {
        let scores = LeaveOneOut::new(Points::one(choices.alpha, choices.idf_power), counts, columns);
        let totals = column_totals(counts.totals(), columns);
        LeftOutBayes { scores, columns, totals, choices, prior: priors(counts.totals(), columns) }
    }

    /// Writes a document's offsets to `out`, one per column given. `b` are its [log-odds](Self::log_odds).
    pub(crate) fn write_offsets(
        &self,
        copies: &Copies,
        b: &mut [f64],
        columns: impl Iterator<Item = ClassId>,
        out: &mut [f32],
    ) {
        shares(b, &self.totals, self.columns);
        let own = Some((copies.own, copies.of_class(copies.own)));
        for (out, column) in out.iter_mut().zip(columns) {
            *out = offset(b, column, &self.totals, self.columns, own) as f32;
        }
    }

    /// Counts the document's terms that also occur in other documents.
    pub(crate) fn known_terms(&self, terms: BlockRow<'_>, copies: &Copies) -> usize {
        self.scores.known_terms(terms, copies)
    }

    pub(crate) fn log_odds(&self, copies: &Copies, terms: BlockRow<'_>, out: &mut Vec<f64>) {
        self.scores.scores(terms, copies, std::slice::from_mut(out));
        let [k0, k1] = self.choices.bayes;
        out.iter_mut().zip(&self.prior).for_each(|(score, prior)| *score = k0 * *score + k1 * prior);
    }
}

/// Turns B, one per column, into the log-odds of each column against the rest: the offsets of the correction.
///
/// A class or label whose only document is this one gets 0, since without it the class is unknown.
pub(crate) fn offsets(b: &mut [f64], totals: &[ClassTotals], columns: &Columns, own: Option<ClassId>) {
    let totals = column_totals(totals, columns);
    shares(b, &totals, columns);
    for column in (0..=ClassId::MAX).take(b.len()) {
        b[usize::from(column)] = offset(b, column, &totals, columns, own.map(|own| (own, 1)));
    }
}

/// The totals of the columns; of both classes, where they share one.
fn column_totals(of_classes: &[ClassTotals], columns: &Columns) -> Vec<ClassTotals> {
    if columns.is_one() { of_classes.to_vec() } else { columns.totals(of_classes) }
}

/// Turns the B of more than two classes into probabilities; leaves that of two classes, and of labels, as it is.
fn shares(b: &mut [f64], totals: &[ClassTotals], columns: &Columns) {
    if columns.are_independent() {
        return;
    }
    for (b, totals) in b.iter_mut().zip(totals) {
        *b = if totals.documents == 0 { f64::NEG_INFINITY } else { *b };
    }
    softmax_and_sum(b);
}

/// The offset of `column`, from the [`shares`] of all columns. `own` are the document's class and its copies there.
fn offset(
    shares: &[f64],
    column: ClassId,
    totals: &[ClassTotals],
    columns: &Columns,
    own: Option<(ClassId, u64)>,
) -> f64 {
    let is_only = |at: ClassId, n| totals.get(usize::from(at)).is_none_or(|totals| totals.documents <= n);
    let is_unknown = own.is_some_and(|(own, n)| match columns.is_one() {
        true => is_only(own, n),
        false => columns.is_positive(own, usize::from(column)) && is_only(column, n),
    });
    match shares.get(usize::from(column)) {
        _ if is_unknown => 0.0,
        None => 0.0,
        Some(b) if columns.is_one() => *b,
        Some(b) if columns.are_independent() => b.clamp(-MAX_OFFSET, MAX_OFFSET),
        Some(p) => (p.ln() - (1.0 - p).max(1e-7).ln()).clamp(-MAX_OFFSET, MAX_OFFSET),
    }
}
