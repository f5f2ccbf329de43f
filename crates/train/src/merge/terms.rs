//! The terms of several models, with their counts and weights summed.

use tamis_model::{Cell, ClassTotals, ClassWeight, Classes, Counts};
use tamis_store::error::{Error, Result};
use tamis_store::store::opened::Store;
use tamis_tokenizer::TermId;

use crate::merge::documents::Surplus;
use crate::merge::stores::Stores;

/// The terms with counts of several stores, without the surplus of shared documents.
pub(crate) struct MergedTerms<'a> {
    pub(crate) of: Stores<'a>,
    pub(crate) totals: Vec<ClassTotals>,
    pub(crate) surplus: Surplus,
}

impl<'a> MergedTerms<'a> {
    pub(crate) fn new(stores: &'a [&'a Store], classes: &Classes) -> Result<Self> {
        let of = Stores::new(stores, classes)?;
        Ok(MergedTerms { totals: of.totals.clone(), of, surplus: Surplus::default() })
    }

    /// Subtracts the surplus of shared documents. The terms stay the same, since one copy of each document stays.
    pub(crate) fn count_once(&mut self) -> Result<()> {
        self.surplus = Surplus::new(&self.of)?;
        self.surplus.take_from_totals(&mut self.totals)
    }

    /// The bias of each column of the correction; those past the end are 0.
    pub(crate) fn bias(&self) -> Result<Vec<i64>> {
        let mut sums = self.of.bias()?;
        self.surplus.take_from_bias(&mut sums)?;
        Ok(sums)
    }

    /// The weights of a term, sorted by class.
    pub(crate) fn weights(&self, id: TermId) -> Result<Vec<ClassWeight>> {
        let mut weights = self.of.weights(id)?;
        self.surplus.take_from_weights(id, &mut weights)?;
        Ok(weights)
    }
}

impl Counts for MergedTerms<'_> {
    type Error = Error;

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.of.len()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        if self.surplus.is_empty() {
            return self.of.for_each_cell(term, visit);
        }
        let mut cells = Vec::new();
        self.of.for_each_cell(term, |cell| cells.push(cell))?;
        self.surplus.take_from_cells(term, &mut cells)?;
        cells.into_iter().for_each(visit);
        Ok(())
    }
}
