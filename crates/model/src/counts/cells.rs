//! The counts of all terms in one arena, one block per term.

use std::hint::black_box;
use std::ops::Range;

use tamis_tokenizer::TermId;

use crate::counts::cell::{Cell, ClassId};
use crate::counts::error::StatisticsError;

/// The cells of all terms in one arena: a block per term, sorted by class.
///
/// Takes eight bytes per term and twelve per [`Cell`], without an allocation per term: most terms of a text occur in
/// only one class. A full block moves to one of twice the size, and its old place is reused.
///
/// Invariants: classes strictly increase within a block; `1 <= df <= tf` in each cell; blocks do not overlap.
#[derive(Clone, Debug)]
pub(crate) struct CellArena<T = Cell> {
    blocks: Vec<Slab>,
    arena: Vec<T>,
    /// Starts of the unused blocks, indexed by the binary logarithm of their size.
    free: [Vec<u32>; 17],
}

/// The cells of a term: the first `len` of the `1 << log_size` places from `start` on. A block with `len` 0 has no
/// places.
#[derive(Clone, Copy, Debug, Default)]
struct Slab {
    start: u32,
    len: u16,
    log_size: u8,
}

impl Slab {
    fn cells(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + usize::from(self.len)
    }

    /// Guesses the place of a class's cell. Right for terms that occur in all classes or in this one alone, as most do.
    #[inline(always)]
    fn guess(self, class: ClassId) -> usize {
        let last = usize::from(self.len).wrapping_sub(1);
        (self.start as usize).wrapping_add(last.min(usize::from(class)))
    }
}

/// A term's counts in one class.
pub(crate) trait ClassCell: Copy {
    fn class(&self) -> ClassId;

    /// The sum of two cells of the same term and class.
    fn plus(self, term: TermId, other: Self) -> Result<Self, StatisticsError>;
}

impl ClassCell for Cell {
    fn class(&self) -> ClassId {
        self.class
    }

    #[inline(always)]
    fn plus(self, term: TermId, other: Cell) -> Result<Cell, StatisticsError> {
        let Some(tf) = self.tf.checked_add(other.tf) else {
            let got = u64::from(self.tf) + u64::from(other.tf);
            return Err(StatisticsError::Overflow { term, class: self.class, expected: u32::MAX, got });
        };
        // df <= tf on both sides, and the sum of the tf fits
        Ok(Cell { df: self.df + other.df, tf, ..self })
    }
}

impl<T> Default for CellArena<T> {
    fn default() -> Self {
        CellArena { blocks: Vec::new(), arena: Vec::new(), free: Default::default() }
    }
}

impl CellArena {
    /// Subtracts from a term's cell and removes it when nothing is left. Each remaining document must keep an
    /// occurrence, so `tf` never falls below `df`.
    pub(crate) fn subtract(&mut self, term: TermId, cell: Cell) -> Result<(), StatisticsError> {
        let mut block = self.block(term);
        let cells = &mut self.arena[block.cells()];
        let underflow = |got| StatisticsError::Underflow { term, class: cell.class, expected: cell.tf, got };
        let at = cells.binary_search_by_key(&cell.class, |c| c.class).map_err(|_| underflow(0))?;
        let found = cells[at];
        match (found.df.checked_sub(cell.df), found.tf.checked_sub(cell.tf)) {
            (Some(0), Some(0)) => {
                cells.copy_within(at + 1.., at);
                block.len -= 1;
                if block.len == 0 {
                    self.free[usize::from(block.log_size)].push(block.start);
                }
                self.blocks[term as usize] = block;
                Ok(())
            }
            (Some(df), Some(tf)) if 0 < df && df <= tf => {
                cells[at] = Cell { df, tf, ..cell };
                Ok(())
            }
            _ => Err(underflow(found.tf)),
        }
    }

    /// Moves the cells of all classes from `at` on up by one class.
    pub(crate) fn shift_classes(&mut self, at: u16) {
        for block in &self.blocks {
            let cells = &mut self.arena[block.cells()];
            cells.iter_mut().filter(|cell| cell.class >= at).for_each(|cell| cell.class += 1);
        }
    }
}

impl<T: ClassCell> CellArena<T> {
    pub(crate) fn n_terms(&self) -> usize {
        self.blocks.len()
    }

    /// The number of terms that have a cell.
    pub(crate) fn n_features(&self) -> usize {
        self.blocks.iter().filter(|block| block.len > 0).count()
    }

    /// The cells of a term, in increasing class order.
    pub(crate) fn get(&self, term: TermId) -> &[T] {
        &self.arena[self.block(term).cells()]
    }

    /// Adds to a term's cell, inserting it if missing.
    #[inline(always)]
    pub(crate) fn add(&mut self, term: TermId, cell: T) -> Result<(), StatisticsError> {
        let block = self.block(term);
        if block.len > 0
            && let Some(found) = self.arena.get_mut(block.guess(cell.class()))
            && found.class() == cell.class()
            && let Ok(sum) = found.plus(term, cell)
        {
            *found = sum;
            return Ok(());
        }
        self.search_and_add(term, block, cell)
    }

