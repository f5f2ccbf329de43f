//! Sufficient statistics of naive Bayes: integer counts, learned, forgotten and merged exactly.

use std::convert::Infallible;

use tamis_tokenizer::{CountRow, TermId};

use crate::counts::cell::{Cell, ClassId, ClassTotals, Counts, term_ids};
use crate::counts::cells::{CellArena, ClassCell};
use crate::counts::classes::Classes;
use crate::counts::error::StatisticsError;

/// Sufficient statistics: documents and occurrences per class, and per term and class. They are all that a model has
/// learned.
///
/// The statistics of a set of labelled documents do not depend on the order of learning, on sharding and merging, or on
/// what was learned and forgotten in between. `==` compares the counts and ignores trailing terms without counts.
///
/// Invariant: no count is negative or overflows. An operation that would make it so fails and changes nothing.
///
/// Term ids should be dense: memory is eight bytes per id up to the highest one seen, plus twelve to twenty-four per
/// cell.
///
/// ```
/// use tamis_model::{Cell, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let document = CountVector::from_pairs([(7, 3)])?;
/// let mut statistics = Statistics::new(2);
/// statistics.observe(1, document.row())?;
/// statistics.observe(1, document.row())?;
/// assert_eq!(statistics.cells(7).collect::<Vec<_>>(), [Cell { class: 1, df: 2, tf: 6 }]);
///
/// assert!(statistics.forget(0, document.row()).is_err()); // never learned there
/// statistics.forget(1, document.row())?;
/// assert_eq!(statistics.document_frequency(7), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Statistics {
    totals: Vec<ClassTotals>,
    cells: CellArena,
}

impl Statistics {
    /// Empty statistics of `n_classes` classes (at most [`Classes::MAX`]).
    pub fn new(n_classes: usize) -> Self {
        Statistics {
            totals: vec![ClassTotals::default(); n_classes.min(Classes::MAX)],
            cells: CellArena::default(),
        }
    }

    /// Restores statistics with the given `documents` per class and no terms yet. Add the stored counts of the terms
    /// with [`push_cell`](Self::push_cell).
    pub fn with_documents(documents: impl IntoIterator<Item = u64>) -> Self {
        let totals = documents.into_iter().take(Classes::MAX);
        let totals = totals.map(|documents| ClassTotals { documents, ..ClassTotals::default() }).collect();
        Statistics { totals, cells: CellArena::default() }
    }

    /// Adds stored counts of a term.
    ///
    /// # Errors
    /// An unknown class; impossible counts (`1 <= df <= tf` and `df <= documents` must hold); overflow of `u32`.
    /// Nothing changes then.
    pub fn push_cell(&mut self, term: TermId, cell: Cell) -> Result<(), StatisticsError> {
        let documents = self.class(cell.class)?.documents;
        let df = self.cells(term).find(|c| c.class == cell.class).map_or(0, |c| u64::from(c.df));
        let df = df + u64::from(cell.df);
        if cell.df == 0 || cell.tf < cell.df || df > documents {
            return Err(StatisticsError::Impossible { term, expected: documents, got: cell });
        }
        self.cells.add(term, cell)?;
        self.add_totals(cell);
        Ok(())
    }

    /// Adds a term after all others and returns its id. Its stored counts may be in any order; counts of the same class
    /// are added up.
    ///
    /// ```
    /// use tamis_model::{Cell, Statistics};
    ///
    /// let mut statistics = Statistics::with_documents([2, 1]);
    /// let cell = |class, tf| Cell { class, df: 1, tf };
    /// assert_eq!(statistics.push_term(&mut vec![cell(1, 5), cell(0, 1), cell(0, 2)])?, 0);
    /// assert_eq!(statistics.cells(0).collect::<Vec<_>>(), [Cell { class: 0, df: 2, tf: 3 }, cell(1, 5)]);
    /// # Ok::<(), tamis_model::StatisticsError>(())
    /// ```
    ///
    /// # Errors
    /// As [`push_cell`](Self::push_cell).
    pub fn push_term(&mut self, cells: &mut Vec<Cell>) -> Result<TermId, StatisticsError> {
        let term = self.n_terms() as TermId;
        cells.sort_unstable_by_key(|cell| cell.class);
        let mut kept: usize = 0;
        for i in 0..cells.len() {
            match kept.checked_sub(1).filter(|last| cells[*last].class == cells[i].class) {
                Some(last) => cells[last] = cells[last].plus(term, cells[i])?,
                None => {
                    cells[kept] = cells[i];
                    kept += 1;
                }
            }
        }
        cells.truncate(kept);
        for cell in &*cells {
            let documents = self.class(cell.class)?.documents;
            if cell.df == 0 || cell.tf < cell.df || u64::from(cell.df) > documents {
                return Err(StatisticsError::Impossible { term, expected: documents, got: *cell });
            }
        }
        self.cells.grow(term as usize + 1);
        self.cells.set(term, cells)?;
        cells.iter().for_each(|cell| self.add_totals(*cell));
        Ok(term)
    }

