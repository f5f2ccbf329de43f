//! Terms of two classes, which have one column: what a term says follows from two counts, which many terms share.

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::counts::counts::{Counts, term_ids};
use crate::counts::statistics::Statistics;
use crate::counts::term_frequency::TF_UNIT;
use crate::counts::transform::{idf, log_documents};
use crate::left_out::documents::DocumentTerms;
use crate::left_out::leave_one_out::points::Points;
use crate::linear::columns::Columns;
use crate::linear::weighted::{LOGS, Logs, powered};

/// What all terms say at up to `P` powers of idf and `A` smoothings.
pub(super) struct Ratios<const P: usize, const A: usize> {
    /// Of each term its entry.
    places: Vec<u32>,
    entries: Vec<Entry<P, A>>,
}

/// What a term says.
#[derive(Clone)]
struct Entry<const P: usize, const A: usize> {
    /// idf to each power.
    powers: [f64; P],
    /// ln(n + a) - ln(r + a) with each smoothing: in a document of the other class, in one of the column's class.
    ratios: [[f64; A]; 2],
}

impl<const P: usize, const A: usize> Default for Entry<P, A> {
    fn default() -> Self {
        Entry { powers: [0.0; P], ratios: [[0.0; A]; 2] }
    }
}

/// In how many documents a term is, and in how many of the column's class.
type Dfs = (u64, u64);

/// The entries of terms that no document has, and of those that only the document left out has: they say nothing.
const UNKNOWN: u32 = 0;
const OWN: u32 = 1;

/// Terms in fewer documents share an entry if their counts are the same. Most terms are in few.
const SHARED: usize = 64;

/// Sums over the terms of a document.
pub(super) struct TermSums<const P: usize, const A: usize> {
    /// At each power the sum of the weights, and that of their squares.
    pub(super) weights: [[f64; 2]; P],
    /// At each power and smoothing the weighted sum of the ratios.
    pub(super) ratios: [[f64; A]; P],
    /// How many terms no other document has.
    pub(super) own_terms: u64,
}

impl<const P: usize, const A: usize> Ratios<P, A> {
    /// Of points that are no more than it has room for.
    pub(super) fn new(points: &Points, counts: &Statistics, columns: Columns) -> Self {
        let all = counts.totals().iter().map(|totals| totals.documents).fold(0, u64::saturating_add);
        let log_documents = log_documents(all.saturating_sub(1));
        let logs: Vec<Logs> = points.alphas.iter().map(|alpha| Logs::new(alpha.alpha(), LOGS)).collect();
        let ids: Vec<TermId> = term_ids(counts).collect();
        let dfs = |id: &TermId| {
            counts.cells(*id).fold((0, 0), |(df, n), cell| {
                let of_cell = u64::from(cell.df);
                (df + of_cell, if columns.of(cell.class).is_some() { n + of_cell } else { n })
            })
        };
        let dfs: Vec<Dfs> = ids.par_iter().with_min_len(1 << 12).map(dfs).collect();
        let (places, different) = share(&dfs);
        let entry = |(df, n): &Dfs| {
            let mut entry = Entry::default();
            let left = df.saturating_sub(1);
            if left == 0 {
                return entry;
            }
            let idf = idf(left, log_documents);
            entry.powers.iter_mut().zip(&points.powers).for_each(|(to, power)| *to = powered(idf, *power));
            for (to, n) in entry.ratios.iter_mut().zip([*n, n.saturating_sub(1)]) {
                let ratio = |logs: &Logs| logs.of(n) - logs.of(left.saturating_sub(n));
                to.iter_mut().zip(&logs).for_each(|(to, logs)| *to = ratio(logs));
            }
            entry
        };
        Ratios { places, entries: different.par_iter().with_min_len(1 << 10).map(entry).collect() }
    }

    fn place(&self, id: TermId) -> u32 {
        self.places.get(id as usize).copied().unwrap_or(UNKNOWN)
    }

    /// How many of the terms of a document others have too.
    pub(super) fn known_terms(&self, row: DocumentTerms<'_>) -> usize {
        row.ids.iter().filter(|id| self.place(**id) > OWN).count()
    }

    /// Adds up the terms of a document, which is of the column's class or not.
    pub(super) fn add_up(&self, row: DocumentTerms<'_>, is_own: bool) -> TermSums<P, A> {
        let mut sums = TermSums { weights: [[0.0; 2]; P], ratios: [[0.0; A]; P], own_terms: 0 };
        for (id, factor) in row.iter() {
            let place = self.place(id);
            sums.own_terms += u64::from(place == OWN);
            let Some(Entry { powers, ratios }) = self.entries.get(place as usize) else { continue };
            let ratios = &ratios[usize::from(is_own)];
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

/// The entry of each term, and what each entry is of.
fn share(dfs: &[Dfs]) -> (Vec<u32>, Vec<Dfs>) {
    let mut different = vec![(0, 0), (1, 0)];
    let mut shared = vec![UNKNOWN; SHARED * SHARED];
    let place = |of: &Dfs| {
        let mut new = || {
            different.push(*of);
            // fewer than terms, which a u32 numbers
            different.len() as u32 - 1
        };
        match *of {
            (0, _) => UNKNOWN,
            (1, _) => OWN,
            (df, n) if df < SHARED as u64 => {
                let shared = &mut shared[df as usize * SHARED + n as usize];
                *shared = if *shared == UNKNOWN { new() } else { *shared };
                *shared
            }
            _ => new(),
        }
    };
    (dfs.iter().map(place).collect(), different)
}
