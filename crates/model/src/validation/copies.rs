//! Documents that are left out together with the copies of their text.

use std::convert::Infallible;

use tamis_tokenizer::TermId;

use crate::counts::{Cell, ClassId, ClassTotals, KnownTerm, KnownTerms, Statistics};
use crate::validation::documents::Documents;

/// A document, and what is left out with it: all copies of its text, whatever their labels.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// The document's class.
    pub(crate) own: ClassId,
    /// The number of copies by class; empty if the document is the only one.
    others: Vec<(ClassId, u32)>,
}

impl Copies {
    /// A document without copies.
    #[cfg(test)]
    pub(crate) fn one(own: ClassId) -> Copies {
        Copies { own, others: Vec::new() }
    }

    /// Equal texts are neighbours among the documents, and in one group. Where groups are other than copies, only the
    /// document's own copies are known.
    pub(crate) fn of(documents: &dyn Documents, document: usize) -> Copies {
        let label = documents.label(document);
        let are_copies = documents.groups_are_copies();
        let is_equal = |at: &usize| are_copies && documents.label(*at).group == label.group;
        let before = (0..document).rev().take_while(is_equal);
        let after = (document + 1..documents.len()).take_while(is_equal);
        let equal = before.chain(after).map(|at| documents.label(at)).map(|of| (of.class, of.multiplicity));
        let mut others: Vec<_> = equal.collect();
        if !others.is_empty() || label.multiplicity > 1 {
            others.push((label.class, label.multiplicity));
        }
        Copies { own: label.class, others }
    }

    /// Whether there is no other copy.
    pub(crate) fn are_one(&self) -> bool {
        self.others.is_empty()
    }

    /// The number of copies of a class.
    pub(crate) fn of_class(&self, class: ClassId) -> u64 {
        if self.are_one() {
            return u64::from(class == self.own);
        }
        self.others.iter().filter(|(of, _)| *of == class).map(|(_, n)| u64::from(*n)).sum()
    }

    /// The totals of the classes without the copies of a document of `n_terms` terms.
    pub(crate) fn left_of(&self, totals: &[ClassTotals], n_terms: u64) -> Vec<ClassTotals> {
        let without = |(class, of_class): (ClassId, &ClassTotals)| {
            let n = self.of_class(class);
            let df = of_class.df.saturating_sub(n.saturating_mul(n_terms));
            ClassTotals { documents: of_class.documents.saturating_sub(n), df, ..*of_class }
        };
        (0..=ClassId::MAX).zip(totals).map(without).collect()
    }
}

/// The counts of the terms of a document without its copies.
pub(crate) struct CountsWithout<'a> {
    counts: &'a Statistics,
    copies: &'a Copies,
    cells: Vec<Cell>,
}

impl<'a> CountsWithout<'a> {
    pub(crate) fn new(counts: &'a Statistics, copies: &'a Copies) -> Self {
        CountsWithout { counts, copies, cells: Vec::new() }
    }

    /// Whether only the copies have a term.
    pub(crate) fn is_unique(&mut self, id: TermId) -> bool {
        let Ok(term) = self.term(id);
        term.document_frequency() == 0
    }
}

impl KnownTerms for CountsWithout<'_> {
    type Error = Infallible;

    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>, Infallible> {
        let without = |cell: Cell| {
            let df = u64::from(cell.df).saturating_sub(self.copies.of_class(cell.class));
            // no larger than it was
            (df > 0).then_some(Cell { df: df as u32, ..cell })
        };
        self.cells.clear();
        self.cells.extend(self.counts.cells(id).filter_map(without));
        Ok(KnownTerm { cells: &self.cells, weights: &[] })
    }
}