    /// Concatenates the terms of several statistics of the same documents: those of `self` first, then those of the
    /// others.
    ///
    /// # Errors
    /// A different number of classes, or more counts than can be addressed.
    pub fn concatenated(
        mut self,
        others: impl IntoIterator<Item = Statistics>,
    ) -> Result<Statistics, StatisticsError> {
        for other in others {
            StatisticsError::check_classes(self.totals.len(), other.totals.len())?;
            self.cells.append(other.cells)?;
            for (here, there) in self.totals.iter_mut().zip(&other.totals) {
                *here = ClassTotals { df: here.df + there.df, tf: here.tf + there.tf, ..*here };
            }
        }
        Ok(self)
    }

    /// Learns one document.
    ///
    /// # Errors
    /// An unknown class; overflow of `u32`. Nothing changes then.
    pub fn observe(&mut self, class: ClassId, row: CountRow<'_>) -> Result<(), StatisticsError> {
        self.observe_times(class, row, 1)
    }

    /// Learns the same document `times` times.
    ///
    /// # Errors
    /// As [`observe`](Self::observe).
    pub fn observe_times(
        &mut self,
        class: ClassId,
        row: CountRow<'_>,
        times: u32,
    ) -> Result<(), StatisticsError> {
        self.observe_all(class, || row.iter(), times)
    }

    /// Learns a document `times` times, from its distinct terms in any order with their non-zero counts.
    ///
    /// ```
    /// use tamis_model::{Cell, Statistics};
    ///
    /// let mut statistics = Statistics::new(2);
    /// statistics.observe_terms(1, &[(7, 3), (2, 1)], 1)?;
    /// assert_eq!(statistics.cells(7).collect::<Vec<_>>(), [Cell { class: 1, df: 1, tf: 3 }]);
    /// # Ok::<(), tamis_model::StatisticsError>(())
    /// ```
    ///
    /// # Errors
    /// As [`observe`](Self::observe).
    pub fn observe_terms(
        &mut self,
        class: ClassId,
        terms: &[(TermId, u32)],
        times: u32,
    ) -> Result<(), StatisticsError> {
        self.cells.prefetch(class, terms.iter().map(|(term, _)| *term));
        self.observe_all(class, || terms.iter().copied().filter(|(_, count)| *count > 0), times)
    }

    fn observe_all<I: Iterator<Item = (TermId, u32)>>(
        &mut self,
        class: ClassId,
        terms: impl Fn() -> I,
        times: u32,
    ) -> Result<(), StatisticsError> {
        let totals = self.class(class)?;
        if times == 0 {
            return Ok(());
        }
        let documents = add_documents(class, totals.documents, u64::from(times))?;
        self.change(class, documents, terms, times, true)
    }

