//! Documents that are held out, and their parts, which are scored by themselves.

use std::ops::Range;

use rayon::prelude::*;
use tamis_tokenizer::{CountVector, TermId};

use crate::fit::problem::FitProblem;
use crate::validation::{Fold, Stretch, windows};

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

impl HeldRows<'_> {
    /// All rows: the whole document, then its parts.
    pub(crate) fn all(&self) -> impl Iterator<Item = &CountVector> {
        std::iter::once(self.whole).chain(&self.windows).chain(&self.seen)
    }
}

impl FitProblem<'_> {
    /// The rows of the documents of a fold that have a weight.
    pub(crate) fn held_rows<'f>(&self, fold: &'f Fold) -> Vec<HeldRows<'f>> {
        let held = |(at, document): (usize, &usize)| {
            let whole = &fold.rows[at];
            let (windows, seen) = self.parts_of(*document, whole);
            HeldRows { document: *document, weight: fold.weights[at], whole, windows, seen }
        };
        fold.documents.par_iter().enumerate().filter(|(at, _)| fold.weights[*at] > 0.0).map(held).collect()
    }

    /// The windows of a document, and what people see of it, if not all.
    fn parts_of(&self, document: usize, whole: &CountVector) -> (Vec<CountVector>, Option<CountVector>) {
        let stretches = match self.columns.is_one()
            && document.is_multiple_of(self.documents.len().div_ceil(MOST_IN_PARTS).max(1))
        {
            true => self.documents.stretches(document),
            false => Vec::new(),
        };
        let windows: Vec<Range<usize>> = windows(&stretches).collect();
        let is_hidden = stretches.iter().any(|of| !of.is_seen);
        let outside =
            if windows.is_empty() { CountVector::default() } else { without(whole, &stretches, |_| true) };
        let window = |window: Range<usize>| {
            let inside = stretches[window].iter().fold(CountVector::default(), |sum, of| sum.plus(&of.terms));
            outside.plus(&inside)
        };
        let seen = is_hidden.then(|| without(whole, &stretches, |of| !of.is_seen));
        (windows.into_iter().map(window).collect(), seen)
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
