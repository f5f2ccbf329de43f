//! Leave-one-out weights of terms for two classes. They depend on two counts only, which many terms share.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::Smoothing;
use crate::counts::{Counts, Statistics, TF_UNIT, idf, log_documents, term_ids};
use crate::linear::{Columns, LOGS, Logs, powered};
use crate::validation::documents::BlockRow;

/// The weights of all terms at up to `P` powers of idf and `A` smoothings.
pub(crate) struct TwoClassTerms<const P: usize, const A: usize> {
    /// The entry of each term.
    entry_of: Vec<u32>,
    entries: Vec<TermRatios<P, A>>,
}

/// The weights of a term.
#[derive(Clone)]
struct TermRatios<const P: usize, const A: usize> {
    /// idf to each power.
    powers: [f64; P],
    /// ln(n + a) - ln(r + a) with each smoothing: in a document of the negative class, then of the positive.
    ratios: [[f64; A]; 2],
}

impl<const P: usize, const A: usize> Default for TermRatios<P, A> {
    fn default() -> Self {
        TermRatios { powers: [0.0; P], ratios: [[0.0; A]; 2] }
    }
}

/// Document frequency of a term in all classes and in the positive class.
type Dfs = (u64, u64);

/// Entries without weight: terms in no document, and terms in the left-out document only.
const UNKNOWN: u32 = 0;
const UNIQUE: u32 = 1;

/// Terms in fewer documents than this share an entry if their counts are equal. Most terms are rare.
const SHARED: usize = 64;

/// Sums over the terms of a document.
pub(crate) struct TermSums<const P: usize, const A: usize> {
    /// Sum and sum of squares of the term weights, at each power.
    pub(crate) weights: [[f64; 2]; P],
    /// Weighted sum of the ratios, at each power and smoothing.
    pub(crate) ratios: [[f64; A]; P],
    /// Number of terms that no other document has.
    pub(crate) unique_terms: u64,
}

impl<const P: usize, const A: usize> TwoClassTerms<P, A> {
    /// Computes the weights of all terms; `points` has at most `A` smoothings and `P` powers.
    pub(crate) fn new(points: &Points, counts: &Statistics, columns: &Columns) -> Self {
        let all = counts.totals().iter().map(|totals| totals.documents).fold(0, u64::saturating_add);
        let log_documents = log_documents(all.saturating_sub(1));
        let logs: Vec<Logs> = points.alphas.iter().map(|alpha| Logs::new(alpha.alpha(), LOGS)).collect();
        let ids: Vec<TermId> = term_ids(counts).collect();
        let dfs = |id: &TermId| {
            counts.cells(*id).fold((0, 0), |(df, n), cell| {
                let of_cell = u64::from(cell.df);
                (df + of_cell, if columns.is_positive(cell.class, 0) { n + of_cell } else { n })
            })
        };
        let dfs: Vec<Dfs> = ids.par_iter().with_min_len(1 << 12).map(dfs).collect();
        let (entry_of, distinct) = share_entries(&dfs);
        let entry = |(df, n): &Dfs| {
            let mut entry = TermRatios::default();
            let left = df.saturating_sub(1);
            if left == 0 {
                return entry;
            }
            let idf = idf(left, log_documents);
            entry.powers.iter_mut().zip(&points.powers).for_each(|(to, power)| *to = powered(idf, *power));
            for (to, n) in entry.ratios.iter_mut().zip([*n, n.saturating_sub(1)]) {
                let ratio = |logs: &Logs| logs.ln(n) - logs.ln(left.saturating_sub(n));
                to.iter_mut().zip(&logs).for_each(|(to, logs)| *to = ratio(logs));
            }
            entry
        };
        TwoClassTerms { entry_of, entries: distinct.par_iter().with_min_len(1 << 10).map(entry).collect() }
    }

    fn entry(&self, id: TermId) -> u32 {
        self.entry_of.get(id as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Counts the document's terms that also occur in other documents.
    pub(crate) fn known_terms(&self, row: BlockRow<'_>) -> usize {
        row.ids.iter().filter(|id| self.entry(**id) > UNIQUE).count()
    }

    /// Sums over the terms of a document.
    pub(crate) fn sum_terms(&self, row: BlockRow<'_>, is_positive: bool) -> TermSums<P, A> {
        let mut sums = TermSums { weights: [[0.0; 2]; P], ratios: [[0.0; A]; P], unique_terms: 0 };
        for (id, factor) in row.iter() {
            let place = self.entry(id);
            sums.unique_terms += u64::from(place == UNIQUE);
            let Some(TermRatios { powers, ratios }) = self.entries.get(place as usize) else { continue };
            let ratios = &ratios[usize::from(is_positive)];
            let log_tf = f64::from(factor) * TF_UNIT;
            for ((power, [weight, square]), sums) in
                powers.iter().zip(&mut sums.weights).zip(&mut sums.ratios)
            {
                let v = log_tf * power;
                *weight += v;
                *square += v * v;
                sums.iter_mut().zip(ratios).for_each(|(sum, ratio)| *sum += v * ratio);
            }
        }
        sums
    }
}

/// The entry of each term, and the counts of each entry.
fn share_entries(dfs: &[Dfs]) -> (Vec<u32>, Vec<Dfs>) {
    let mut distinct = vec![(0, 0), (1, 0)];
    let mut shared = vec![UNKNOWN; SHARED * SHARED];
    let place = |of: &Dfs| {
        let mut new = || {
            distinct.push(*of);
            // fewer than terms, which are numbered by u32
            distinct.len() as u32 - 1
        };
        match *of {
            (0, _) => UNKNOWN,
            (1, _) => UNIQUE,
            (df, n) if df < SHARED as u64 => {
                let shared = &mut shared[df as usize * SHARED + n as usize];
                *shared = if *shared == UNKNOWN { new() } else { *shared };
                *shared
            }
            _ => new(),
        }
    };
    (dfs.iter().map(place).collect(), distinct)
}

/// A grid: every smoothing with every power of idf.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    /// At most [`MOST_ALPHAS`].
    pub(crate) alphas: Vec<Smoothing>,
    /// At most [`MOST_POWERS`].
    pub(crate) powers: Vec<f64>,
}

pub(crate) const MOST_ALPHAS: usize = 5;
pub(crate) const MOST_POWERS: usize = 3;

impl Points {
    pub(crate) fn one(alpha: Smoothing, power: f64) -> Points {
        Points { alphas: vec![alpha], powers: vec![power] }
    }

    /// The number of grid points.
    pub(crate) fn len(&self) -> usize {
        self.alphas.len() * self.powers.len()
    }

    /// The grid points, in the order of their scores.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Smoothing, f64)> + '_ {
        self.alphas.iter().flat_map(|alpha| self.powers.iter().map(|power| (*alpha, *power)))
    }
}
