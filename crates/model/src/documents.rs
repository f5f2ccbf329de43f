//! The documents of a fit: labelled, read in blocks, dealt into folds.

mod block;
mod folds;
mod labelled;
mod reader;

pub use block::{BLOCK, Block};
pub(crate) use block::{DocumentTerms, TermScales};
pub use folds::assign_folds;
pub(crate) use folds::{Groups, forget_fold};
pub use labelled::{Documents, InMemory, Label, Labelled};
pub(crate) use reader::{BlockReader, MAX_COPIES};
