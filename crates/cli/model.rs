//! An open model, whose file may change meanwhile.

pub(crate) mod held;
pub(crate) mod learning;
pub(crate) mod opened;
pub(crate) mod rescue;
