//! The commands that make, change and show a model.

mod card;
pub(crate) mod exchange;
mod facts;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod learn;
pub(crate) mod merge;
pub(crate) mod spool;
pub(crate) mod train;
