//! What models read: the cells of a term and the totals of the classes.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

/// One class of a model: its position among the sorted labels of [`Classes`](crate::Classes).
pub type ClassId = u16;

/// The counts of one term in one class.
///
/// Invariant of every cell that a model returns: `1 <= df <= tf`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The class.
    pub class: ClassId,
    /// Document frequency: documents of the class that contain the term.
    pub df: u32,
    /// Term frequency: occurrences of the term in the documents of the class.
    pub tf: u32,
}

/// The counts of one class, summed over all terms.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassTotals {
    /// Documents of the class, including those without any term.
    pub documents: u64,
    /// Sum of the document frequencies: each document counts with its number of distinct terms.
    pub df: u64,
    /// Sum of the term frequencies: the number of tokens.
    pub tf: u64,
}

/// Counts that a model can read: [`Statistics`](crate::Statistics) in memory, or a memory-mapped file.
pub trait Counts {
    /// The error of reading; [`Infallible`](std::convert::Infallible) in memory.
    type Error;

    /// The totals of each class, in class order.
    fn totals(&self) -> &[ClassTotals];

    /// The number of term ids `0..n_terms`; some of them may have no counts.
    fn n_terms(&self) -> usize;

    /// Visits the cells of a term with `df > 0`, in increasing class order. An unknown id has none.
    ///
    /// # Errors
    /// Reading the counts fails.
    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<(), Self::Error>;

    /// The document frequency of a term over all classes.
    ///
    /// # Errors
    /// Reading the counts fails.
    fn document_frequency(&self, term: TermId) -> Result<u64, Self::Error> {
        let mut df = 0;
        self.for_each_cell(term, |cell| df += u64::from(cell.df))?;
        Ok(df)
    }
}

/// Reads the cells of a term into `cells`, replacing its contents.
pub(crate) fn read_cells<C: Counts>(counts: &C, term: TermId, cells: &mut Vec<Cell>) -> Result<(), C::Error> {
    cells.clear();
    counts.for_each_cell(term, |cell| cells.push(cell))
}

/// What a model knows about one term: its counts and its weights. An unknown term has neither.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownTerm<'a> {
    /// The counts, in increasing order of classes.
    pub cells: &'a [Cell],
    /// The weights of the correction in increasing order of columns; columns without a weight are left out. For
    /// [`ExpectedNaiveBayes`](crate::ExpectedNaiveBayes), the expected counts per class instead.
    pub weights: &'a [(ClassId, f64)],
}

impl KnownTerm<'_> {
    /// The number of documents, over all classes, that contain the term.
    pub fn document_frequency(&self) -> u64 {
        self.cells.iter().map(|cell| u64::from(cell.df)).sum()
    }
}

/// A model's terms, read one at a time: from [`CorrectedStatistics`](crate::CorrectedStatistics) in memory, or from a
/// memory-mapped file.
pub trait KnownTerms {
    /// The error of reading; [`Infallible`](std::convert::Infallible) in memory.
    type Error;

    /// Reads a term, replacing the one read before.
    ///
    /// # Errors
    /// Reading the term fails.
    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>, Self::Error>;
}

/// All term ids of `counts`, in order.
pub fn term_ids<C: Counts>(counts: &C) -> impl Iterator<Item = TermId> + Clone + use<C> {
    (0..=TermId::MAX).take(counts.n_terms())
}

/// Weights per term and column that a model can read, from memory or a memory-mapped file.
pub trait ClassWeights {
    /// The error of reading.
    type Error;

    /// Visits the weights of a term in increasing order of columns.
    ///
    /// # Errors
    /// Reading fails.
    fn for_each_weight(&self, term: TermId, visit: impl FnMut(ClassId, f64)) -> Result<(), Self::Error>;
}
