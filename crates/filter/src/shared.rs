//! Documents that several models know, when these are added up.

use std::cmp::Reverse;
use std::collections::HashMap;

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Counts, Statistics};
use tamis_tokenizer::TermId;

use crate::documents::Remembered;
use crate::error::{Error, Result};
use crate::merge::{add_weights, fits};
use crate::rewrite::{Terms, for_each_group};

/// A document as a store knows it, by the store's number.
pub(crate) type Held = (usize, Remembered);

/// What the sum of models has too much of where each document is to count as often as in the model that has most of it.
#[derive(Default)]
pub(crate) struct Surplus {
    statistics: Option<Statistics>,
    weights: HashMap<TermId, Vec<(ClassId, i64)>>,
    /// How many documents models know that one before them knows.
    pub(crate) n_documents: u64,
}

impl Surplus {
    /// # Errors
    /// [`Error::Shared`] if there are such documents of which not all models remember the terms.
    pub(crate) fn new(terms: &Terms<'_>) -> Result<Self> {
        let mut statistics = Statistics::new(terms.totals.len());
        let (mut weights, mut n_documents, mut n_unknown) = (HashMap::new(), 0, 0);
        for_each_group(terms, |mut group| {
            if group.len() == 1 || group[0].1.digest == terms.nothing {
                return Ok(());
            }
            if group.iter().any(|(_, document)| document.vector.row().is_empty()) {
                n_unknown += 1;
                return Ok(());
            }
            group.swap_remove(most_copies(&group));
            n_documents += group.len() as u64;
            for (at, document) in group {
                let vector = terms.renumber(at, &document.vector)?;
                statistics.observe_times(document.class, vector.row(), document.multiplicity)?;
                let many = document.coefficients.iter().map(|w| (w.class, i64::from(w.units)));
                // of two classes, the weights are in the place of the first
                let units: Vec<_> =
                    many.chain([(0, document.coefficient)]).filter(|(_, n)| *n != 0).collect();
                for id in vector.row().ids().iter().filter(|_| !units.is_empty()) {
                    weights.entry(*id).or_insert_with(Vec::new).extend(&units);
                }
            }
            Ok(())
        })?;
        if n_unknown > 0 {
            return Err(Error::Shared { documents: n_unknown });
        }
        Ok(Surplus { statistics: (n_documents > 0).then_some(statistics), weights, n_documents })
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.statistics.is_none()
    }

    pub(crate) fn take_from_totals(&self, totals: &mut [ClassTotals]) -> Result<()> {
        let own = self.statistics.iter().flat_map(|statistics| statistics.totals());
        for (totals, surplus) in totals.iter_mut().zip(own) {
            let less = |a: u64, b: u64| a.checked_sub(b).ok_or_else(too_few);
            *totals = ClassTotals {
                documents: less(totals.documents, surplus.documents)?,
                df: less(totals.df, surplus.df)?,
                tf: less(totals.tf, surplus.tf)?,
            };
        }
        Ok(())
    }

    /// `cells` are in the order of their classes.
    pub(crate) fn take_from_cells(&self, id: TermId, cells: &mut [Cell]) -> Result<()> {
        for surplus in self.statistics.iter().flat_map(|statistics| statistics.cells(id)) {
            let at = cells.binary_search_by_key(&surplus.class, |cell| cell.class).map_err(|_| too_few())?;
            let Cell { class, df, tf } = cells[at];
            // what a document that stays adds is left
            let left = df.checked_sub(surplus.df).zip(tf.checked_sub(surplus.tf));
            let (df, tf) = left.filter(|(df, tf)| *df > 0 && tf >= df).ok_or_else(too_few)?;
            cells[at] = Cell { class, df, tf };
        }
        Ok(())
    }

    /// `weights` are in the order of their classes.
    pub(crate) fn take_from_weights(&self, id: TermId, weights: &mut Vec<ClassWeight>) -> Result<()> {
        let Some(surplus) = self.weights.get(&id) else { return Ok(()) };
        for (class, units) in surplus {
            let fits = |sum| fits("units of correction", i32::MAX as u64, sum);
            match weights.iter_mut().find(|weight| weight.class == *class) {
                Some(weight) => weight.units = fits(i64::from(weight.units) - units)?,
                None => weights.push(ClassWeight { class: *class, units: fits(-units)? }),
            }
        }
        weights.sort_unstable_by_key(|weight| weight.class);
        weights.retain(|weight| weight.units != 0);
        Ok(())
    }
}

/// A model's counts are less than its documents add up to.
fn too_few() -> Error {
    Error::inconsistent("vectors", "terms that add up to the counts", "others")
}

/// The place of the document that has most copies, the first of several.
fn most_copies(group: &[Held]) -> usize {
    let places = 0..group.len();
    places.max_by_key(|at| (group[*at].1.multiplicity, Reverse(*at))).unwrap_or_default()
}

/// What several models remember of the same document, as one; `adds_up` says whether its copies do, or are those of the
/// model that has most of them. The store is the one whose ids the terms have.
pub(crate) fn unite(mut group: Vec<Held>, adds_up: bool) -> Result<Held> {
    let (at, mut document) = group.swap_remove(if adds_up { 0 } else { most_copies(&group) });
    for (_, other) in group {
        let first = (document.group, document.date).min((other.group, other.date));
        (document.group, document.date) = first;
        let least_sure = |a: f64, b: f64| if (b.abs(), b) < (a.abs(), a) { b } else { a };
        document.held_out = match (document.held_out, other.held_out) {
            (Some(a), Some(b)) => Some(least_sure(a, b)),
            (a, b) => a.or(b),
        };
        if !adds_up {
            continue;
        }
        let copies = i64::from(document.multiplicity) + i64::from(other.multiplicity);
        document.multiplicity = fits("copies of a document", u32::MAX.into(), copies)?;
        document.coefficient =
            document.coefficient.checked_add(other.coefficient).ok_or(Error::TooLarge {
                what: "units of correction",
                limit: i64::MAX as u64,
                got: document.coefficient.unsigned_abs(),
            })?;
        document.coefficients.extend(other.coefficients);
        add_weights(&mut document.coefficients)?;
    }
    Ok((at, document))
}