    /// Learns or forgets the terms of a document `times` times; the class has `documents` documents afterwards.
    fn change<I: Iterator<Item = (TermId, u32)>>(
        &mut self,
        class: ClassId,
        documents: u64,
        terms: impl Fn() -> I,
        times: u32,
        learns: bool,
    ) -> Result<(), StatisticsError> {
        let step =
            |cells: &mut CellArena, (term, count), adds| match document_cell(term, class, count, times)? {
                cell if adds => cells.add(term, cell),
                cell => cells.subtract(term, cell),
            };
        let undo = |cells: &mut CellArena, term| step(cells, term, !learns);
        all_or_nothing(&mut self.cells, &terms, |cells, term| step(cells, term, learns), undo)?;
        let (df, tf) = terms().fold((0, 0), |(df, tf), (_, count)| (df + 1, tf + u64::from(count)));
        // when learning, these sums fit: fewer than 2^32 cells, each below 2^32; when forgetting, every cell had enough
        let changed = |total, change| if learns { total + change } else { total - change };
        let totals = &mut self.totals[usize::from(class)];
        let (df, tf) = (changed(totals.df, df * u64::from(times)), changed(totals.tf, tf * u64::from(times)));
        *totals = ClassTotals { documents, df, tf };
        Ok(())
    }

    /// Forgets one document that was learned: the exact inverse of [`observe`](Self::observe).
    ///
    /// # Errors
    /// An unknown class; a document that cannot have been learned, because a count would become negative or impossible.
    /// Nothing changes then. (Counts cannot tell whether this very document was learned.)
    pub fn forget(&mut self, class: ClassId, row: CountRow<'_>) -> Result<(), StatisticsError> {
        self.forget_times(class, row, 1)
    }

    /// Forgets the same document `times` times.
    ///
    /// # Errors
    /// As [`forget`](Self::forget).
    pub fn forget_times(
        &mut self,
        class: ClassId,
        row: CountRow<'_>,
        times: u32,
    ) -> Result<(), StatisticsError> {
        let totals = self.class(class)?;
        if times == 0 {
            return Ok(());
        }
        let got = totals.documents;
        let Some(documents) = got.checked_sub(u64::from(times)) else {
            return Err(StatisticsError::NoDocuments { class, expected: u64::from(times), got });
        };
        let df = totals.df.checked_sub(row.len() as u64 * u64::from(times));
        if documents == 0 && df.is_some_and(|df| df > 0) {
            return Err(StatisticsError::Remainder { class, expected: 0, got: df.unwrap_or(0) });
        }
        self.change(class, documents, || row.iter(), times, false)
    }

    /// Adds other statistics over the same terms and classes.
    ///
    /// # Errors
    /// A different number of classes; overflow of `u32`. Nothing changes then.
    pub fn merge(&mut self, other: &Statistics) -> Result<(), StatisticsError> {
        self.merge_terms(other, |term| term)
    }

    /// Adds other statistics over the same classes; their term `i` is `map[i]` here. Map two terms to one only if no
    /// document has both, since it would count twice.
    ///
    /// # Errors
    /// A different number of classes; a `map` shorter than the number of terms in `other`; overflow of `u32`. Nothing
    /// changes then.
    pub fn merge_mapped(&mut self, other: &Statistics, map: &[TermId]) -> Result<(), StatisticsError> {
        if map.len() < other.n_terms() {
            return Err(StatisticsError::Map { expected: other.n_terms(), got: map.len() });
        }
        self.merge_terms(other, |term| map[term as usize])
    }

    fn merge_terms(
        &mut self,
        other: &Statistics,
        map: impl Fn(TermId) -> TermId,
    ) -> Result<(), StatisticsError> {
        StatisticsError::check_classes(self.totals.len(), other.totals.len())?;
        let pairs = (0..=ClassId::MAX).zip(self.totals.iter().zip(&other.totals));
        let documents = pairs.map(|(class, (a, b))| add_documents(class, a.documents, b.documents));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let terms = || term_ids(other).flat_map(|term| other.cells(term).map(move |cell| (term, cell)));
        let add = |cells: &mut CellArena, (term, cell)| cells.add(map(term), cell);
        let subtract = |cells: &mut CellArena, (term, cell)| cells.subtract(map(term), cell);
        all_or_nothing(&mut self.cells, terms, add, subtract)?;
        // as in observe_all, the sums fit once all cells do
        for ((here, there), documents) in self.totals.iter_mut().zip(&other.totals).zip(documents) {
            *here = ClassTotals { documents, df: here.df + there.df, tf: here.tf + there.tf };
        }
        Ok(())
    }

