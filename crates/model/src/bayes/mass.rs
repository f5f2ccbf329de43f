//! The counts of a term over all classes, and its rank among terms.

use tamis_tokenizer::TermId;

use crate::counts::Cell;

/// The counts of one term over all classes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mass {
    pub(crate) df: u64,
    pub(crate) tf: u64,
}

impl Mass {
    pub(crate) fn of(cells: &[Cell]) -> Mass {
        let mut mass = Mass::default();
        for cell in cells {
            mass.df += u64::from(cell.df);
            mass.tf += u64::from(cell.tf);
        }
        mass
    }
}

/// The last term that is kept: its rank (higher is better) and its id (lower wins a tie).
pub(crate) type Cut = (u64, TermId);

/// Whether a term of this rank is kept by the cut.
pub(crate) fn keeps((last, id): Cut, rank: u64, term: TermId) -> bool {
    rank > last || (rank == last && term <= id)
}