    /// Adds `cells`, in increasing class order, to those of a term.
    #[inline]
    pub(crate) fn add_all(
        &mut self,
        term: TermId,
        cells: impl ExactSizeIterator<Item = T> + Clone,
    ) -> Result<(), StatisticsError> {
        let own = self.block(term).cells();
        let are_the_same = |own: &[T]| own.iter().map(T::class).eq(cells.clone().map(|cell| cell.class()));
        match self.arena.get_mut(own) {
            Some(own) if own.len() == cells.len() && are_the_same(own) => std::iter::zip(own, cells)
                .try_for_each(|(own, cell)| {
                    *own = own.plus(term, cell)?;
                    Ok(())
                }),
            _ => cells.into_iter().try_for_each(|cell| self.add(term, cell)),
        }
    }

    /// Prefetches what adding `terms` to `class` will read, so that the cache misses overlap.
    #[inline]
    pub(crate) fn prefetch(&self, class: ClassId, terms: impl Iterator<Item = TermId>) {
        let is_there =
            |term| self.arena.get(self.block(term).guess(class)).is_some_and(|cell| cell.class() == class);
        black_box(terms.fold(0, |n, term| n + usize::from(is_there(term))));
    }

    #[inline(never)]
    fn search_and_add(&mut self, term: TermId, block: Slab, cell: T) -> Result<(), StatisticsError> {
        let cells = &mut self.arena[block.cells()];
        match cells.binary_search_by_key(&cell.class(), T::class) {
            Ok(at) => {
                cells[at] = cells[at].plus(term, cell)?;
                Ok(())
            }
            Err(at) => self.insert(term, block, at, cell),
        }
    }

    /// Sets the cells of a term that has none; `cells` are in increasing class order.
    pub(crate) fn set(&mut self, term: TermId, cells: &[T]) -> Result<(), StatisticsError> {
        // at most Classes::MAX cells, which is u16::MAX
        let Ok(len @ 1..) = u16::try_from(cells.len()) else { return Ok(()) };
        let block = self.allocate(cells.len().next_power_of_two().ilog2() as u8, cells[0])?;
        let block = Slab { len, ..block };
        self.arena[block.cells()].copy_from_slice(cells);
        self.grow(term as usize + 1);
        self.blocks[term as usize] = block;
        Ok(())
    }

    /// Appends the terms of `other`.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), StatisticsError> {
        let (here, end) = (self.arena.len(), self.arena.len() + other.arena.len());
        // places have u32 numbers
        let full = || StatisticsError::Full { expected: u64::from(u32::MAX), got: end as u64 };
        let offset = u32::try_from(end).map(|_| here as u32).map_err(|_| full())?;
        other.blocks.iter_mut().for_each(|block| block.start += offset);
        self.blocks.append(&mut other.blocks);
        self.arena.append(&mut other.arena);
        for (here, there) in self.free.iter_mut().zip(&other.free) {
            here.extend(there.iter().map(|start| start + offset));
        }
        Ok(())
    }

    /// Makes room for `n_terms` terms.
    pub(crate) fn grow(&mut self, n_terms: usize) {
        if self.blocks.len() < n_terms {
            self.blocks.resize(n_terms, Slab::default());
        }
    }

    #[inline(always)]
    fn block(&self, term: TermId) -> Slab {
        self.blocks.get(term as usize).copied().unwrap_or_default()
    }

    /// Inserts a cell before the one at `at` in the term's block.
    fn insert(&mut self, term: TermId, old: Slab, at: usize, cell: T) -> Result<(), StatisticsError> {
        let (len, mut block) = (usize::from(old.len), old);
        if old.len == 0 {
            block = self.allocate(0, cell)?;
        } else if len == 1 << old.log_size {
            block = self.allocate(old.log_size + 1, cell)?;
            self.arena.copy_within(old.cells(), block.start as usize);
            self.free[usize::from(old.log_size)].push(old.start);
        }
        // the classes of a block are distinct, so there are at most Classes::MAX = u16::MAX
        block.len = old.len + 1;
        let cells = &mut self.arena[block.cells()];
        cells.copy_within(at..len, at + 1);
        cells[at] = cell;
        self.grow(term as usize + 1);
        self.blocks[term as usize] = block;
        Ok(())
    }

    /// Returns an unused block of length 0; `any` fills new places.
    fn allocate(&mut self, log_size: u8, any: T) -> Result<Slab, StatisticsError> {
        if let Some(start) = self.free[usize::from(log_size)].pop() {
            return Ok(Slab { start, len: 0, log_size });
        }
        let end = self.arena.len() + (1 << log_size);
        // places have u32 numbers
        let start = u32::try_from(end).map(|_| self.arena.len() as u32);
        let start =
            start.map_err(|_| StatisticsError::Full { expected: u64::from(u32::MAX), got: end as u64 })?;
        self.arena.resize(end, any);
        Ok(Slab { start, len: 0, log_size })
    }

    #[cfg(test)]
    pub(crate) fn n_places(&self) -> usize {
        self.arena.len()
    }
}