    /// Renumbers the terms: the new id `i` is the old id `order[i]`. Terms missing from `order` are dropped. If an id
    /// is repeated, only its first place gets the counts.
    pub fn permuted(&self, order: &[TermId]) -> Statistics {
        let mut result = Statistics::with_documents(self.totals.iter().map(|t| t.documents));
        result.cells.grow(order.len());
        let mut seen = vec![false; self.n_terms()];
        for (new, &old) in (0..).zip(order) {
            let first = seen.get_mut(old as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            let cells = if first { self.cells.get(old) } else { &[] };
            // there is room: each cell is put at most once, in a block no larger than before
            if result.cells.set(new, cells).is_ok() {
                cells.iter().for_each(|&cell| result.add_totals(cell));
            }
        }
        result
    }

    /// Inserts a class without documents. The classes from `at` on move up by one; an `at` beyond the last class
    /// appends. Does nothing if there are [`Classes::MAX`] classes already, where `Classes::insert` fails.
    pub fn insert_class(&mut self, at: ClassId) {
        if self.totals.len() < Classes::MAX {
            self.totals.insert(usize::from(at).min(self.totals.len()), ClassTotals::default());
            if usize::from(at) + 1 < self.totals.len() {
                self.cells.shift_classes(at);
            }
        }
    }

    /// The cells of a term, in increasing class order; none for an unknown term.
    pub fn cells(&self, term: TermId) -> impl Iterator<Item = Cell> + '_ {
        self.cells.get(term).iter().copied()
    }

    /// The document frequency of a term over all classes.
    pub fn document_frequency(&self, term: TermId) -> u64 {
        self.cells(term).map(|cell| u64::from(cell.df)).sum()
    }

    /// The number of terms with counts. Takes a pass over all terms.
    pub fn n_features(&self) -> usize {
        self.cells.n_features()
    }

    fn add_totals(&mut self, cell: Cell) {
        let totals = &mut self.totals[usize::from(cell.class)];
        totals.df += u64::from(cell.df);
        totals.tf += u64::from(cell.tf);
    }

    fn class(&self, class: ClassId) -> Result<ClassTotals, StatisticsError> {
        let expected = self.totals.len();
        let totals = self.totals.get(usize::from(class)).copied();
        totals.ok_or(StatisticsError::UnknownClass { expected, got: class })
    }
}

/// Applies `step` to all items; if one fails, applies `undo` to those before it.
fn all_or_nothing<I: Iterator>(
    cells: &mut CellArena,
    items: impl Fn() -> I,
    step: impl Fn(&mut CellArena, I::Item) -> Result<(), StatisticsError>,
    undo: impl Fn(&mut CellArena, I::Item) -> Result<(), StatisticsError>,
) -> Result<(), StatisticsError> {
    for (done, item) in items().enumerate() {
        if let Err(error) = step(cells, item) {
            for item in items().take(done) {
                // undoing a step that succeeded cannot fail
                let _ = undo(cells, item);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// The counts that `times` documents add to the cell of a term that occurs `count` times in each.
fn document_cell(term: TermId, class: ClassId, count: u32, times: u32) -> Result<Cell, StatisticsError> {
    let got = u64::from(count) * u64::from(times);
    let tf = u32::try_from(got);
    let tf = tf.map_err(|_| StatisticsError::Overflow { term, class, expected: u32::MAX, got })?;
    Ok(Cell { class, df: times, tf })
}

fn add_documents(class: ClassId, learned: u64, new: u64) -> Result<u64, StatisticsError> {
    learned.checked_add(new).ok_or(StatisticsError::TooManyDocuments { class, expected: u64::MAX, got: new })
}

impl Counts for Statistics {
    type Error = Infallible;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.cells.n_terms()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<(), Infallible> {
        self.cells(term).for_each(visit);
        Ok(())
    }
}

impl PartialEq for Statistics {
    fn eq(&self, other: &Self) -> bool {
        let longer = if self.n_terms() > other.n_terms() { self } else { other };
        self.totals == other.totals && term_ids(longer).all(|t| self.cells(t).eq(other.cells(t)))
    }
}

impl Eq for Statistics {}

#[cfg(test)]
mod tests;
