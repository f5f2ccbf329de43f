//! Documents that are held out, and their parts, which are scored by themselves.

use std::ops::Range;

use rayon::prelude::*;
use tamis_tokenizer::{CountVector, TermId};

use crate::linear::Columns;
use crate::validation::{Documents, Fold, Stretch, windows};

/// Of more documents, the parts of as many are scored by themselves.
const MOST_IN_PARTS: usize = 4_000;

/// The rows of a document that is held out.
pub(crate) struct HeldRows<'a> {
    pub(crate) document: usize,
    pub(crate) weight: f64,
    pub(crate) whole: &'a CountVector,
    /// Of its parts that are scored by themselves.
    pub(crate) windows: Vec<CountVector>,
    /// Of what people see, if not all.
    pub(crate) seen: Option<CountVector>,
}

impl<'a> HeldRows<'a> {
    /// The rows of the documents of a fold that have a weight.
    pub(crate) fn of_fold(documents: &dyn Documents, columns: &Columns, fold: &'a Fold) -> Vec<HeldRows<'a>> {
        let every = documents.len().div_ceil(MOST_IN_PARTS).max(1);
        let held = |(at, document): (usize, &usize)| {
            let stretches = match columns.is_one() && document.is_multiple_of(every) {
                true => documents.stretches(*document),
                false => Vec::new(),
            };
            HeldRows::new(*document, fold.weights[at], &fold.rows[at], &stretches)
        };
        fold.documents.par_iter().enumerate().filter(|(at, _)| fold.weights[*at] > 0.0).map(held).collect()
    }

    fn new(document: usize, weight: f64, whole: &'a CountVector, stretches: &[Stretch<CountVector>]) -> Self {
        let windows: Vec<Range<usize>> = windows(stretches).collect();
        let outside =
            if windows.is_empty() { CountVector::default() } else { without(whole, stretches, |_| true) };
        let window = |window: Range<usize>| {
            let inside = stretches[window].iter().fold(CountVector::default(), |sum, of| sum.plus(&of.terms));
            outside.plus(&inside)
        };
        let is_hidden = stretches.iter().any(|of| !of.is_seen);
        let seen = is_hidden.then(|| without(whole, stretches, |of| !of.is_seen));
        HeldRows { document, weight, whole, windows: windows.into_iter().map(window).collect(), seen }
    }

    /// All rows: the whole document, then its parts.
    pub(crate) fn all(&self) -> impl Iterator<Item = &CountVector> {
        std::iter::once(self.whole).chain(&self.windows).chain(&self.seen)
    }
}

/// The terms that none of some stretches have.
fn without(
    whole: &CountVector,
    stretches: &[Stretch<CountVector>],
    is_one: impl Fn(&Stretch<CountVector>) -> bool,
) -> CountVector {
    let ids = stretches.iter().filter(|of| is_one(of)).flat_map(|of| of.terms.row().ids());
    let mut ids: Vec<TermId> = ids.copied().collect();
    ids.sort_unstable();
    let mut ids = ids.into_iter().peekable();
    let is_outside = |(id, _): &(TermId, u32)| {
        while ids.next_if(|inside| inside < id).is_some() {}
        ids.peek() != Some(id)
    };
    CountVector::from_pairs(whole.row().iter().filter(is_outside)).unwrap_or_default()
}
