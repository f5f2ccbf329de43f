//! What a sum of models counts too much.

use tamis_model::{Cell, ClassTotals, Correction, Counts, Statistics};
use tamis_store::error::{Error, Result};
use tamis_tokenizer::TermId;

/// What the sum of models counts too much: each document should count only as often as in the model with the most
/// copies.
#[derive(Default)]
pub(crate) struct Surplus {
    pub(super) statistics: Option<Statistics>,
    pub(super) correction: Correction,
    /// Number of stored copies of shared documents beyond the first: one less for each than the models that know it.
    pub(crate) n_documents: u64,
}

impl Surplus {
    /// Whether there is no surplus.
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

    /// Subtracts the surplus from `cells`, which are sorted by class.
    pub(crate) fn take_from_cells(&self, id: TermId, cells: &mut [Cell]) -> Result<()> {
        for surplus in self.statistics.iter().flat_map(|statistics| statistics.cells(id)) {
            let at = cells.binary_search_by_key(&surplus.class, |cell| cell.class).map_err(|_| too_few())?;
            let Cell { class, df, tf } = cells[at];
            // the part of the document that stays is left
            let left = df.checked_sub(surplus.df).zip(tf.checked_sub(surplus.tf));
            let (df, tf) = left.filter(|(df, tf)| *df > 0 && tf >= df).ok_or_else(too_few)?;
            cells[at] = Cell { class, df, tf };
        }
        Ok(())
    }
}

/// The error if a model's counts are less than the sum of its documents.
fn too_few() -> Error {
    Error::inconsistent("vectors", "terms that add up to the counts", "others")
}
