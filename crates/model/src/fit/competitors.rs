//! Which columns learn from a document, and what the counts alone say of it there.

use rayon::prelude::*;

use crate::counts::counts::{ClassId, ClassTotals, Counts};
use crate::counts::statistics::Statistics;
use crate::left_out::documents::{BlockReader, DocumentTerms};
use crate::left_out::leave_one_out::LeaveOneOut;
use crate::left_out::leave_one_out::points::Points;
use crate::left_out::smoothing_choice::priors;
use crate::linear::choices::Choices;
use crate::linear::columns::Columns;
use crate::numbers::logs::softmax_and_sum;

/// The columns that learn from each document: all that have documents, or, of many classes, its own and as many rivals as score
/// highest.
pub(crate) struct Competitors {
    n_columns: usize,
    /// Whether the class of the column has documents.
    is_learned: Vec<bool>,
    /// Of each document its columns, increasing, where these are not all.
    lists: Option<Vec<[ClassId; RIVALS + 1]>>,
}

/// So many columns besides its own learn from a document.
pub(crate) const RIVALS: usize = 32;

/// The largest offset that many classes take from the counts, in nats.
const MOST: f64 = 15.0;

impl Competitors {
    pub(crate) fn new(
        columns: Columns,
        counts: &Statistics,
        source: &BlockReader<'_>,
        choices: &Choices,
    ) -> Competitors {
        let (totals, documents) = (counts.totals(), source.documents);
        let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
        let is_learned = match columns.is_one() {
            true => vec![totals.iter().all(|totals| totals.documents > 0)],
            false => columns.classes().map(has_documents).collect(),
        };
        let lists = (columns.len() > RIVALS + 1).then(|| {
            let bayes = LeftOut::new(columns, choices, counts);
            let list = |class: ClassId, terms: DocumentTerms<'_>| {
                let mut scores = Vec::new();
                bayes.of(class, terms, &mut scores);
                let mut ranked: Vec<_> = (0..=ClassId::MAX).zip(scores).collect();
                keep_rivals(&mut ranked, class);
                std::array::from_fn(|at| ranked[at].0)
            };
            let mut lists = vec![[0; RIVALS + 1]; documents.len()];
            source.for_all(|first, block| {
                let lists = lists[first..first + block.len()].par_iter_mut().enumerate().with_min_len(64);
                lists.for_each(|(at, to)| *to = list(documents.label(first + at).class, block.terms(at)));
            });
            lists
        });
        Competitors { n_columns: columns.len(), is_learned, lists }
    }

    /// The columns of a document.
    pub(crate) fn of(&self, document: usize) -> impl Iterator<Item = ClassId> {
        let list = self.lists.as_ref().map(|lists| lists[document]);
        let all = (0..=ClassId::MAX).take(if list.is_none() { self.n_columns } else { 0 });
        list.into_iter().flatten().chain(all)
    }

    /// Numbers kept of each document.
    pub(crate) fn width(&self) -> usize {
        if self.lists.is_some() { RIVALS + 1 } else { self.n_columns }
    }

    /// Where the number of a document and a column is kept, if the column learns from it.
    pub(crate) fn place(&self, document: usize, column: ClassId) -> Option<usize> {
        let at = match &self.lists {
            Some(lists) => lists[document].binary_search(&column).ok()?,
            None => usize::from(column),
        };
        self.is_learned[usize::from(column)].then_some(document * self.width() + at)
    }
}

/// Keeps the own class, whatever its score, and the [`RIVALS`] that score highest, in the order of classes.
pub(crate) fn keep_rivals(ranked: &mut Vec<(ClassId, f64)>, own: ClassId) {
    if ranked.len() > RIVALS + 1 {
        let is_own = |class| class == own;
        ranked.select_nth_unstable_by(RIVALS, |a, b| {
            is_own(b.0).cmp(&is_own(a.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
        });
        ranked.truncate(RIVALS + 1);
        ranked.sort_unstable_by_key(|(class, _)| *class);
    }
}

/// B of documents that are left out.
pub(crate) struct LeftOut<'a> {
    scores: LeaveOneOut<'a>,
    choices: &'a Choices,
    prior: Vec<f64>,
}

impl<'a> LeftOut<'a> {
    pub(crate) fn new(columns: Columns, choices: &'a Choices, counts: &'a Statistics) -> Self {
        let scores = LeaveOneOut::new(Points::one(choices.alpha, choices.idf_power), counts, columns);
        LeftOut { scores, choices, prior: priors(counts.totals(), columns) }
    }

    /// The offsets of a document's columns.
    pub(crate) fn offsets(&self, class: ClassId, terms: DocumentTerms<'_>, columns: Columns) -> Vec<f64> {
        let mut b = Vec::new();
        self.of(class, terms, &mut b);
        offsets(&mut b, self.scores.totals(), columns, Some(class));
        b
    }

    /// How many of the terms other documents have too.
    pub(crate) fn known_terms(&self, terms: DocumentTerms<'_>) -> usize {
        self.scores.known_terms(terms)
    }

    pub(crate) fn of(&self, class: ClassId, terms: DocumentTerms<'_>, out: &mut Vec<f64>) {
        self.scores.scores(terms, class, std::slice::from_mut(out));
        let [k0, k1] = self.choices.bayes;
        out.iter_mut().zip(&self.prior).for_each(|(score, prior)| *score = k0 * *score + k1 * prior);
    }
}

/// From B, one a column, to the log-odds of each column against all others: the offsets of the correction.
///
/// A class that has no document but this one has an offset of 0: without it nothing is known of the class.
pub(crate) fn offsets(b: &mut [f64], totals: &[ClassTotals], columns: Columns, own: Option<ClassId>) {
    let is_only = |class: ClassId| totals.get(usize::from(class)).is_none_or(|totals| totals.documents <= 1);
    if columns.is_one() {
        if own.is_some_and(is_only) {
            b.fill(0.0);
        }
        return;
    }
    for (b, totals) in b.iter_mut().zip(totals) {
        *b = if totals.documents == 0 { f64::NEG_INFINITY } else { *b };
    }
    softmax_and_sum(b);
    for p in b.iter_mut() {
        *p = (p.ln() - (1.0 - *p).max(1e-7).ln()).clamp(-MOST, MOST);
    }
    if let Some(own) = own.filter(|own| is_only(*own)) {
        b[usize::from(own)] = 0.0;
    }
}
