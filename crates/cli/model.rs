//! An open model, whose file others may change meanwhile.

pub(crate) mod opened;
pub(crate) mod rescue;
